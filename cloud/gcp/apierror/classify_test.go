package apierror

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/googleapi"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// told returns an error of Google's API.
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
	after := func(value string) Answer {
		return Answer{Status: 1, Header: http.Header{"Retry-After": {value}, "Date": {"Sun, 01 Mar 2026 02:00:00 GMT"}}}
	}
	lost := &url.Error{Op: "Post", URL: "https://compute.googleapis.com/x", Err: errors.New("connection reset by peer")}
	makes := Failure{Mutates: true, Makes: true}
	with := func(f Failure, cause error) Failure { f.Cause = cause; return f }
	tests := map[string]struct {
		failure Failure
		class   cloud.Class
		code    string
		wait    time.Duration
	}{
		"not found":          {with(Failure{}, told(404, "notFound", text)), cloud.ClassNotFound, "notFound", 0},
		"exists":             {with(makes, told(409, "alreadyExists", text)), cloud.ClassConflict, "alreadyExists", 0},
		"invalid":            {with(makes, told(400, "invalid", text)), cloud.ClassInvalid, "invalid", 0},
		"in use":             {with(Failure{Mutates: true}, told(400, "resourceInUseByAnotherResource", text)), cloud.ClassInUse, "resourceInUseByAnotherResource", 0},
		"not ready":          {with(makes, told(400, "resourceNotReady", text)), cloud.ClassTransient, "resourceNotReady", 0},
		"policy on deletion": {with(Failure{Mutates: true}, told(412, "conditionNotMet", text)), cloud.ClassLocked, "conditionNotMet", 0},
		"policy on making":   {with(makes, told(412, "conditionNotMet", text)), cloud.ClassDenied, "conditionNotMet", 0},
		"policy on reading":  {with(Failure{}, told(412, "conditionNotMet", text)), cloud.ClassDenied, "conditionNotMet", 0},
		"not implemented":    {with(makes, told(501, "notImplemented", text)), cloud.ClassUnsupported, "notImplemented", 0},
		"denied":             {with(Failure{}, told(403, "forbidden", "Required 'compute.disks.get' permission for 'd'")), cloud.ClassDenied, "compute.disks.get", 0},
		"denied otherwise":   {with(Failure{}, told(403, "accessNotConfigured", text)), cloud.ClassDenied, "accessNotConfigured", 0},
		"unknown reason":     {with(makes, told(403, "somethingNew", text)), cloud.ClassDenied, "somethingNew", 0},
		"credentials":        {with(makes, told(401, "authError", text)), cloud.ClassAuthExpired, "authError", 0},
		"quota":              {with(makes, told(403, "quotaExceeded", text)), cloud.ClassQuota, "quotaExceeded", 0},
		"rate of reads":      {with(Failure{}, told(403, "rateLimitExceeded", text)), cloud.ClassThrottled, "rateLimitExceeded", 5 * time.Second},
		"rate of deletions":  {with(Failure{Mutates: true}, told(403, "rateLimitExceeded", text)), cloud.ClassThrottled, "rateLimitExceeded", 5 * time.Second},
		"rate of making":     {with(makes, told(403, "rateLimitExceeded", text)), cloud.ClassThrottled, "rateLimitExceeded", 10 * time.Minute},
		"rate as 429":        {with(makes, told(429, "", text)), cloud.ClassThrottled, "", 5 * time.Second},
		"rate as 503":        {with(makes, told(503, "rateLimitExceeded", text)), cloud.ClassThrottled, "rateLimitExceeded", 10 * time.Minute},
		"rate of a disk":     {Failure{Mutates: true, Makes: true, Answer: after("20"), Cause: told(403, "resourceOperationRateExceeded", text)}, cloud.ClassThrottled, "resourceOperationRateExceeded", 10 * time.Minute},
		"told in seconds":    {Failure{Mutates: true, Makes: true, Answer: after("20"), Cause: told(403, "rateLimitExceeded", text)}, cloud.ClassThrottled, "rateLimitExceeded", 20 * time.Second},
		"told as a date":     {Failure{Answer: after("Sun, 01 Mar 2026 02:01:00 GMT"), Cause: told(429, "", text)}, cloud.ClassThrottled, "", time.Minute},
		"told nonsense":      {Failure{Answer: after("soon"), Cause: told(429, "", text)}, cloud.ClassThrottled, "", 5 * time.Second},
		"503 of a read":      {with(Failure{}, told(503, "backendError", text)), cloud.ClassTransient, "backendError", 0},
		"503 of a change":    {with(makes, told(503, "backendError", text)), cloud.ClassAmbiguous, "backendError", 0},
		"a proxy's 403":      {with(makes, told(403, "", "")), cloud.ClassAmbiguous, "HTTP403", 0},
		"a redirect":         {with(Failure{}, told(302, "", "")), cloud.ClassTransient, "HTTP302", 0},
		"lost read":          {with(Failure{}, lost), cloud.ClassTransient, "Unreachable", 0},
		"lost change":        {with(makes, lost), cloud.ClassAmbiguous, "Unreachable", 0},
		"no answer in time":  {with(makes, context.DeadlineExceeded), cloud.ClassAmbiguous, "Timeout", 0},
		"given up":           {with(Failure{}, context.Canceled), cloud.ClassTransient, "Canceled", 0},
		"not JSON":           {Failure{Mutates: true, Answer: Answer{Status: 200}, Cause: errors.New("proto: syntax error")}, cloud.ClassAmbiguous, "BadAnswer", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.failure.Op = "EnsureSnapshot"
			got := Classify(tt.failure)
			if got.Class != tt.class || got.Code != tt.code || got.RetryAfter != tt.wait {
				t.Errorf("class %q, code %q, wait %s; want %q, %q, %s", got.Class, got.Code, got.RetryAfter, tt.class, tt.code, tt.wait)
			}
			if got.Message == "" || got.Provider != v1.ProviderGCP || got.Op != "EnsureSnapshot" || !errors.Is(got, tt.failure.Cause) {
				t.Errorf("error %+v", got)
			}
		})
	}
}

