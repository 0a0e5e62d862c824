package apierror

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// status returns an answer of an API server.
func status(code int32, reason metav1.StatusReason, message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message, Details: &metav1.StatusDetails{},
	}}
}

func terminating() error {
	err := status(http.StatusForbidden, metav1.StatusReasonForbidden, "it is being terminated")
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	return err
}

// request returns an error as client-go returns it for a request without an answer.
func request(err error) error {
	return &url.Error{Op: "Patch", URL: "https://10.1.2.3:34567/api", Err: err}
}

func dial(err error) error {
	return request(&net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3), Port: 34567}, Err: os.NewSyscallError("connect", err)})
}

type unowned struct{}

func (unowned) Error() string           { return "annotate it" }
func (unowned) ConditionReason() string { return v1.ReasonConflict }

type decisionTest struct {
	err  error
	want Decision
}

func blockedFor(class Class, reason, message string) Decision {
	return Decision{Class: class, Reason: reason, Message: message, Blocking: true, Wait: 5 * time.Minute}
}

func returned(class Class, message string) Decision {
	return Decision{Class: class, Reason: v1.ReasonApplyFailed, Message: message, Return: true}
}

func throttled(wait time.Duration) Decision {
	return Decision{Class: Throttled, Reason: v1.ReasonApplyFailed, Message: "the cluster throttles requests", Wait: wait}
}

func ending() Decision {
	return Decision{
		Class: NamespaceTerminating, Reason: v1.ReasonNamespaceTerminating, Message: "the namespace is being deleted",
		Blocking: true, Wait: 30 * time.Second,
	}
}

// TestDecideAnswers covers what an API server answers.
func TestDecideAnswers(t *testing.T) {
	t.Parallel()
	resource := schema.GroupResource{Group: "apps", Resource: "statefulsets"}
	kind := schema.GroupKind{Group: "policy", Kind: "PodDisruptionBudget"}
	conflict := Decision{Class: Conflict, Wait: 200 * time.Millisecond}
	denied := `admission webhook "policy.example.com" denied the request: no`
	checkDecisions(t, map[string]decisionTest{
		"newer version":         {apierrors.NewConflict(resource, "db", errors.New("newer")), conflict},
		"object exists":         {apierrors.NewAlreadyExists(resource, "db"), conflict},
		"conflict of a proxy":   {apierrors.NewGenericServerResponse(http.StatusConflict, http.MethodPatch, resource, "db", "", 0, true), conflict},
		"429":                   {status(http.StatusTooManyRequests, "", "slow down"), throttled(10 * time.Second)},
		"429 with Retry-After":  {apierrors.NewTooManyRequests("slow down", 7), throttled(7 * time.Second)},
		"429 with a year":       {apierrors.NewTooManyRequests("slow down", 365*24*3600), throttled(5 * time.Minute)},
		"namespace ends":        {terminating(), ending()},
		"missing permission":    {apierrors.NewForbidden(resource, "db", errors.New("cannot patch")), blockedFor(Forbidden, v1.ReasonForbidden, `statefulsets.apps "db" is forbidden: cannot patch`)},
		"webhook denies, 403":   {status(http.StatusForbidden, "", denied), blockedFor(Forbidden, v1.ReasonForbidden, denied)},
		"webhook denies, 400":   {status(http.StatusBadRequest, "", denied), blockedFor(Invalid, v1.ReasonInvalidSpec, denied)},
		"policy denies, 422":    {status(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "denied"), blockedFor(Invalid, v1.ReasonInvalidSpec, "denied")},
		"schema, 422":           {apierrors.NewInvalid(kind, "web", nil), blockedFor(Invalid, v1.ReasonInvalidSpec, `PodDisruptionBudget.policy "web" is invalid`)},
		"bad request":           {apierrors.NewBadRequest("what?"), blockedFor(Invalid, v1.ReasonInvalidSpec, "what?")},
		"413":                   {apierrors.NewRequestEntityTooLargeError("limit is 3 MiB"), blockedFor(Invalid, v1.ReasonInvalidSpec, "Request entity too large: limit is 3 MiB")},
		"no such kind":          {&meta.NoKindMatchError{GroupKind: kind}, blockedFor(NotServed, v1.ReasonApplyFailed, "the cluster has no PodDisruptionBudget.policy")},
		"no such resource":      {&meta.NoResourceMatchError{}, blockedFor(NotServed, v1.ReasonApplyFailed, "the cluster does not serve this kind")},
		"405":                   {apierrors.NewMethodNotSupported(resource, "patch"), blockedFor(NotServed, v1.ReasonApplyFailed, "the cluster does not serve this kind")},
		"missing object":        {apierrors.NewNotFound(resource, "db"), returned(NotFound, "the cluster answers NotFound")},
		"unknown credentials":   {apierrors.NewUnauthorized("who?"), returned(Unauthorized, "the cluster answers Unauthorized")},
		"500 of a proxy":        {apierrors.NewGenericServerResponse(http.StatusInternalServerError, http.MethodPatch, resource, "db", "at 10.1.2.3", 0, true), returned(Transient, "the cluster answers InternalError")},
		"503":                   {apierrors.NewServiceUnavailable("starting"), returned(Transient, "the cluster answers ServiceUnavailable")},
		"503 with Retry-After":  {apierrors.NewGenericServerResponse(http.StatusServiceUnavailable, http.MethodPatch, resource, "db", "", 1, true), returned(Transient, "the cluster answers ServiceUnavailable")},
		"504":                   {apierrors.NewTimeoutError("too slow", 1), returned(Transient, "the cluster answers Timeout")},
		"code without a reason": {status(http.StatusTeapot, "", "at 10.1.2.3"), returned(Transient, "the cluster answers with code 418")},
	})
}

