package apierror

import (
	"context"
	"crypto/tls"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

const (
	// throttleDelay is when to ask again where AWS does not say.
	throttleDelay = 5 * time.Second
	// maxMessage is the maximum length of a message in bytes.
	maxMessage = 1024
)

// Failure describes a request that failed.
type Failure struct {
	// Op is the operation that failed, as package cloud names it.
	Op string
	// Changes reports whether the request changes anything: then a lost response is
	// Ambiguous.
	Changes bool
	// Err holds the error that the SDK returned.
	Err error
	// ClassOf returns the class of a code of the API, and "" for one that it does not know. It
	// need not know the codes that all APIs share.
	ClassOf func(code string) cloud.Class
}

// Classify returns the error for a failure.
func (f Failure) Classify() *cloud.Error {
	out := &cloud.Error{Provider: v1.ProviderAWS, Op: f.Op, Err: f.Err}
	changes := f.Changes && !unsent(f.Err)
	var api smithy.APIError
	if !errors.As(f.Err, &api) {
		out.Class, out.Message = lost(changes), reason(f.Err)
		return out
	}
	status := 0
	if response, ok := errors.AsType[*awshttp.ResponseError](f.Err); ok {
		status, out.RequestID = response.HTTPStatusCode(), response.ServiceRequestID()
		out.RetryAfter = retryAfter(response.Response.Header)
	}
	out.Code, out.Message = api.ErrorCode(), Sanitize(api.ErrorMessage())
	if out.Class = f.ClassOf(out.Code); out.Class == "" {
		out.Class = classOf(out.Code)
	}
	switch {
	case out.Class != "":
	case status == http.StatusTooManyRequests:
		out.Class = cloud.ClassThrottled
	case status >= http.StatusInternalServerError || status == 0:
		out.Class = lost(changes)
	default:
		out.Class = cloud.ClassInvalid
	}
	if out.Class == cloud.ClassThrottled {
		out.RetryAfter = max(out.RetryAfter, throttleDelay)
	}
	if out.Class == cloud.ClassDenied {
		out.Code = permission(api.ErrorMessage(), f.Err)
	}
	return out
}

// CredentialsError is an error on the way to credentials: the request that needs them was not sent.
type CredentialsError struct{ Err error }

// Error says that credentials are missing, and why.
func (e *CredentialsError) Error() string { return "getting credentials: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *CredentialsError) Unwrap() error { return e.Err }

// unsent reports whether a failed request was not sent, because there were no credentials
// (or the caller gave up while another one requested them), or the server's certificate
// was not trusted.
func unsent(err error) bool {
	var before *CredentialsError
	var waited *aws.RequestCanceledError
	var distrusted *tls.CertificateVerificationError
	return errors.As(err, &before) || errors.As(err, &waited) || errors.As(err, &distrusted)
}

// lost returns the class of a missing or unreadable response.
func lost(changes bool) cloud.Class {
	if changes {
		return cloud.ClassAmbiguous
	}
	return cloud.ClassTransient
}

// reason returns a deterministic text for a missing response.
func reason(err error) string {
	var network net.Error
	var file *fs.PathError
	var distrusted *tls.CertificateVerificationError
	switch {
	case errors.Is(err, context.Canceled):
		return "the request was cancelled"
	// Its error number is a net.Error.
	case errors.As(err, &file):
		return "the file with the token of the hub's pod cannot be read"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "there was no answer in time"
	case errors.Is(err, ErrAnswer):
		return ErrAnswer.Error()
	case errors.As(err, &distrusted):
		return "the certificate of the endpoint is not trusted"
	default:
		return "the connection failed"
	}
}

// classOf returns the class of an error code that is common to AWS APIs, and "" for other
// codes.
func classOf(code string) cloud.Class {
	switch code {
	case "Throttling", "ThrottlingException", "ThrottledException", "RequestThrottledException", "RequestThrottled",
		"TooManyRequestsException", "RequestLimitExceeded", "BandwidthLimitExceeded", "LimitExceededException",
		"PriorRequestNotComplete", "TransactionInProgressException", "EC2ThrottledException", "SlowDown",
		"ProvisionedThroughputExceededException":
		return cloud.ClassThrottled
	case "UnauthorizedOperation", "AccessDenied", "AccessDeniedException", "OptInRequired", "Blocked", "PendingVerification":
		return cloud.ClassDenied
	case "AuthFailure", "ExpiredToken", "ExpiredTokenException", "RequestExpired", "InvalidClientTokenId", "InvalidAccessKeyId",
		"SignatureDoesNotMatch", "IncompleteSignature", "MissingAuthenticationToken", "UnrecognizedClientException",
		"InvalidIdentityToken", "IDPRejectedClaim", "InvalidSecurity":
		return cloud.ClassAuthExpired
	case "UnsupportedOperation", "Unsupported", "UnsupportedOperationException":
		return cloud.ClassUnsupported
	default:
		return ""
	}
}

func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// permission returns the missing permission that message names, or the one named after the
// operation. It may be incomplete: a request can need more than the permission of its
// own name.
func permission(message string, err error) string {
	if found := regexp.MustCompile(`to perform: ([a-z0-9-]+:[A-Za-z]+)`).FindStringSubmatch(message); found != nil {
		return found[1]
	}
	var operation *smithy.OperationError
	if !errors.As(err, &operation) {
		return ""
	}
	for inner := operation; errors.As(inner.Err, &inner); {
		operation = inner // The operation of STS, inside the one that needed credentials.
	}
	return strings.ToLower(operation.ServiceID) + ":" + operation.OperationName
}

// Sanitize converts a provider's message to one line without signed URLs, key IDs and
// encoded authorization messages.
func Sanitize(message string) string {
	message, _, _ = strings.Cut(message, "Encoded authorization failure message")
	message = regexp.MustCompile(`(https?://[^\s?]+)\?\S*`).ReplaceAllString(message, "$1")
	message = regexp.MustCompile(`\b(AKIA|ASIA)[A-Z0-9]{12,}\b`).ReplaceAllString(message, "$1…")
	return v1.Excerpt(strings.Join(strings.Fields(message), " "), maxMessage)
}
