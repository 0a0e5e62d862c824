package gcp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"cloud.google.com/go/compute/apiv1/computepb"
	"google.golang.org/api/googleapi"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/gcp/identity"
)

const (
	// busyWait is when to ask again after too many requests, when Google does not say.
	busyWait = 5 * time.Second
	// resourceWait is Google's least time between two snapshots of a disk, and between
	// two disks of a zone from one snapshot.
	resourceWait = 10 * time.Minute
	// codeNotVisible is the code when nothing was found and nothing was sent.
	codeNotVisible = "NotVisible"
)

// failure is a request that failed, and what is known of it.
type failure struct {
	op             string
	mutates, makes bool
	answer         answer
	cause          error
}

// classify turns a failure into an error of the port.
func classify(f failure) *cloud.Error {
	e := &cloud.Error{Provider: v1.ProviderGCP, Op: f.op, Err: f.cause, RequestID: f.answer.header.Get("X-Goog-Request-Id")}
	if token, ok := errors.AsType[*identity.Error](f.cause); ok {
		e.Class, e.Code, e.Message, e.RetryAfter = token.Class, token.Code, token.Message, token.RetryAfter
		return e
	}
	var refused *googleapi.Error
	if !errors.As(f.cause, &refused) {
		f.lost(e)
		return e
	}
	if len(refused.Errors) > 0 {
		e.Code = refused.Errors[0].Reason
	}
	e.Message = oneLine(refused.Message)
	e.Class = reasonClass(e.Code)
	certain := e.Class == cloud.ClassThrottled || e.Class == cloud.ClassQuota
	switch {
	case refused.Code == http.StatusUnauthorized:
		e.Class = cloud.ClassAuthExpired
	case refused.Code == http.StatusTooManyRequests:
		e.Class = cloud.ClassThrottled
	case refused.Code >= http.StatusInternalServerError && refused.Code != http.StatusNotImplemented && !certain,
		refused.Code == http.StatusRequestTimeout, refused.Message == "":
		// Neither the server nor what stands before it knows what happened.
		e.Class = lostClass(f.mutates)
		if e.Code == "" {
			e.Code, e.Message = "HTTP"+strconv.Itoa(refused.Code), "the answer is not one of the Compute Engine API"
		}
	case e.Class == "":
		e.Class = statusClass(refused.Code)
	}
	if e.Class == cloud.ClassLocked && f.makes {
		e.Class = cloud.ClassDenied // A policy of the organization.
	}
	if e.Class == cloud.ClassDenied {
		if permission := deniedPermission(refused.Message); permission != "" {
			e.Code = permission
		}
	}
	if e.Class == cloud.ClassThrottled {
		e.RetryAfter = retryAfter(f.answer, e.Code, f.makes)
	}
	return e
}

// lostClass is the class when it is not known what became of a request.
func lostClass(mutates bool) cloud.Class {
	if mutates {
		return cloud.ClassAmbiguous
	}
	return cloud.ClassTransient
}

// lost describes a request without an answer that can be read.
func (f failure) lost(e *cloud.Error) {
	e.Class = lostClass(f.mutates)
	var network net.Error
	switch {
	case errors.Is(f.cause, context.Canceled):
		e.Code, e.Message = "Canceled", "the call was given up"
	case errors.Is(f.cause, context.DeadlineExceeded) || errors.As(f.cause, &network) && network.Timeout():
		e.Code, e.Message = "Timeout", "there was no answer in time"
	case f.answer.status != 0:
		e.Code, e.Message = "BadAnswer", "the answer cannot be read"
	default:
		e.Code, e.Message = "Unreachable", oneLine(f.cause.Error())
	}
}

// reasonClass returns the class of a short reason of an answer or a code of an
// operation, and "" for what is not known.
func reasonClass(reason string) cloud.Class {
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
	case "conditionNotMet", "CONDITION_NOT_MET":
		return cloud.ClassLocked
	case "unsupportedOperation", "notImplemented", "UNSUPPORTED_OPERATION":
		return cloud.ClassUnsupported
	case "invalid", "badRequest", "invalidUsage", "INVALID_FIELD_VALUE", "INVALID_USAGE", "BAD_REQUEST":
		return cloud.ClassInvalid
	default:
		return ""
	}
}

// statusClass returns the class of an answer whose reason is not known.
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

// deniedPermission returns the permission that Google misses, which it tells in a
// sentence alone; the class does not depend on it.
func deniedPermission(message string) string {
	found := regexp.MustCompile(`'([a-z]+(?:\.[A-Za-z]+){2})'`).FindStringSubmatch(message)
	if found == nil {
		return ""
	}
	return found[1]
}

// retryAfter is when to ask again: as the answer says, but not before a limit of the
// resource itself has passed.
func retryAfter(a answer, code string, makes bool) time.Duration {
	said := saidWait(a)
	switch {
	case code == "resourceOperationRateExceeded" || code == "RESOURCE_OPERATION_RATE_EXCEEDED":
		return max(said, resourceWait)
	case said > 0:
		return said
	case makes && code != "":
		return resourceWait
	default:
		return busyWait
	}
}

// saidWait reads the Retry-After of an answer: seconds, or a date by the server's clock.
func saidWait(a answer) time.Duration {
	text := a.header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return min(time.Duration(seconds)*time.Second, 24*time.Hour)
	}
	if at, err := http.ParseTime(text); err == nil && !a.date().IsZero() {
		return min(max(at.Sub(a.date()), 0), 24*time.Hour)
	}
	return 0
}

// operationError turns the first error of an operation into one of the port; nil when
// there is none. Its class is "" when what it means is not known.
func operationError(op string, done *computepb.Operation) *cloud.Error {
	failures := done.GetError().GetErrors()
	if len(failures) == 0 {
		return nil
	}
	e := &cloud.Error{Provider: v1.ProviderGCP, Op: op, Code: failures[0].GetCode(), Message: oneLine(failures[0].GetMessage())}
	if e.Class = reasonClass(e.Code); e.Class == cloud.ClassThrottled {
		e.RetryAfter = resourceWait
	}
	return e
}

// oneLine returns a text in one line of at most 1024 characters, without what looks
// like a token or a signed URL's query.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	text = regexp.MustCompile(`(?:ya29\.|eyJ)[A-Za-z0-9_.~+/=-]+|\?[^\s"]*=[^\s"]*|[A-Za-z0-9_.~+=-]{128,}`).ReplaceAllString(text, "[...]")
	const most = 1024
	if len(text) > most {
		text = text[:most]
		for !utf8.ValidString(text) {
			text = text[:len(text)-1]
		}
	}
	return strings.ToValidUTF8(text, "")
}
