package keyedqueue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestSeriesGoWithTheirQueue checks that a queue that is released leaves no series behind.
func TestSeriesGoWithTheirQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		k := NewKeyed(Options{Name: t.Name(), Idle: time.Minute, Reconciler: reconcile.Func(
			func(context.Context, reconcile.Request) (reconcile.Result, error) { return reconcile.Result{}, nil })})
		ended := make(chan error, 1)
		go func() { ended <- k.Start(ctx) }()
		k.Add("a", request("done"))
		synctest.Wait()
		if series(t, t.Name()+"/a") == 0 {
			t.Error("a queue has no series: the test shows nothing")
		}
		<-time.After(3 * time.Minute)
		synctest.Wait()
		if n := series(t, t.Name()+"/a"); n != 0 {
			t.Errorf("a queue that was released has %d series", n)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		<-time.After(time.Second) // Tickers of a queue end at their next tick.
	})
}

// series counts the series of a controller.
func series(t *testing.T, controller string) int {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "controller" && label.GetValue() == controller {
					n++
				}
			}
		}
	}
	return n
}
