package rollout

import (
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func TestNewClusters(t *testing.T) {
	t.Parallel()
	runDecisions(t, []decisionCase{
		{
			name: "during a rollout it begins with what was healthy", last: rolling(began("eu-1", 3)), clusters: "eu-1=2,updating eu-2=0,down",
			want: "Progressing eu 0/2 waiting for eu-1, eu-2; not serving customers before: eu-2 | eu-1=2(-3m0s) eu-2=1 | until 7m0s",
		}, {
			name: "if no other serves, it gets the revision at once", last: rolling(), clusters: "eu-1=0,down",
			want: "Progressing 0/1 waiting for eu-1; not serving customers before: eu-1 | eu-1=2(0s, down before) | until 10m0s",
		}, {
			name: "in the step of an edit it is not the first", last: complete(1), clusters: "eu-1=1 us-1=0,down",
			want: "Progressing eu 0/2 waiting for eu-1, us-1; not serving customers before: us-1 | eu-1=2(0s) us-1=1 | until 10m0s",
		}, {
			name: "nor is one that has what the others had", last: rolling(), clusters: "ap-1=1,down eu-1=1",
			with: func(r *Request) { r.Spec.Order = []string{"ap"} },
			want: "Progressing eu 0/2 waiting for ap-1, eu-1; not serving customers before: ap-1 | ap-1=1 eu-1=2(0s) | until 10m0s",
		}, {
			name: "after the rollout it gets the revision at once", last: complete(2), clusters: "eu-1=2 eu-2=0,down",
			want: "Complete 2/2 | eu-1=2 eu-2=2 | completed -1h0m0s",
		}, {
			name: "during the first rollout it gets the revision", last: first(began("eu-1", 3)), clusters: "eu-1=2,updating eu-2=0,down",
			want: "Progressing eu 0/2 waiting for eu-1, eu-2; not serving customers before: eu-2 | eu-1=2(-3m0s) eu-2=2(0s, down before) | until 7m0s",
		}, {
			name: "while the clusters return it gets the healthy revision", last: returning(), clusters: "eu-1=2 eu-2=0,down",
			want: "Progressing 1/2 waiting for eu-2; not serving customers before: eu-2 | eu-1=2 eu-2=2(0s, down before) | until 10m0s",
		}, {
			name: "after a rollback to an earlier revision it gets that", last: rolledBackAfterCompletion(), clusters: "eu-1=1 eu-2=0,down",
			want: "RolledBack 0/2 | eu-1=1 eu-2=1 | completed -1h0m0s",
		},
	})
}

// TestCopiesWithoutARevision checks that a copy from before the application had a rollout counts as one of no
// revision.
func TestCopiesWithoutARevision(t *testing.T) {
	t.Parallel()
	noSoak := func(r *Request) { r.Spec.Soak = seconds(0) }
	runDecisions(t, []decisionCase{
		{
			name: "it does not prove the first one", clusters: "eu-1=0,copied us-1=0,copied", with: noSoak,
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(0s) us-1=2(0s) | until 10m0s",
		}, {
			name: "nor is it of one that was healthy in a rollout that was removed", clusters: "eu-1=0,copied us-1=0,copied", with: func(r *Request) { r.Healthy = 1 },
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(0s) us-1=2(0s) | until 10m0s",
		}, {
			name: "nor one that follows", last: rolling(), clusters: "eu-1=2 eu-2=0,copied us-1=1", with: noSoak,
			want: "Progressing eu 1/3 waiting for eu-2, us-1 | eu-1=2 eu-2=2(0s) us-1=1 | until 10m0s",
		}, {
			name: "nor completes a rollback", last: inState(v1.RolloutRollingBack), clusters: "eu-1=1 us-1=0,copied",
			want: "RollingBack 0/2 | eu-1=1 us-1=1(0s)",
		}, {
			name: "but it may serve as before", last: complete(2), clusters: "eu-1=0,copied",
			want: "Complete 1/1 | eu-1=2 | completed -1h0m0s",
		},
	})
}

// rolledBackAfterCompletion returns the state after a user asked for revision 1 long after revision 2 was
// complete.
func rolledBackAfterCompletion() *v1.RolloutStatus {
	s := complete(2)
	s.State = v1.RolloutRolledBack
	return s
}

// TestIsSuperseded checks that an update to a revision of an earlier rollout counts while customers are served and it
// goes on.
func TestIsSuperseded(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*progress){
		"":                           func(*progress) {},
		"it has what was healthy":    func(c *progress) { c.next = 1 },
		"it has that of the spec":    func(c *progress) { c.next = 3 },
		"it does not respond":        func(c *progress) { c.SetAside = true },
		"it serves no customers":     func(c *progress) { c.Serving = false },
		"it has it":                  func(c *progress) { c.Settled = true },
		"its copy cannot be written": func(c *progress) { c.Failure = v1.ReasonForbidden },
	} {
		p := &planner{status: v1.RolloutStatus{Revision: 3, PreviousRevision: 1}}
		c := &progress{Cluster: Cluster{Serving: true}, next: 2}
		if change(c); p.isSuperseded(c) != (name == "") {
			t.Errorf("it counts where %q", name)
		}
	}
}

