package rollout

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// upgrade is an application whose hub renders version 2 of the pod templates. Its clusters answer at once: those that may
// have the version have it after the next decision.
type upgrade struct {
	request RenderingRequest
	// bad are clusters that get worse with version 2.
	bad []string
}

// upgraded returns an application in three clusters, in two regions, whose pods are of version 1.
func upgraded(change func(*upgrade)) *upgrade {
	u := &upgrade{request: RenderingRequest{Version: "2", Now: time.Unix(100_000, 0)}}
	for _, c := range []struct{ name, region string }{{"a", "eu"}, {"b", "eu"}, {"c", "us"}} {
		u.request.Clusters = append(u.request.Clusters, RenderingCluster{
			Cluster: Cluster{Name: c.name, Region: c.region, Since: time.Unix(1, 0), Until: time.Unix(100_000, 0), Serving: true, Settled: true},
			Version: "1", Renders: "2", Named: true, Held: true, HasCopy: true,
		})
	}
	if change != nil {
		change(u)
	}
	return u
}

// cluster returns a cluster.
func (u *upgrade) cluster(name string) *RenderingCluster {
	i := slices.IndexFunc(u.request.Clusters, func(c RenderingCluster) bool { return c.Name == name })
	return &u.request.Clusters[i]
}

// pass decides once, and brings the clusters to where the decision leaves them.
func (u *upgrade) pass(t *testing.T) RenderingDecision {
	t.Helper()
	d, err := NextRendering(u.request)
	if err != nil {
		t.Fatal(err)
	}
	u.request.Last = d.Status
	for i := range u.request.Clusters {
		c := &u.request.Clusters[i]
		if c.SetAside {
			continue
		}
		if c.Version = d.Versions[c.Name]; c.Version == c.Renders && c.HasCopy {
			c.Held = false
			if slices.Contains(u.bad, c.Name) {
				c.Serving = false
			}
		}
	}
	return d
}

// run decides until nothing changes any more without time passing, and returns in which order the clusters got their
// version: those of one decision with commas.
func (u *upgrade) run(t *testing.T) (order string, last RenderingDecision) {
	t.Helper()
	var steps []string
	for range 30 {
		before := map[string]string{}
		for _, c := range u.request.Clusters {
			before[c.Name] = c.Version
		}
		last = u.pass(t)
		var began []string
		for _, name := range slices.Sorted(maps.Keys(last.Versions)) {
			if last.Versions[name] != before[name] {
				began = append(began, name+last.Versions[name])
			}
		}
		if len(began) > 0 {
			steps = append(steps, strings.Join(began, ","))
		}
	}
	return strings.Join(steps, " "), last
}

// upgradeCase is a row about an upgrade.
type upgradeCase struct {
	change         func(*upgrade)
	order, message string
	state          v1.RolloutState
}

// spec returns a change of the rollout's spec.
func spec(change func(*v1.Rollout)) func(*upgrade) {
	return func(u *upgrade) {
		u.request.Spec = &v1.Rollout{Strategy: v1.RolloutProgressive, Soak: &metav1.Duration{}}
		change(u.request.Spec)
	}
}

// runUpgrades follows upgrades to their ends, and compares the order of the clusters.
func runUpgrades(t *testing.T, cases map[string]upgradeCase) {
	t.Helper()
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			order, last := upgraded(tt.change).run(t)
			if diff := cmp.Diff(tt.order, order); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
			status := v1.RolloutStatus{}
			if last.Status != nil {
				status = *last.Status
			}
			if status.State != tt.state || status.Message != tt.message {
				t.Errorf("state %q: %q, want %q: %q", status.State, status.Message, tt.state, tt.message)
			}
		})
	}
}