// applied is an error of a server-side apply, as package apply returns it.
type applied struct{ error }

func (a applied) Unwrap() error { return a.error }
func (applied) ConcernsObject() {}

// TestDecideInternal checks that an API server that fails on one object is no outage, and says why.
func TestDecideInternal(t *testing.T) {
	t.Parallel()
	const remedy = "repair what the cluster fails on, such as a webhook or a definition: "
	field := ".spec.endpoints[0].interval: field not declared in schema"
	checkDecisions(t, map[string]decisionTest{
		"webhook": {
			apierrors.NewInternalError(errors.New(`failed calling webhook "a": Post "https://a.svc:443/?timeout=10s": dial tcp 10.1.2.3:443: refused`)),
			returned(Internal, remedy+`Internal error occurred: failed calling webhook "a": dial tcp (address): refused`),
		},
		"definition without a field, applied": {applied{status(http.StatusInternalServerError, "", field)}, returned(Internal, remedy+field)},
		"code of a read":                      {status(http.StatusInternalServerError, "", field), returned(Transient, "the cluster answers with code 500")},
		"other code of an apply":              {applied{status(http.StatusBadGateway, "", field)}, returned(Transient, "the cluster answers with code 502")},
		"no answer to an apply":               {applied{dial(syscall.ECONNREFUSED)}, returned(Unreachable, "the cluster refuses connections")},
		"throttled apply":                     {applied{apierrors.NewTooManyRequests("slow down", 7)}, throttled(7 * time.Second)},
		"503 of an apply":                     {applied{apierrors.NewServiceUnavailable("starting")}, returned(Transient, "the cluster answers ServiceUnavailable")},
	})
}

// TestDecide covers errors without an answer.
func TestDecide(t *testing.T) {
	t.Parallel()
	if d := Decide(nil); d != (Decision{}) {
		t.Errorf("no error: %+v", d)
	}
	checkDecisions(t, map[string]decisionTest{
		"refused by the writer": {unowned{}, blockedFor(Blocked, v1.ReasonConflict, "annotate it")},
		"rejected spec": {
			&SpecError{Reason: v1.ReasonDriverMissing, Err: errors.New("install the driver")},
			Decision{Class: InvalidSpec, Reason: v1.ReasonDriverMissing, Message: "install the driver", Blocking: true},
		},
		"lease not renewed":      {request(ErrFenced), Decision{Class: Fenced, Wait: 2 * time.Second}},
		"paused":                 {request(ErrPaused), Decision{Class: Paused, Reason: v1.ReasonPaused, Message: "writes are paused"}},
		"no connection":          {ErrNotConnected, Decision{Class: NotConnected, Reason: v1.ReasonClusterUnreachable, Message: "the cluster is not connected"}},
		"deadline":               {context.DeadlineExceeded, returned(Unreachable, "the cluster does not answer in time")},
		"deadline of a request":  {request(context.DeadlineExceeded), returned(Unreachable, "the cluster does not answer in time")},
		"timeout of the network": {dial(syscall.ETIMEDOUT), returned(Unreachable, "the cluster does not answer in time")},
		"connection refused":     {dial(syscall.ECONNREFUSED), returned(Unreachable, "the cluster refuses connections")},
		"no route":               {dial(syscall.EHOSTUNREACH), returned(Unreachable, "there is no route to the cluster")},
		"reset":                  {request(syscall.ECONNRESET), returned(Unreachable, "the cluster closes the connection")},
		"end of file":            {request(io.EOF), returned(Unreachable, "the cluster closes the connection")},
		"other network error":    {dial(errors.New("at 10.1.2.3")), returned(Unreachable, "the cluster cannot be reached")},
		"no file of a token":     {request(&fs.PathError{Op: "open", Path: "token", Err: syscall.ENOENT}), returned(Transient, "an error of the controller: see its log")},
		"anything else":          {errors.New("pointer 0xc000123456"), returned(Transient, "an error of the controller: see its log")},
	})
}

func checkDecisions(t *testing.T, tests map[string]decisionTest) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, Decide(tt.err)); diff != "" {
				t.Errorf("plain (-want +got):\n%s", diff)
			}
			wrapped := errors.Join(nil, fmt.Errorf("applying something: %w", fmt.Errorf("once more: %w", tt.err)))
			got := Decide(wrapped)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("wrapped (-want +got):\n%s", diff)
			}
			if strings.Contains(got.Message, "10.1.2.3") || strings.Contains(got.Message, "0xc000") {
				t.Errorf("message %q differs between attempts", got.Message)
			}
			if got.Return && got.Wait != 0 {
				t.Error("the policy both returns the error and asks for a wait")
			}
		})
	}
}
