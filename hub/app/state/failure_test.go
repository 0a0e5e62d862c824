package state

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/spoke/apply"
)

// TestFailureOf checks reasons and messages; package apierror tests the classes.
func TestFailureOf(t *testing.T) {
	t.Parallel()
	resource := schema.GroupResource{Group: "ecommerce.io", Resource: "ecommerceapps"}
	unowned := &apply.ConflictError{}
	for name, tt := range map[string]struct {
		err  error
		want *aggregate.Failure
	}{
		"none":           {},
		"newer version":  {apierrors.NewConflict(resource, "shop", errors.New("newer")), nil},
		"unowned object": {unowned, &aggregate.Failure{Reason: v1.ReasonConflict, Message: unowned.Error()}},
		"denied":         {apierrors.NewBadRequest("no"), &aggregate.Failure{Reason: v1.ReasonInvalidSpec, Message: "no"}},
		"failed on": {apierrors.NewInternalError(errors.New(`failed calling webhook "a": Post "https://a.svc:443/?timeout=10s": refused`)), &aggregate.Failure{
			Reason: v1.ReasonApplyFailed, Message: "repair what the cluster fails on, such as a webhook or a definition: " +
				`Internal error occurred: failed calling webhook "a": refused`,
		}},
		"throttled": {apierrors.NewTooManyRequests("slow down", 1), &aggregate.Failure{Reason: v1.ReasonApplyFailed, Message: "the cluster throttles requests"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tt.err
			if err != nil {
				err = fmt.Errorf("writing the copy: %w", err)
			}
			if diff := cmp.Diff(tt.want, FailureOf(err)); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEscalate checks that a copy that the API server of a member fails on waits for a user after some minutes, an
// API server that does not answer for none.
func TestEscalate(t *testing.T) {
	t.Parallel()
	failed, away := apierrors.NewInternalError(errors.New("failed calling webhook")), apierrors.NewServiceUnavailable("starting")
	now := time.Unix(10000, 0)
	since := func(d time.Duration) Result { return Result{App: "a", Revision: 2, Failing: now.Add(-d)} }
	for name, tt := range map[string]struct {
		err     error
		last    Result
		lasting bool
		failing time.Time
	}{
		"first":                {failed, Result{}, false, now},
		"a minute":             {failed, since(time.Minute), false, now.Add(-time.Minute)},
		"three minutes":        {failed, since(3 * time.Minute), true, now.Add(-3 * time.Minute)},
		"another revision":     {failed, Result{App: "a", Revision: 1, Failing: now.Add(-time.Hour)}, false, now},
		"another application":  {failed, Result{App: "b", Revision: 2, Failing: now.Add(-time.Hour)}, false, now},
		"another failure then": {failed, Result{App: "a", Revision: 2}, false, now},
		"an outage":            {away, since(time.Hour), false, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next := Result{App: "a", Revision: 2, Failure: FailureOf(tt.err)}
			next.Follow(tt.last, tt.err, now, LastingAfter)
			if next.Failure.Lasting != tt.lasting || !next.Failing.Equal(tt.failing) {
				t.Errorf("lasting: %t, want %t; failing since %v, want %v", next.Failure.Lasting, tt.lasting, next.Failing, tt.failing)
			}
		})
	}
}
