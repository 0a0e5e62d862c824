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

func TestWaits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		waits    Waits
		of, want time.Duration
	}{
		"the zero value changes nothing": {Waits{}, time.Hour, time.Hour},
		"scaled":                         {Waits{Scale: 0.1}, 5 * time.Second, 500 * time.Millisecond},
		"bounded":                        {Waits{Longest: time.Minute}, time.Hour, time.Minute},
		"scaled before it is bounded":    {Waits{Scale: 0.1, Longest: 2 * time.Second}, 15 * time.Second, 1500 * time.Millisecond},
		"no wait stays none":             {Waits{Scale: 0.1, Longest: time.Second}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.waits.Scaled(tt.of); got != tt.want {
				t.Errorf("%s scaled is %s, want %s", tt.of, got, tt.want)
			}
			if got, most := tt.waits.Later(tt.of).RequeueAfter, tt.want+time.Duration(float64(tt.want)*jitterFactor); got < tt.want || got > most {
				t.Errorf("%s later is %s, want %s to %s", tt.of, got, tt.want, most)
			}
		})
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
			check := func(how string, retry func(error) (reconcile.Result, error), want outcome) {
				result, err := retry(tt.err)
				if got := result.RequeueAfter; (err != nil) != want.failed || got < want.wait || got > want.wait*13/10 {
					t.Errorf("%s: again after %s, error %v; want %+v", how, got, err, want)
				}
			}
			check("without a condition", waits.Retry, tt.silent)
			check("with a condition", waits.RetryReported, tt.inCondition)
		})
	}
}
