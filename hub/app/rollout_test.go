package app

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// rollingShop returns a shop whose revision 2 is in cluster a, soaking, and revision 1 in cluster b, with
// what is observed of them.
func rollingShop() (*v1.EcommerceApp, aggregate.Input) {
	now := metav1.NewTime(time.Unix(100_000, 0))
	soaks := metav1.NewTime(now.Add(-time.Hour))
	app := &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Rollout: &v1.Rollout{}}}
	app.Status.Clusters = []v1.ClusterStatus{
		{Name: "a", Region: "eu", Revision: 2, AppliedGeneration: 2}, {Name: "b", Region: "us", Revision: 1, AppliedGeneration: 2},
	}
	app.Status.Rollout = &v1.RolloutStatus{
		Revision: 2, SpecHash: "h2", PreviousRevision: 1, State: v1.RolloutProgressing,
		Updating: []v1.ClusterUpdate{{Name: "a", StartTime: &soaks, ReadyTime: &soaks, Before: &v1.ClusterBefore{Serving: true}}},
	}
	in := aggregate.Input{Generation: 2, Now: now, Chosen: []string{"a", "b"}, Previous: app.Status}
	for _, entry := range app.Status.Clusters {
		in.Clusters = append(in.Clusters, aggregate.Cluster{Name: entry.Name, Region: entry.Region, Copy: &aggregate.Copy{
			Generation: 1, HubGeneration: 2, Revision: entry.Revision,
			Status: v1.EcommerceAppStatus{Phase: v1.PhaseRunning, ObservedGeneration: 1, Conditions: []metav1.Condition{
				{Type: v1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: 1}, {Type: v1.ConditionAvailable, Status: metav1.ConditionTrue},
			}},
		}})
	}
	return app, in
}

// says adds a condition to the copy in the first cluster, and makes it not ready unless ready is true.
func says(in *aggregate.Input, kind, reason string, ready bool) {
	status := &in.Clusters[0].Copy.Status
	status.Conditions = append(status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, ObservedGeneration: 1})
	if !ready {
		status.Conditions[0].Status, status.Conditions[0].Reason = metav1.ConditionFalse, reason
	}
}

// wants gives the clusters a database that they are to have.
func wants(in *aggregate.Input, db *v1.Database) {
	for i := range in.Clusters {
		in.Clusters[i].Database = db
	}
}

// TestClustersThatAwaitABackup checks what a rollout sees of an upgrade of the database.
func TestClustersThatAwaitABackup(t *testing.T) {
	t.Parallel()
	upgrade := func(app *v1.EcommerceApp, in *aggregate.Input) {
		app.Spec.Database = &v1.Database{Version: "17.3"}
		wants(in, app.Spec.Database)
		app.Status.Backups = []v1.ClusterBackups{{Name: "a", Version: "17.2"}, {Name: "b", Version: "17.2"}}
	}
	app, in := rollingShop()
	upgrade(app, &in)
	if b := observer(time.Unix(0, 0)).clustersOf(app, &in)[1]; !b.Waiting || !b.Settled || !b.Serving {
		t.Errorf("%+v is not healthy with the earlier revision, or does not wait for a backup", b)
	}
	checkClustersOf(t, map[string]clusterCase{
		"an upgrade in the edit that enables backups": {func(app *v1.EcommerceApp, in *aggregate.Input) {
			app.Spec.Database = &v1.Database{Version: "17.3", Backup: v1.BackupPolicy{Enabled: true}}
			wants(in, app.Spec.Database)
			in.Clusters[0].Copy.Database.DatabaseServer = v1.DatabaseServer{Version: "17.2", Image: "postgres:17.2"}
		}, rollout.Cluster{Waiting: true, Has: true, Settled: true, Serving: true}},
		"another image waits for a backup": {func(app *v1.EcommerceApp, in *aggregate.Input) {
			upgrade(app, in)
			wants(in, &v1.Database{Version: "17.2", Image: "mirror/postgres:17.3"})
			app.Status.Backups[0].Image = "postgres:17.2"
		}, rollout.Cluster{Waiting: true, Has: true, Settled: true, Serving: true}},
		"a server that is not known waits for nothing": {func(app *v1.EcommerceApp, in *aggregate.Input) {
			upgrade(app, in)
			wants(in, nil)
		}, rollout.Cluster{Has: true, Settled: true, Serving: true}},
		"an upgrade waits for a backup": {upgrade, rollout.Cluster{Waiting: true, Has: true, Settled: true, Serving: true}},
	})
}

