package rollout

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// tooEarly says why a database cannot follow.
const tooEarly = "the version must be 8.4 before it can be 9"

// addRefusals adds that a cluster cannot follow the revision of the spec, and that it refused the one that it was given.
func (f *fleet) addRefusals(c *toy, seen *Cluster) {
	if c.has != f.request.Revision && conductOf(f.conduct(c.name, f.request.Revision))(0).refuses {
		seen.Refused = tooEarly
	}
	if c.refused {
		seen.Stalled, seen.Failure = v1.ReasonUpgradeRefused, v1.ReasonUpgradeRefused+": "+tooEarly
	}
}

// TestRefuses checks clusters that are known to be unable to follow before they begin.
func TestRefuses(t *testing.T) {
	t.Parallel()
	runDecisions(t, []decisionCase{
		{
			name: "it does not begin, and others need not wait for it", last: rolling(), clusters: "eu-1=1,refuses eu-2=1",
			want: "Progressing eu 0/2 waiting for eu-2; left behind: eu-1 | eu-1=1 eu-2=2(0s) | refused eu-1 | until 10m0s",
		}, {
			name: "nor all regions at once", last: rolling(), clusters: "eu-1=1,refuses us-1=1", with: func(r *Request) { r.Spec.Strategy = v1.RolloutAll },
			want: "Progressing 0/2 waiting for us-1; left behind: eu-1 | eu-1=1 us-1=2(0s) | refused eu-1 | until 10m0s",
		}, {
			name: "nor while the spec returns to what was healthy", last: rolling(), clusters: "eu-1=2,refuses us-1=2", with: func(r *Request) { r.Revision = 1 },
			want: "Progressing us 0/2 waiting for us-1; left behind: eu-1 | eu-1=2 us-1=1(0s) | refused eu-1 | until 10m0s",
		}, {
			name: "nor where customers are not served", last: rolling(), clusters: "eu-1=2 us-1=1,refuses", with: func(r *Request) { r.Clusters[1].Serving = false },
			want: "Complete 1/2 left behind: us-1 | eu-1=2 us-1=1 | refused us-1 | completed 0s",
		}, {
			name: "the next one that does not serve them tries the revision", last: rolling(), clusters: "eu-1=1,refuses us-1=1,down", with: func(r *Request) { r.Clusters[0].Serving = false },
			want: "Progressing 0/2 waiting for us-1; not serving customers before: us-1; left behind: eu-1 | eu-1=1 us-1=2(0s, down before) | refused eu-1 | until 10m0s",
		}, {
			name: "where all refuse it, it fails", last: rolling(), clusters: "eu-1=1,refuses us-1=1,refuses",
			want: "Failed 0/2 eu-1: UpgradeRefused: the version must be 8.4 before it can be 9; left behind: eu-1, us-1 | eu-1=1 us-1=1 | refused eu-1 us-1",
		}, {
			name: "when it could follow after the completion it waits for its turn", last: complete(2), clusters: "eu-1=2 us-1=1 us-2=1",
			want: "Progressing us 1/3 waiting for us-1, us-2 | eu-1=2 us-1=2(0s) us-2=1 | completed -1h0m0s | until 10m0s",
		}, {
			name: "and for the end of a pause", last: complete(2), clusters: "eu-1=2 us-1=1", with: func(r *Request) { r.Paused = true },
			want: "Paused us 1/2 paused by the annotation ecommerce.io/rollout-paused | eu-1=2 us-1=1 | completed -1h0m0s",
		}, {
			name: "one in a member that is paused is not judged", last: rolling(), clusters: "eu-1=2 us-1=1,refuses", with: func(r *Request) { r.Clusters[1].SetAside = true },
			want: "Complete 1/2 | eu-1=2 us-1=1 | completed 0s",
		}, {
			name: "a rollback does not ask for it", last: inState(v1.RolloutRolledBack), clusters: "eu-1=1,refuses",
			want: "RolledBack 0/1 | eu-1=1",
		}, {
			name: "while one is about to be observed it stays refused", last: complete(2), clusters: "eu-1=1,refuses us-1=2,aside", with: func(r *Request) { r.Clusters[1].Connecting = true },
			want: "Complete 0/0 | eu-1=1 us-1=2 | refused eu-1 | completed -1h0m0s",
		},
	})
}

