package connect

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/connect/kubeconfig"
	"github.com/shopfleet/shopfleet/hub/members/crds"
	"github.com/shopfleet/shopfleet/hub/members/health"
	"github.com/shopfleet/shopfleet/hub/members/permissions"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

const (
	unauthorized = "the cluster rejects the credentials of the kubeconfig"
	notGet       = "the credentials do not allow to get the namespace kube-system"
	notReview    = "the credentials do not allow to review permissions or to install definitions"
	notSetUp     = "the cluster could not be set up: the API server returned "
	notInstalled = "the CustomResourceDefinition shops.example.com could not be installed: the API server returned "
)

// failureTest is an error, its class, and the failures of a probe and of a step after the
// probe.
type failureTest struct {
	err         error
	class       apierror.Class
	probe, step health.Failure
}

// reach returns a case for an error that a probe and a step report alike.
func reach(err error, class apierror.Class, reason, message string) failureTest {
	f := health.Failure{Step: health.StepReach, Reason: reason, Message: message}
	return failureTest{err, class, f, f}
}

// answer returns a case for an error with which an API server answers.
func answer(err error, class apierror.Class, message string) failureTest {
	return failureTest{
		err, class,
		health.Failure{Step: health.StepReach, Reason: v1.ReasonProbeFailed, Message: "the cluster answers with an error"},
		health.Failure{Step: health.StepSetup, Reason: v1.ReasonSetupFailed, Message: message},
	}
}

func forbidden(err error) failureTest {
	return failureTest{
		err, apierror.Forbidden,
		health.Failure{Step: health.StepReach, Reason: v1.ReasonPermissionsMissing, Message: notGet},
		health.Failure{Step: health.StepPermissions, Reason: v1.ReasonPermissionsMissing, Message: notReview},
	}
}

// request returns an error as client-go returns it for a request without an answer.
func request(err error) error {
	return &url.Error{Op: "Get", URL: "https://10.0.0.1", Err: err}
}

func dial(err error) error {
	return request(&net.OpError{Op: "dial", Net: "tcp", Err: err})
}

func definition(err error) error {
	return &crds.DefinitionError{Name: "shops.example.com", Err: fmt.Errorf("applying: %w", err)}
}

// TestFailures maps errors of a member to their class and to the reasons of conditions.
func TestFailures(t *testing.T) {
	attempt := &Attempt{Settings: &Settings{Clock: clock.RealClock{}, Logger: logr.Discard()}, Access: &kubeconfig.Access{}}
	crds := schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}
	teapot := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusTeapot}}
	tests := map[string]failureTest{
		"401":                 reach(apierrors.NewUnauthorized("x"), apierror.Unauthorized, v1.ReasonUnauthorized, unauthorized),
		"401 of a definition": reach(definition(apierrors.NewUnauthorized("x")), apierror.Unauthorized, v1.ReasonUnauthorized, unauthorized),
		"403":                 forbidden(apierrors.NewForbidden(crds, "x", nil)),
		"403 of a definition": forbidden(definition(apierrors.NewForbidden(crds, "x", nil))),
		"404":                 answer(apierrors.NewNotFound(crds, "x"), apierror.NotFound, notSetUp+"NotFound"),
		"409 of a definition": answer(definition(apierrors.NewConflict(crds, "x", errors.New("changed"))), apierror.Conflict, notInstalled+"Conflict"),
		"422 of a definition": answer(definition(apierrors.NewInvalid(schema.GroupKind{}, "x", nil)), apierror.Invalid, notInstalled+"Invalid"),
		"429":                 answer(apierrors.NewTooManyRequestsError("x"), apierror.Throttled, notSetUp+"TooManyRequests"),
		"500": answer(apierrors.NewInternalError(errors.New("x")), apierror.Internal,
			"the cluster could not be set up: repair what the cluster fails on, such as a webhook or a definition: Internal error occurred: x"),
		"503":                 answer(apierrors.NewServiceUnavailable("x"), apierror.Transient, notSetUp+"ServiceUnavailable"),
		"418":                 answer(teapot, apierror.Transient, notSetUp+"an error"),
		"refused":             reach(dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), apierror.Unreachable, v1.ReasonProbeFailed, "the cluster refuses connections"),
		"reset":               reach(dial(os.NewSyscallError("read", syscall.ECONNRESET)), apierror.Unreachable, v1.ReasonProbeFailed, "the cluster closes the connection"),
		"no route":            reach(dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), apierror.Unreachable, v1.ReasonProbeFailed, "there is no route to the cluster"),
		"dial timeout":        reach(dial(os.NewSyscallError("connect", syscall.ETIMEDOUT)), apierror.Unreachable, v1.ReasonProbeFailed, "the cluster does not answer in time"),
		"deadline":            reach(context.DeadlineExceeded, apierror.Unreachable, v1.ReasonProbeFailed, "the cluster does not answer in time"),
		"other network error": reach(request(errors.New("x")), apierror.Unreachable, v1.ReasonProbeFailed, "the cluster cannot be reached"),
		"unknown host": reach(dial(&net.DNSError{Name: "x", IsNotFound: true}), apierror.Unreachable, v1.ReasonProbeFailed,
			"the host name of the kubeconfig's server cannot be resolved"),
		"unknown authority": reach(request(x509.UnknownAuthorityError{}), apierror.Unreachable, v1.ReasonCertificateInvalid,
			"the cluster's certificate is not signed by the kubeconfig's certificate-authority-data"),
		"undecided permission": {
			permissions.ErrUnevaluated, apierror.Transient,
			health.Failure{Step: health.StepReach, Reason: v1.ReasonProbeFailed, Message: "the cluster cannot be reached"},
			health.Failure{Step: health.StepReach, Reason: v1.ReasonProbeFailed, Message: permissions.ErrUnevaluated.Error()},
		},
		"anything else": reach(errors.New("x"), apierror.Transient, v1.ReasonProbeFailed, "the cluster cannot be reached"),
	}
	late := reach(&syncError{kinds: []string{"Shop"}}, apierror.Transient, v1.ReasonProbeFailed, "the cluster cannot be reached")
	late.step = health.Failure{Step: health.StepSetup, Reason: v1.ReasonSetupFailed, Message: "the cluster could not be set up: cannot list Shop in time"}
	tests["late informers"] = late
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := fmt.Errorf("doing something: %w", tt.err)
			if got := apierror.Classify(err); got != tt.class {
				t.Errorf("class %s, want %s", got, tt.class)
			}
			if diff := cmp.Diff(&tt.probe, explainProbe(attempt.Access, attempt.Settings.Clock.Now(), err)); diff != "" {
				t.Errorf("probe (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(&tt.step, attempt.stepFailed(health.StepSetup, err)); diff != "" {
				t.Errorf("step (-want +got):\n%s", diff)
			}
		})
	}
}

// TestExplainInspection checks that an inspection that times out does not decide whether the cluster responds.
func TestExplainInspection(t *testing.T) {
	t.Parallel()
	s := &Connection{settings: &Settings{Clock: clock.RealClock{}, Logger: logr.Discard()}, Access: &kubeconfig.Access{}}
	for err, want := range map[error]health.Failure{
		context.DeadlineExceeded: {Step: health.StepSetup, Reason: v1.ReasonSetupFailed, Message: "permissions, definitions and the record could not be read in time"},
		syscall.ECONNREFUSED:     {Step: health.StepReach, Reason: v1.ReasonProbeFailed, Message: "the cluster refuses connections"},
	} {
		if diff := cmp.Diff(&want, s.ExplainInspection("eu-1", fmt.Errorf("inspecting: %w", err))); diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
}