// TestNextRendering follows a version of pod templates through a fleet.
func TestNextRendering(t *testing.T) {
	t.Parallel()
	runUpgrades(t, map[string]upgradeCase{
		"one after the other":       {nil, "a2 b2 c2", "", v1.RolloutComplete},
		"in the order of regions":   {spec(func(r *v1.Rollout) { r.Order = []string{"us"} }), "c2 a2 b2", "", v1.RolloutComplete},
		"two at a time after one":   {spec(func(r *v1.Rollout) { r.Order, r.MaxConcurrentClusters = []string{"us"}, 2 }), "c2 a2,b2", "", v1.RolloutComplete},
		"all at once by the spec":   {spec(func(r *v1.Rollout) { r.Strategy = v1.RolloutAll }), "a2,b2,c2", "", v1.RolloutComplete},
		"the first one soaks":       {spec(func(r *v1.Rollout) { r.Soak = &metav1.Duration{Duration: time.Hour} }), "a2", "waiting for a, b, c", v1.RolloutProgressing},
		"a region waits for a user": {spec(func(r *v1.Rollout) { r.Approval = v1.ApprovalBetweenRegions }), "a2 b2", "waiting for approval of us", v1.RolloutWaitingForApproval},
		"a user approves": {func(u *upgrade) {
			spec(func(r *v1.Rollout) { r.Approval = v1.ApprovalBetweenRegions })(u)
			u.request.Approved = "us"
		}, "a2 b2 c2", "", v1.RolloutComplete},
		"outside of the windows": {spec(func(r *v1.Rollout) {
			r.Windows = []v1.RolloutWindow{{Schedule: "0 0 1 1 *", Duration: metav1.Duration{Duration: time.Hour}}}
		}), "", "waiting for the next window of spec.rollout.windows", v1.RolloutWaitingForWindow},
		"a cluster that gets worse stops the next": {func(u *upgrade) { u.bad = []string{"a"} }, "a2", "waiting for a, b, c", v1.RolloutProgressing},
		"a cluster that needs a user is a failure": {func(u *upgrade) {
			u.bad, u.cluster("a").Stalled, u.cluster("a").Failure = []string{"a"}, "CrashLoopBackOff", "pods crash"
			u.cluster("a").Version, u.cluster("a").Serving, u.request.Last = "2", false, &v1.RolloutStatus{
				Revision: 2, State: v1.RolloutProgressing, Updating: []v1.ClusterUpdate{{Name: "a", Before: &v1.ClusterBefore{Serving: true}}},
			}
		}, "", "a: pods crash", v1.RolloutFailed},
	})
}

// TestNextRenderingOfClusters checks clusters that differ from the others.
func TestNextRenderingOfClusters(t *testing.T) {
	t.Parallel()
	runUpgrades(t, map[string]upgradeCase{
		"one that serves nobody comes last": {func(u *upgrade) { u.cluster("a").Serving = false }, "b2 a2,c2", "waiting for a; not serving customers before: a", v1.RolloutProgressing},
		"one that serves nobody waits for the user": {func(u *upgrade) {
			spec(func(r *v1.Rollout) { r.Approval = v1.ApprovalBetweenRegions })(u)
			u.cluster("c").Serving = false
		}, "a2 b2", "waiting for approval of us; not serving customers before: c", v1.RolloutWaitingForApproval},
		"those that serve nobody wait for a window": {func(u *upgrade) {
			spec(func(r *v1.Rollout) {
				r.Windows = []v1.RolloutWindow{{Schedule: "0 0 1 1 *", Duration: metav1.Duration{Duration: time.Hour}}}
			})(u)
			u.cluster("a").Serving, u.cluster("b").Serving, u.cluster("c").Serving = false, false, false
		}, "", "waiting for the next window of spec.rollout.windows; not serving customers before: a, b, c", v1.RolloutWaitingForWindow},
		"one that does not respond is skipped": {func(u *upgrade) { u.cluster("a").SetAside, u.cluster("a").Renders = true, "1" }, "b2 c2", "", v1.RolloutComplete},
		"one that is paused keeps what it has": {func(u *upgrade) { u.cluster("a").SetAside, u.cluster("a").Held = true, false }, "b2 c2", "", v1.RolloutComplete},
		"one that is yet to be reconciled is not named": {func(u *upgrade) {
			*u.cluster("a") = RenderingCluster{Cluster: u.cluster("a").Cluster, Version: "1", HasCopy: true}
			u.cluster("a").Settled = false
		}, "b2 c2", "", v1.RolloutComplete},
		"a backup is not waited for":               {func(u *upgrade) { u.cluster("b").Waiting = true }, "a2 b2 c2", "", v1.RolloutComplete},
		"pods that are not replaced prove nothing": {func(u *upgrade) { u.cluster("a").Held = false }, "b2 c2 a2", "", v1.RolloutComplete},
		"no pods to replace": {func(u *upgrade) {
			for _, name := range []string{"a", "b", "c"} {
				u.cluster(name).Held = false
			}
		}, "a2,b2,c2", "", ""},
		"a new copy": {func(u *upgrade) {
			*u.cluster("a") = RenderingCluster{Cluster: u.cluster("a").Cluster}
			u.cluster("b").Held, u.cluster("c").Held = false, false
		}, "a2,b2,c2", "", ""},
		"a copy of an earlier release": {func(u *upgrade) { u.cluster("a").Version, u.cluster("c").Version = "", "" }, "a2 b2 c2", "", v1.RolloutComplete},
		"an agent renders its own": {func(u *upgrade) {
			u.cluster("a").Renders, u.cluster("a").Held = "1", false
		}, "b2 c2", "with an agent that renders another version: a", v1.RolloutComplete},
		"an agent of an earlier release": {func(u *upgrade) {
			u.cluster("c").Renders, u.cluster("c").Held = "", false
		}, "a2 b2", "with an agent that renders another version: c", v1.RolloutComplete},
		"an agent that is ahead holds its own": {func(u *upgrade) { u.cluster("a").Renders = "3" }, "b2 c2", "with an agent that renders another version: a", v1.RolloutComplete},
		"an agent that is ahead has no part in a version that it was given": {func(u *upgrade) {
			u.cluster("a").Version, u.cluster("a").Renders = "2", "3"
		}, "b2 c2", "with an agent that renders another version: a", v1.RolloutComplete},
		"an agent is named beside a cluster that is not ready": {func(u *upgrade) {
			for _, name := range []string{"a", "b"} {
				u.cluster(name).Version, u.cluster(name).Held = "2", false
			}
			u.cluster("a").Serving, u.cluster("c").Renders, u.cluster("c").Held = false, "1", false
		}, "", "with an agent that renders another version: c", v1.RolloutComplete},
	})
}