// TestClustersOf checks what a rollout sees of cluster a.
func TestClustersOf(t *testing.T) {
	t.Parallel()
	healthy := rollout.Cluster{Has: true, Settled: true, Serving: true}
	with := func(change func(*rollout.Cluster)) rollout.Cluster {
		c := healthy
		change(&c)
		return c
	}
	needsUser := func(reason string) func(*rollout.Cluster) {
		return func(c *rollout.Cluster) { c.Cause, c.Stalled, c.Failure = reason, reason, reason }
	}
	checkClustersOf(t, map[string]clusterCase{
		"ready": {func(*v1.EcommerceApp, *aggregate.Input) {}, healthy},
		"not ready": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			says(in, v1.ConditionProgressing, v1.ReasonProgressing, false)
		}, with(func(c *rollout.Cluster) { c.Cause = v1.ReasonProgressing })},
		"needs a user": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			says(in, v1.ConditionStalled, v1.ReasonDeadlineExceeded, false)
		}, with(needsUser(v1.ReasonDeadlineExceeded))},
		"a volume that cannot grow": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			says(in, v1.ConditionStalled, v1.ReasonStorageNotExpandable, true)
		}, healthy},
		"the copy has another revision yet": {func(_ *v1.EcommerceApp, in *aggregate.Input) { in.Clusters[0].Copy.Revision = 1 },
			rollout.Cluster{Serving: true}},
		"stalled with the revision before": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			says(in, v1.ConditionStalled, v1.ReasonDeadlineExceeded, false)
			in.Clusters[0].Copy.Revision = 1
		}, rollout.Cluster{Serving: true}},
		"the status is about an earlier spec": {func(_ *v1.EcommerceApp, in *aggregate.Input) { in.Clusters[0].Copy.Generation++ },
			rollout.Cluster{Has: true, Serving: true, Cause: v1.ReasonProgressing}},
		"the copy is being deleted": {func(_ *v1.EcommerceApp, in *aggregate.Input) { in.Clusters[0].Copy.Deleting = true }, rollout.Cluster{}},
		"there is no copy":          {func(_ *v1.EcommerceApp, in *aggregate.Input) { in.Clusters[0].Copy = nil }, rollout.Cluster{}},
		"what is propagated fails": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			in.Clusters[0].PropagationFailure = &aggregate.Failure{Reason: v1.ReasonConflict}
		}, healthy},
		"the copy cannot be written": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			in.Clusters[0].Failure = &aggregate.Failure{Reason: v1.ReasonConflict, Message: "m"}
		}, with(func(c *rollout.Cluster) {
			c.Cause, c.Stalled, c.Failure = "Conflict: m", v1.ReasonConflict, "Conflict: m"
		})},
		"an earlier one could not be": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			in.Clusters[0].Failure = &aggregate.Failure{Reason: v1.ReasonConflict, Message: "m", Earlier: true}
		}, healthy},
		"without replicas": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			in.Shares = map[string]v1.ReplicaShare{"a": {Frontend: new(int32(0)), Backend: new(int32(0))}}
		}, with(func(c *rollout.Cluster) { c.NoReplicas = true })},
		"with replicas of one component": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			in.Shares = map[string]v1.ReplicaShare{"a": {Frontend: new(int32(0)), Backend: new(int32(1))}}
		}, healthy},
		"lost": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			in.Clusters[0].Connection, in.Clusters[0].Copy = aggregate.Lost, nil
		}, rollout.Cluster{SetAside: true}},
		"connecting": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			in.Clusters[0].Connection, in.Clusters[0].Copy = aggregate.Connecting, nil
		}, rollout.Cluster{SetAside: true, Connecting: true}},
		"connecting without a copy": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			in.Clusters[0].Connection, in.Clusters[0].Copy, in.Previous.Clusters[0].AppliedGeneration = aggregate.Connecting, nil, 0
		}, rollout.Cluster{SetAside: true}},
		"paused": {func(_ *v1.EcommerceApp, in *aggregate.Input) { in.Clusters[0].Paused = true }, with(func(c *rollout.Cluster) { c.SetAside = true })},
	})
}

