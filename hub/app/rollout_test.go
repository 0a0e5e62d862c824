package app

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
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
		Updating: []v1.ClusterUpdate{{Name: "a", StartTime: &soaks, ReadyTime: &soaks}},
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
		in.Clusters[i].Database = db.Server()
	}
}

// TestClustersThatAwaitABackup is about what a rollout sees of an upgrade of the database.
func TestClustersThatAwaitABackup(t *testing.T) {
	t.Parallel()
	upgrade := func(app *v1.EcommerceApp, in *aggregate.Input) {
		app.Spec.Database = &v1.Database{Version: "17.3"}
		wants(in, app.Spec.Database)
		app.Status.Backups = []v1.ClusterBackups{{Name: "a", Version: "17.2"}, {Name: "b", Version: "17.2"}}
	}
	app, in := rollingShop()
	upgrade(app, &in)
	if b := clustersOf(app, 2, &in)[1]; !b.Waiting || !b.Ready {
		t.Errorf("%+v is not ready with the earlier revision, or does not wait for a backup", b)
	}
	checkClustersOf(t, map[string]clusterCase{
		"an upgrade in the edit that enables backups": {func(app *v1.EcommerceApp, in *aggregate.Input) {
			app.Spec.Database = &v1.Database{Version: "17.3", Backup: v1.BackupPolicy{Enabled: true}}
			wants(in, app.Spec.Database)
			in.Clusters[0].Copy.Database.DatabaseServer = v1.DatabaseServer{Version: "17.2", Image: "postgres:17.2"}
		}, rollout.Cluster{Waiting: true, Serving: true}},
		"another image waits for a backup": {func(app *v1.EcommerceApp, in *aggregate.Input) {
			upgrade(app, in)
			wants(in, &v1.Database{Version: "17.2", Image: "mirror/postgres:17.3"})
			app.Status.Backups[0].Image = "postgres:17.2"
		}, rollout.Cluster{Waiting: true, Serving: true}},
		"a server that is not known waits for nothing": {func(app *v1.EcommerceApp, in *aggregate.Input) {
			upgrade(app, in)
			wants(in, nil)
		}, rollout.Cluster{Ready: true, Serving: true}},
		"an upgrade waits for a backup": {upgrade, rollout.Cluster{Waiting: true, Serving: true}},
	})
}

// TestClustersOf is about what a rollout sees of cluster a.
func TestClustersOf(t *testing.T) {
	t.Parallel()
	const awaited = "Progressing: waiting for the cluster to reconcile generation 2"
	checkClustersOf(t, map[string]clusterCase{
		"ready": {func(*v1.EcommerceApp, *aggregate.Input) {}, rollout.Cluster{Ready: true, Serving: true}},
		"not ready": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			says(in, v1.ConditionProgressing, v1.ReasonProgressing, false)
		},
			rollout.Cluster{Serving: true, Cause: v1.ReasonProgressing}},
		"needs a user": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			says(in, v1.ConditionStalled, v1.ReasonDeadlineExceeded, false)
		},
			rollout.Cluster{Serving: true, Failure: v1.ReasonDeadlineExceeded, Cause: v1.ReasonDeadlineExceeded}},
		"a volume that cannot grow": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			says(in, v1.ConditionStalled, v1.ReasonStorageNotExpandable, true)
		},
			rollout.Cluster{Ready: true, Serving: true}},
		"the copy has another revision yet": {func(_ *v1.EcommerceApp, in *aggregate.Input) { in.Clusters[0].Copy.Revision = 1 },
			rollout.Cluster{Serving: true, Cause: awaited}},
		"stalled with the revision before": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			says(in, v1.ConditionStalled, v1.ReasonDeadlineExceeded, false)
			in.Clusters[0].Copy.Revision = 1
		}, rollout.Cluster{Serving: true, Cause: awaited}},
		"what is propagated fails": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			in.Clusters[0].Failure = &aggregate.Failure{Reason: v1.ReasonConflict, Propagation: true}
		}, rollout.Cluster{Ready: true, Serving: true}},
		"without replicas": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			in.Shares = map[string]v1.ReplicaShare{"a": {Frontend: new(int32(0)), Backend: new(int32(0))}}
		}, rollout.Cluster{NoReplicas: true, Ready: true, Serving: true}},
		"with replicas of one component": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			in.Shares = map[string]v1.ReplicaShare{"a": {Frontend: new(int32(0)), Backend: new(int32(1))}}
		}, rollout.Cluster{Ready: true, Serving: true}},
		"lost": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			in.Clusters[0].Connection, in.Clusters[0].Copy = aggregate.Lost, nil
		}, rollout.Cluster{SetAside: true, Cause: "ClusterUnreachable: the cluster does not answer"}},
		"connecting": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			in.Clusters[0].Connection, in.Clusters[0].Copy = aggregate.Connecting, nil
		}, rollout.Cluster{SetAside: true, Connecting: true, Cause: "Progressing: waiting for the connection to the cluster"}},
		"paused": {func(_ *v1.EcommerceApp, in *aggregate.Input) { in.Clusters[0].Paused = true }, rollout.Cluster{SetAside: true, Ready: true, Serving: true}},
	})
}

