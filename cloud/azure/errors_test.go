package azure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	testclock "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake/arm"
)

// responseError returns the SDK's error for a response.
func responseError(t *testing.T, status int, header http.Header, body string) error {
	t.Helper()
	recorder := httptest.NewRecorder()
	maps.Copy(recorder.Header(), header)
	recorder.WriteHeader(status)
	_, _ = recorder.WriteString(body)
	answer := recorder.Result()
	answer.Request = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://management.azure.com/x", http.NoBody)
	return runtime.NewResponseError(answer)
}

func TestClasses(t *testing.T) {
	t.Parallel()
	const read, create, remove = "read", "write", "delete"
	tests := []struct {
		verb   string
		status int
		code   string
		want   cloud.Class
	}{
		{read, 429, "TooManyRequests", cloud.ClassThrottled},
		{create, 429, "", cloud.ClassThrottled},
		{create, 429, "OperationNotAllowed", cloud.ClassThrottled},
		{read, 401, "ExpiredAuthenticationToken", cloud.ClassAuthExpired},
		{create, 401, "InvalidAuthenticationToken", cloud.ClassAuthExpired},
		{read, 403, "AuthorizationFailed", cloud.ClassDenied},
		{create, 403, "LinkedAuthorizationFailed", cloud.ClassDenied},
		{create, 403, "RequestDisallowedByPolicy", cloud.ClassDenied},
		{remove, 403, "RequestDisallowedByPolicy", cloud.ClassLocked},
		{read, 403, "", cloud.ClassTransient},
		{create, 403, "", cloud.ClassAmbiguous},
		{read, 404, "ResourceNotFound", cloud.ClassNotFound},
		{create, 404, "NotFound", cloud.ClassNotFound},
		{read, 404, "", cloud.ClassTransient},
		{remove, 404, "", cloud.ClassAmbiguous},
		{read, 404, "ResourceGroupNotFound", cloud.ClassInvalid},
		{create, 404, "SubscriptionNotFound", cloud.ClassInvalid},
		{create, 409, "MissingSubscriptionRegistration", cloud.ClassInvalid},
		{create, 400, "InvalidParameter", cloud.ClassInvalid},
		{create, 400, "QuotaExceeded", cloud.ClassQuota},
		{create, 409, "OperationNotAllowed", cloud.ClassQuota},
		{remove, 409, "OperationNotAllowed", cloud.ClassInUse},
		{remove, 409, "ScopeLocked", cloud.ClassLocked},
		{create, 409, "ScopeLocked", cloud.ClassDenied},
		{create, 409, "PropertyChangeNotAllowed", cloud.ClassConflict},
		{create, 409, "InvalidResourceLocation", cloud.ClassConflict},
		{create, 409, "AnotherOperationInProgress", cloud.ClassAmbiguous},
		{remove, 409, "AnotherOperationInProgress", cloud.ClassTransient},
		{create, 409, "ConflictingUserInput", cloud.ClassTransient},
		{create, 409, "SkuNotAvailable", cloud.ClassUnsupported},
		{create, 409, "AllocationFailed", cloud.ClassTransient},
		{create, 412, "PreconditionFailed", cloud.ClassConflict},
		{read, 408, "RequestTimeout", cloud.ClassTransient},
		{create, 408, "RequestTimeout", cloud.ClassAmbiguous},
		{read, 500, "InternalServerError", cloud.ClassTransient},
		{create, 503, "ServiceUnavailable", cloud.ClassAmbiguous},
		{remove, 504, "GatewayTimeout", cloud.ClassAmbiguous},
		{read, 204, "", cloud.ClassTransient},
		{create, 307, "", cloud.ClassAmbiguous},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %d %s", tt.verb, tt.status, tt.code), func(t *testing.T) {
			t.Parallel()
			if got := (request{"Op", typeSnapshots, tt.verb}).question().ClassOf(tt.status, tt.code); got != tt.want {
				t.Errorf("class %q, want %q", got, tt.want)
			}
		})
	}
}

// failure is an error of the SDK and what becomes of it.
type failure struct {
	request request
	err     error
	want    cloud.Error
}

