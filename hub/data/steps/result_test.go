package steps

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

func TestFromError(t *testing.T) {
	t.Parallel()
	of := func(class cloud.Class, code string, after time.Duration) error {
		return fmt.Errorf("asking: %w", &cloud.Error{
			Class: class, Code: code, Message: "said so", RequestID: "changes-each-time", RetryAfter: after,
		})
	}
	tests := map[string]struct {
		err     error
		reason  string
		message string
		fatal   bool
		wait    time.Duration
	}{
		"throttled":          {of(cloud.ClassThrottled, "SlowDown", time.Minute), v1.ReasonThrottled, "x: the provider throttles requests (SlowDown)", false, time.Minute},
		"safe mode":          {of(cloud.ClassThrottled, accounts.CodeSafeMode, 0), v1.ReasonPaused, "x: said so", false, Refused},
		"throttled, no time": {of(cloud.ClassThrottled, "", 0), v1.ReasonThrottled, "x: the provider throttles requests", false, Transient},
		"transient":          {of(cloud.ClassTransient, "", 0), v1.ReasonCloudUnavailable, "x: the provider does not answer", false, Transient},
		"ambiguous":          {of(cloud.ClassAmbiguous, "", 0), v1.ReasonRetrying, "x: the response was lost; checking the result", false, Transient},
		"quota":              {of(cloud.ClassQuota, "SnapshotLimitExceeded", 0), v1.ReasonQuotaExceeded, "x: a quota of the account is exhausted (SnapshotLimitExceeded)", false, Quota},
		"denied":             {of(cloud.ClassDenied, "ec2:DeleteSnapshot", 0), v1.ReasonCloudRefused, "x: the provider denies permission (ec2:DeleteSnapshot)", false, Refused},
		"expired":            {of(cloud.ClassAuthExpired, "ExpiredToken", 0), v1.ReasonAccountNotReady, "x: the provider rejects the credentials (ExpiredToken)", false, Refused},
		"in use":             {of(cloud.ClassInUse, "", 0), v1.ReasonInUse, "x: the resource is in use", false, Quota},
		"locked":             {of(cloud.ClassLocked, "ObjectLocked", 0), v1.ReasonInUse, "x: a lock or a retention policy of the provider keeps it; it is deleted when that has ended (ObjectLocked)", false, Locked},
		"no account":         {of(cloud.ClassNotFound, accounts.CodeUnknownAccount, 0), v1.ReasonAccountNotFound, "said so", false, PollFirst},
		"not there":          {of(cloud.ClassNotFound, "", 0), v1.ReasonSnapshotMissing, "x: the resource does not exist", true, 0},
		"conflict":           {of(cloud.ClassConflict, "", 0), v1.ReasonVolumeChanged, "x: said so", true, 0},
		"region":             {of(cloud.ClassInvalid, accounts.CodeRegionNotAllowed, 0), v1.ReasonRegionNotAllowed, "said so", true, 0},
		"bucket":             {of(cloud.ClassInvalid, accounts.CodeInvalidBucket, 0), v1.ReasonAccountNotReady, "x: said so", false, Refused},
		"invalid":            {of(cloud.ClassInvalid, "", 0), v1.ReasonCloudRefused, "x: said so", true, 0},
		"unsupported":        {of(cloud.ClassUnsupported, "", 0), v1.ReasonCloudRefused, "x: said so", true, 0},
		"not of a cloud":     {errors.New("dial tcp 10.0.0.1:443"), v1.ReasonCloudUnavailable, "x: the request to the cloud provider failed", false, Transient},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := Result{Reason: tt.reason, Message: tt.message, Fatal: tt.fatal, Wait: tt.wait}
			if got := FromError(tt.err, "x"); got != want || !got.Stops() {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestFromMember(t *testing.T) {
	t.Parallel()
	resource := schema.GroupResource{Resource: "jobs"}
	for name, tt := range map[string]struct {
		err  error
		want Result
	}{
		"not connected": {apierror.ErrNotConnected, RetryAfter(NotConnected, v1.ReasonClusterUnreachable, "eu-1 is not connected")},
		"throttled":     {apierrors.NewTooManyRequests("slow down", 30), RetryAfter(30*time.Second, v1.ReasonThrottled, "eu-1 throttles requests")},
		"conflict":      {apierrors.NewConflict(resource, "x", errors.New("newer")), RetryAfter(PollFirst, v1.ReasonRetrying, "another client changed an object in eu-1 at the same time")},
		"forbidden":     {apierrors.NewForbidden(resource, "x", errors.New("https://signed")), RetryAfter(Refused, v1.ReasonForbidden, "the hub may not create Jobs in eu-1: run kubectl shopfleet join again")},
		"denied":        {apierrors.NewBadRequest("https://signed"), RetryAfter(Refused, v1.ReasonApplyFailed, "eu-1 rejects an object of the hub (Invalid)")},
		"broken":        {apierrors.NewInternalError(errors.New("broken")), RetryAfter(Member, v1.ReasonApplyFailed, "eu-1 fails on an object of the hub, as with a webhook that it cannot call: repair that, the hub tries again")},
		"of a proxy":    {apierrors.NewGenericServerResponse(500, "post", schema.GroupResource{}, "", "", 0, true), RetryAfter(Member, v1.ReasonClusterUnreachable, "eu-1 does not answer")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := FromMember(fmt.Errorf("writing: %w", tt.err), "eu-1", "create Jobs"); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

// TestWithin checks that a wait ends just after the limit, and a step that is complete waits for nothing.
func TestWithin(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		result Result
		left   time.Duration
		want   time.Duration
	}{
		"long before the limit": {RetryAfter(time.Minute, "r", "m"), time.Hour, time.Minute},
		"shortly before":        {RetryAfter(time.Minute, "r", "m"), 20 * time.Second, 21 * time.Second},
		"after it":              {RetryAfter(time.Minute, "r", "m"), -time.Hour, time.Second},
		"complete":              {Result{}, 0, 0},
		"failed":                {Fail("r", "m"), time.Hour, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.result.Within(tt.left).Wait; got != tt.want {
				t.Errorf("it waits for %s, want %s", got, tt.want)
			}
		})
	}
}

func TestPoll(t *testing.T) {
	t.Parallel()
	for age, want := range map[time.Duration]time.Duration{
		0: 5 * time.Second, 100 * time.Second: 10 * time.Second, time.Hour: time.Minute,
	} {
		if got := Poll(age); got != want {
			t.Errorf("after %s: %s, want %s", age, got, want)
		}
	}
}

// TestWaits pins the waits that the hub runs with: suites run with shorter ones.
func TestWaits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ got, want time.Duration }{
		"first poll": {PollFirst, 5 * time.Second},
		"last poll":  {pollLast, time.Minute},
		"transient":  {Transient, 10 * time.Second},
		"member":     {Member, 15 * time.Second},
		"refused":    {Refused, 5 * time.Minute},
		"lost":       {NotConnected, 5 * time.Minute},
		"quota":      {Quota, 10 * time.Minute},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %s, want %s", name, tt.got, tt.want)
		}
	}
}