// TestClustersThatScale: a change of the numbers of replicas is no setback of a cluster that was ready.
func TestClustersThatScale(t *testing.T) {
	t.Parallel()
	checkClustersOf(t, map[string]clusterCase{
		"scales while it soaks": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			says(in, v1.ConditionProgressing, v1.ReasonScaling, false)
			in.Clusters[0].Copy.Status.Phase = v1.PhaseScaling
		}, rollout.Cluster{Ready: true, Serving: true, Cause: v1.ReasonScaling}},
		"scales after it has soaked": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			says(in, v1.ConditionProgressing, v1.ReasonScaling, false)
			in.Clusters[0].Copy.Status.Phase = v1.PhaseScaling
			in.Previous.Rollout.Updating = nil
		}, rollout.Cluster{Ready: true, Serving: true, Cause: v1.ReasonScaling}},
		"scales before it is ready": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			says(in, v1.ConditionProgressing, v1.ReasonScaling, false)
			in.Clusters[0].Copy.Status.Phase = v1.PhaseScaling
			in.Previous.Rollout.Updating[0].ReadyTime = nil
		}, rollout.Cluster{Serving: true, Cause: v1.ReasonScaling}},
		"scales while it returns": {func(_ *v1.EcommerceApp, in *aggregate.Input) {
			says(in, v1.ConditionProgressing, v1.ReasonScaling, false)
			in.Clusters[0].Copy.Status.Phase = v1.PhaseScaling
			in.Previous.Rollout.State, in.Previous.Rollout.Updating = v1.RolloutRollingBack, nil
		}, rollout.Cluster{Serving: true, Cause: v1.ReasonScaling}},
	})
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
			got := clustersOf(app, 2, &in)[0]
			tt.want.Name, tt.want.Region, tt.want.Revision = "a", "eu", 2
			if got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// TestNumbersOfAnEarlierRollout: what runs without a number is not the revision that was healthy in a rollout
// that was removed.
func TestNumbersOfAnEarlierRollout(t *testing.T) {
	t.Parallel()
	app, in := rollingShop()
	in.Previous.Rollout = nil
	resolved := revisions.Resolved{Revision: 3, Hash: "h3", Healthy: 1}
	if got := requestOf(app, resolved, &in); got.Healthy != 1 {
		t.Errorf("revision %d was healthy, want 1: clusters have numbers", got.Healthy)
	}
	in.Previous.Clusters = []v1.ClusterStatus{{Name: "a", Region: "eu"}, {Name: "b", Region: "us"}}
	in.Clusters[0].Copy.Revision, in.Clusters[1].Copy.Revision = 0, 0
	if got := requestOf(app, resolved, &in); got.Healthy != 0 {
		t.Errorf("revision %d was healthy, want none: the clusters would go back to it", got.Healthy)
	}
}

// TestPauseStopsTheClock: the time in which nothing is written does not count.
func TestPauseStopsTheClock(t *testing.T) {
	t.Parallel()
	app, in := rollingShop()
	in.Paused = true
	got := &observation{Input: in}
	if err := (&Reconciler{}).planRollout(t.Context(), app, got); err != nil {
		t.Fatal(err)
	}
	if u := got.Rollout.Updating[0]; u.StartTime != nil || u.ReadyTime != nil || got.Revisions["a"] != 2 {
		t.Errorf("update %+v, revisions %v; want no times, and the revisions as they are", u, got.Revisions)
	}
}

// TestApprovalEnds: an approval counts until its region has begun, or a later revision is rolled out.
func TestApprovalEnds(t *testing.T) {
	t.Parallel()
	for approval, want := range map[string]bool{"": false, "2/eu": true, "2/us": false, "1/us": true, "1/asia": true, "3/eu": false, "eu": false} {
		app, _ := rollingShop()
		app.Annotations = map[string]string{v1.ApproveAnnotation: approval}
		if got := approvalEnded(app); got != want {
			t.Errorf("%q has ended: %t, want %t", approval, got, want)
		}
	}
}

// TestAnotherAttempt: only the revision of the present spec is rolled out without having been healthy.
func TestAnotherAttempt(t *testing.T) {
	t.Parallel()
	app, _ := rollingShop()
	app.Annotations = map[string]string{v1.RollbackToAnnotation: "2"}
	if got, err := (&Reconciler{}).rollbackTo(t.Context(), app, 2); got != 2 || err != nil {
		t.Errorf("revision %d, error %v; want the one of the spec", got, err)
	}
}
