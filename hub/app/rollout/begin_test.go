package rollout

import (
	"testing"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func TestBegin(t *testing.T) {
	t.Parallel()
	runDecisions(t, []decisionCase{
		{
			name: "the first revision is given to all clusters", clusters: "eu-1=0,down eu-2=0,down us-1=0,down",
			want: "Progressing 0/3 waiting for eu-1, eu-2, us-1; not serving customers before: eu-1, eu-2, us-1 | eu-1=2(0s, down before) eu-2=2(0s, down before) us-1=2(0s, down before) | until 10m0s",
		}, {
			name: "an edit begins with the first cluster of the first region", last: complete(1), clusters: "ap-1=1 us-1=1 eu-2=1 eu-1=1",
			want: "Progressing eu 0/4 waiting for eu-1, eu-2, us-1, and 1 more | ap-1=1 eu-1=2(0s) eu-2=1 us-1=1 | until 10m0s",
		}, {
			name: "with the first one that has replicas", last: complete(1), clusters: "eu-1=1,empty eu-2=1 us-1=1",
			want: "Progressing eu 0/3 waiting for eu-2, eu-1, us-1 | eu-1=1 eu-2=2(0s) us-1=1 | until 10m0s",
		}, {
			name: "regions that are not ordered follow by name", last: complete(1), clusters: "b-1=1 c-1=1 a-1=1",
			want: "Progressing a 0/3 waiting for a-1, b-1, c-1 | a-1=2(0s) b-1=1 c-1=1 | until 10m0s",
		}, {
			name: "without a state the stored healthy revision counts", clusters: "eu-1=1 eu-2=1", with: func(r *Request) { r.Healthy = 1 },
			want: "Progressing eu 0/2 waiting for eu-1, eu-2 | eu-1=2(0s) eu-2=1 | until 10m0s",
		}, {
			name: "without clusters nothing is known", last: complete(1), clusters: "",
			want: "Progressing 0/0 |",
		}, {
			name: "without a cluster that responds nothing begins", last: complete(1), clusters: "eu-1=1,aside",
			want: "Progressing 0/1 | eu-1=1",
		}, {
			name: "one that is paused, and serves customers, is not the first", last: complete(1), clusters: "eu-1=1,aside us-1=1",
			with: func(r *Request) { r.Clusters[0].Serving = true },
			want: "Progressing us 0/2 waiting for us-1 | eu-1=1 us-1=2(0s) | until 10m0s",
		}, {
			name: "a cluster that is set aside gets the first revision too", clusters: "eu-1=0,aside eu-2=0,down",
			want: "Progressing 0/2 waiting for eu-2; not serving customers before: eu-2 | eu-1=2(never, before not observed) eu-2=2(0s, down before) | until 10m0s",
		},
	})
}

// TestReplacing edits an application while an upgrade of the hub replaces its pods in a cluster.
func TestReplacing(t *testing.T) {
	t.Parallel()
	withLimit := func(r *Request) { r.Spec.MaxConcurrentClusters = 2 }
	runDecisions(t, []decisionCase{
		{
			name: "it counts as an update", last: complete(1), clusters: "eu-1=1 us-1=1,replacing",
			want: "Progressing eu 0/2 waiting for updates that began before: us-1 | eu-1=1 us-1=1",
		}, {
			name: "one of the region counts, too", last: rolling(), clusters: "eu-1=2 us-1=1 us-2=1,replacing us-3=1", with: withLimit,
			want: "Progressing us 1/4 waiting for us-1, us-2, us-3 | eu-1=2 us-1=2(0s) us-2=2(0s) us-3=1 | until 10m0s",
		}, {
			name: "an edit that mends it begins there at once", last: complete(1), clusters: "eu-1=1,replacing us-1=1",
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(0s) us-1=1 | until 10m0s",
		}, {
			name: "one that has the revision already counts once", last: rolling(began("us-1", 3)), clusters: "eu-1=2 us-1=2,replacing us-2=1 us-3=1",
			with: func(r *Request) {
				withLimit(r)
				r.Clusters[1].Unready = []Component{{Name: "frontend", Changing: true}}
			},
			want: "Progressing us 1/4 waiting for us-1, us-2, us-3 | eu-1=2 us-1=2(-3m0s) us-2=2(0s) us-3=1 | until 7m0s",
		}, {
			name: "with All the others do not wait for it", last: complete(1), clusters: "eu-1=1 us-1=1,replacing", with: func(r *Request) { r.Spec.Strategy = v1.RolloutAll },
			want: "Progressing 0/2 waiting for eu-1, us-1 | eu-1=2(0s) us-1=2(0s) | until 10m0s",
		}, {
			name: "a rollback does not wait for it", last: rolling(began("eu-1", 3)), clusters: "eu-1=2,failed us-1=1,replacing",
			want: "RollingBack 0/2 eu-1: ProgressDeadlineExceeded | eu-1=1(0s) us-1=1",
		}, {
			name: "nor does an edit back to the healthy revision", last: rolling(began("us-1", 3)), clusters: "eu-1=2 us-1=2,replacing",
			with: func(r *Request) { r.Revision = 1 },
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=1(0s) us-1=1(0s) | until 10m0s",
		},
	})
}

func TestSupersede(t *testing.T) {
	t.Parallel()
	runDecisions(t, []decisionCase{
		{
			name: "an edit supersedes the rollout in progress", last: rolling(began("eu-1", 3)), clusters: "eu-1=2,updating eu-2=1",
			with: func(r *Request) { r.Revision = 3 },
			want: "Progressing eu 0/2 waiting for eu-1, eu-2 | eu-1=3(0s) eu-2=1 | until 10m0s",
		}, {
			name: "an update that is superseded counts until it is ready", last: rolling(began("us-1", 3)), clusters: "eu-1=2 eu-2=2 us-1=2,updating us-2=1",
			with: func(r *Request) { r.Revision = 3 },
			want: "Progressing eu 0/4 waiting for updates that began before: us-1 | eu-1=2 eu-2=2 us-1=2 us-2=1 | superseded us-1(never)",
		}, {
			name: "one that gets what was healthy is none", last: rolling(), clusters: "eu-1=2 eu-2=1 us-1=1,updating",
			want: "Progressing eu 1/3 waiting for eu-2, us-1 | eu-1=2 eu-2=2(0s) us-1=1 | until 10m0s",
		}, {
			name: "or fails", last: rolling(began("us-1", 3)), clusters: "eu-1=2 us-1=2,failed us-2=1",
			with: func(r *Request) { r.Revision = 3 },
			want: "Progressing eu 0/3 waiting for eu-1, us-1, us-2; not ready before: us-1 | eu-1=3(0s) us-1=2 us-2=1 | superseded us-1(never) | until 10m0s",
		}, {
			name: "an edit back to the healthy revision is a rollback", last: rolling(began("us-1", 3)), clusters: "eu-1=2 eu-2=2 us-1=2,updating us-2=1",
			with: func(r *Request) { r.Revision = 1 },
			want: "Progressing eu 1/4 waiting for eu-1, eu-2, us-1 | eu-1=1(0s) eu-2=1(0s) us-1=1(0s) us-2=1 | until 10m0s",
		}, {
			name: "an edit back to a revision that was superseded proves it again", last: rolling(began("us-1", 3)), clusters: "eu-1=3 eu-2=3,down us-1=2,updating us-2=1",
			with: func(r *Request) { r.Revision = 3 },
			want: "Progressing eu 0/4 waiting for eu-1, eu-2, us-1, and 1 more | eu-1=3(ready 0s, before unknown) eu-2=3(0s, before unknown) us-1=2 us-2=1 | superseded us-1(never) | until 1m0s",
		}, {
			name: "it may have failed already", last: rolling(began("us-1", 3)), clusters: "eu-1=3,failed us-1=2,updating",
			with: func(r *Request) { r.Revision = 3; r.Last.Superseded = superseded("eu-1") },
			want: "RollingBack 0/2 eu-1: ProgressDeadlineExceeded | eu-1=1(0s) us-1=1(0s)",
		}, {
			name: "so does a hub whose state was lost", clusters: "eu-1=2 eu-2=1", with: func(r *Request) { r.Healthy = 1 },
			want: "Progressing eu 0/2 waiting for eu-1, eu-2 | eu-1=2(ready 0s, before unknown) eu-2=1 | until 1m0s",
		}, {
			name: "an edit after a rollback begins anew", last: inState(v1.RolloutRolledBack), clusters: "eu-1=1 eu-2=1",
			with: func(r *Request) { r.Revision = 3 },
			want: "Progressing eu 0/2 waiting for eu-1, eu-2 | eu-1=3(0s) eu-2=1 | until 10m0s",
		}, {
			name: "an edit during a rollback begins with one that serves", last: inState(v1.RolloutRollingBack), clusters: "eu-1=1 eu-2=1,down",
			with: func(r *Request) { r.Revision = 3 },
			want: "Progressing eu 0/2 waiting for eu-1, eu-2; not serving customers before: eu-2 | eu-1=3(0s) eu-2=1 | until 10m0s",
		}, {
			name: "while no revision was healthy those that serve are protected", last: first(began("us-1", 3)), clusters: "eu-1=2 eu-2=2,aside us-1=2,down",
			with: func(r *Request) { r.Revision = 3 },
			want: "Progressing eu 0/3 waiting for eu-1, us-1 | eu-1=2 eu-2=2 us-1=3(0s) | until 10m0s",
		}, {
			name: "so they are without any state", clusters: "eu-1=1 eu-2=1",
			want: "Progressing eu 0/2 waiting for eu-1, eu-2 | eu-1=2(0s) eu-2=1 | until 10m0s",
		},
	})
}

func TestAdvance(t *testing.T) {
	t.Parallel()
	most := func(n int32) func(*Request) { return func(r *Request) { r.Spec.MaxConcurrentClusters = n } }
	runDecisions(t, []decisionCase{
		{
			name: "a cluster that is ready soaks", last: rolling(began("eu-1", 3)), clusters: "eu-1=2 eu-2=1",
			want: "Progressing eu 0/2 waiting for eu-1, eu-2 | eu-1=2(ready 0s) eu-2=1 | until 1m0s",
		}, {
			name: "the next one begins when it has soaked", last: rolling(ready("eu-1", 60)), clusters: "eu-1=2 eu-2=1",
			want: "Progressing eu 1/2 waiting for eu-2 | eu-1=2 eu-2=2(0s) | until 10m0s",
		}, {
			name: "and not a second before", last: rolling(ready("eu-1", 59)), clusters: "eu-1=2 eu-2=1",
			want: "Progressing eu 0/2 waiting for eu-1, eu-2 | eu-1=2(ready -59s) eu-2=1 | until 1s",
		}, {
			name: "without a soak time the next one begins at once", last: rolling(began("eu-1", 3)), clusters: "eu-1=2 eu-2=1",
			with: func(r *Request) { r.Spec.Soak = seconds(0) },
			want: "Progressing eu 1/2 waiting for eu-2 | eu-1=2 eu-2=2(0s) | until 10m0s",
		}, {
			name: "the first cluster comes alone", last: complete(1), clusters: "eu-1=1 eu-2=1 eu-3=1", with: most(3),
			want: "Progressing eu 0/3 waiting for eu-1, eu-2, eu-3 | eu-1=2(0s) eu-2=1 eu-3=1 | until 10m0s",
		}, {
			name: "then as many as allowed", last: rolling(), clusters: "eu-1=2 eu-2=1 eu-3=1 eu-4=1", with: most(2),
			want: "Progressing eu 1/4 waiting for eu-2, eu-3, eu-4 | eu-1=2 eu-2=2(0s) eu-3=2(0s) eu-4=1 | until 10m0s",
		}, {
			name: "also the first one that has replicas, in a later region", last: rolling(), clusters: "eu-1=2,empty us-1=1 us-2=1", with: most(3),
			want: "Progressing us 1/3 waiting for us-1, us-2 | eu-1=2 us-1=2(0s) us-2=1 | until 10m0s",
		}, {
			name: "the next region waits for the last cluster of the first", last: rolling(ready("eu-2", 30)), clusters: "eu-1=2 eu-2=2 us-1=1", with: most(5),
			want: "Progressing eu 1/3 waiting for eu-2, us-1 | eu-1=2 eu-2=2(ready -30s) us-1=1 | until 30s",
		}, {
			name: "a cluster that does not serve takes the place of one", last: rolling(), clusters: "eu-1=2 eu-2=2,down eu-3=1 eu-4=1 us-1=1", with: most(2),
			want: "Progressing eu 1/5 waiting for eu-2, eu-3, eu-4, and 1 more | eu-1=2 eu-2=2(0s, 1 setbacks) eu-3=2(0s) eu-4=1 us-1=1 | until 10m0s",
		}, {
			name: "nothing begins while a cluster with the revision does not serve", last: rolling(), clusters: "eu-1=2,down eu-2=1",
			want: "Progressing eu 0/2 waiting for eu-1, eu-2 | eu-1=2(0s, 1 setbacks) eu-2=1 | until 10m0s",
		}, {
			name: "nor while it serves and is not ready any more", last: rolling(), clusters: "eu-1=2,updating us-1=1",
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(0s, 1 setbacks) us-1=1 | until 10m0s",
		}, {
			name: "a cluster that does not serve gets a revision that is proven, outside of the limits", last: rolling(), clusters: "eu-1=2 eu-2=1 eu-3=1,down",
			want: "Progressing eu 1/3 waiting for eu-2, eu-3; not serving customers before: eu-3 | eu-1=2 eu-2=2(0s) eu-3=2(0s, down before) | until 10m0s",
		}, {
			name: "before that it is neither busy nor the first", last: complete(1), clusters: "eu-1=1 us-1=1,down us-2=1,down",
			want: "Progressing eu 0/3 waiting for eu-1, us-1, us-2; not serving customers before: us-1, us-2 | eu-1=2(0s) us-1=1 us-2=1 | until 10m0s",
		}, {
			name: "nor does one wait for another", last: rolling(ready("us-1", 60)), clusters: "eu-1=1 us-1=2 us-2=1,down",
			want: "Progressing eu 1/3 waiting for eu-1, us-2; not serving customers before: us-2 | eu-1=2(0s) us-1=2 us-2=2(0s, down before) | until 10m0s",
		},
	})
}

func TestAll(t *testing.T) {
	t.Parallel()
	all := func(n int32) func(*Request) {
		return func(r *Request) { r.Spec.Strategy, r.Spec.MaxConcurrentClusters = v1.RolloutAll, n }
	}
	runDecisions(t, []decisionCase{
		{
			name: "with All every cluster begins", last: complete(1), clusters: "eu-1=1 eu-2=1,down us-1=1", with: all(0),
			want: "Progressing 0/3 waiting for eu-1, eu-2, us-1; not serving customers before: eu-2 | eu-1=2(0s) eu-2=2(0s, down before) us-1=2(0s) | until 10m0s",
		}, {
			name: "with All also one in which something is not ready", last: complete(1), clusters: "eu-1=1 us-1=1", with: func(r *Request) {
				all(0)(r)
				not(Component{Name: "backend", Reason: v1.ReasonWaitingForReplicas})(r)
			},
			want: "Progressing 0/2 waiting for eu-1, us-1; not ready before: eu-1 | eu-1=2(0s, before [{backend WaitingForReplicas}]) us-1=2(0s) | until 10m0s",
		}, {
			name: "with All and a bound as many as allowed", last: complete(1), clusters: "eu-1=1 us-1=1 us-2=1", with: all(2),
			want: "Progressing 0/3 waiting for eu-1, us-1, us-2 | eu-1=2(0s) us-1=2(0s) us-2=1 | until 10m0s",
		}, {
			name: "with All and a bound a region that is blocked does not hold up others", last: complete(2), clusters: "eu-1=2 us-1=1,updating",
			with: func(r *Request) { all(1)(r); r.Revision = 3 },
			want: "Progressing 0/2 waiting for eu-1, us-1 | eu-1=2 us-1=3(0s) | until 10m0s",
		},
	})
}

func TestComplete(t *testing.T) {
	t.Parallel()
	runDecisions(t, []decisionCase{
		{
			name: "the last cluster completes the rollout", last: rolling(ready("us-1", 60)), clusters: "eu-1=2 us-1=2",
			want: "Complete 2/2 | eu-1=2 us-1=2 | completed 0s",
		}, {
			name: "it waits until all are ready at a time", last: rolling(ready("us-1", 60)), clusters: "eu-1=2,updating us-1=2",
			want: "Progressing eu 1/2 waiting for eu-1 | eu-1=2(0s, 1 setbacks) us-1=2 | until 10m0s",
		}, {
			name: "those that come after it are not alone, also where those that proved it have left", last: complete(2), clusters: "us-1=1 us-2=1",
			with: func(r *Request) { r.Spec.MaxConcurrentClusters = 2 },
			want: "Progressing us 0/2 waiting for us-1, us-2 | us-1=2(0s) us-2=2(0s) | completed -1h0m0s | until 10m0s",
		}, {
			name: "those that are set aside do not delay the completion", last: rolling(ready("us-1", 60)), clusters: "eu-1=1,aside us-1=2",
			want: "Complete 1/2 | eu-1=1 us-1=2 | completed 0s",
		},
	})
}

// TestSpecHash checks that the hash is that of the spec, also if the revision is the same.
func TestSpecHash(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]*v1.RolloutStatus{"first": nil, "edited": complete(1), "the same": complete(2), "rolled back": inState(v1.RolloutRolledBack)} {
		d, err := Next(Request{Revision: 2, Hash: "new", Last: last, Now: start()})
		if err != nil || d.Status.SpecHash != "new" || d.Status.Revision != 2 {
			t.Errorf("%s: %v, %+v", name, err, d.Status)
		}
	}
}

