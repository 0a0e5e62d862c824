package controller

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestDefaults pins what the hub and the spoke run with: suites run with shorter waits.
func TestDefaults(t *testing.T) {
	t.Parallel()
	c := Controller{}
	c.applyDefaults()
	for name, tt := range map[string]struct{ got, want any }{
		"workers":     {c.Workers, 4},
		"first retry": {c.FirstRetry, time.Second},
		"last retry":  {c.LastRetry, 5 * time.Minute},
		"resync":      {c.Resync, 10 * time.Minute},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestFailureDelaysNoDuePass checks that a pass comes at its time though an error of the one before is retried later, and that
// the error is retried as any other.
func TestFailureDelaysNoDuePass(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		due, from, to time.Duration
	}{
		"due before the retry": {30 * time.Second, 30 * time.Second, 30 * time.Second},
		"due after the retry":  {time.Hour, time.Minute, 78 * time.Second},
		"not due":              {0, time.Minute, 78 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := start(t)
				var passes []time.Time
				c := Controller{Name: "due", Cluster: t.Name(), FirstRetry: time.Minute, Queue: &Queue{}}
				c.Reconciler = reconcile.Func(func(context.Context, reconcile.Request) (reconcile.Result, error) {
					passes = append(passes, clock.RealClock{}.Now())
					return reconcile.Result{RequeueAfter: tt.due}, errors.New("a part failed")
				})
				c.Queue.Add(request("a"))
				r.Engage(t.Context(), "a", Engagement[string]{Run: c.Run})
				<-time.After(90 * time.Second)
				synctest.Wait()
				if len(passes) < 2 {
					t.Fatalf("%d passes", len(passes))
				}
				if wait := passes[1].Sub(passes[0]); wait < tt.from || wait > tt.to {
					t.Errorf("again after %s, want %s to %s", wait, tt.from, tt.to)
				}
				if got := values(t, c.Name+"/"+c.Cluster)["controller_runtime_reconcile_errors_total"]; got != float64(len(passes)) {
					t.Errorf("%v of %d errors are counted", got, len(passes))
				}
			})
		})
	}
}
