package rollout

import (
	"strings"
	"testing"
	"unicode/utf8"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// setbacks returns an update with setbacks.
func setbacks(u v1.ClusterUpdate, n int32) v1.ClusterUpdate {
	u.Setbacks = n
	return u
}

// because gives the first cluster a cause.
func because(cause string) func(*Request) { return func(r *Request) { r.Clusters[0].Cause = cause } }

func TestFailure(t *testing.T) {
	t.Parallel()
	runDecisions(t, []decisionCase{
		{
			name: "a cluster that needs a user takes the revision back", last: rolling(began("eu-2", 3)), clusters: "eu-1=2 eu-2=2,failed us-1=1",
			want: "RollingBack 0/3 eu-2: ProgressDeadlineExceeded | eu-1=1(0s) eu-2=1(0s) us-1=1",
		}, {
			name: "so does the deadline", last: rolling(began("eu-1", 10)), clusters: "eu-1=2,updating eu-2=1",
			want: "RollingBack 0/2 eu-1: it is not ready within spec.rollout.progressDeadline | eu-1=1(0s) eu-2=1",
		}, {
			name: "with the cause", last: rolling(began("eu-1", 10)), clusters: "eu-1=2,updating eu-2=1", with: because("WaitingForReplicas: frontend: 0 of 1 replicas are ready"),
			want: "RollingBack 0/2 eu-1: it is not ready within spec.rollout.progressDeadline: WaitingForReplicas: frontend: 0 of 1 replicas are ready | eu-1=1(0s) eu-2=1",
		}, {
			name: "but not before", last: rolling(began("eu-1", 9)), clusters: "eu-1=2,updating eu-2=1",
			want: "Progressing eu 0/2 waiting for eu-1, eu-2 | eu-1=2(-9m0s) eu-2=1 | until 1m0s",
		}, {
			name: "the deadline is in the spec", last: rolling(began("eu-1", 2)), clusters: "eu-1=2,updating eu-2=1",
			with: func(r *Request) { r.Spec.ProgressDeadline = seconds(120) },
			want: "RollingBack 0/2 eu-1: it is not ready within spec.rollout.progressDeadline | eu-1=1(0s) eu-2=1",
		}, {
			name: "the time counts anew after a setback", last: rolling(ready("eu-1", 30)), clusters: "eu-1=2,updating eu-2=1",
			want: "Progressing eu 0/2 waiting for eu-1, eu-2 | eu-1=2(0s, 1 setbacks) eu-2=1 | until 10m0s",
		}, {
			name: "the third setback takes the revision back", last: rolling(setbacks(ready("eu-1", 30), 2)), clusters: "eu-1=2,updating eu-2=1",
			want: "RollingBack 0/2 eu-1: it ceased to be ready three times | eu-1=1(0s) eu-2=1",
		}, {
			name: "what was not observed is no setback", last: rolling(setbacks(ready("eu-1", 30), 2)), clusters: "eu-1=2,updating eu-2=1",
			with: func(r *Request) { r.Clusters[0].Since = r.Now },
			want: "Progressing eu 0/2 waiting for eu-1, eu-2 | eu-1=2(0s, 2 setbacks) eu-2=1 | until 10m0s",
		}, {
			name: "with the last cause", last: rolling(setbacks(ready("eu-1", 30), 2)), clusters: "eu-1=2,updating eu-2=1", with: because("Progressing"),
			want: "RollingBack 0/2 eu-1: it ceased to be ready three times: Progressing | eu-1=1(0s) eu-2=1",
		}, {
			name: "also after it has soaked", last: rolling(setbacks(ready("eu-1", 300), 2), began("us-1", 3)), clusters: "eu-1=2,updating us-1=2,updating",
			want: "RollingBack 0/2 eu-1: it ceased to be ready three times | eu-1=1(0s) us-1=1(0s)",
		}, {
			name: "so setbacks are kept", last: rolling(setbacks(ready("eu-1", 60), 2)), clusters: "eu-1=2 us-1=1",
			want: "Progressing us 1/2 waiting for us-1 | eu-1=2(ready 0s after 60s of health, 2 setbacks) us-1=2(0s) | until 10m0s",
		}, {
			name: "until it was ready for the soak time and the deadline", last: rolling(setbacks(ready("eu-1", 660), 2)), clusters: "eu-1=2,updating us-1=1",
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(0s, 1 setbacks) us-1=1 | until 10m0s",
		}, {
			name: "and not a second less", last: rolling(setbacks(ready("eu-1", 659), 2)), clusters: "eu-1=2,updating us-1=1",
			want: "RollingBack 0/2 eu-1: it ceased to be ready three times | eu-1=1(0s) us-1=1",
		}, {
			name: "the completion ends them", last: rolling(setbacks(ready("eu-1", 60), 2)), clusters: "eu-1=2 us-1=2",
			want: "Complete 2/2 | eu-1=2 us-1=2 | completed 0s",
		}, {
			name: "one that was healthy is to be ready again in time", last: rolling(setbacks(began("eu-1", 10), 1)), clusters: "eu-1=2,updating us-1=1",
			want: "RollingBack 0/2 eu-1: it is not ready within spec.rollout.progressDeadline | eu-1=1(0s) us-1=1",
		},
	})
}

func TestFailurePolicy(t *testing.T) {
	t.Parallel()
	paused := func(r *Request) { r.Spec.OnFailure = v1.FailurePause }
	completed := rolling(began("eu-2", 3))
	completed.CompletionTime = minutes(-60)
	runDecisions(t, []decisionCase{
		{
			name: "with Pause others wait", last: rolling(began("eu-1", 3)), clusters: "eu-1=2,failed eu-2=1", with: paused,
			want: "Failed eu 0/2 eu-1: ProgressDeadlineExceeded | eu-1=2(-3m0s) eu-2=1",
		}, {
			name: "also if more may be updated at a time", last: rolling(began("eu-2", 3)), clusters: "eu-1=2 eu-2=2,failed eu-3=1",
			with: func(r *Request) { paused(r); r.Spec.MaxConcurrentClusters = 3 },
			want: "Failed eu 1/3 eu-2: ProgressDeadlineExceeded | eu-1=2 eu-2=2(-3m0s) eu-3=1",
		}, {
			name: "and go on when it is ready", last: inPause(began("eu-1", 30)), clusters: "eu-1=2 eu-2=1", with: paused,
			want: "Progressing eu 0/2 waiting for eu-1, eu-2 | eu-1=2(ready 0s) eu-2=1 | until 1m0s",
		}, {
			name: "also after three setbacks", last: inPause(setbacks(began("eu-1", 30), 3)), clusters: "eu-1=2 eu-2=1", with: paused,
			want: "Progressing eu 0/2 waiting for eu-1, eu-2 | eu-1=2(ready 0s, 3 setbacks) eu-2=1 | until 1m0s",
		}, {
			name: "a change to Rollback takes back what has failed", last: inPause(began("eu-1", 30)), clusters: "eu-1=2,failed eu-2=1",
			want: "RollingBack 0/2 eu-1: ProgressDeadlineExceeded | eu-1=1(0s) eu-2=1",
		}, {
			name: "a failure after the completion takes nothing back", last: completed, clusters: "eu-1=2 eu-2=2,failed",
			want: "Failed eu 1/2 eu-2: ProgressDeadlineExceeded | eu-1=2 eu-2=2(-3m0s) | completed -1h0m0s",
		}, {
			name: "without an update a failure after the completion is the cluster's own", last: complete(2), clusters: "eu-1=2 eu-2=2,failed",
			want: "Complete 2/2 | eu-1=2 eu-2=2 | completed -1h0m0s",
		}, {
			name: "a failure before it takes the revision back, also after the update", last: rolling(began("us-1", 3)), clusters: "eu-1=2,failed us-1=2,updating",
			want: "RollingBack 0/2 eu-1: ProgressDeadlineExceeded | eu-1=1(0s) us-1=1(0s)",
		}, {
			name: "the first revision cannot be taken back", last: first(began("eu-1", 3)), clusters: "eu-1=2,failed eu-2=2",
			want: "Failed eu 1/2 eu-1: ProgressDeadlineExceeded | eu-1=2(-3m0s) eu-2=2",
		}, {
			name: "neither can the one that the clusters return to", last: returning(began("eu-1", 3)), clusters: "eu-1=2,failed eu-2=2",
			want: "Failed eu 1/2 eu-1: ProgressDeadlineExceeded | eu-1=2(-3m0s) eu-2=2",
		}, {
			name: "a new cluster may need a user at once", last: first(was(1, v1.ClusterBefore{})), clusters: "eu-1=2,failed",
			want: "Failed 0/1 eu-1: ProgressDeadlineExceeded; left behind: eu-1 | eu-1=2(-1m0s, down before)",
		}, {
			name: "a cluster that is set aside does not fail", last: rolling(began("eu-1", 30)), clusters: "eu-1=2,aside eu-2=1",
			want: "Progressing eu 0/2 waiting for eu-2 | eu-1=2(never) eu-2=2(0s) | until 10m0s",
		}, {
			name: "its time counts anew when it is back", last: rolling(v1.ClusterUpdate{Name: "eu-1"}), clusters: "eu-1=2,updating eu-2=1",
			want: "Progressing eu 0/2 waiting for eu-1, eu-2 | eu-1=2(0s, before unknown) eu-2=1 | until 10m0s",
		},
	})
}

// inPause returns the state of a rollout that a failure holds.
func inPause(updates ...v1.ClusterUpdate) *v1.RolloutStatus {
	s := rolling(updates...)
	s.State = v1.RolloutFailed
	return s
}

// returning returns the state of a rollout back to revision 2.
func returning(updates ...v1.ClusterUpdate) *v1.RolloutStatus {
	s := rolling(updates...)
	s.PreviousRevision = 2
	return s
}

// inRegion returns the state of a rollout in a region.
func inRegion(region string, updates ...v1.ClusterUpdate) *v1.RolloutStatus {
	s := rolling(updates...)
	s.Region = region
	return s
}

// first returns the state of the rollout of a first revision.
func first(updates ...v1.ClusterUpdate) *v1.RolloutStatus {
	s := rolling(updates...)
	s.PreviousRevision = 0
	return s
}

// rollingBack returns the state of a rollout of revision 2 that is being taken back.
func rollingBack(updates ...v1.ClusterUpdate) *v1.RolloutStatus {
	s := rolling(updates...)
	s.State = v1.RolloutRollingBack
	return s
}

func TestRollback(t *testing.T) {
	t.Parallel()
	to := func(revision int64) func(*Request) { return func(r *Request) { r.RollbackTo = revision } }
	runDecisions(t, []decisionCase{
		{
			name: "it lasts until all that change are ready", last: rollingBack(began("eu-1", 3), began("eu-2", 3)), clusters: "eu-1=1,updating eu-2=1",
			want: "RollingBack 0/2 | eu-1=1(-3m0s) eu-2=1(-3m0s)",
		}, {
			name: "then it is over", last: rollingBack(began("eu-1", 3), began("eu-2", 3)), clusters: "eu-1=1 eu-2=1",
			want: "RolledBack 0/2 | eu-1=1 eu-2=1",
		}, {
			name: "it does not wait for those that had the revision all the time", last: rollingBack(began("eu-1", 3)), clusters: "eu-1=1 eu-2=1,down",
			want: "RolledBack 0/2 | eu-1=1 eu-2=1",
		}, {
			name: "nor for one that joins and does not serve", last: rollingBack(began("eu-1", 3)), clusters: "eu-1=1 eu-2=0,down",
			want: "RolledBack 0/2 | eu-1=1 eu-2=1",
		}, {
			name: "nor for one that missed the last revision", last: rollingBack(began("eu-1", 3)), clusters: "eu-1=1 eu-2=4,down",
			want: "RolledBack 0/2 | eu-1=1 eu-2=1",
		}, {
			name: "also in its first step", last: rolling(), clusters: "eu-1=2,failed eu-2=1,down",
			want: "RollingBack 0/2 eu-1: ProgressDeadlineExceeded | eu-1=1(0s) eu-2=1",
		}, {
			name: "and stays so whatever follows", last: inState(v1.RolloutRolledBack), clusters: "eu-1=1,failed eu-2=1,down",
			want: "RolledBack 0/2 | eu-1=1 eu-2=1",
		}, {
			name: "it does not wait for those that are set aside", last: rollingBack(began("eu-1", 3)), clusters: "eu-1=1,aside eu-2=1",
			want: "RolledBack 0/2 | eu-1=1 eu-2=1",
		}, {
			name: "but for one that responds", last: rollingBack(began("eu-1", 3)), clusters: "eu-1=1,aside",
			want: "RollingBack 0/1 | eu-1=1(never)",
		}, {
			name: "it has no region, and nothing to wait for", last: inRegion("us", began("us-1", 3), began("us-2", 3)), clusters: "us-1=2,failed us-2=2,updating",
			want: "RollingBack 0/2 us-1: ProgressDeadlineExceeded | us-1=1(0s) us-2=1(0s)",
		}, {
			name: "a new cluster gets the healthy revision", last: inState(v1.RolloutRolledBack), clusters: "eu-1=1 eu-2=0,down",
			want: "RolledBack 0/2 | eu-1=1 eu-2=1",
		}, {
			name: "a user asks for it", last: complete(2), clusters: "eu-1=2 eu-2=2", with: to(1),
			want: "RollingBack 0/2 requested by the annotation ecommerce.io/rollback-to | eu-1=1(0s) eu-2=1(0s) | completed -1h0m0s",
		}, {
			name: "and again while it is stored", last: rollingBack(began("eu-1", 0), began("eu-2", 0)), clusters: "eu-1=1,updating eu-2=1,updating", with: to(1),
			want: "RollingBack 0/2 | eu-1=1(0s) eu-2=1(0s)",
		}, {
			name: "an earlier revision than that", last: inState(v1.RolloutRolledBack), clusters: "eu-1=1 eu-2=1",
			with: func(r *Request) { r.Revision, r.RollbackTo, r.Last.Revision, r.Last.PreviousRevision = 5, 3, 5, 1 },
			want: "RollingBack 0/2 requested by the annotation ecommerce.io/rollback-to | eu-1=3(0s) eu-2=3(0s)",
		}, {
			name: "the revision that the clusters have is nothing to ask for", last: complete(2), clusters: "eu-1=2", with: to(2),
			want: "Complete 1/1 | eu-1=2 | completed -1h0m0s",
		}, {
			name: "another attempt", last: inState(v1.RolloutRolledBack), clusters: "eu-1=1 eu-2=1", with: to(2),
			want: "Progressing eu 0/2 waiting for eu-1, eu-2 | eu-1=2(0s) eu-2=1 | until 10m0s",
		}, {
			name: "an attempt with one that was complete is guarded, too", last: rolledBackAfterCompletion(), clusters: "eu-1=1 us-1=1",
			with: func(r *Request) { to(2)(r); r.Spec.Approval = v1.ApprovalBetweenRegions },
			want: "Progressing eu 0/2 waiting for eu-1, us-1 | eu-1=2(0s) us-1=1 | until 10m0s",
		},
	})
}

// TestLongFailure checks that the message of a cluster fits into the status.
func TestLongFailure(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("x", 2000), strings.Repeat("é", 700), strings.Repeat("x", 1018), "x"} {
		clusters := clustersOf(t, "eu-1=2,failed")
		clusters[0].Failure = text
		d, err := Next(Request{Revision: 2, Hash: "two", Last: rolling(began("eu-1", 3)), Clusters: clusters, Now: start()})
		if err != nil {
			t.Fatal(err)
		}
		got := d.Status.Message
		whole := got == "eu-1: "+text
		if len(got) > 1024 || !utf8.ValidString(got) || whole != (len(text) <= 1018) || !strings.HasPrefix(got, "eu-1: x") && !strings.HasPrefix(got, "eu-1: é") {
			t.Errorf("%d bytes become %d: %s", len(text), len(got), got)
		}
	}
}
