package controller

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestPanic makes one object panic again and again: it is retried less and less often, and
// counted, and does not delay the others.
func TestPanic(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := start(t)
		var seen recorder
		var panics atomic.Int32
		c := Controller{Name: "panics", Cluster: t.Name(), Queue: &Queue{}, Workers: 1, FirstRetry: time.Second, LastRetry: time.Hour}
		c.Reconciler = reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
			if request.Name == "poison" {
				panics.Add(1)
				panic("poison")
			}
			return seen.Reconcile(ctx, request)
		})
		c.Queue.Add(request("poison"))
		r.Engage(t.Context(), "a", Engagement[string]{Run: c.Run})
		synctest.Wait()
		c.Queue.Add(request("other"))
		synctest.Wait()
		if got := seen.names(); !slices.Equal(got, []string{"other"}) {
			t.Errorf("%q were reconciled after a panic, want the other", got)
		}
		<-time.After(time.Minute)
		synctest.Wait()
		// After 1, 2, 4, 8, 16 and 32 s, each up to three tenths later.
		if n := panics.Load(); n < 5 || n > 7 {
			t.Errorf("%d attempts in a minute, want 5 to 7", n)
		}
		got := values(t, c.Name+"/"+c.Cluster)["controller_runtime_reconcile_panics_total"]
		if got != float64(panics.Load()) {
			t.Errorf("%v of %d panics are counted", got, panics.Load())
		}
	})
}