// TestClustersThatRefuse checks what a rollout sees of a database that cannot follow the server of the spec, or not yet.
func TestClustersThatRefuse(t *testing.T) {
	t.Parallel()
	checkClustersOf(t, map[string]clusterCase{
		"another server has to start before, and the copy is not written": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			in.Clusters[0].Copy.Starting = true
			in.Clusters[0].Copy.Revision, in.Clusters[0].Failure = 1, &aggregate.Failure{Reason: v1.ReasonUpgradeRefused, Message: "m"}
		}, rollout.Cluster{Waiting: true, Serving: true}},
		"that does not start": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			says(in, v1.ConditionStalled, v1.ReasonDeadlineExceeded, false)
			in.Clusters[0].Copy.Starting = true
		}, rollout.Cluster{
			Refused: "its present server has not started: " + v1.ReasonDeadlineExceeded, Has: true, Settled: true, Serving: true,
			Cause: v1.ReasonDeadlineExceeded, Stalled: v1.ReasonDeadlineExceeded, Failure: v1.ReasonDeadlineExceeded,
		}},
		"it refuses the server of the spec": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			in.Clusters[0].Copy.UpgradeRefused = "m"
		}, rollout.Cluster{Refused: "m", Has: true, Settled: true, Serving: true}},
		"it refused that of the revision that it was given": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			in.Clusters[0].Copy.UpgradeRefused = "m"
			in.Clusters[0].Copy.Revision, in.Clusters[0].Failure = 1, &aggregate.Failure{Reason: v1.ReasonUpgradeRefused, Message: "m"}
		}, rollout.Cluster{Refused: "m", Serving: true, Cause: "UpgradeRefused: m", Stalled: v1.ReasonUpgradeRefused, Failure: "UpgradeRefused: m"}},
	})
}

// TestGrowthNeedsNoUser checks that a database that cannot grow does not fail the revision.
func TestGrowthNeedsNoUser(t *testing.T) {
	t.Parallel()
	app, in := rollingShop()
	says(&in, v1.ConditionStalled, v1.ReasonDeadlineExceeded, false)
	in.Clusters[0].Copy.Status.Components = []v1.ComponentStatus{
		{Name: "database", Phase: v1.PhaseFailed, Reason: v1.ReasonDeadlineExceeded, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 2},
	}
	if got := observer(time.Unix(0, 0)).clustersOf(app, &in)[0]; got.Stalled != "" {
		t.Errorf("it needs a user for the reason %q", got.Stalled)
	}
}

// TestObservedTime checks that what this hub observes begins when it leads, and when the member is connected.
func TestObservedTime(t *testing.T) {
	t.Parallel()
	app, in := rollingShop()
	now := in.Now.Time
	began := now.Add(-20 * time.Minute)
	r := observer(began)
	in.Clusters[0].ConnectionSince = metav1.NewTime(now.Add(-time.Minute))
	in.Clusters[1].Connection, in.Clusters[1].LastObserved = aggregate.Lost, new(metav1.NewTime(now.Add(-2*time.Minute)))
	connecting := in
	connecting.Clusters = slices.Clone(in.Clusters)
	connecting.Clusters[0].Connection, connecting.Clusters[0].LastObserved = aggregate.Connecting, new(metav1.NewTime(now.Add(-30*time.Second)))
	if a := r.clustersOf(app, &connecting)[0]; !a.Since.Equal(now.Add(-time.Minute)) || !a.Until.Equal(now.Add(-30*time.Second)) {
		t.Errorf("a member that is about to be observed was observed from %s to %s", a.Since, a.Until)
	}
	got := r.clustersOf(app, &in)
	if a := got[0]; !a.Since.Equal(now.Add(-time.Minute)) || !a.Until.Equal(now) {
		t.Errorf("a connected member is observed from %s to %s", a.Since, a.Until)
	}
	if b := got[1]; !b.Since.Equal(began) || !b.Until.Equal(now.Add(-2*time.Minute)) {
		t.Errorf("a lost member was observed from %s to %s", b.Since, b.Until)
	}
}

