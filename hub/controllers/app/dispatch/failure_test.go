package dispatch

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/aggregate"
	"github.com/shopfleet/shopfleet/spoke/apply"
)

// TestFailureOf: package apierror tests the classes.
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
		"throttled":      {apierrors.NewTooManyRequests("slow down", 1), &aggregate.Failure{Reason: v1.ReasonApplyFailed, Message: "the cluster throttles requests"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tt.err
			if err != nil {
				err = fmt.Errorf("writing the copy: %w", err)
			}
			if diff := cmp.Diff(tt.want, failureOf(err)); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
		})
	}
}
