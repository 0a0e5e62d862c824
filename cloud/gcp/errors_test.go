package gcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/googleapi"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// told is an error of Google's API.
func told(status int, reason, message string) error {
	e := &googleapi.Error{Code: status, Message: message}
	if reason != "" {
		e.Errors = []googleapi.ErrorItem{{Reason: reason, Message: message}}
	}
	return fmt.Errorf("sending: %w", e)
}

func TestClassify(t *testing.T) {
	t.Parallel()
	const text = "what it says"
	after := func(value string) answer {
		return answer{status: 1, header: http.Header{"Retry-After": {value}, "Date": {"Sun, 01 Mar 2026 02:00:00 GMT"}}}
	}
	lost := &url.Error{Op: "Post", URL: "https://compute.googleapis.com/x", Err: errors.New("connection reset by peer")}
	makes := failure{mutates: true, makes: true}
	with := func(f failure, cause error) failure { f.cause = cause; return f }
	tests := map[string]struct {
		failure failure
		class   cloud.Class
		code    string
		wait    time.Duration
	}{
		"not found":          {with(failure{}, told(404, "notFound", text)), cloud.ClassNotFound, "notFound", 0},
		"exists":             {with(makes, told(409, "alreadyExists", text)), cloud.ClassConflict, "alreadyExists", 0},
		"invalid":            {with(makes, told(400, "invalid", text)), cloud.ClassInvalid, "invalid", 0},
		"in use":             {with(failure{mutates: true}, told(400, "resourceInUseByAnotherResource", text)), cloud.ClassInUse, "resourceInUseByAnotherResource", 0},
		"not ready":          {with(makes, told(400, "resourceNotReady", text)), cloud.ClassTransient, "resourceNotReady", 0},
		"policy on deletion": {with(failure{mutates: true}, told(412, "conditionNotMet", text)), cloud.ClassLocked, "conditionNotMet", 0},
		"policy on making":   {with(makes, told(412, "conditionNotMet", text)), cloud.ClassDenied, "conditionNotMet", 0},
		"not implemented":    {with(makes, told(501, "notImplemented", text)), cloud.ClassUnsupported, "notImplemented", 0},
		"denied":             {with(failure{}, told(403, "forbidden", "Required 'compute.disks.get' permission for 'd'")), cloud.ClassDenied, "compute.disks.get", 0},
		"denied otherwise":   {with(failure{}, told(403, "accessNotConfigured", text)), cloud.ClassDenied, "accessNotConfigured", 0},
		"unknown reason":     {with(makes, told(403, "somethingNew", text)), cloud.ClassDenied, "somethingNew", 0},
		"credentials":        {with(makes, told(401, "authError", text)), cloud.ClassAuthExpired, "authError", 0},
		"quota":              {with(makes, told(403, "quotaExceeded", text)), cloud.ClassQuota, "quotaExceeded", 0},
		"rate of reads":      {with(failure{}, told(403, "rateLimitExceeded", text)), cloud.ClassThrottled, "rateLimitExceeded", 5 * time.Second},
		"rate of deletions":  {with(failure{mutates: true}, told(403, "rateLimitExceeded", text)), cloud.ClassThrottled, "rateLimitExceeded", 5 * time.Second},
		"rate of making":     {with(makes, told(403, "rateLimitExceeded", text)), cloud.ClassThrottled, "rateLimitExceeded", 10 * time.Minute},
		"rate as 429":        {with(makes, told(429, "", text)), cloud.ClassThrottled, "", 5 * time.Second},
		"rate as 503":        {with(makes, told(503, "rateLimitExceeded", text)), cloud.ClassThrottled, "rateLimitExceeded", 10 * time.Minute},
		"rate of a disk":     {failure{mutates: true, makes: true, answer: after("20"), cause: told(403, "resourceOperationRateExceeded", text)}, cloud.ClassThrottled, "resourceOperationRateExceeded", 10 * time.Minute},
		"told in seconds":    {failure{mutates: true, makes: true, answer: after("20"), cause: told(403, "rateLimitExceeded", text)}, cloud.ClassThrottled, "rateLimitExceeded", 20 * time.Second},
		"told as a date":     {failure{answer: after("Sun, 01 Mar 2026 02:01:00 GMT"), cause: told(429, "", text)}, cloud.ClassThrottled, "", time.Minute},
		"told nonsense":      {failure{answer: after("soon"), cause: told(429, "", text)}, cloud.ClassThrottled, "", 5 * time.Second},
		"503 of a read":      {with(failure{}, told(503, "backendError", text)), cloud.ClassTransient, "backendError", 0},
		"503 of a change":    {with(makes, told(503, "backendError", text)), cloud.ClassAmbiguous, "backendError", 0},
		"a proxy's 403":      {with(makes, told(403, "", "")), cloud.ClassAmbiguous, "HTTP403", 0},
		"a redirect":         {with(failure{}, told(302, "", "")), cloud.ClassTransient, "HTTP302", 0},
		"lost read":          {with(failure{}, lost), cloud.ClassTransient, "Unreachable", 0},
		"lost change":        {with(makes, lost), cloud.ClassAmbiguous, "Unreachable", 0},
		"no answer in time":  {with(makes, context.DeadlineExceeded), cloud.ClassAmbiguous, "Timeout", 0},
		"given up":           {with(failure{}, context.Canceled), cloud.ClassTransient, "Canceled", 0},
		"not JSON":           {failure{mutates: true, answer: answer{status: 200}, cause: errors.New("proto: syntax error")}, cloud.ClassAmbiguous, "BadAnswer", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.failure.op = "EnsureSnapshot"
			got := classify(tt.failure)
			if got.Class != tt.class || got.Code != tt.code || got.RetryAfter != tt.wait {
				t.Errorf("class %q, code %q, wait %s; want %q, %q, %s", got.Class, got.Code, got.RetryAfter, tt.class, tt.code, tt.wait)
			}
			if got.Message == "" || got.Provider != v1.ProviderGCP || got.Op != "EnsureSnapshot" || !errors.Is(got, tt.failure.cause) {
				t.Errorf("error %+v", got)
			}
		})
	}
}

