package apierror

import (
	"context"
	"errors"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"time"

	"google.golang.org/api/googleapi"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/gcp/identity"
)

const (
	// busyWait is when to ask again after too many requests, when Google does not say.
	busyWait = 5 * time.Second
	// ResourceWait is Google's least time between two snapshots of a disk, and between
	// two disks of a zone from one snapshot.
	ResourceWait = 10 * time.Minute
)

// Answer holds the status and the headers of a response.
type Answer struct {
	// Status is 0 when there was none.
	Status int
	Header http.Header
}

// Of returns the Answer of a server's response.
func Of(r *http.Response) Answer { return Answer{Status: r.StatusCode, Header: r.Header} }

// Date returns the server's time, or the zero time.
func (a Answer) Date() time.Time {
	at, err := http.ParseTime(a.Header.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return at
}

// wait parses the Retry-After of a response: seconds, or a date by the server's clock.
func (a Answer) wait() time.Duration {
	text := a.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return min(time.Duration(seconds)*time.Second, 24*time.Hour)
	}
	if at, err := http.ParseTime(text); err == nil && !a.Date().IsZero() {
		return min(max(at.Sub(a.Date()), 0), 24*time.Hour)
	}
	return 0
}

// Failure describes a failed request.
type Failure struct {
	// Op is the method of package cloud.
	Op string
	// Mutates reports whether a lost response may hide a change.
	Mutates bool
	// Makes reports whether it creates a disk or a snapshot, for which Google has
	// separate limits.
	Makes  bool
	Answer Answer
	// Cause is the error of the SDK.
	Cause error
}

// Classify converts a failure to a *cloud.Error.
func Classify(f Failure) *cloud.Error {
	e := &cloud.Error{Provider: v1.ProviderGCP, Op: f.Op, Err: f.Cause, RequestID: f.Answer.requestID()}
	if token, ok := errors.AsType[*identity.Error](f.Cause); ok {
		e.Class, e.Code, e.Message, e.RetryAfter = token.Class, token.Code, token.Message, token.RetryAfter
		return e
	}
	var refused *googleapi.Error
	if !errors.As(f.Cause, &refused) {
		f.lost(e)
		return e
	}
	if len(refused.Errors) > 0 {
		e.Code = refused.Errors[0].Reason
	}
	e.Message = OneLine(refused.Message)
	e.Class = ReasonClass(e.Code)
	certain := e.Class == cloud.ClassThrottled || e.Class == cloud.ClassQuota
	switch {
	case refused.Code == http.StatusUnauthorized:
		e.Class = cloud.ClassAuthExpired
	case refused.Code == http.StatusTooManyRequests:
		e.Class = cloud.ClassThrottled
	case refused.Code >= http.StatusInternalServerError && refused.Code != http.StatusNotImplemented && !certain,
		refused.Code == http.StatusRequestTimeout, refused.Message == "":
		// The result is unknown to the server and to proxies before it.
		e.Class = lostClass(f.Mutates)
		if e.Code == "" {
			e.Code, e.Message = "HTTP"+strconv.Itoa(refused.Code), "the answer is not one of Google's API"
		}
	case e.Class == "":
		e.Class = statusClass(refused.Code)
	}
	if e.Class == cloud.ClassLocked && (f.Makes || !f.Mutates) {
		e.Class = cloud.ClassDenied // A policy of the organization: nothing is deleted.
	}
	if e.Class == cloud.ClassDenied {
		if permission := deniedPermission(refused.Message); permission != "" {
			e.Code = permission
		}
	}
	if e.Class == cloud.ClassThrottled {
		e.RetryAfter = retryAfter(f.Answer, e.Code, f.Makes)
	}
	return e
}

// requestID returns Google's ID of the request. Compute Engine and Cloud Storage each
// use a header of their own for it.
func (a Answer) requestID() string {
	if id := a.Header.Get("X-Goog-Request-Id"); id != "" {
		return id
	}
	return a.Header.Get("X-Guploader-Uploadid")
}