// TestBeginDown is about clusters that serve no customers when they begin, and data that is copied then.
func TestBeginDown(t *testing.T) {
	t.Parallel()
	justNow := func(r *Request) { r.Clusters[len(r.Clusters)-1].DownSince = r.Now.Add(-time.Minute) }
	runDecisions(t, []decisionCase{
		{
			name: "one that ceased just now has its turn", last: rolling(), clusters: "eu-1=2 us-1=1 us-2=1,down", with: justNow,
			want: "Progressing us 1/3 waiting for us-1, us-2; not serving customers before: us-2 | eu-1=2 us-1=2(0s) us-2=1 | until 9m0s",
		}, {
			name: "with All it begins", last: complete(1), clusters: "us-1=1 us-2=1,down",
			with: func(r *Request) { justNow(r); r.Spec.Strategy = v1.RolloutAll },
			want: "Progressing 0/2 waiting for us-1, us-2; not serving customers before: us-2 | us-1=2(0s) us-2=2(0s, down before) | until 10m0s",
		}, {
			name: "where none serves one tries it at once", last: complete(1), clusters: "us-1=1,down us-2=1,down",
			with: func(r *Request) { justNow(r); r.Clusters[0].DownSince = r.Clusters[1].DownSince },
			want: "Progressing 0/2 waiting for us-1, us-2; not serving customers before: us-1, us-2 | us-1=2(0s, down before) us-2=1 | until 10m0s",
		}, {
			name: "its time does not count while it waits for a backup", last: rolling(), clusters: "eu-1=2 us-1=1,down",
			with: func(r *Request) { r.Clusters[1].Waiting = true },
			want: "Progressing 1/2 waiting for us-1; not serving customers before: us-1 | eu-1=2 us-1=2(never, down before)",
		}, {
			name: "nor while data is copied", last: complete(1), clusters: "eu-1=1",
			with: not(Component{Name: "database", Reason: v1.ReasonCopyingData, Copying: true, Growing: true}),
			want: "Progressing eu 0/1 waiting for eu-1 | eu-1=2(never)",
		},
	})
}
