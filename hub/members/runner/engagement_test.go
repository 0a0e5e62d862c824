package runner

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestOverBeforeItsControllers: a cluster that is not engaged any more is neither found nor
// listed, even while its controllers have yet to end.
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

// TestStopEndsEngagements: the end of the Runner ends the controllers of clusters whose
// own contexts go on, and no others begin.
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

// TestQueueChangesHands: the end of a former controller does not take the queue from the
// one that has it now.
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
