package app

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// upgraded returns an application in two clusters that have the pod templates of an earlier version, and what is
// observed of it after an upgrade of the hub.
func upgraded(change func(*v1.EcommerceApp, *observation)) (*v1.EcommerceApp, *observation) {
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
	in := &observation{Input: aggregate.Input{Generation: 1, Now: metav1.NewTime(time.Unix(100_000, 0)), Chosen: []string{"a", "b"}}}
	for i, name := range in.Chosen {
		region := []string{"eu", "us"}[i]
		in.Previous.Clusters = append(in.Previous.Clusters, v1.ClusterStatus{Name: name, Region: region, RenderingVersion: "0", AppliedGeneration: 1})
		status := v1.EcommerceAppStatus{RenderingVersion: render.Version, HeldTemplates: []string{"database"}, ObservedGeneration: 1}
		for _, condition := range []string{v1.ConditionReady, v1.ConditionAvailable} {
			status.Conditions = append(status.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, Reason: v1.ReasonRunning, ObservedGeneration: 1})
		}
		in.Clusters = append(in.Clusters, aggregate.Cluster{
			Name: name, Region: region, Connection: aggregate.Connected,
			Copy: &aggregate.Copy{Generation: 1, HubGeneration: 1, Rendering: "0", Status: status},
		})
	}
	if change != nil {
		change(app, in)
	}
	return app, in
}

// began says that cluster a was given the version a minute ago.
func began(in *observation) {
	in.Previous.Clusters[0].RenderingVersion = render.Version
	in.Previous.Rendering = &v1.RolloutStatus{Revision: 1, State: v1.RolloutProgressing, Updating: []v1.ClusterUpdate{
		{Name: "a", StartTime: &metav1.Time{Time: in.Now.Add(-time.Minute)}, Before: &v1.ClusterBefore{Serving: true}},
	}}
}

// renderingCase is a row about the versions of pod templates that two clusters may have.
type renderingCase struct {
	change func(*v1.EcommerceApp, *observation)
	want   [2]string
	state  v1.RolloutState
}

// runRenderings computes statuses and compares the versions in them.
func runRenderings(t *testing.T, cases map[string]renderingCase) {
	t.Helper()
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app, in := upgraded(tt.change)
			observer(time.Unix(0, 0)).decideRendering(app, in)
			status := aggregate.Compute(in.Input)
			var got [2]string
			for i, entry := range status.Clusters {
				got[i] = entry.RenderingVersion
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("versions (-want +got):\n%s", diff)
			}
			var state v1.RolloutState
			if status.Rendering != nil {
				state = status.Rendering.State
			}
			if state != tt.state {
				t.Errorf("state %q, want %q", state, tt.state)
			}
		})
	}
}