// refusals returns error responses of the service and the errors that they become.
func refusals(t *testing.T, now time.Time) map[string]failure {
	t.Helper()
	deleting := request{"DeleteSnapshot", typeSnapshots, "delete"}
	long := strings.Repeat("é ", 2000)
	return map[string]failure{
		"throttled, by seconds": {
			deleting, responseError(t, 429, http.Header{"Retry-After": {"42"}, "X-Ms-Request-Id": {"r-1"}}, arm.ErrorBody("TooManyRequests", "slow\r\ndown")),
			cloud.Error{Class: cloud.ClassThrottled, Code: "TooManyRequests", Message: "slow down", RequestID: "r-1", RetryAfter: 42 * time.Second},
		},
		"throttled, by a date": {
			deleting, responseError(t, 429, http.Header{"Retry-After": {now.Add(time.Minute).Format(http.TimeFormat)}}, arm.ErrorBody("TooManyRequests", "slow")),
			cloud.Error{Class: cloud.ClassThrottled, Code: "TooManyRequests", Message: "slow", RetryAfter: time.Minute},
		},
		"throttled, without saying": {
			deleting, responseError(t, 429, nil, "slow"),
			cloud.Error{Class: cloud.ClassThrottled, Message: "status 429", RetryAfter: 5 * time.Second},
		},
		"denied, which names the permission": {
			deleting, responseError(t, 403, nil, arm.ErrorBody("AuthorizationFailed", "no")),
			cloud.Error{Class: cloud.ClassDenied, Code: "Microsoft.Compute/snapshots/delete", Message: "no"},
		},
		"out of order, and says when it is back": {
			deleting, responseError(t, 503, http.Header{"Retry-After": {"7"}}, "<html>"),
			cloud.Error{Class: cloud.ClassAmbiguous, Message: "status 503", RetryAfter: 7 * time.Second},
		},
		"a message with credentials": {
			deleting, responseError(t, 400, nil, arm.ErrorBody("Bad", "Bearer abc eyJhbGciOi.eyJh.x https://blob/x?sv=1&sig=abc and so on")),
			cloud.Error{Class: cloud.ClassInvalid, Code: "Bad", Message: "Bearer … … … and so on"},
		},
		"a message without end": {
			deleting, responseError(t, 400, nil, arm.ErrorBody("Bad", long)),
			cloud.Error{Class: cloud.ClassInvalid, Code: "Bad", Message: strings.Repeat("é ", 339) + "é..."},
		},
	}
}

// losses returns requests without a response and the errors that they become.
func losses() map[string]failure {
	deleting := request{"DeleteSnapshot", typeSnapshots, "delete"}
	lost := errors.New("connection reset by peer")
	return map[string]failure{
		"the connection is lost": {
			deleting, &url.Error{Op: "Delete", URL: "https://management.azure.com/secret?sig=1", Err: lost},
			cloud.Error{Class: cloud.ClassAmbiguous, Message: "connection reset by peer", Err: lost},
		},
		"a read is cancelled": {
			deleting.reading(typeSnapshots), context.Canceled,
			cloud.Error{Class: cloud.ClassTransient, Code: "Canceled", Message: "context canceled", Err: context.Canceled},
		},
		"a change takes too long": {
			deleting, fmt.Errorf("waiting: %w", context.DeadlineExceeded),
			cloud.Error{Class: cloud.ClassAmbiguous, Code: "Timeout", Message: "waiting: context deadline exceeded", Err: context.DeadlineExceeded},
		},
		"no token, so nothing was sent": {
			deleting, fmt.Errorf("authorizing: %w", &cloud.Error{Class: cloud.ClassTransient, Code: "NoToken", Message: "asking for a token", Err: lost}),
			cloud.Error{Class: cloud.ClassTransient, Code: "NoToken", Message: "asking for a token", Err: lost},
		},
	}
}

func TestFail(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	a := &account{config: cloud.Config{Clock: testclock.NewFakeClock(now)}}
	tests := refusals(t, now)
	maps.Copy(tests, losses())
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := a.fail(tt.request, tt.err)
			var got *cloud.Error
			if !errors.As(err, &got) {
				t.Fatalf("%T: %v", err, err)
			}
			want := tt.want
			want.Provider, want.Op = v1.ProviderAzure, tt.request.op
			if got.Class != want.Class || got.Code != want.Code || got.RequestID != want.RequestID || got.RetryAfter != want.RetryAfter ||
				got.Op != want.Op || got.Provider != want.Provider {
				t.Errorf("got %+v, want %+v", *got, want)
			}
			if got.Message != want.Message {
				t.Errorf("message %q, want %q", got.Message, want.Message)
			}
			if !errors.Is(err, want.Err) && want.Err != nil {
				t.Errorf("the cause %v is lost", want.Err)
			}
		})
	}
	if err := a.fail(request{}, nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}
