package apierror

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/azure/identity"
)

// Question represents a request to a service, for use in its errors.
type Question struct {
	// Op is the method of package cloud.
	Op string
	// Permission is the permission that the request needs; empty if unknown.
	Permission string
	// Linked is the permission that it needs on a resource that it refers to; empty if
	// unknown.
	Linked string
	// Mutates says that it changes something.
	Mutates bool
	// Elsewhere is the class of a 404 that is not from the service, because the endpoint
	// is wrong. Empty selects the class of a lost response.
	Elsewhere cloud.Class
	// Class returns the class of a refusal: a status of 400 to 499, and a code of the
	// service.
	Class func(status int, code string) cloud.Class
}

// Refuse returns an error of the adapter, which the service did not return.
func (q Question) Refuse(class cloud.Class, code, message string) *cloud.Error {
	return &cloud.Error{Class: class, Provider: v1.ProviderAzure, Op: q.Op, Code: code, Message: identity.Line(message)}
}

// Lost returns the class of a request without a response.
func (q Question) Lost() cloud.Class {
	if q.Mutates {
		return cloud.ClassAmbiguous
	}
	return cloud.ClassTransient
}

// Fail turns an error of the SDK into one of package cloud; nil stays nil.
func (q Question) Fail(err error, now time.Time) error {
	if err == nil {
		return nil
	}
	if ours, ok := errors.AsType[*cloud.Error](err); ok { // From the token: the request itself was not sent.
		out := *ours
		out.Provider, out.Op = v1.ProviderAzure, q.Op
		return &out
	}
	if answer, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return q.refused(answer, now)
	}
	if asked, ok := errors.AsType[*url.Error](err); ok {
		err = asked.Err
	}
	out := q.Refuse(q.Lost(), "", err.Error())
	out.Err = err
	switch {
	case errors.Is(err, context.Canceled):
		out.Code = "Canceled"
	case errors.Is(err, context.DeadlineExceeded):
		out.Code = "Timeout"
	}
	return out
}

// refused returns the error of a response.
func (q Question) refused(answer *azcore.ResponseError, now time.Time) *cloud.Error {
	header := http.Header{}
	if answer.RawResponse != nil {
		header = answer.RawResponse.Header
	}
	out := q.Refuse(q.ClassOf(answer.StatusCode, answer.ErrorCode), answer.ErrorCode, message(answer))
	out.RequestID = header.Get("x-ms-request-id")
	out.RetryAfter = identity.RetryAfter(header, now)
	switch {
	case out.Class == cloud.ClassThrottled && out.RetryAfter <= 0:
		out.RetryAfter = identity.DefaultRetryAfter
	case q.Permission != "" && (answer.ErrorCode == "AuthorizationFailed" || answer.ErrorCode == "AuthorizationPermissionMismatch"):
		out.Code = q.Permission
	case q.Linked != "" && answer.ErrorCode == "LinkedAuthorizationFailed":
		out.Code = q.Linked
	}
	if out.Message == "" {
		out.Message = "status " + strconv.Itoa(answer.StatusCode)
	}
	return out
}

// ClassOf returns the class of a response.
func (q Question) ClassOf(status int, code string) cloud.Class {
	switch {
	case status == http.StatusTooManyRequests:
		return cloud.ClassThrottled
	case status == http.StatusUnauthorized:
		return cloud.ClassAuthExpired
	case status == http.StatusServiceUnavailable && code == "ServerBusy":
		return cloud.ClassThrottled // How storage says that it is too much.
	case status < http.StatusBadRequest, status == http.StatusRequestTimeout, status >= http.StatusInternalServerError:
		return q.Lost()
	case code == "" && status == http.StatusNotFound && q.Elsewhere != "":
		return q.Elsewhere
	case code == "":
		return q.Lost() // Not the service's: a proxy on the way, a portal.
	}
	return q.Class(status, code)
}

// message returns the message of a response, in one line: JSON of Resource Manager, XML of
// storage.
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
	if json.Unmarshal(body, &said) == nil {
		return identity.Line(said.Error.Message)
	}
	blobs := struct {
		XMLName xml.Name `xml:"Error"`
		Message string   `xml:"Message"`
	}{}
	if xml.Unmarshal(body, &blobs) != nil {
		return ""
	}
	// The rest are numbers of the request, which differ each time.
	text, _, _ := strings.Cut(blobs.Message, "RequestId:")
	return identity.Line(text)
}
