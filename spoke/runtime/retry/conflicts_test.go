package retry

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// TestConflictsGrow checks that the wait doubles while conflicts repeat, up to a bound, has jitter, and is the first
// one again after anything else.
func TestConflictsGrow(t *testing.T) {
	t.Parallel()
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "shops"}, "a", errors.New("newer"))
	const ms = time.Millisecond
	steps := []struct {
		of   string
		err  error
		want time.Duration
	}{
		{"a", conflict, 200 * ms}, {"a", conflict, 400 * ms}, {"a", conflict, 800 * ms}, {"b", conflict, 200 * ms},
		{"a", conflict, 1600 * ms}, {"a", conflict, 3200 * ms}, {"a", conflict, 5000 * ms}, {"a", conflict, 5000 * ms},
		{"a", nil, 0}, {"a", conflict, 200 * ms}, {"b", conflict, 400 * ms}, {"a", apierrors.NewInternalError(errors.New("broken")), 0}, {"a", conflict, 200 * ms},
	}
	drawn := make([][]time.Duration, len(steps))
	var c *Conflicts
	for range draws {
		c = &Conflicts{}
		for i, step := range steps {
			result, _ := c.Retry(Waits{}, request(step.of), reconcile.Result{}, step.err)
			drawn[i] = append(drawn[i], result.RequeueAfter)
		}
	}
	for i, step := range steps {
		wantJitter(t, fmt.Sprintf("step %d: the wait", i), drawn[i], step.want)
	}
	if result, _ := c.Retry(Waits{}, request("a"), reconcile.Result{}, nil); result.RequeueAfter != 0 || len(c.inRow) != 1 {
		t.Errorf("without a conflict the wait is %s, and %d requests are remembered", result.RequeueAfter, len(c.inRow))
	}
}

// TestRetry checks that a conflict is not logged, that an error in a condition is retried late, and that an error is
// both only if errors of both kinds are joined.
func TestRetry(t *testing.T) {
	t.Parallel()
	resource := schema.GroupResource{Resource: "shops"}
	waits := Waits{Scale: 0.1}
	type outcome struct {
		wait   time.Duration
		failed bool
	}
	for name, tt := range map[string]struct {
		err                 error
		silent, inCondition outcome
	}{
		"none":      {},
		"conflict":  {apierrors.NewConflict(resource, "a", errors.New("newer")), outcome{wait: 20 * time.Millisecond}, outcome{wait: 20 * time.Millisecond}},
		"throttled": {apierrors.NewTooManyRequests("slow down", 20), outcome{wait: 2 * time.Second}, outcome{wait: 2 * time.Second}},
		"denied":    {apierrors.NewForbidden(resource, "a", errors.New("no")), outcome{failed: true}, outcome{wait: 30 * time.Second}},
		"lost":      {apierror.ErrNotConnected, outcome{failed: true}, outcome{}},
		"joined": {
			errors.Join(&apierror.SpecError{Err: errors.New("no")}, apierrors.NewConflict(resource, "a", errors.New("newer"))),
			outcome{failed: true}, outcome{wait: 20 * time.Millisecond},
		},
		"joined, the sooner first": {
			errors.Join(apierrors.NewTooManyRequests("slow down", 20), apierrors.NewForbidden(resource, "a", errors.New("no"))),
			outcome{wait: 2 * time.Second}, outcome{wait: 2 * time.Second},
		},
		"joined, the sooner last": {
			errors.Join(apierrors.NewForbidden(resource, "a", errors.New("no")), apierrors.NewTooManyRequests("slow down", 20)),
			outcome{failed: true}, outcome{wait: 2 * time.Second},
		},
		"joined, and one waits for no time": {
			errors.Join(apierrors.NewForbidden(resource, "a", errors.New("no")), apierror.ErrPaused), outcome{}, outcome{wait: 30 * time.Second},
		},
		"joined and broken": {
			fmt.Errorf("two: %w", errors.Join(apierrors.NewServiceUnavailable("broken"), apierrors.NewTooManyRequests("slow down", 20))),
			outcome{failed: true}, outcome{wait: 2 * time.Second, failed: true},
		},
		"broken":    {apierrors.NewServiceUnavailable("broken"), outcome{failed: true}, outcome{failed: true}},
		"failed on": {apierrors.NewInternalError(errors.New("webhook")), outcome{failed: true}, outcome{failed: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check := func(how string, retry func(*Conflicts) (reconcile.Result, error), want outcome) {
				var drawn []time.Duration
				for range draws {
					result, err := retry(&Conflicts{})
					if (err != nil) != want.failed {
						t.Fatalf("%s: error %v; want %+v", how, err, want)
					}
					drawn = append(drawn, result.RequeueAfter)
				}
				wantJitter(t, how+": the wait", drawn, want.wait)
			}
			check("without a condition", func(c *Conflicts) (reconcile.Result, error) {
				return c.Retry(waits, request("a"), reconcile.Result{}, tt.err)
			}, tt.silent)
			check("with a condition", func(c *Conflicts) (reconcile.Result, error) {
				return c.RetryReported(waits, request("a"), tt.err)
			}, tt.inCondition)
		})
	}
}

// TestHasConflict checks that a conflict is found alone and among joined errors.
func TestHasConflict(t *testing.T) {
	t.Parallel()
	conflict, other := apierrors.NewConflict(schema.GroupResource{}, "a", errors.New("newer")), errors.New("other")
	for name, tt := range map[string]struct {
		err  error
		want bool
	}{
		"none": {nil, false}, "a conflict": {conflict, true}, "another error": {other, false}, "joined": {errors.Join(other, conflict), true},
		"others joined": {errors.Join(other, other), false}, "joined, and wrapped": {fmt.Errorf("writing: %w", errors.Join(other, conflict)), true},
	} {
		if got := HasConflict(tt.err); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