// TestRenderingOfClusters checks that the status says which version of pod templates each cluster may have.
func TestRenderingOfClusters(t *testing.T) {
	t.Parallel()
	const first, second, next = "0", "0", render.Version
	runRenderings(t, map[string]renderingCase{
		"one after the other":  {nil, [2]string{next, second}, v1.RolloutProgressing},
		"a paused application": {func(_ *v1.EcommerceApp, in *observation) { in.Paused = true }, [2]string{first, second}, ""},
		"a paused cluster":     {func(_ *v1.EcommerceApp, in *observation) { in.Clusters[0].Paused = true }, [2]string{first, next}, v1.RolloutProgressing},
		"a paused rollout": {func(a *v1.EcommerceApp, _ *observation) {
			a.Spec.Rollout, a.Annotations[v1.RolloutPausedAnnotation] = &v1.Rollout{}, "true"
		}, [2]string{first, second}, v1.RolloutPaused},
		"a rollout in progress": {func(a *v1.EcommerceApp, in *observation) {
			a.Spec.Rollout, in.Rollout = &v1.Rollout{}, &v1.RolloutStatus{State: v1.RolloutProgressing, Revision: 2}
		}, [2]string{first, second}, v1.RolloutPaused},
		"a rollout that is complete": {func(a *v1.EcommerceApp, in *observation) {
			a.Spec.Rollout, in.Rollout = &v1.Rollout{}, &v1.RolloutStatus{State: v1.RolloutComplete}
		}, [2]string{next, second}, v1.RolloutProgressing},
		"a rollout that was taken back": {func(a *v1.EcommerceApp, in *observation) {
			a.Spec.Rollout, in.Rollout = &v1.Rollout{}, &v1.RolloutStatus{State: v1.RolloutRolledBack, Revision: 2}
		}, [2]string{next, second}, v1.RolloutProgressing},
		"windows that are not valid": {func(a *v1.EcommerceApp, _ *observation) {
			a.Spec.Rollout = &v1.Rollout{Windows: []v1.RolloutWindow{{Schedule: "99 0 * * *"}}}
		}, [2]string{first, second}, ""},
		"a security fix":           {func(a *v1.EcommerceApp, _ *observation) { a.Annotations[v1.RenderNowAnnotation] = next }, [2]string{next, next}, v1.RolloutComplete},
		"a fix of another version": {func(a *v1.EcommerceApp, _ *observation) { a.Annotations[v1.RenderNowAnnotation] = "7" }, [2]string{next, second}, v1.RolloutProgressing},
	})
}

// TestRenderingBegan checks that the status says which version each cluster may have when one has begun with it.
func TestRenderingBegan(t *testing.T) {
	t.Parallel()
	const first, second, next = "0", "0", render.Version
	runRenderings(t, map[string]renderingCase{
		"one that the copy is yet to get": {func(_ *v1.EcommerceApp, in *observation) {
			began(in)
			in.Clusters[0].Copy.Status.HeldTemplates = nil
		}, [2]string{next, second}, v1.RolloutProgressing},
		"one with pods of the version before": {func(_ *v1.EcommerceApp, in *observation) {
			began(in)
			in.Clusters[0].Copy.Rendering = next
		}, [2]string{next, second}, v1.RolloutProgressing},
		"one that is ready": {func(_ *v1.EcommerceApp, in *observation) {
			began(in)
			in.Clusters[0].Copy.Rendering, in.Clusters[0].Copy.Status.HeldTemplates = next, nil
		}, [2]string{next, next}, v1.RolloutProgressing},
		"one that does not respond, from an earlier release": {func(_ *v1.EcommerceApp, in *observation) {
			in.Previous.Clusters[0].RenderingVersion, in.Clusters[0].Copy, in.Clusters[0].Connection = "", nil, aggregate.Lost
			in.Clusters[1].Copy.Status.HeldTemplates = nil
		}, [2]string{"", next}, ""},
		"a region that is approved": {func(a *v1.EcommerceApp, in *observation) {
			began(in)
			in.Clusters[0].Copy.Rendering, in.Clusters[0].Copy.Status.HeldTemplates = next, nil
			a.Spec.Rollout = &v1.Rollout{Approval: v1.ApprovalBetweenRegions, Soak: &metav1.Duration{}}
			a.Annotations[v1.ApproveAnnotation] = v1.ApproveRendering + next + "/us"
		}, [2]string{next, next}, v1.RolloutProgressing},
		"a region that is approved for a revision": {func(a *v1.EcommerceApp, in *observation) {
			began(in)
			in.Clusters[0].Copy.Rendering, in.Clusters[0].Copy.Status.HeldTemplates = next, nil
			a.Spec.Rollout = &v1.Rollout{Approval: v1.ApprovalBetweenRegions, Soak: &metav1.Duration{}}
			a.Annotations[v1.ApproveAnnotation] = next + "/us"
		}, [2]string{next, second}, v1.RolloutWaitingForApproval},
		"clusters that are not known yet": {func(_ *v1.EcommerceApp, in *observation) {
			began(in)
			in.Unanswered = []string{"c"}
		}, [2]string{next, second}, v1.RolloutProgressing},
		"one that is worse": {func(_ *v1.EcommerceApp, in *observation) {
			began(in)
			copied := in.Clusters[0].Copy
			copied.Rendering, copied.Status.HeldTemplates = next, nil
			copied.Status.Components = []v1.ComponentStatus{{Name: "database", Reason: v1.ReasonCrashLoopBackOff}}
		}, [2]string{next, second}, v1.RolloutProgressing},
		"a status that was lost": {func(_ *v1.EcommerceApp, in *observation) {
			in.Previous.Clusters[0].RenderingVersion = ""
			in.Clusters[0].Copy.Rendering, in.Clusters[0].Copy.Status.HeldTemplates = next, nil
		}, [2]string{next, next}, v1.RolloutProgressing},
	})
}

