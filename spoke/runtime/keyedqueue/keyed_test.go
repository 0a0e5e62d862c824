package keyedqueue

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const patience = 30 * time.Second

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// TestOneKeyWaitsForNoOther checks that a request that hangs holds up its own key alone.
func TestOneKeyWaitsForNoOther(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done, hung := make(chan string, 10), make(chan struct{})
	k := NewKeyed(Options{Name: "test", Workers: 1, Reconciler: reconcile.Func(
		func(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
			if r.Name == "hangs" {
				close(hung)
				<-ctx.Done()
			}
			done <- r.Name
			return reconcile.Result{}, nil
		})})
	k.Add("a", request("hangs")) // Before the start: it waits for it.
	ended := make(chan error, 1)
	go func() { ended <- k.Start(ctx) }()
	await(t, hung)
	k.Add("a", request("behind"))
	k.Add("b", request("beside"))
	select {
	case name := <-done:
		if name != "beside" {
			t.Fatalf("%q was worked on, want beside", name)
		}
	case <-time.After(patience):
		t.Fatal("a key waits for another")
	}
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(patience):
		t.Fatal("the queues do not end")
	}
}

// TestDefaults checks what options are without values, and that values stay.
func TestDefaults(t *testing.T) {
	t.Parallel()
	if o := NewKeyed(Options{}).options; o.Workers != defaultWorkers || o.Idle != defaultIdle {
		t.Errorf("%d workers, idle after %s", o.Workers, o.Idle)
	}
	if o := NewKeyed(Options{Workers: 7, Idle: time.Second}).options; o.Workers != 7 || o.Idle != time.Second {
		t.Errorf("%d workers, idle after %s", o.Workers, o.Idle)
	}
}

// TestReleaseIdle checks that a queue is released when it had no requests at two checks in a row.
func TestReleaseIdle(t *testing.T) {
	t.Parallel()
	k := NewKeyed(Options{})
	released := false
	q := &queue{pending: map[reconcile.Request]int{request("a"): 1}, release: func() { released = true }}
	k.queues["key"] = q
	for i, step := range []struct {
		change func()
		want   bool
	}{
		{func() {}, false}, {func() { delete(q.pending, request("a")) }, false}, {func() { q.pending[request("a")] = 1 }, false},
		{func() { delete(q.pending, request("a")) }, false}, {func() {}, true},
	} {
		step.change()
		if k.releaseIdle(); released != step.want || (len(k.queues) == 0) != step.want {
			t.Errorf("check %d: released: %t", i, released)
		}
	}
}

func TestRouter(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan string, 10)
	k := NewKeyed(Options{Name: "test", Reconciler: reconcile.Func(
		func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
			done <- r.Name
			return reconcile.Result{}, nil
		})})
	go func() { _ = k.Start(ctx) }()
	r := Router{To: k, KeyOf: func(_ context.Context, r reconcile.Request) (string, error) {
		if r.Name == "unknown" {
			return "", nil
		}
		return "key", nil
	}}
	for _, name := range []string{"unknown", "known"} {
		if _, err := r.Reconcile(ctx, request(name)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case name := <-done:
		if name != "known" {
			t.Fatalf("%q was handed over, want mine alone", name)
		}
	case <-time.After(patience):
		t.Fatal("nothing was handed over")
	}
}

// TestIdleQueuesAreReleased checks that a queue without requests ends, one with a delayed request stays.
func TestIdleQueuesAreReleased(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var worked atomic.Int32
		k := NewKeyed(Options{Name: t.Name(), Idle: time.Minute, Reconciler: reconcile.Func(
			func(_ context.Context, r reconcile.Request) (reconcile.Result, error) {
				worked.Add(1)
				if r.Name == "delayed" {
					return reconcile.Result{RequeueAfter: time.Hour}, nil
				}
				return reconcile.Result{}, nil
			})})
		ended := make(chan error, 1)
		go func() { ended <- k.Start(ctx) }()
		queues := func() []string {
			k.mu.Lock()
			defer k.mu.Unlock()
			return slices.Sorted(maps.Keys(k.queues))
		}
		k.Add("a", request("done"))
		k.Add("b", request("delayed"))
		<-time.After(3 * time.Minute)
		if diff := cmp.Diff([]string{"b"}, queues()); diff != "" {
			t.Errorf("queues (-want +got):\n%s", diff)
		}
		k.Add("a", request("done")) // In a new queue.
		synctest.Wait()
		if got := worked.Load(); got != 3 {
			t.Errorf("%d requests were processed, want 3", got)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		<-time.After(time.Second) // Tickers of a queue end at their next tick.
	})
}

func await(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatal("nothing happened")
	}
}
