package queues

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shopfleet/shopfleet/spoke/apierror"
)

// TestConflictsGrow: the wait doubles while conflicts repeat, up to a bound, has jitter, and
// is the first one again after anything else.
func TestConflictsGrow(t *testing.T) {
	t.Parallel()
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "shops"}, "a", errors.New("newer"))
	const ms = time.Millisecond
	var c Conflicts
	for i, step := range []struct {
		of   string
		err  error
		want time.Duration
	}{
		{"a", conflict, 200 * ms}, {"a", conflict, 400 * ms}, {"a", conflict, 800 * ms}, {"b", conflict, 200 * ms},
		{"a", conflict, 1600 * ms}, {"a", conflict, 3200 * ms}, {"a", conflict, 5000 * ms}, {"a", conflict, 5000 * ms},
		{"a", nil, 0}, {"a", conflict, 200 * ms}, {"b", conflict, 400 * ms}, {"a", apierrors.NewInternalError(errors.New("broken")), 0}, {"a", conflict, 200 * ms},
	} {
		result, err := c.Retry(Waits{}, request(step.of), reconcile.Result{}, step.err)
		if got := result.RequeueAfter; got < step.want || got > step.want*13/10 {
			t.Errorf("step %d: again after %s (%v), want %s to %s", i, got, err, step.want, step.want*13/10)
		}
	}
	if got := c.Wait(request("a"), false); got != 0 || len(c.inRow) != 1 {
		t.Errorf("without a conflict the wait is %s, and %d requests are remembered", got, len(c.inRow))
	}
}

// TestRetry: a conflict is quiet, what a condition reports is retried late, and nothing is
// both.
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
		"broken":    {apierrors.NewInternalError(errors.New("broken")), outcome{failed: true}, outcome{failed: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check := func(how string, retry func() (reconcile.Result, error), want outcome) {
				result, err := retry()
				if got := result.RequeueAfter; (err != nil) != want.failed || got < want.wait || got > want.wait*13/10 {
					t.Errorf("%s: again after %s, error %v; want %+v", how, got, err, want)
				}
			}
			var silent, reported Conflicts
			check("without a condition", func() (reconcile.Result, error) {
				return silent.Retry(waits, request("a"), reconcile.Result{}, tt.err)
			}, tt.silent)
			check("with a condition", func() (reconcile.Result, error) { return reported.RetryReported(waits, request("a"), tt.err) }, tt.inCondition)
		})
	}
}