// TestClocksAhead checks that what was written by a clock that is ahead of the hub's says nothing.
func TestClocksAhead(t *testing.T) {
	t.Parallel()
	app, in := rollingShop()
	now := in.Now.Time
	r := observer(now)
	ahead := metav1.NewTime(now.Add(time.Hour))
	in.Clusters[0].ConnectionSince = ahead
	in.Clusters[0].Copy.Status.Conditions[1] = metav1.Condition{Type: v1.ConditionAvailable, Status: metav1.ConditionFalse, LastTransitionTime: ahead}
	in.Clusters[1].Connection, in.Clusters[1].LastObserved = aggregate.Lost, &ahead
	got := r.clustersOf(app, &in)
	if a := got[0]; !a.Since.Equal(now) || !a.DownSince.IsZero() {
		t.Errorf("a member is observed since %s, and down since %s", a.Since, a.DownSince)
	}
	if b := got[1]; !b.Until.IsZero() {
		t.Errorf("a lost member was observed until %s", b.Until)
	}
	in.Clusters[0].Copy.Status.Conditions[1].LastTransitionTime = metav1.NewTime(now.Add(time.Second))
	if a := r.clustersOf(app, &in)[0]; !a.DownSince.Equal(now) {
		t.Errorf("by a clock that is a second ahead, a member is down since %s, want %s", a.DownSince, now)
	}
}

// TestRevisionsInUse checks that revisions that no cluster has are forgotten, also while one stays with an earlier
// one.
func TestRevisionsInUse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rollout *v1.RolloutStatus
		have    []int64
		want    []int64
	}{
		"without a rollout":      {nil, []int64{0}, nil},
		"all have the last one":  {&v1.RolloutStatus{Revision: 9}, []int64{9, 9}, nil},
		"one stays with another": {&v1.RolloutStatus{Revision: 9, PreviousRevision: 8}, []int64{3, 9}, []int64{3, 9, 8}},
	} {
		status := &v1.EcommerceAppStatus{Rollout: tt.rollout}
		for _, revision := range tt.have {
			status.Clusters = append(status.Clusters, v1.ClusterStatus{Revision: revision})
		}
		if got := revisionsInUse(status); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// TestHubAwayPastTheDeadline checks that the time before a hub begins to lead does not count for a cluster that it
// finds connected and not ready, however long ago the update was written.
func TestHubAwayPastTheDeadline(t *testing.T) {
	t.Parallel()
	app, in := rollingShop()
	says(&in, v1.ConditionProgressing, v1.ReasonProgressing, false)
	in.Clusters[0].Copy.Status.Components = []v1.ComponentStatus{{Name: "frontend", Reason: v1.ReasonProgressing}}
	in.Previous.Rollout.Updating[0].ReadyTime = nil
	r := observer(in.Now.Time)
	decision, err := rollout.Next(r.requestOf(app, revisions.Resolved{Revision: 2, Hash: "h2"}, &in))
	if err != nil || decision.Status.State != v1.RolloutProgressing || !decision.Until.Equal(in.Now.Add(v1.DefaultProgressDeadline)) {
		t.Errorf("error %v, state %s, due at %s; want a whole deadline from now", err, decision.Status.State, decision.Until)
	}
	long := in.Now.Add(-2 * time.Hour)
	r = observer(long)
	if decision, err = rollout.Next(r.requestOf(app, revisions.Resolved{Revision: 2, Hash: "h2"}, &in)); err != nil || decision.Status.State != v1.RolloutRollingBack {
		t.Errorf("error %v, state %s; want a rollback by a hub that has observed it", err, decision.Status.State)
	}
}

// observer returns a reconciler that observes at the time of rollingShop, and has done so since a time.
func observer(since time.Time) *Reconciler {
	c := clocktesting.NewFakePassiveClock(since)
	r := &Reconciler{rendering: render.Version, clock: c, state: state.New(c)}
	r.state.Leads()
	c.SetTime(time.Unix(100_000, 0))
	return r
}

// clusterCase is a change of a shop that rolls out, and what a rollout sees of cluster a then.
type clusterCase struct {
	change func(*v1.EcommerceApp, *aggregate.Input)
	want   rollout.Cluster
}

func checkClustersOf(t *testing.T, cases map[string]clusterCase) {
	t.Helper()
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app, in := rollingShop()
			tt.change(app, &in)
			got := observer(time.Unix(0, 0)).clustersOf(app, &in)[0]
			got.Since, got.Until = time.Time{}, time.Time{}
			tt.want.Name, tt.want.Region, tt.want.Revision = "a", "eu", 2
			if c := in.Clusters[0]; c.Copy != nil {
				tt.want.Copied = c.Copy.Revision
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got): %s", diff)
			}
		})
	}
}

