package framework

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
)

// TestPanics makes a controller recover panics: each is found, except for those that a test
// caused.
func TestPanics(t *testing.T) {
	Silence()
	for name, test := range map[string]struct {
		cause any
		want  bool
	}{
		"a mistake": {"index out of range", true},
		"poison":    {Poison("a test's"), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				found := watchPanics()
				ctx, cancel := context.WithCancel(t.Context())
				c := controller.Controller{Name: t.Name(), Queue: &controller.Queue{}, Reconciler: reconcile.Func(
					func(context.Context, reconcile.Request) (reconcile.Result, error) { panic(test.cause) })}
				c.Queue.Add(reconcile.Request{})
				ended := make(chan error, 1)
				go func() { ended <- c.Run(ctx) }()
				synctest.Wait()
				cancel()
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
				all := strings.Join(found.all(), "\n")
				if got := len(all) > 0; got != test.want {
					t.Errorf("found %t, want %t:\n%s", got, test.want, all)
				}
				if test.want && !strings.Contains(all, "panics_test.go") {
					t.Errorf("the stack does not name the place:\n%s", all)
				}
			})
		})
	}
}
