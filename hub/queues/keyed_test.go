package queues

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const patience = 30 * time.Second

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// TestOneKeyWaitsForNoOther: a request that hangs holds up its own key alone.
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
		if r.Name == "nobody's" {
			return "", nil
		}
		return "key", nil
	}}
	for _, name := range []string{"nobody's", "mine"} {
		if _, err := r.Reconcile(ctx, request(name)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case name := <-done:
		if name != "mine" {
			t.Fatalf("%q was handed over, want mine alone", name)
		}
	case <-time.After(patience):
		t.Fatal("nothing was handed over")
	}
}

func TestLimiterSpreads(t *testing.T) {
	t.Parallel()
	limiter := NewRateLimiter[string](time.Second, 4*time.Second)
	last := time.Duration(0)
	for attempt := range 5 {
		got := limiter.When("x")
		least := min(time.Second<<attempt, 4*time.Second)
		if got < least || got > time.Duration(float64(least)*(1+jitterFactor)) {
			t.Errorf("attempt %d waits %s, want %s and up to three tenths more", attempt, got, least)
		}
		last = got
	}
	if limiter.Forget("x"); limiter.When("x") >= last {
		t.Error("a success does not begin anew")
	}
}

func await(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatal("nothing happened")
	}
}