func TestOperationError(t *testing.T) {
	t.Parallel()
	tests := map[string]cloud.Class{
		"QUOTA_EXCEEDED": cloud.ClassQuota, "RATE_LIMIT_EXCEEDED": cloud.ClassThrottled, "RESOURCE_OPERATION_RATE_EXCEEDED": cloud.ClassThrottled,
		"ZONE_RESOURCE_POOL_EXHAUSTED": cloud.ClassTransient, "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS": cloud.ClassTransient,
		"RESOURCE_ALREADY_EXISTS": cloud.ClassConflict, "RESOURCE_NOT_FOUND": cloud.ClassNotFound, "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE": cloud.ClassInUse,
		"PERMISSIONS_ERROR": cloud.ClassDenied, "UNSUPPORTED_OPERATION": cloud.ClassUnsupported, "INVALID_USAGE": cloud.ClassInvalid,
		"INTERNAL_ERROR": "", "SOMETHING_NEW": "",
	}
	for code, want := range tests {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			got := operationError("EnsureSnapshot", &computepb.Operation{Error: &computepb.Error{Errors: []*computepb.Errors{{Code: &code, Message: new("why\nnot")}}}})
			if got == nil || got.Class != want || got.Code != code || got.Message != "why not" || (got.RetryAfter == 10*time.Minute) != (want == cloud.ClassThrottled) {
				t.Errorf("error %+v, want class %q", got, want)
			}
		})
	}
	if got := operationError("EnsureSnapshot", &computepb.Operation{}); got != nil {
		t.Errorf("an operation without error: %v", got)
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ in, want string }{
		"lines":     {"a\r\nb\tc ", "a b c"},
		"token":     {"Bearer ya29.a0AfH6-x_y is bad", "Bearer [...] is bad"},
		"signature": {"eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJhIn0.c2ln is bad", "[...] is bad"},
		"query":     {`Get "https://h/p?access_token=secret&a=b": reset`, `Get "https://h/p[...]": reset`},
		"too long":  {strings.Repeat("aé ", 600), strings.TrimSuffix(strings.Repeat("aé ", 256), " ") + " "},
		"unharmed":  {"Required 'compute.snapshots.delete' permission for 'projects/p/global/snapshots/s'", "Required 'compute.snapshots.delete' permission for 'projects/p/global/snapshots/s'"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, oneLine(tt.in)); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}