// TestNextRenderingWaits checks a version that waits, or that is requested at once.
func TestNextRenderingWaits(t *testing.T) {
	t.Parallel()
	runUpgrades(t, map[string]upgradeCase{
		"none begins while one is about to be observed": {func(u *upgrade) {
			u.cluster("a").Connecting, u.cluster("a").SetAside, u.cluster("a").Held = true, true, false
		}, "", "", ""},
		"nor is it complete then": {func(u *upgrade) {
			u.request.Last = &v1.RolloutStatus{Revision: 2, State: v1.RolloutProgressing, Message: "as before"}
			for _, name := range []string{"a", "b"} {
				u.cluster(name).Connecting, u.cluster(name).SetAside, u.cluster(name).Held = true, true, false
			}
			u.cluster("c").Version, u.cluster("c").Held = "2", false
		}, "", "as before", v1.RolloutProgressing},
		"an agent is named once while nothing is decided": {func(u *upgrade) {
			u.request.Last = &v1.RolloutStatus{
				Revision: 2, State: v1.RolloutComplete, CompletionTime: new(metav1.NewTime(u.request.Now)), Message: "with an agent that renders another version: b",
			}
			a, c := u.cluster("a"), u.cluster("c") // The first one has no copy yet.
			a.Version, a.HasCopy, a.Held, a.Connecting, a.SetAside = "2", false, false, true, true
			c.Version, c.Held = "2", false
			u.cluster("b").Renders = "3"
		}, "", "with an agent that renders another version: b", v1.RolloutComplete},
		"none begins during a rollout":   {func(u *upgrade) { u.request.Revision = 7 }, "", "waiting for the rollout of revision 7", v1.RolloutPaused},
		"none begins while it is paused": {func(u *upgrade) { u.request.Paused = true }, "", "paused by the annotation " + v1.RolloutPausedAnnotation, v1.RolloutPaused},
		"at once, if the user asks for this version": {func(u *upgrade) {
			u.request.AtOnce, u.request.Paused = "2", true
			u.cluster("b").SetAside = true
		}, "a2,c2", "", v1.RolloutComplete},
		"but not where it is not rendered": {func(u *upgrade) {
			u.request.AtOnce, u.cluster("b").Renders = "2", "3"
		}, "a2,c2", "with an agent that renders another version: b", v1.RolloutComplete},
		"while another one is about to be observed": {func(u *upgrade) {
			u.request.AtOnce = "2"
			u.cluster("a").Connecting, u.cluster("a").SetAside, u.cluster("a").Held = true, true, false
		}, "b2,c2", "", v1.RolloutComplete},
		"not for another version": {func(u *upgrade) { u.request.AtOnce, u.request.Paused = "3", true }, "", "paused by the annotation " + v1.RolloutPausedAnnotation, v1.RolloutPaused},
		"a hub that has just begun to look": {func(u *upgrade) {
			u.cluster("a").Since, u.cluster("a").Renders, u.cluster("a").Held = u.request.Now, "1", false
		}, "", "", ""},
		"a new copy while it looks": {func(u *upgrade) {
			*u.cluster("b") = RenderingCluster{Cluster: u.cluster("b").Cluster}
			u.cluster("a").Since, u.cluster("a").Renders, u.cluster("a").Held = u.request.Now, "1", false
		}, "b2", "", ""},
		"a rollout that it found": {func(u *upgrade) {
			u.request.Last = &v1.RolloutStatus{Revision: 2, State: v1.RolloutFailed, Message: "as before"}
			*u.cluster("b") = RenderingCluster{Cluster: u.cluster("b").Cluster}
			u.cluster("a").Since, u.cluster("a").Renders, u.cluster("a").Held = u.request.Now, "1", false
		}, "", "as before", v1.RolloutFailed},
		"back to an earlier version": {func(u *upgrade) {
			u.request.Last = &v1.RolloutStatus{Revision: 3, PreviousRevision: 2, State: v1.RolloutProgressing}
			for _, name := range []string{"a", "b", "c"} {
				u.cluster(name).Version = "3"
			}
		}, "a2 b2 c2", "", v1.RolloutComplete},
	})
}