// TestPauseStopsTheClock checks that the time in which nothing is written does not count.
func TestPauseStopsTheClock(t *testing.T) {
	t.Parallel()
	app, in := rollingShop()
	in.Paused = true
	got := &observation{Input: in}
	if err := observer(time.Unix(0, 0)).decideRollout(t.Context(), app, got); err != nil {
		t.Fatal(err)
	}
	if u := got.Rollout.Updating[0]; u.StartTime != nil || u.ReadyTime != nil || u.ReadySeconds != 3600 || got.Revisions["a"] != 2 {
		t.Errorf("update %+v, revisions %v; want no times, the hour that was observed, and the revisions as they are", u, got.Revisions)
	}
}

// TestApprovalEnds checks that an approval counts until its region has begun, or a later revision is rolled out.
func TestApprovalEnds(t *testing.T) {
	t.Parallel()
	for approval, want := range map[string]bool{"": false, "2/eu": true, "2/us": false, "1/us": true, "1/asia": true, "eu": false} {
		app, _ := rollingShop()
		app.Annotations = map[string]string{v1.ApproveAnnotation: approval}
		if got := approvalEnded(app, true); got != want {
			t.Errorf("%q has ended: %t, want %t", approval, got, want)
		}
	}
	app, _ := rollingShop()
	app.Annotations = map[string]string{v1.ApproveAnnotation: "3/eu"}
	if approvalEnded(app, false) || !approvalEnded(app, true) {
		t.Error("an approval of a later revision has to count until the status is about the present spec, which has another one")
	}
	o := &observation{}
	o.Previous.Rollout = app.Status.Rollout
	o.rollOut(rollout.Request{Revision: 3, Last: app.Status.Rollout, Clusters: []rollout.Cluster{{Name: "a", Revision: 2, Connecting: true}}})
	if o.specAnswered {
		t.Error("an approval ends while a cluster connects, and the spec is not considered")
	}
	o.Rollout, o.specAnswered = &v1.RolloutStatus{Revision: 3}, true
	if observer(time.Unix(0, 0)).endRollout(app, o); app.Annotations[v1.ApproveAnnotation] == "" {
		t.Error("an approval ends before the status says what was decided")
	}
}

// TestAnotherAttempt checks that only the revision of the present spec is rolled out without having been healthy.
func TestAnotherAttempt(t *testing.T) {
	t.Parallel()
	app, _ := rollingShop()
	app.Annotations = map[string]string{v1.RollbackToAnnotation: "2"}
	if got, err := (&Reconciler{}).rollbackTo(t.Context(), app, 2); got != 2 || err != nil {
		t.Errorf("revision %d, error %v; want the one of the spec", got, err)
	}
}

// TestHistoryIsNotWritten checks that a rollout whose history cannot be written keeps the state of its clusters before their
// updates: without it, one that was not ready before would fail.
func TestHistoryIsNotWritten(t *testing.T) {
	t.Parallel()
	app, in := rollingShop()
	last := app.Status.Rollout
	last.Updating[0].Before.Unready = []v1.UnreadyComponent{{Name: "backend", Reason: v1.ReasonCrashLoopBackOff}}
	completed := &v1.RolloutStatus{Revision: last.Revision, State: v1.RolloutComplete, CompletionTime: &in.Now}
	o := &observation{Input: in}
	o.Rollout = completed.DeepCopy()
	o.retryCompletion(last, apierrors.NewServiceUnavailable("no answer"))
	if o.Rollout.State != v1.RolloutProgressing || o.Rollout.CompletionTime != nil || !strings.Contains(o.Rollout.Message, "ServiceUnavailable") {
		t.Errorf("the rollout is %+v", o.Rollout)
	}
	if diff := cmp.Diff(last.Updating, o.Rollout.Updating); diff != "" {
		t.Errorf("updates (-want +got):\n%s", diff)
	}
}
