package controller

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestOverBeforeItsControllers checks that a cluster that is not engaged any more is neither found nor listed, even
// while its controllers have yet to end.
func TestOverBeforeItsControllers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		ctx, cancel := context.WithCancel(t.Context())
		release := make(chan struct{})
		r.Engage(ctx, "a", Engagement[string]{Value: "a", Run: func(context.Context) error {
			<-release
			return nil
		}})
		synctest.Wait()
		if got := r.All(); len(got) != 1 {
			t.Errorf("all are %q, want a", got)
		}
		cancel()
		if _, engaged := r.Get("a"); engaged || len(r.All()) != 0 {
			t.Errorf("engaged %t, all are %q after the end", engaged, r.All())
		}
		close(release)
	})
}

// TestStopEndsEngagements checks that the end of the Runner ends the controllers of clusters whose own contexts go
// on, and no others begin.
func TestStopEndsEngagements(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New[string](Options{})
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error, 1)
		go func() { stopped <- r.Start(ctx) }()
		r.Engage(t.Context(), "a", Engagement[string]{Run: func(ctx context.Context) error {
			<-ctx.Done()
			return nil
		}})
		synctest.Wait()
		cancel()
		select {
		case err := <-stopped:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Hour):
			t.Error("the Runner waits for a cluster that stays connected")
		}
		if r.Engage(t.Context(), "b", Engagement[string]{Run: func(context.Context) error { return nil }}) {
			t.Error("a cluster is engaged after the end")
		}
	})
}

// TestQueueChangesHands checks that the end of a former controller does not take the queue from the one that has it
// now.
func TestQueueChangesHands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := &Queue{}
		connect := func() (workQueue, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			live := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
			if err := q.Source().Start(ctx, live); err != nil {
				t.Fatal(err)
			}
			return live, cancel
		}
		former, endFormer := connect()
		now, end := connect()
		endFormer()
		synctest.Wait()
		q.Add(request("x"))
		if former.Len() != 0 || now.Len() != 1 {
			t.Errorf("%d requests for the former controller and %d for the present one, want 0 and 1", former.Len(), now.Len())
		}
		end()
		former.ShutDown()
		now.ShutDown()
		<-time.After(time.Minute) // Tickers of a queue end at their next tick.
	})
}

// TestFormerGoesOn checks that a former engagement is found again when the one that was to replace it ends first, and
// its controllers go on.
func TestFormerGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		var running []string
		engage := func(value string) context.CancelFunc {
			ctx, cancel := context.WithCancel(t.Context())
			run := func(ctx context.Context) error {
				running = append(running, value)
				<-ctx.Done()
				return nil
			}
			r.Engage(ctx, "a", Engagement[string]{Value: value, Run: run, Cluster: fakeCluster{id: value}})
			synctest.Wait()
			return cancel
		}
		found := func(want string) {
			t.Helper()
			synctest.Wait()
			if got, _ := r.Get("a"); got != want {
				t.Errorf("%q is engaged, want %q", got, want)
			}
		}
		endFirst := engage("first")
		endSecond := engage("second")
		found("second")
		endSecond()
		found("first")
		endThird := engage("third")
		endFirst()
		found("third")
		endThird()
		found("")
		if diff := cmp.Diff([]string{"first", "third"}, running); diff != "" {
			t.Errorf("controllers (-want +got):\n%s", diff)
		}
	})
}