// TestClassifyStorage checks the classes of the errors that only Cloud Storage returns.
func TestClassifyStorage(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		mutates bool
		cause   error
		class   cloud.Class
		code    string
	}{
		"retention": {true, told(403, "retentionPolicyNotMet", "retained"), cloud.ClassLocked, "retentionPolicyNotMet"},
		"hold":      {true, told(403, "objectUnderActiveHold", "held"), cloud.ClassLocked, "objectUnderActiveHold"},
		"denied":    {false, told(403, "forbidden", "hub may not. Permission 'storage.objects.get' denied on resource."), cloud.ClassDenied, "storage.objects.get"},
		"busy":      {true, told(503, "backendError", "try again"), cloud.ClassAmbiguous, "backendError"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen := Answer{Status: 1, Header: http.Header{"X-Guploader-Uploadid": {"upload-1"}}}
			got := Classify(Failure{Op: "PutObject", Mutates: tt.mutates, Answer: seen, Cause: tt.cause})
			if got.Class != tt.class || got.Code != tt.code || got.RequestID != "upload-1" {
				t.Errorf("error %+v, want class %q and code %q", got, tt.class, tt.code)
			}
		})
	}
}

func TestOneLine(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ in, want string }{
		"lines":     {"a\r\nb\tc ", "a b c"},
		"token":     {"Bearer ya29.a0AfH6-x_y is bad", "Bearer [...] is bad"},
		"signature": {"eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJhIn0.c2ln is bad", "[...] is bad"},
		"query":     {`Get "https://h/p?access_token=secret&a=b": reset`, `Get "https://h/p[...]": reset`},
		"too long":  {strings.Repeat("aé ", 600), strings.TrimSuffix(strings.Repeat("aé ", 255), " ") + "..."},
		"unharmed":  {"Required 'compute.snapshots.delete' permission for 'projects/p/global/snapshots/s'", "Required 'compute.snapshots.delete' permission for 'projects/p/global/snapshots/s'"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, OneLine(tt.in)); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}
