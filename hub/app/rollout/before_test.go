package rollout

import (
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestUnknownBefore checks that nothing is known of a cluster before its update if it has the revision when it is
// first observed. It neither fails nor is excused.
func TestUnknownBefore(t *testing.T) {
	t.Parallel()
	unknown := func(ago int) v1.ClusterUpdate { return was(ago, v1.ClusterBefore{Unknown: true}) }
	lost := func(r *Request) { r.Healthy = 1 }
	earlier := v1.ClusterUpdate{Name: "eu-1", StartTime: minutes(-3)}
	runDecisions(t, []decisionCase{
		{
			name: "the status was lost, and it is healthy", clusters: "eu-1=2 us-1=1", with: lost,
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(ready 0s, before unknown) us-1=1 | until 1m0s",
		}, {
			name: "or not", clusters: "eu-1=2,down us-1=1", with: lost,
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(0s, before unknown) us-1=1 | until 10m0s",
		}, {
			name: "others wait for it", last: rolling(unknown(3)), clusters: "eu-1=2,updating eu-2=1", with: func(r *Request) { r.Spec.MaxConcurrentClusters = 1 },
			want: "Progressing eu 0/2 waiting for eu-1, eu-2 | eu-1=2(-3m0s, before unknown) eu-2=1 | until 7m0s",
		}, {
			name: "until the deadline, and then one tries it alone", last: rolling(unknown(10)), clusters: "eu-1=2,down eu-2=1 eu-3=1", with: func(r *Request) { r.Spec.MaxConcurrentClusters = 2 },
			want: "Progressing eu 0/3 waiting for eu-2, eu-3; left behind: eu-1 | eu-1=2(0s after 600s, before unknown) eu-2=2(0s) eu-3=1 | until 10m0s",
		}, {
			name: "or until it needs a user", last: rolling(unknown(3)), clusters: "eu-1=2,failed eu-2=1",
			want: "Progressing eu 0/2 waiting for eu-2; left behind: eu-1 | eu-1=2(-3m0s, before unknown) eu-2=2(0s) | until 10m0s",
		}, {
			name: "if no cluster is healthy, nothing is known of the revision", last: rolling(unknown(10)), clusters: "eu-1=2,updating",
			want: "Failed 0/1 eu-1: it is not ready within spec.rollout.progressDeadline; left behind: eu-1 | eu-1=2(0s after 600s, before unknown)",
		}, {
			name: "a component that is not ready is not excused", last: rolling(unknown(3)), clusters: "eu-1=2 eu-2=1", with: not(Component{Name: "monitoring", Reason: v1.ReasonWaitingForReplicas}),
			want: "Progressing eu 0/2 waiting for eu-1, eu-2 | eu-1=2(-3m0s, before unknown) eu-2=1 | until 7m0s",
		}, {
			name: "one in which all are ready is a proof", last: rolling(was(3, v1.ClusterBefore{Unknown: true})), clusters: "eu-1=2 eu-2=1 eu-3=1 eu-4=1",
			with: func(r *Request) {
				r.Spec.MaxConcurrentClusters, r.Last.Updating[0].StartTime, r.Last.Updating[0].ReadyTime = 2, nil, minutes(-1)
			},
			want: "Progressing eu 1/4 waiting for eu-2, eu-3, eu-4 | eu-1=2 eu-2=2(0s) eu-3=2(0s) eu-4=1 | until 10m0s",
		}, {
			name: "it does not wait for a backup at the cost of its deadline", last: rolling(unknown(30)), clusters: "eu-1=2,backup us-1=1",
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(never after 1800s, before unknown) us-1=1",
		}, {
			name: "a rollback gives it the revision before, and does not wait for more", last: rolling(unknown(3)), clusters: "eu-1=2,updating eu-2=1", with: func(r *Request) { r.RollbackTo = 1 },
			want: "RollingBack 0/2 requested by the annotation ecommerce.io/rollback-to | eu-1=1(0s, before unknown) eu-2=1",
		}, {
			name: "an earlier release recorded nothing", last: rolling(earlier), clusters: "eu-1=2,down us-1=1",
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(-3m0s, before unknown) us-1=1 | until 7m0s",
		}, {
			name: "nor the times of a cluster that did not respond", last: rolling(v1.ClusterUpdate{Name: "eu-1"}), clusters: "eu-1=2,down us-1=1",
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(0s, before unknown) us-1=1 | until 10m0s",
		}, {
			name: "one that has yet to get the revision can be observed", last: rolling(earlier), clusters: "eu-1=2,down us-1=1",
			with: func(r *Request) { r.Clusters[0].Has, r.Clusters[0].Settled = false, false },
			want: "Progressing us 0/2 waiting for eu-1, us-1; not serving customers before: eu-1 | eu-1=2(-3m0s, down before) us-1=2(0s) | until 7m0s",
		}, {
			name: "also one that was healthy with another revision", last: complete(1), clusters: "eu-1=1",
			want: "Progressing eu 0/1 waiting for eu-1 | eu-1=2(0s) | until 10m0s",
		}, {
			name: "and one that served customers without a rollout", clusters: "eu-1=0 us-1=0",
			with: func(r *Request) { r.Clusters[0].Serving = true },
			want: "Progressing eu 0/2 waiting for eu-1, us-1; not serving customers before: us-1 | eu-1=2(0s) us-1=2(0s, down before) | until 10m0s",
		},
	})
}

// superseded returns what is kept of updates of clusters of which nothing was bad before.
func superseded(names ...string) []v1.SupersededUpdate {
	var all []v1.SupersededUpdate
	for _, name := range names {
		all = append(all, v1.SupersededUpdate{Name: name, Before: v1.ClusterBefore{Serving: true}})
	}
	return all
}

// TestSupersededBefore checks that the state from before an unfinished update counts until the cluster begins anew.
func TestSupersededBefore(t *testing.T) {
	t.Parallel()
	edit := func(r *Request) { r.Revision = 3 }
	kept := func(names ...string) *v1.RolloutStatus {
		s := rolling(began("eu-1", 3))
		s.Revision, s.Superseded = 3, superseded(names...)
		return s
	}
	backend := v1.ClusterBefore{Serving: true, Unready: []v1.UnreadyComponent{{Name: "backend", Reason: v1.ReasonWaitingForReplicas}}}
	third := func(change func(*Request)) func(*Request) {
		return func(r *Request) {
			r.Revision = 3
			if change != nil {
				change(r)
			}
		}
	}
	runDecisions(t, []decisionCase{
		{
			name: "of one that does not begin at once", last: rolling(began("us-1", 3)), clusters: "eu-1=1 us-1=2,down", with: edit,
			want: "Progressing eu 0/2 waiting for eu-1, us-1; not serving customers before: us-1 | eu-1=3(0s) us-1=2 | superseded us-1(never) | until 10m0s",
		}, {
			name: "with what was bad", last: rolling(was(3, backend)), clusters: "ap-1=1 eu-1=2,down", with: third(func(r *Request) { r.Spec.Order = []string{"ap"} }),
			want: "Progressing ap 0/2 waiting for ap-1, eu-1; not serving customers before: eu-1 | ap-1=3(0s) eu-1=2 | superseded eu-1(never, before [{backend WaitingForReplicas}]) | until 10m0s",
		}, {
			name: "it is kept", last: kept("us-1"), clusters: "eu-1=3,updating us-1=2,down", with: third(nil),
			want: "Progressing eu 0/2 waiting for eu-1, us-1; not serving customers before: us-1 | eu-1=3(-3m0s) us-1=2 | superseded us-1(never) | until 7m0s",
		}, {
			name: "until it begins", last: kept("us-1"), clusters: "eu-1=3 us-1=2,updating", with: third(func(r *Request) { r.Last.Updating = nil }),
			want: "Progressing us 1/2 waiting for us-1 | eu-1=3 us-1=3(0s) | until 10m0s",
		}, {
			name: "also outside of its turn, and it is waited for then", last: kept("us-1"), clusters: "eu-1=3 eu-2=1 us-1=2,down", with: third(func(r *Request) { r.Last.Updating = nil }),
			want: "Progressing eu 1/3 waiting for eu-2, us-1 | eu-1=3 eu-2=1 us-1=3(0s) | until 10m0s",
		}, {
			name: "one that did not serve then is as it is now", last: rolling(v1.ClusterUpdate{Name: "us-1", StartTime: minutes(-3), Before: &v1.ClusterBefore{}}), clusters: "eu-1=1 us-1=2", with: edit,
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=3(0s) us-1=2 | until 10m0s",
		}, {
			name: "one that does not respond may have got the revision unobserved", last: kept("us-1"), clusters: "eu-1=3 us-1=3,aside",
			with: third(func(r *Request) { r.Last.Updating = []v1.ClusterUpdate{{Name: "us-1"}} }),
			want: "Complete 1/2 | eu-1=3 us-1=3(never, before not observed) | superseded us-1(never) | completed 0s",
		}, {
			name: "what is not known remains so while something is bad", last: rolling(was(3, v1.ClusterBefore{Unknown: true})), clusters: "eu-1=2,failed", with: edit,
			want: "Progressing eu 0/1 waiting for eu-1 | eu-1=3(0s, before unknown) | until 10m0s",
		}, {
			name: "what a superseded update has repaired is not bad before the next", last: rolling(was(3, backend)), clusters: "eu-1=2", with: edit,
			want: "Progressing eu 0/1 waiting for eu-1 | eu-1=3(0s) | until 10m0s",
		}, {
			name: "and is known when nothing is", last: rolling(was(3, v1.ClusterBefore{Unknown: true})), clusters: "eu-1=2", with: edit,
			want: "Progressing eu 0/1 waiting for eu-1 | eu-1=3(0s) | until 10m0s",
		}, {
			name: "nothing is kept of one that left", last: kept("us-1", "us-2"), clusters: "eu-1=3,updating us-2=2", with: third(nil),
			want: "Progressing eu 0/2 waiting for eu-1, us-2 | eu-1=3(-3m0s) us-2=2 | superseded us-2(never) | until 7m0s",
		},
	})
}

// TestRollbackOfSuperseded checks that a rollback waits for the state from before an unfinished update.
func TestRollbackOfSuperseded(t *testing.T) {
	t.Parallel()
	kept := func(name string) *v1.RolloutStatus {
		s := rolling(began("eu-1", 3))
		s.Revision, s.Superseded = 3, superseded(name)
		return s
	}
	third := func(change func(*Request)) func(*Request) {
		return func(r *Request) { r.Revision = 3; change(r) }
	}
	runDecisions(t, []decisionCase{
		{
			name: "a rollback waits for one that served then", last: kept("us-1"), clusters: "eu-1=3,failed us-1=2,down", with: third(func(*Request) {}),
			want: "RollingBack 0/2 eu-1: ProgressDeadlineExceeded | eu-1=1(0s) us-1=1(0s)",
		}, {
			name: "for the copy, where that is not known", last: kept("eu-2"), clusters: "eu-1=3,failed eu-2=2,down",
			with: third(func(r *Request) { r.Last.Superseded[0].Before = v1.ClusterBefore{Unknown: true} }),
			want: "RollingBack 0/2 eu-1: ProgressDeadlineExceeded | eu-1=1(0s) eu-2=1(0s, before unknown)",
		}, {
			name: "a user's rollback, too", last: kept("us-1"), clusters: "eu-1=3,updating us-1=2,down", with: third(func(r *Request) { r.RollbackTo = 1 }),
			want: "RollingBack 0/2 requested by the annotation ecommerce.io/rollback-to | eu-1=1(0s) us-1=1(0s)",
		},
	})
}

// TestProof checks that others follow when a revision is proven, by a cluster of which nothing was bad before as long
// as one can.
func TestProof(t *testing.T) {
	t.Parallel()
	two := func(r *Request) { r.Spec.MaxConcurrentClusters = 2 }
	notReady := not(Component{Name: "backend", Reason: v1.ReasonWaitingForReplicas})
	third := func(r *Request) {
		two(r)
		r.Clusters[2].Unready = []Component{{Name: "backend", Reason: v1.ReasonWaitingForReplicas}}
	}
	backend := v1.ClusterBefore{Serving: true, Unready: []v1.UnreadyComponent{{Name: "backend", Reason: v1.ReasonWaitingForReplicas}}}
	proved := ready("eu-1", 60)
	proved.Before = &backend
	updating := was(3, backend)
	updating.Name = "us-1"
	runDecisions(t, []decisionCase{
		{
			name: "one that does not respond does not prove it", last: rolling(), clusters: "eu-1=2,aside us-1=1 us-2=1", with: two,
			want: "Progressing us 1/3 waiting for us-1, us-2 | eu-1=2 us-1=2(0s) us-2=1 | until 10m0s",
		}, {
			name: "nor one in which something was bad, where another can", last: rolling(proved), clusters: "eu-1=2 us-1=1 us-2=1", with: two,
			want: "Progressing us 1/3 waiting for us-1, us-2; not ready before: eu-1 | eu-1=2(ready 0s after 60s of health, before [{backend WaitingForReplicas}]) us-1=2(0s) us-2=1 | until 10m0s",
		}, {
			name: "or is about to", last: rolling(proved, began("us-1", 3)), clusters: "eu-1=2 us-1=2,updating us-2=1", with: third,
			want: "Progressing us 1/3 waiting for us-1, us-2; not ready before: eu-1, us-2 | eu-1=2(ready 0s after 60s of health, before [{backend WaitingForReplicas}]) us-1=2(-3m0s) us-2=1 | until 7m0s",
		}, {
			name: "it does where none can", last: rolling(proved, updating), clusters: "eu-1=2 us-1=2,updating us-2=1",
			with: func(r *Request) {
				two(r)
				r.Clusters[2].Unready = []Component{{Name: "backend", Reason: v1.ReasonWaitingForReplicas}}
			},
			want: "Progressing us 1/3 waiting for us-1, us-2; not ready before: eu-1, us-1, us-2 | eu-1=2(ready 0s after 60s of health, before [{backend WaitingForReplicas}]) us-1=2(-3m0s, before [{backend WaitingForReplicas}]) us-2=2(0s, before [{backend WaitingForReplicas}]) | until 7m0s",
		}, {
			name: "it waits for none without replicas", last: complete(1), clusters: "eu-1=1 us-1=1,empty", with: notReady,
			want: "Progressing eu 0/2 waiting for eu-1, us-1; not ready before: eu-1 | eu-1=2(0s, before [{backend WaitingForReplicas}]) us-1=1 | until 10m0s",
		}, {
			name: "neither does one that serves no customers", last: complete(1), clusters: "eu-1=1,empty us-1=1,down",
			want: "Progressing eu 0/2 waiting for eu-1, us-1; not serving customers before: us-1 | eu-1=2(0s) us-1=2(0s, down before) | until 10m0s",
		}, {
			name: "also while that is updated", last: rolling(began("eu-1", 3)), clusters: "eu-1=2,empty us-1=1,down",
			want: "Progressing eu 0/2 waiting for eu-1, us-1; not serving customers before: us-1 | eu-1=2(ready 0s) us-1=2(0s, down before) | until 1m0s",
		}, {
			name: "or one that tried it does not respond", last: rolling(was(3, v1.ClusterBefore{})), clusters: "eu-1=2,aside us-1=1,down",
			want: "Progressing 0/2 waiting for us-1; not serving customers before: us-1 | eu-1=2(never, down before) us-1=2(0s, down before) | until 10m0s",
		},
	})
}