// TestAgentsFollow checks that a cluster whose agent is upgraded when the others have the version gets it then,
// without approval.
func TestAgentsFollow(t *testing.T) {
	t.Parallel()
	u := upgraded(spec(func(r *v1.Rollout) { r.Approval = v1.ApprovalBetweenRegions }))
	u.cluster("c").Renders, u.cluster("c").Held = "1", false
	if order, _ := u.run(t); order != "a2 b2" {
		t.Fatalf("the clusters got their versions in the order %q", order)
	}
	u.cluster("c").Renders, u.cluster("c").Held = "2", true
	if order, last := u.run(t); order != "c2" || last.Status.Message != "" || last.Status.State != v1.RolloutComplete {
		t.Errorf("after the upgrade of the agent: %q, %s %q", order, last.Status.State, last.Status.Message)
	}
}

// TestFailureStopsTheNext checks that a cluster that is not as before within the deadline is a failure, until it is.
func TestFailureStopsTheNext(t *testing.T) {
	t.Parallel()
	u := upgraded(func(u *upgrade) { u.bad = []string{"a"} })
	u.run(t)
	u.request.Now = u.request.Now.Add(2 * v1.DefaultProgressDeadline)
	order, last := u.run(t)
	if order != "" || last.Status.State != v1.RolloutFailed || !strings.HasPrefix(last.Status.Message, "a: it is not ready within spec.rollout.progressDeadline") {
		t.Errorf("after the deadline: %q, %s %q", order, last.Status.State, last.Status.Message)
	}
	u.bad, u.cluster("a").Serving = nil, true
	if order, _ := u.run(t); order != "b2 c2" {
		t.Errorf("after the repair: %q", order)
	}
}

// TestAtOnceCompletes checks that a version that a user requests at once is complete from the first decision on.
func TestAtOnceCompletes(t *testing.T) {
	t.Parallel()
	u := upgraded(func(u *upgrade) { u.request.AtOnce = "2" })
	began := u.request.Now
	u.pass(t)
	u.request.Now = began.Add(time.Hour)
	if s := u.pass(t).Status; !s.CompletionTime.Time.Equal(began) || s.Updated != 3 || s.Total != 3 {
		t.Errorf("%d of %d clusters have it, since %s, want 3 since %s", s.Updated, s.Total, s.CompletionTime, began)
	}
}

// TestIsReplacing checks for how long a cluster that has begun replaces pods: others wait for that.
func TestIsReplacing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*RenderingCluster, *v1.RolloutStatus)
		want   bool
	}{
		"until it has no earlier pods":     {change: func(*RenderingCluster, *v1.RolloutStatus) {}, want: true},
		"until its copy names the version": {want: true, change: func(c *RenderingCluster, _ *v1.RolloutStatus) { c.Held, c.Named = false, false }},
		"until the pods are replaced": {want: true, change: func(c *RenderingCluster, _ *v1.RolloutStatus) {
			c.Held, c.Unready = false, []Component{{Name: "backend", Changing: true}}
		}},
		"not while it soaks":              {change: func(c *RenderingCluster, _ *v1.RolloutStatus) { c.Held = false }},
		"not before it has begun":         {change: func(_ *RenderingCluster, s *v1.RolloutStatus) { s.Updating = nil }},
		"not once the version has failed": {change: func(_ *RenderingCluster, s *v1.RolloutStatus) { s.State = v1.RolloutFailed }},
		"not if it needs a user":          {change: func(c *RenderingCluster, _ *v1.RolloutStatus) { c.Failure = "failed" }},
		"not while it copies data": {change: func(c *RenderingCluster, _ *v1.RolloutStatus) {
			c.Unready = []Component{{Name: "database", Copying: true}}
		}},
		"not if it is left behind":      {change: func(_ *RenderingCluster, s *v1.RolloutStatus) { s.LeftBehind = []string{"a"} }},
		"not if it does not respond":    {change: func(c *RenderingCluster, _ *v1.RolloutStatus) { c.SetAside = true }},
		"not if it serves no customers": {change: func(c *RenderingCluster, _ *v1.RolloutStatus) { c.Serving = false }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := *upgraded(nil).cluster("a")
			last := &v1.RolloutStatus{Revision: 2, State: v1.RolloutProgressing, Updating: []v1.ClusterUpdate{{Name: "a"}}}
			c.change(&cluster, last)
			if got := cluster.IsReplacing(last); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
	if upgraded(nil).cluster("a").IsReplacing(nil) {
		t.Error("no version was rolled out, and a cluster waits for it")
	}
}