// TestRenderingIsReported checks that the status says where pods of an earlier version run, and where they are being
// replaced.
func TestRenderingIsReported(t *testing.T) {
	t.Parallel()
	app, in := upgraded(nil)
	observer(time.Unix(0, 0)).decideRendering(app, in)
	status := aggregate.Compute(in.Input)
	want := []v1.ClusterStatus{
		{Name: "a", RenderingVersion: render.Version, HeldTemplates: true}, {Name: "b", RenderingVersion: "0", HeldTemplates: true},
	}
	rest := cmpopts.IgnoreFields(v1.ClusterStatus{}, "Region", "Phase", "Ready", "Available", "Reason", "Message", "AppliedGeneration", "LastObservedTime", "Components")
	if diff := cmp.Diff(want, status.Clusters, rest); diff != "" {
		t.Errorf("clusters (-want +got):\n%s", diff)
	}
	if r := status.Rendering; r.Region != "eu" || r.Message != "waiting for a, b" || len(r.Updating) != 1 || r.Updating[0].Name != "a" {
		t.Errorf("the rollout of the version is %+v", r)
	}
}

// TestRenderingPauses checks that the time in which nothing is written does not count, and a decision that is due is
// made.
func TestRenderingPauses(t *testing.T) {
	t.Parallel()
	app, in := upgraded(func(_ *v1.EcommerceApp, in *observation) { began(in) })
	observer(time.Unix(0, 0)).decideRendering(app, in)
	if u := in.Rendering.Updating[0]; u.StartTime == nil || in.until.IsZero() {
		t.Errorf("update %+v, next decision %s; want its deadline", u, in.until)
	}
	in.Paused = true
	observer(time.Unix(0, 0)).decideRendering(app, in)
	if u := in.Rendering.Updating[0]; u.StartTime != nil || u.ProgressingSeconds == 0 {
		t.Errorf("update %+v of a paused application, want no time that counts", u)
	}
	app, in = upgraded(func(a *v1.EcommerceApp, _ *observation) {
		a.Spec.Rollout = &v1.Rollout{Windows: []v1.RolloutWindow{{Schedule: "99 0 * * *"}}}
	})
	if observer(time.Unix(0, 0)).decideRendering(app, in); in.Invalid == "" {
		t.Error("windows that are not valid are not reported")
	}
}

// TestApprovalOfRendering checks that an approval counts until the version has begun in its region, or another
// version is rolled out.
func TestApprovalOfRendering(t *testing.T) {
	t.Parallel()
	for approval, want := range map[string]bool{"rendering-2/eu": true, "rendering-2/us": false, "rendering-1/us": true, "2/us": false} {
		app, _ := rollingShop()
		app.Status.Clusters[0].RenderingVersion, app.Status.Clusters[1].RenderingVersion = "2", "1"
		app.Status.Rendering = &v1.RolloutStatus{Revision: 2}
		app.Annotations = map[string]string{v1.ApproveAnnotation: approval}
		if got := approvalEnded(app, true); got != want {
			t.Errorf("%q has ended: %t, want %t", approval, got, want)
		}
	}
}
