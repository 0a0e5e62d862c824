package azure

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/azure/identity"
)

// Codes of our own.
const (
	codeNotVisible = "NotVisible"
	codeNameTaken  = "NameTaken"
	// codeGroupMissing is the service's.
	codeGroupMissing = "ResourceGroupNotFound"
)

// request is what was asked of the service, for its errors.
type request struct {
	// op is the method of the session.
	op string
	// resource is snapshots or disks, verb read, write or delete: together the
	// permission that it needs.
	resource, verb string
}

func (r request) mutates() bool      { return r.verb != "read" }
func (r request) permission() string { return "Microsoft.Compute/" + r.resource + "/" + r.verb }

func (r request) reading(resource string) request { return request{r.op, resource, "read"} }

// no makes an error that the service did not.
func (r request) no(class cloud.Class, code, message string) *cloud.Error {
	return &cloud.Error{Class: class, Provider: v1.ProviderAzure, Op: r.op, Code: code, Message: identity.Line(message)}
}

// fail turns an error of the SDK into one of package cloud; nil stays nil.
func (a *account) fail(r request, err error) error {
	if err == nil {
		return nil
	}
	if ours, ok := errors.AsType[*cloud.Error](err); ok { // From the token: the request itself was not sent.
		out := *ours
		out.Provider, out.Op = v1.ProviderAzure, r.op
		return &out
	}
	if answer, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return r.refused(answer, a.config.Clock.Now())
	}
	if asked, ok := errors.AsType[*url.Error](err); ok {
		err = asked.Err
	}
	out := r.no(r.lost(), "", err.Error())
	out.Err = err
	switch {
	case errors.Is(err, context.Canceled):
		out.Code = "Canceled"
	case errors.Is(err, context.DeadlineExceeded):
		out.Code = "Timeout"
	}
	return out
}

// lost is the class of a request that got no answer.
func (r request) lost() cloud.Class {
	if r.mutates() {
		return cloud.ClassAmbiguous
	}
	return cloud.ClassTransient
}

// refused is the error of an answer. The SDK's own is left behind: its text is the
// whole of it.
func (r request) refused(answer *azcore.ResponseError, now time.Time) *cloud.Error {
	header := http.Header{}
	if answer.RawResponse != nil {
		header = answer.RawResponse.Header
	}
	out := r.no(r.class(answer.StatusCode, answer.ErrorCode), answer.ErrorCode, message(answer))
	out.RequestID = header.Get("x-ms-request-id")
	out.RetryAfter = identity.RetryAfter(header, now)
	switch {
	case out.Class == cloud.ClassThrottled && out.RetryAfter <= 0:
		out.RetryAfter = identity.DefaultRetryAfter
	case answer.ErrorCode == "AuthorizationFailed" && r.resource != "":
		out.Code = r.permission()
	}
	if out.Message == "" {
		out.Message = "status " + strconv.Itoa(answer.StatusCode)
	}
	return out
}

// class decides what an answer means. Codes come first where one status has several
// meanings.
func (r request) class(status int, code string) cloud.Class {
	switch {
	case status == http.StatusTooManyRequests:
		return cloud.ClassThrottled
	case status == http.StatusUnauthorized:
		return cloud.ClassAuthExpired
	case status < http.StatusBadRequest, status == http.StatusRequestTimeout, status >= http.StatusInternalServerError:
		return r.lost()
	case code == "":
		return r.lost() // Not the service's: a proxy on the way, a portal.
	}
	switch code {
	case "QuotaExceeded", "SubscriptionQuotaReached", "ResourceQuotaExceeded", "SnapshotCountExceeded", "DiskCountExceeded":
		return cloud.ClassQuota
	case "AllocationFailed", "ZonalAllocationFailed", "OverconstrainedZonalAllocationRequest":
		return cloud.ClassTransient // Short of machines: it goes by itself.
	case "SkuNotAvailable", "NotAvailableForSubscription":
		return cloud.ClassUnsupported
	case "ScopeLocked":
		return cloud.ClassLocked
	case "RequestDisallowedByPolicy":
		if r.verb == "delete" {
			return cloud.ClassLocked
		}
		return cloud.ClassDenied
	case codeGroupMissing, "SubscriptionNotFound", "MissingSubscriptionRegistration":
		return cloud.ClassInvalid // The account is wrong, not what is asked for.
	}
	switch status {
	case http.StatusForbidden:
		return cloud.ClassDenied
	case http.StatusNotFound, http.StatusGone:
		return cloud.ClassNotFound
	case http.StatusConflict:
		return r.conflict(code)
	case http.StatusPreconditionFailed:
		return cloud.ClassConflict
	default:
		return cloud.ClassInvalid
	}
}

// conflict decides what 409 means, which says that something is not allowed now.
func (r request) conflict(code string) cloud.Class {
	switch {
	case r.verb == "delete" && concurrent(code):
		return cloud.ClassTransient
	case r.verb == "delete":
		return cloud.ClassInUse // Attached, or read through a shared access signature.
	case code == "OperationNotAllowed":
		return cloud.ClassQuota // How the service calls its bounds: per disk, of copies, of the region.
	case concurrent(code):
		return cloud.ClassAmbiguous // Somebody is making what we asked for; maybe it was us.
	case slices.Contains([]string{"PropertyChangeNotAllowed", "InvalidResourceLocation", "ResourceExists", "ResourceAlreadyExists"}, code):
		return cloud.ClassConflict
	default:
		return cloud.ClassTransient // The source is not ready for it.
	}
}

// concurrent tells whether a code says that another request is under way.
func concurrent(code string) bool {
	return slices.Contains([]string{"Conflict", "AnotherOperationInProgress", "OperationPreempted", "ConcurrentRequest"}, code)
}

// takenOrUnderWay tells whether an error says that what was asked for is there, or is
// being made.
func takenOrUnderWay(err error) bool {
	return cloud.ClassOf(err) == cloud.ClassConflict || cloud.ClassOf(err) == cloud.ClassAmbiguous && concurrent(codeOf(err))
}

// message is what an answer says, in one line.
func message(answer *azcore.ResponseError) string {
	if answer.RawResponse == nil {
		return ""
	}
	body, err := runtime.Payload(answer.RawResponse)
	if err != nil {
		return ""
	}
	said := struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}{}
	if json.Unmarshal(body, &said) != nil {
		return ""
	}
	return identity.Line(said.Error.Message)
}

// codeOf is the code of an error of package cloud.
func codeOf(err error) string {
	if e, ok := errors.AsType[*cloud.Error](err); ok {
		return e.Code
	}
	return ""
}