func TestClustersThatLeave(t *testing.T) {
	t.Parallel()
	completed := rolling(v1.ClusterUpdate{Name: "eu-1"})
	completed.CompletionTime = minutes(-60)
	runDecisions(t, []decisionCase{
		{
			name: "the next one begins in the place of one that is removed", last: rolling(began("eu-1", 3)), clusters: "eu-2=1 eu-3=1",
			want: "Progressing eu 0/2 waiting for eu-2, eu-3 | eu-2=2(0s) eu-3=1 | until 10m0s",
		}, {
			name: "the removal of the last one completes the rollout", last: rolling(began("eu-2", 3)), clusters: "eu-1=2",
			want: "Complete 1/1 | eu-1=2 | completed 0s",
		}, {
			name: "the removal of a failed one ends the failure", last: inPause(began("eu-2", 3)), clusters: "eu-1=2 eu-3=1",
			want: "Progressing eu 1/2 waiting for eu-3 | eu-1=2 eu-3=2(0s) | until 10m0s",
		}, {
			name: "one that is set aside during its update does not count", last: rolling(ready("eu-1", 30)), clusters: "eu-1=2,aside eu-2=1 eu-3=1",
			want: "Progressing eu 0/3 waiting for eu-2, eu-3 | eu-1=2(never) eu-2=2(0s) eu-3=1 | until 10m0s",
		}, {
			name: "one that is back waits for those in progress", last: rolling(began("us-1", 3)), clusters: "eu-1=2 eu-2=1 us-1=2,updating",
			want: "Progressing eu 1/3 waiting for eu-2, us-1 | eu-1=2 eu-2=1 us-1=2(-3m0s) | until 7m0s",
		}, {
			name: "one that is back after the completion catches up", last: completed, clusters: "eu-1=2 eu-2=2",
			want: "Progressing eu 1/2 waiting for eu-1 | eu-1=2(ready 0s, before unknown) eu-2=2 | completed -1h0m0s | until 1m0s",
		}, {
			name: "the loss of all does not undo the completion", last: complete(2), clusters: "eu-1=2,aside",
			want: "Complete 1/1 | eu-1=2 | completed -1h0m0s",
		}, {
			name: "neither does the removal of all", last: complete(2), clusters: "",
			want: "Complete 0/0 | | completed -1h0m0s",
		},
	})
}

func TestClustersThatWaitForABackup(t *testing.T) {
	t.Parallel()
	failed := func(r *Request) { r.Clusters[0].Failure = "CrashLoopBackOff" }
	runDecisions(t, []decisionCase{
		{
			name: "they do not begin", last: rolling(), clusters: "eu-1=1,backup us-1=1",
			want: "Progressing eu 0/2 waiting for a backup, or for a server to start, before the upgrade of the database: eu-1 | eu-1=1 us-1=1",
		}, {
			name: "others of the region do", last: rolling(), clusters: "eu-1=1,backup eu-2=1",
			want: "Progressing eu 0/2 waiting for eu-1, eu-2 | eu-1=1 eu-2=2(0s) | until 10m0s",
		}, {
			name: "all regions at once", last: rolling(), clusters: "eu-1=1,backup us-1=1", with: func(r *Request) { r.Spec.Strategy = v1.RolloutAll },
			want: "Progressing 0/2 waiting for eu-1, us-1 | eu-1=1 us-1=2(0s) | until 10m0s",
		}, {
			name: "out of turn their time does not count", last: rolling(began("eu-1", 11)), clusters: "eu-1=2,backup us-1=1",
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(never after 660s) us-1=1",
		}, {
			name: "and their failures do", last: rolling(began("eu-1", 11)), clusters: "eu-1=2,backup us-1=1", with: failed,
			want: "RollingBack 0/2 eu-1: CrashLoopBackOff | eu-1=1(0s) us-1=1",
		},
	})
}
