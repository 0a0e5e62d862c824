package connection

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/conditions"
	"github.com/shopfleet/shopfleet/hub/members/kubeconfig"
	"github.com/shopfleet/shopfleet/hub/members/preflight"
)

func TestUnreached(t *testing.T) {
	attempt := &Attempt{Settings: &Settings{Clock: clock.RealClock{}, Logger: logr.Discard()}, Access: &kubeconfig.Access{}}
	definitions := schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
	about := func(err error) error {
		return &preflight.DefinitionError{Name: "shops.example.com", Err: fmt.Errorf("applying: %w", err)}
	}
	tests := map[string]struct {
		err  error
		want conditions.Failure
	}{
		"a definition is refused": {
			about(apierrors.NewConflict(definitions, "shops.example.com", errors.New("changed"))),
			conditions.Failure{Step: conditions.StepSetup, Reason: v1.ReasonSetupFailed, Message: "the CustomResourceDefinition shops.example.com could not be installed: the API server returned Conflict"},
		},
		"a definition is forbidden": {
			about(apierrors.NewForbidden(definitions, "shops.example.com", errors.New("no"))),
			conditions.Failure{Step: conditions.StepPermissions, Reason: v1.ReasonPermissionsMissing, Message: "the credentials do not allow to review permissions or to install definitions"},
		},
		"the credentials end meanwhile": {
			about(apierrors.NewUnauthorized("no")),
			conditions.Failure{Step: conditions.StepReach, Reason: v1.ReasonUnauthorized, Message: "the cluster does not accept the credentials of the kubeconfig"},
		},
		"something else is refused": {
			apierrors.NewServiceUnavailable("later"),
			conditions.Failure{Step: conditions.StepSetup, Reason: v1.ReasonSetupFailed, Message: "the cluster could not be set up: the API server returned ServiceUnavailable"},
		},
		"informers are late": {
			&syncError{kinds: []string{"Shop"}},
			conditions.Failure{Step: conditions.StepSetup, Reason: v1.ReasonSetupFailed, Message: "the cluster could not be set up: cannot list Shop in time"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(&test.want, attempt.stepFailed(conditions.StepSetup, test.err)); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
		})
	}
}