// lostClass returns the class of a request whose result is unknown.
func lostClass(mutates bool) cloud.Class {
	if mutates {
		return cloud.ClassAmbiguous
	}
	return cloud.ClassTransient
}

// lost returns the error of a request without a readable response.
func (f Failure) lost(e *cloud.Error) {
	e.Class = lostClass(f.Mutates)
	var network net.Error
	switch {
	case errors.Is(f.Cause, context.Canceled):
		e.Code, e.Message = "Canceled", "the call was given up"
	case errors.Is(f.Cause, context.DeadlineExceeded) || errors.As(f.Cause, &network) && network.Timeout():
		e.Code, e.Message = "Timeout", "there was no answer in time"
	case f.Answer.Status != 0:
		e.Code, e.Message = "BadAnswer", "the answer cannot be read"
	default:
		e.Code, e.Message = "Unreachable", OneLine(f.Cause.Error())
	}
}

// ReasonClass returns the class of a reason in a response, or of a code in an operation,
// and "" for unknown ones.
func ReasonClass(reason string) cloud.Class {
	switch reason {
	case "rateLimitExceeded", "userRateLimitExceeded", "resourceOperationRateExceeded",
		"RATE_LIMIT_EXCEEDED", "RESOURCE_OPERATION_RATE_EXCEEDED":
		return cloud.ClassThrottled
	case "quotaExceeded", "limitExceeded", "dailyLimitExceeded", "QUOTA_EXCEEDED", "LIMIT_EXCEEDED":
		return cloud.ClassQuota
	case "forbidden", "insufficientPermissions", "accessNotConfigured", "accountDisabled", "PERMISSIONS_ERROR", "PERMISSION_DENIED", "FORBIDDEN":
		return cloud.ClassDenied
	case "notFound", "RESOURCE_NOT_FOUND":
		return cloud.ClassNotFound
	case "alreadyExists", "duplicate", "RESOURCE_ALREADY_EXISTS":
		return cloud.ClassConflict
	case "resourceInUseByAnotherResource", "resourceInUse", "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE":
		return cloud.ClassInUse
	case "resourceNotReady", "RESOURCE_NOT_READY", "ZONE_RESOURCE_POOL_EXHAUSTED", "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS", "REGION_RESOURCE_POOL_EXHAUSTED":
		return cloud.ClassTransient
	case "conditionNotMet", "CONDITION_NOT_MET", "retentionPolicyNotMet", "objectUnderActiveHold":
		return cloud.ClassLocked
	case "unsupportedOperation", "notImplemented", "UNSUPPORTED_OPERATION":
		return cloud.ClassUnsupported
	case "invalid", "badRequest", "invalidUsage", "INVALID_FIELD_VALUE", "INVALID_USAGE", "BAD_REQUEST":
		return cloud.ClassInvalid
	default:
		return ""
	}
}

// statusClass returns the class of a response with an unknown reason.
func statusClass(status int) cloud.Class {
	switch status {
	case http.StatusForbidden:
		return cloud.ClassDenied
	case http.StatusNotFound:
		return cloud.ClassNotFound
	case http.StatusConflict:
		return cloud.ClassConflict
	case http.StatusPreconditionFailed:
		return cloud.ClassLocked
	case http.StatusNotImplemented:
		return cloud.ClassUnsupported
	default:
		return cloud.ClassInvalid
	}
}

// deniedPermission returns the missing permission, which Google only names in the
// message; the class does not depend on it.
func deniedPermission(message string) string {
	found := regexp.MustCompile(`'([a-z]+(?:\.[A-Za-z]+){2})'`).FindStringSubmatch(message)
	if found == nil {
		return ""
	}
	return found[1]
}

// retryAfter returns the time before a retry: the response's, but at least the wait for
// the limit of the resource.
func retryAfter(a Answer, code string, makes bool) time.Duration {
	said := a.wait()
	switch {
	case code == "resourceOperationRateExceeded" || code == "RESOURCE_OPERATION_RATE_EXCEEDED":
		return max(said, ResourceWait)
	case said > 0:
		return said
	case makes && code != "":
		return ResourceWait
	default:
		return busyWait
	}
}
