package rollout

import (
	"testing"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// was returns an update that began some minutes ago in eu-1, of which something was bad before.
func was(ago int, before v1.ClusterBefore) v1.ClusterUpdate {
	u := began("eu-1", ago)
	u.Before = &before
	return u
}

// not makes a component of the first cluster not ready.
func not(c Component) func(*Request) {
	return func(r *Request) { r.Clusters[0].Unready = append(r.Clusters[0].Unready, c) }
}

// failsByDeadline is the decision about a cluster that is worse when the deadline has passed.
const failsByDeadline = "RollingBack 0/2 eu-1: it is not ready within spec.rollout.progressDeadline | eu-1=1(0s) us-1=1"

// TestWorse checks what is worse than before an update, and what is not.
func TestWorse(t *testing.T) {
	t.Parallel()
	const (
		fails   = failsByDeadline
		healthy = "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(ready 0s) us-1=1 | until 1m0s"
		excused = "Progressing eu 0/2 waiting for eu-1, us-1; not ready before: eu-1 | eu-1=2(ready 0s, before [{backend WaitingForReplicas}]) us-1=1 | until 1m0s"
	)
	backend := v1.ClusterBefore{Serving: true, Unready: []v1.UnreadyComponent{{Name: "backend", Reason: v1.ReasonWaitingForReplicas}}}
	crashing := v1.ClusterBefore{Serving: true, Unready: []v1.UnreadyComponent{{Name: "backend", Reason: v1.ReasonCrashLoopBackOff}}}
	runDecisions(t, []decisionCase{
		{
			name: "a component that was ready", last: rolling(began("eu-1", 10)), clusters: "eu-1=2 us-1=1",
			with: not(Component{Name: "backend", Reason: v1.ReasonWaitingForReplicas}), want: fails,
		}, {
			name: "one that was not", last: rolling(was(10, backend)), clusters: "eu-1=2 us-1=1",
			with: not(Component{Name: "backend", Reason: v1.ReasonWaitingForReplicas}), want: excused,
		}, {
			name: "another one", last: rolling(was(10, backend)), clusters: "eu-1=2 us-1=1",
			with: not(Component{Name: "frontend", Reason: v1.ReasonWaitingForReplicas}),
			want: "RollingBack 0/2 eu-1: it is not ready within spec.rollout.progressDeadline | eu-1=1(0s, before [{backend WaitingForReplicas}]) us-1=1",
		}, {
			name: "its pods fail now", last: rolling(was(10, backend)), clusters: "eu-1=2 us-1=1",
			with: not(Component{Name: "backend", Reason: v1.ReasonImagePullBackOff}),
			want: "RollingBack 0/2 eu-1: it is not ready within spec.rollout.progressDeadline | eu-1=1(0s, before [{backend WaitingForReplicas}]) us-1=1",
		}, {
			name: "its pods failed before", last: rolling(was(10, crashing)), clusters: "eu-1=2 us-1=1",
			with: not(Component{Name: "backend", Reason: v1.ReasonImagePullBackOff}),
			want: "Progressing eu 0/2 waiting for eu-1, us-1; not ready before: eu-1 | eu-1=2(ready 0s, before [{backend CrashLoopBackOff}]) us-1=1 | until 1m0s",
		}, {
			name: "a database that grows", last: rolling(began("eu-1", 10)), clusters: "eu-1=2 us-1=1",
			with: not(Component{Name: "database", Reason: v1.ReasonWaitingForStorage, Growing: true}), want: healthy,
		}, {
			name: "unless its new pods fail", last: rolling(began("eu-1", 10)), clusters: "eu-1=2 us-1=1",
			with: not(Component{Name: "database", Reason: v1.ReasonCrashLoopBackOff, Growing: true}), want: fails,
		}, {
			name: "it needs a user, although all is ready", last: rolling(began("eu-1", 1)), clusters: "eu-1=2 us-1=1",
			with: func(r *Request) {
				r.Clusters[0].Stalled, r.Clusters[0].Failure = v1.ReasonFieldManagerConflict, "FieldManagerConflict: image"
			},
			want: "RollingBack 0/2 eu-1: FieldManagerConflict: image | eu-1=1(0s) us-1=1",
		},
	})
}

// TestHealthyBefore checks clusters that were healthy with the revision, and are not at the moment.
func TestHealthyBefore(t *testing.T) {
	t.Parallel()
	runDecisions(t, []decisionCase{
		{
			name: "what is scaled was healthy", last: rolling(ready("eu-1", 30)), clusters: "eu-1=2 us-1=1",
			with: not(Component{Name: "frontend", Reason: v1.ReasonWaitingForReplicas, Scaling: true}),
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(ready -30s) us-1=1 | until 30s",
		}, {
			name: "a replica that copies was healthy", last: rolling(ready("eu-1", 30)), clusters: "eu-1=2 us-1=1",
			with: not(Component{Name: "database", Reason: v1.ReasonCopyingData, Copying: true}),
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(ready -30s) us-1=1 | until 30s",
		}, {
			name: "and is no setback after it has soaked", last: rolling(), clusters: "eu-1=2 us-1=1",
			with: not(Component{Name: "database", Reason: v1.ReasonCopyingData, Copying: true}),
			want: "Progressing us 1/2 waiting for us-1 | eu-1=2 us-1=2(0s) | until 10m0s",
		}, {
			name: "unless pods fail while it is scaled", last: rolling(ready("eu-1", 30)), clusters: "eu-1=2 us-1=1",
			with: not(Component{Name: "frontend", Reason: v1.ReasonCrashLoopBackOff, Scaling: true}),
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(0s, 1 setbacks) us-1=1 | until 10m0s",
		}, {
			name: "unless another component is worse", last: rolling(), clusters: "eu-1=2,updating us-1=1",
			with: not(Component{Name: "database", Reason: v1.ReasonCopyingData, Copying: true}),
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(never) us-1=1",
		}, {
			name: "what is scaled before it is healthy has to become so", last: rolling(began("eu-1", 10)), clusters: "eu-1=2 us-1=1",
			with: not(Component{Name: "frontend", Reason: v1.ReasonWaitingForReplicas, Scaling: true}), want: failsByDeadline,
		}, {
			name: "a copy that is not settled", last: rolling(began("eu-1", 10)), clusters: "eu-1=2 us-1=1",
			with: func(r *Request) { r.Clusters[0].Settled = false }, want: failsByDeadline,
		}, {
			name: "one that was healthy with the revision", last: rolling(ready("eu-1", 30)), clusters: "eu-1=2 us-1=1",
			with: func(r *Request) { r.Clusters[0].Settled = false },
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(ready -30s) us-1=1 | until 30s",
		}, {
			name: "and has it no more", last: rolling(ready("eu-1", 30)), clusters: "eu-1=2 us-1=1",
			with: func(r *Request) { r.Clusters[0].Has, r.Clusters[0].Settled = false, false },
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(0s, 1 setbacks) us-1=1 | until 10m0s",
		},
	})
}

// TestBadBefore checks clusters that needed a user before their update.
func TestBadBefore(t *testing.T) {
	t.Parallel()
	runDecisions(t, []decisionCase{
		{
			name: "it needed a user before", last: rolling(was(3, v1.ClusterBefore{Serving: true, Stalled: v1.ReasonDeadlineExceeded})), clusters: "eu-1=2,failed us-1=1",
			want: "Progressing eu 0/2 waiting for eu-1, us-1; not ready before: eu-1 | eu-1=2(-3m0s, before ProgressDeadlineExceeded[]) us-1=1 | until 7m0s",
		}, {
			name: "and needs one at the deadline", last: rolling(was(10, v1.ClusterBefore{Serving: true, Stalled: v1.ReasonDeadlineExceeded})), clusters: "eu-1=2,failed us-1=1",
			with: func(r *Request) { r.Clusters[0].Settled, r.Clusters[0].Unready = false, nil }, want: "Progressing us 0/2 waiting for us-1; left behind: eu-1 | eu-1=2(0s after 600s, before ProgressDeadlineExceeded[]) us-1=2(0s) | until 10m0s",
		}, {
			name: "in a member that is paused", last: rolling(began("eu-1", 3)), clusters: "eu-1=2,failed us-1=1",
			with: func(r *Request) { r.Clusters[0].SetAside = true }, want: "Progressing us 0/2 waiting for us-1 | eu-1=2(never after 180s) us-1=2(0s) | until 10m0s",
		}, {
			name: "for another reason", last: rolling(was(3, v1.ClusterBefore{Serving: true, Stalled: v1.ReasonForbidden})), clusters: "eu-1=2,failed us-1=1",
			want: "RollingBack 0/2 eu-1: ProgressDeadlineExceeded | eu-1=1(0s, before Forbidden[]) us-1=1",
		},
	})
}

// TestAsBefore is about clusters in which the same is bad as before, and more.
func TestAsBefore(t *testing.T) {
	t.Parallel()
	backend := v1.ClusterBefore{Serving: true, Unready: []v1.UnreadyComponent{{Name: "backend", Reason: v1.ReasonWaitingForReplicas}}}
	notReady := Component{Name: "backend", Reason: v1.ReasonWaitingForReplicas}
	runDecisions(t, []decisionCase{
		{
			name: "it serves no customers any more", last: rolling(was(10, backend)), clusters: "eu-1=2 us-1=1",
			with: func(r *Request) { not(notReady)(r); r.Clusters[0].Serving = false },
			want: "RollingBack 0/2 eu-1: it is not ready within spec.rollout.progressDeadline | eu-1=1(0s, before [{backend WaitingForReplicas}]) us-1=1",
		}, {
			name: "its copy is not settled", last: rolling(was(10, backend)), clusters: "eu-1=2 us-1=1",
			with: func(r *Request) { not(notReady)(r); r.Clusters[0].Settled = false },
			want: "RollingBack 0/2 eu-1: it is not ready within spec.rollout.progressDeadline | eu-1=1(0s, before [{backend WaitingForReplicas}]) us-1=1",
		}, {
			name: "it is not healthy while its upgrade waits for a backup", last: rolling(was(3, v1.ClusterBefore{})), clusters: "eu-1=2,backup us-1=2",
			want: "Progressing 1/2 waiting for eu-1; not ready before: eu-1 | eu-1=2(-3m0s, down before) us-1=2 | until 7m0s",
		},
	})
}

// TestDownBefore checks clusters that did not serve customers before their update.
func TestDownBefore(t *testing.T) {
	t.Parallel()
	backend := v1.ClusterBefore{Serving: true, Unready: []v1.UnreadyComponent{{Name: "backend", Reason: v1.ReasonWaitingForReplicas}}}
	runDecisions(t, []decisionCase{
		{
			name: "it ceased to serve customers", last: rolling(was(10, backend)), clusters: "eu-1=2,down us-1=1",
			want: "RollingBack 0/2 eu-1: it is not ready within spec.rollout.progressDeadline | eu-1=1(0s, before [{backend WaitingForReplicas}]) us-1=1",
		}, {
			name: "it never served any", last: rolling(was(10, v1.ClusterBefore{})), clusters: "eu-1=2,down us-1=2",
			want: "Complete 1/2 left behind: eu-1 | eu-1=2(0s after 600s, down before) us-1=2 | completed 0s",
		}, {
			name: "until the deadline it is waited for", last: rolling(was(9, v1.ClusterBefore{})), clusters: "eu-1=2,down us-1=2",
			want: "Progressing 1/2 waiting for eu-1; not serving customers before: eu-1 | eu-1=2(-9m0s, down before) us-1=2 | until 1m0s",
		}, {
			name: "it needs a user", last: rolling(was(1, v1.ClusterBefore{})), clusters: "eu-1=2,failed us-1=2",
			want: "Complete 1/2 left behind: eu-1 | eu-1=2(-1m0s, down before) us-1=2 | completed 0s",
		}, {
			name: "nor waits its upgrade for a backup for ever", last: rolling(was(10, v1.ClusterBefore{})), clusters: "eu-1=2,down us-1=2",
			with: func(r *Request) { r.Clusters[0].Waiting = true }, want: "Complete 1/2 left behind: eu-1 | eu-1=2(0s after 600s, down before) us-1=2 | completed 0s",
		}, {
			name: "a cluster without replicas proves nothing", last: rolling(was(10, v1.ClusterBefore{})), clusters: "eu-1=2,down us-1=2",
			with: func(r *Request) { r.Clusters[1].NoReplicas = true }, want: "Failed 1/2 eu-1: it is not ready within spec.rollout.progressDeadline; left behind: eu-1 | eu-1=2(0s after 600s, down before) us-1=2",
		}, {
			name: "one after another that proved it fails nothing", last: rolling(was(10, v1.ClusterBefore{})), clusters: "eu-1=2,down us-1=2 us-2=2",
			with: func(r *Request) { r.Clusters[2].NoReplicas = true }, want: "Complete 2/3 left behind: eu-1 | eu-1=2(0s after 600s, down before) us-1=2 us-2=2 | completed 0s",
		}, {
			name: "after the completion it fails nothing", last: complete(2), clusters: "eu-1=2,down",
			with: func(r *Request) { r.Last.Updating = []v1.ClusterUpdate{was(10, v1.ClusterBefore{})} },
			want: "Complete 0/1 left behind: eu-1 | eu-1=2(0s after 600s, down before) | completed -1h0m0s",
		}, {
			name: "what was bad is still being changed", last: rolling(was(3, backend)), clusters: "eu-1=2 us-1=1",
			with: not(Component{Name: "backend", Reason: v1.ReasonProgressing, Changing: true}), want: "Progressing eu 0/2 waiting for eu-1, us-1; not ready before: eu-1 | eu-1=2(-3m0s, before [{backend WaitingForReplicas}]) us-1=1 | until 7m0s",
		}, {
			name: "until the deadline", last: rolling(was(10, backend)), clusters: "eu-1=2 us-1=1",
			with: not(Component{Name: "backend", Reason: v1.ReasonProgressing, Changing: true}), want: "Progressing us 0/2 waiting for us-1; left behind: eu-1 | eu-1=2(0s after 600s, before [{backend WaitingForReplicas}]) us-1=2(0s) | until 10m0s",
		}, {
			name: "one that has just ceased to serve has its turn", last: complete2(), clusters: "eu-1=2 us-1=1,down",
			with: func(r *Request) {
				r.Last.CompletionTime, r.Last.State, r.Clusters[1].DownSince = nil, v1.RolloutProgressing, r.Now.Add(-time.Minute)
			},
			want: "Progressing 1/2 waiting for us-1; not serving customers before: us-1 | eu-1=2 us-1=1 | until 9m0s",
		}, {
			name: "unless it lasts", last: complete2(), clusters: "eu-1=2 us-1=1,down",
			with: func(r *Request) {
				r.Last.CompletionTime, r.Last.State, r.Clusters[1].DownSince = nil, v1.RolloutProgressing, r.Now.Add(-time.Hour)
			},
			want: "Progressing 1/2 waiting for us-1; not serving customers before: us-1 | eu-1=2 us-1=2(0s, down before) | until 10m0s",
		}, {
			name: "it serves at last", last: complete2(was(99, v1.ClusterBefore{})), clusters: "eu-1=2 us-1=2",
			want: "Complete 1/2 | eu-1=2(ready 0s, down before) us-1=2 | completed -1h0m0s | until 1m0s",
		},
	})
}

// complete2 returns the state of a complete rollout of revision 2 with updates.
func complete2(updates ...v1.ClusterUpdate) *v1.RolloutStatus {
	s := complete(2)
	s.Updating = updates
	return s
}

// TestBefore checks what is recorded when an update begins.
func TestBefore(t *testing.T) {
	t.Parallel()
	const backend = "backend"
	runDecisions(t, []decisionCase{
		{
			name: "a component that is not ready", last: complete(1), clusters: "eu-1=1", with: not(Component{Name: backend, Reason: v1.ReasonWaitingForReplicas}),
			want: "Progressing eu 0/1 waiting for eu-1; not ready before: eu-1 | eu-1=2(0s, before [{backend WaitingForReplicas}]) | until 10m0s",
		}, {
			name: "one that is being changed is not bad", last: complete(1), clusters: "eu-1=1", with: not(Component{Name: backend, Reason: v1.ReasonProgressing, Changing: true}),
			want: "Progressing eu 0/1 waiting for eu-1 | eu-1=2(0s) | until 10m0s",
		}, {
			name: "nor is one that grows", last: complete(1), clusters: "eu-1=1", with: not(Component{Name: "database", Reason: v1.ReasonWaitingForStorage, Growing: true}),
			want: "Progressing eu 0/1 waiting for eu-1 | eu-1=2(0s) | until 10m0s",
		}, {
			name: "what was before an update that is superseded", last: rolling(began("eu-1", 3)), clusters: "eu-1=2,failed",
			with: func(r *Request) { r.Revision = 3 },
			want: "Progressing eu 0/1 waiting for eu-1 | eu-1=3(0s) | until 10m0s",
		},
	})
}

// TestObserved checks the time that counts.
func TestObserved(t *testing.T) {
	t.Parallel()
	seen := func(since, until int) func(*Request) {
		return func(r *Request) {
			r.Clusters[0].Since, r.Clusters[0].Until = minutes(-since).Time, minutes(-until).Time
		}
	}
	had := func(u v1.ClusterUpdate, progressing, ready int64) v1.ClusterUpdate {
		u.ProgressingSeconds, u.ReadySeconds = progressing, ready
		return u
	}
	copying := func(r *Request) { not(Component{Name: "database", Reason: v1.ReasonCopyingData, Copying: true})(r) }
	runDecisions(t, []decisionCase{
		{
			name: "what was observed before adds up", last: rolling(had(began("eu-1", 4), 360, 0)), clusters: "eu-1=2,updating us-1=1",
			want: "RollingBack 0/2 eu-1: it is not ready within spec.rollout.progressDeadline | eu-1=1(0s) us-1=1",
		}, {
			name: "and not a second less", last: rolling(had(began("eu-1", 4), 359, 0)), clusters: "eu-1=2,updating us-1=1",
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(-4m0s after 359s) us-1=1 | until 1s",
		}, {
			name: "so does the soak time", last: rolling(had(ready("eu-1", 20), 0, 40)), clusters: "eu-1=2 us-1=1",
			want: "Progressing us 1/2 waiting for us-1 | eu-1=2 us-1=2(0s) | until 10m0s",
		}, {
			name: "what began before this hub did does not count", last: rolling(had(began("eu-1", 30), 60, 0)), clusters: "eu-1=2,updating us-1=1", with: seen(1, 0),
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(0s after 60s) us-1=1 | until 9m0s",
		}, {
			name: "nor does the soak time", last: rolling(had(ready("eu-1", 300), 0, 20)), clusters: "eu-1=2 us-1=1", with: seen(1, 0),
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(ready 0s after 20s of health) us-1=1 | until 40s",
		}, {
			name: "nor does a time ahead of the clock", last: rolling(had(began("eu-1", -30), 60, 0)), clusters: "eu-1=2,updating us-1=1",
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(0s after 60s) us-1=1 | until 9m0s",
		}, {
			name: "nor a soak time", last: rolling(had(ready("eu-1", -30), 0, 20)), clusters: "eu-1=2 us-1=1",
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(ready 0s after 20s of health) us-1=1 | until 40s",
		}, {
			name: "the loss of a cluster ends what is observed", last: rolling(had(began("eu-1", 5), 60, 0)), clusters: "eu-1=2,aside us-1=1", with: seen(30, 2),
			want: "Progressing us 0/2 waiting for us-1 | eu-1=2(never after 240s) us-1=2(0s) | until 10m0s",
		}, {
			name: "also while it soaks", last: rolling(ready("eu-1", 50)), clusters: "eu-1=2,aside us-1=1", with: seen(30, 0),
			want: "Progressing us 0/2 waiting for us-1 | eu-1=2(never after 50s of health) us-1=2(0s) | until 10m0s",
		}, {
			name: "what another hub may have observed is not known", last: rolling(had(began("eu-1", 5), 60, 0)), clusters: "eu-1=2,aside us-1=1", with: seen(4, 2),
			want: "Progressing us 0/2 waiting for us-1 | eu-1=2(never after 60s) us-1=2(0s) | until 10m0s",
		}, {
			name: "one that soaked and is not healthy when it is back begins anew", last: rolling(v1.ClusterUpdate{Name: "eu-1", ReadySeconds: 50, Before: &v1.ClusterBefore{Serving: true}}), clusters: "eu-1=2,updating us-1=1",
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(0s) us-1=1 | until 10m0s",
		}, {
			name: "the time in which data is copied does not count", last: rolling(began("eu-1", 30)), clusters: "eu-1=2 us-1=1", with: copying,
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(never after 1800s) us-1=1",
		},
	})
}

// TestStored checks that a hub that has just begun decides the same from what is stored, and that a hub that is
// killed loses a part of a long limit at most.
func TestStored(t *testing.T) {
	t.Parallel()
	backend := v1.ClusterBefore{Serving: true, Unready: []v1.UnreadyComponent{{Name: "backend", Reason: v1.ReasonWaitingForReplicas}}}
	had := func(u v1.ClusterUpdate, progressing, ready int64) v1.ClusterUpdate {
		u.ProgressingSeconds, u.ReadySeconds = progressing, ready
		return u
	}
	with := func(soak, deadline int) func(*Request) {
		return func(r *Request) {
			r.Spec.OnFailure, r.Spec.Soak, r.Spec.ProgressDeadline = v1.FailurePause, seconds(soak), seconds(deadline)
			for i := range r.Clusters {
				r.Clusters[i].Since = r.Now // This hub has just begun.
			}
		}
	}
	long := func(r *Request) { with(7200, 7200)(r); r.Clusters[0].Since = minutes(-300).Time }
	runDecisions(t, []decisionCase{
		{
			name: "a failure by the deadline", last: rolling(began("eu-1", 10)), clusters: "eu-1=2,updating us-1=1", with: func(r *Request) { r.Spec.OnFailure = v1.FailurePause },
			want: "Failed eu 0/2 eu-1: it is not ready within spec.rollout.progressDeadline | eu-1=2(0s after 600s) us-1=1",
		}, {
			name: "remains one", last: inPause(had(began("eu-1", 30), 600, 0)), clusters: "eu-1=2,updating us-1=1", with: with(60, 600),
			want: "Failed eu 0/2 eu-1: it is not ready within spec.rollout.progressDeadline | eu-1=2(0s after 600s) us-1=1",
		}, {
			name: "until the deadline is raised", last: inPause(had(began("eu-1", 30), 600, 0)), clusters: "eu-1=2,updating us-1=1", with: with(60, 1000),
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(0s after 600s) us-1=1 | until 6m40s",
		}, {
			name: "what is left behind remains so", last: rolling(had(was(30, backend), 600, 0)), clusters: "eu-1=2 us-1=1",
			with: func(r *Request) {
				with(60, 600)(r)
				not(Component{Name: "backend", Reason: v1.ReasonProgressing, Changing: true})(r)
			},
			want: "Progressing us 0/2 waiting for us-1; left behind: eu-1 | eu-1=2(0s after 600s, before [{backend WaitingForReplicas}]) us-1=2(0s) | until 10m0s",
		}, {
			name: "what has soaked has", last: rolling(setbacks(had(ready("eu-1", 300), 0, 60), 1)), clusters: "eu-1=2 us-1=1", with: with(60, 600),
			want: "Progressing us 1/2 waiting for us-1 | eu-1=2(ready 0s after 60s of health, 1 setbacks) us-1=2(0s) | until 10m0s",
		}, {
			name: "a quarter of a long soak time", last: rolling(had(ready("eu-1", 1800), 0, 10)), clusters: "eu-1=2 us-1=1", with: long,
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(ready 0s after 1810s of health) us-1=1 | until 30m0s",
		}, {
			name: "and not a second before", last: rolling(had(ready("eu-1", 1799), 0, 10)), clusters: "eu-1=2 us-1=1", with: long,
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(ready -29m59s after 10s of health) us-1=1 | until 1s",
		}, {
			name: "a quarter of a long deadline", last: rolling(began("eu-1", 30)), clusters: "eu-1=2,updating us-1=1", with: long,
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(0s after 1800s) us-1=1 | until 30m0s",
		}, {
			name: "it is due when the cluster begins", last: complete(1), clusters: "eu-1=1 us-1=1", with: long,
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(0s) us-1=1 | until 30m0s",
		},
	})
	for limit, want := range map[time.Duration]time.Duration{
		time.Second: minUntilStored, v1.DefaultProgressDeadline: v1.DefaultProgressDeadline, 40 * time.Minute: 10 * time.Minute, time.Hour: 15 * time.Minute, 168 * time.Hour: time.Hour,
	} {
		if got := untilStored(limit); got != want {
			t.Errorf("of %s %s are lost at most, want %s", limit, got, want)
		}
	}
}

// TestSuspend checks that no time counts while nothing is written.
func TestSuspend(t *testing.T) {
	t.Parallel()
	last := rolling(began("eu-1", 3), ready("us-1", 30))
	got := Suspend(last, clustersOf(t, "eu-1=2,updating us-1=2"))
	a, b := got.Updating[0], got.Updating[1]
	if a.StartTime != nil || a.ProgressingSeconds != 180 || b.ReadyTime != nil || b.ReadySeconds != 30 {
		t.Errorf("%s %s, want no time that goes on, and what was observed", describeUpdate(a), describeUpdate(b))
	}
	if last.Updating[0].StartTime == nil || Suspend(nil, clustersOf(t, "eu-1=2")) != nil {
		t.Error("the last state is changed, or there is one where there was none")
	}
}