// TestRefused checks clusters whose data is of a server from which that of the revision cannot upgrade.
func TestRefused(t *testing.T) {
	t.Parallel()
	runDecisions(t, []decisionCase{
		{
			name: "the next one proves the revision", last: rolling(began("eu-1", 3)), clusters: "eu-1=2,refused eu-2=1 eu-3=1",
			with: func(r *Request) { r.Spec.MaxConcurrentClusters = 2 },
			want: "Progressing eu 0/3 waiting for eu-2, eu-3; left behind: eu-1 | eu-1=2(never after 180s) eu-2=2(0s) eu-3=1 | until 10m0s",
		}, {
			name: "the hub withdraws the order of a cluster that cannot follow the spec, and what it was like before", last: rolling(began("eu-1", 3)), clusters: "eu-1=2,refused eu-2=1",
			with: func(r *Request) { r.Clusters[0].Copied, r.Clusters[0].Refused = 1, tooEarly },
			want: "Progressing eu 0/2 waiting for eu-2; left behind: eu-1 | eu-1=1 eu-2=2(0s) | refused eu-1 | until 10m0s",
		}, {
			name: "the others complete it", last: rolling(ready("us-1", 60), began("us-2", 3)), clusters: "eu-1=2 us-1=2 us-2=2,refused",
			want: "Complete 2/3 left behind: us-2 | eu-1=2 us-1=2 us-2=2(never after 180s) | completed 0s",
		}, {
			name: "also of one that was refused before", last: rolling(was(3, v1.ClusterBefore{Serving: true, Stalled: v1.ReasonUpgradeRefused})), clusters: "eu-1=2,refused us-1=2",
			want: "Complete 1/2 left behind: eu-1 | eu-1=2(never after 180s, before UpgradeRefused[]) us-1=2 | completed 0s",
		}, {
			name: "where no cluster gets it, it fails", last: rolling(began("eu-1", 3)), clusters: "eu-1=2,refused",
			want: "Failed 0/1 eu-1: UpgradeRefused: the version must be 8.4 before it can be 9; left behind: eu-1 | eu-1=2(never after 180s)",
		}, {
			name: "one that is back after the completion", last: complete(2), clusters: "eu-1=2 us-1=1", with: func(r *Request) {
				r.Last.Updating, r.Clusters[1] = []v1.ClusterUpdate{began("us-1", 60)}, clustersOf(t, "us-1=2,refused")[0]
			},
			want: "Complete 1/2 left behind: us-1 | eu-1=2 us-1=2(never after 3600s) | completed -1h0m0s",
		}, {
			name: "a rollback ends without one that refuses what it returns to", last: inState(v1.RolloutRollingBack), clusters: "eu-1=1 us-1=1,refused",
			with: func(r *Request) { r.Last.Updating = []v1.ClusterUpdate{began("us-1", 1)} },
			want: "RolledBack 0/2 | eu-1=1 us-1=1",
		}, {
			name: "a withdrawn order leaves what was before an earlier update", last: rolling(began("eu-1", 3)), clusters: "eu-1=2,refused eu-2=1",
			with: func(r *Request) {
				r.Clusters[0].Copied, r.Clusters[0].Refused = 1, tooEarly
				r.Last.Superseded = superseded("eu-1")
			},
			want: "Progressing eu 0/2 waiting for eu-2; left behind: eu-1 | eu-1=1 eu-2=2(0s) | superseded eu-1(never) | refused eu-1 | until 10m0s",
		}, {
			name: "a rollback does not withdraw an order", last: inState(v1.RolloutRollingBack), clusters: "eu-1=3 us-1=3,refused", with: func(r *Request) {
				r.Revision, r.Last.Revision, r.Last.PreviousRevision = 4, 4, 3
				r.Last.Updating = []v1.ClusterUpdate{began("us-1", 1)}
				r.Clusters[1].Copied, r.Clusters[1].Refused = 1, tooEarly
			},
			want: "RolledBack 0/2 | eu-1=3 us-1=3",
		}, {
			name: "but not before that is tried", last: inState(v1.RolloutRollingBack), clusters: "eu-1=1 us-1=2,refused",
			want: "RollingBack 0/2 | eu-1=1 us-1=1(0s)",
		},
	})
}

// TestLeftBehindWhileAway checks that a cluster stays left behind while it is not observed, until it has another order.
func TestLeftBehindWhileAway(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		revision int64
		clusters string
		want     []string
	}{
		"not observed":        {2, "eu-1=2,aside us-1=2", []string{"eu-1"}},
		"back, and as before": {2, "eu-1=2,refused us-1=2", []string{"eu-1"}},
		"the next revision":   {3, "eu-1=2,aside us-1=2", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Request{Revision: tt.revision, Hash: "hash", Last: complete(2), Clusters: clustersOf(t, tt.clusters), Now: start()}
			r.Last.Updating, r.Last.LeftBehind = []v1.ClusterUpdate{began("eu-1", 60)}, []string{"eu-1"}
			d, err := Next(r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, d.Status.LeftBehind); diff != "" {
				t.Errorf("left behind (-want +got): %s", diff)
			}
		})
	}
}
