package aws

import (
	"context"
	"errors"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

const (
	// throttleDelay is when to ask again where EC2 does not say.
	throttleDelay = 5 * time.Second
	// volumeDelay is EC2's minimum between two snapshots of one volume.
	volumeDelay = 15 * time.Second
	// pendingDelay and quotaDelay are when a bound of the account may have been left:
	// by what is under way, and by a person.
	pendingDelay = time.Minute
	quotaDelay   = 30 * time.Minute
	// maxMessage is how long a message may be, in bytes.
	maxMessage = 1024
)

// read and change are what a request does, for what it means when its answer is lost.
const (
	read   = false
	change = true
)

// fail makes an error of what the SDK returned to a request.
func (c *client) fail(op string, changes bool, err error) error {
	out := classify(op, changes, err)
	if out.Class == cloud.ClassAuthExpired {
		c.credentials.forget()
	}
	return out
}

// classify makes an error of one of the SDK's.
func classify(op string, changes bool, err error) *cloud.Error {
	out := &cloud.Error{Provider: v1.ProviderAWS, Op: op, Err: err}
	var before *credentialsError
	changes = changes && !errors.As(err, &before)
	var api smithy.APIError
	if !errors.As(err, &api) {
		out.Class, out.Message = lost(changes), reason(err)
		return out
	}
	status := 0
	if response, ok := errors.AsType[*awshttp.ResponseError](err); ok {
		status, out.RequestID = response.HTTPStatusCode(), response.ServiceRequestID()
		out.RetryAfter = retryAfter(response.Response.Header)
	}
	out.Code, out.Message = api.ErrorCode(), sanitize(api.ErrorMessage())
	out.Class = classOf(out.Code)
	switch {
	case out.Class != "":
	case status == http.StatusTooManyRequests:
		out.Class = cloud.ClassThrottled
	case status >= http.StatusInternalServerError || status == 0:
		out.Class = lost(changes)
	default:
		out.Class = cloud.ClassInvalid
	}
	if out.Class == cloud.ClassLocked && op != "DeleteSnapshot" {
		out.Class = cloud.ClassInvalid
	}
	out.RetryAfter = max(out.RetryAfter, delay(out.Class, out.Code))
	if out.Class == cloud.ClassDenied {
		out.Code = permission(api.ErrorMessage(), err)
	}
	return out
}

// lost is the class of an answer that did not come or says nothing.
func lost(changes bool) cloud.Class {
	if changes {
		return cloud.ClassAmbiguous
	}
	return cloud.ClassTransient
}

// reason says why there is no answer, in words that do not differ each time.
func reason(err error) string {
	var network net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return "the request was cancelled"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "there was no answer in time"
	case errors.Is(err, errAnswer):
		return errAnswer.Error()
	default:
		return "the connection failed"
	}
}

// classOf is the class of a code of EC2 or STS, and "" for one that is not known. EC2
// has hundreds; those are listed that our calls are documented to get, and those that
// its SDKs take for throttling.
func classOf(code string) cloud.Class {
	switch code {
	case "InvalidVolume.NotFound", "InvalidSnapshot.NotFound":
		return cloud.ClassNotFound
	case "IdempotentParameterMismatch":
		return cloud.ClassConflict
	case "Throttling", "ThrottlingException", "ThrottledException", "RequestThrottledException", "RequestThrottled",
		"TooManyRequestsException", "RequestLimitExceeded", "BandwidthLimitExceeded", "LimitExceededException",
		"PriorRequestNotComplete", "TransactionInProgressException", "EC2ThrottledException", "SlowDown",
		"SnapshotCreationPerVolumeRateExceeded", "ProvisionedThroughputExceededException":
		return cloud.ClassThrottled
	case "InsufficientVolumeCapacity", "InsufficientCapacity", "IncorrectState":
		return cloud.ClassTransient // Refused, until there is room or the snapshot is complete.
	case "ConcurrentSnapshotLimitExceeded", "SnapshotLimitExceeded", "PendingSnapshotLimitExceeded", "ResourceLimitExceeded",
		"VolumeLimitExceeded", "MaxIOPSLimitExceeded", "VolumeIOPSLimit", "ActiveVolumeLimitExceeded":
		return cloud.ClassQuota
	case "UnauthorizedOperation", "AccessDenied", "AccessDeniedException", "OptInRequired", "Blocked", "PendingVerification":
		return cloud.ClassDenied
	case "AuthFailure", "ExpiredToken", "ExpiredTokenException", "RequestExpired", "InvalidClientTokenId", "InvalidAccessKeyId",
		"SignatureDoesNotMatch", "IncompleteSignature", "MissingAuthenticationToken", "UnrecognizedClientException",
		"InvalidIdentityToken", "IDPRejectedClaim", "InvalidSecurity":
		return cloud.ClassAuthExpired
	case "InvalidSnapshot.InUse", "VolumeInUse":
		return cloud.ClassInUse
	case "OperationNotPermitted", "SnapshotLocked", "InvalidSnapshot.Locked":
		return cloud.ClassLocked
	case "UnsupportedOperation", "Unsupported", "UnsupportedOperationException":
		return cloud.ClassUnsupported
	default:
		return ""
	}
}

// delay is when to ask again at the earliest where the answer does not say.
func delay(class cloud.Class, code string) time.Duration {
	switch {
	case code == "SnapshotCreationPerVolumeRateExceeded":
		return volumeDelay
	case class == cloud.ClassThrottled:
		return throttleDelay
	case code == "ConcurrentSnapshotLimitExceeded", code == "ResourceLimitExceeded":
		return pendingDelay
	case class == cloud.ClassQuota:
		return quotaDelay
	default:
		return 0
	}
}

func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.Atoi(header.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// permission is what is missing, as far as it is told: a request may need more than the
// permission of its own name.
func permission(message string, err error) string {
	if found := regexp.MustCompile(`to perform: ([a-z0-9-]+:[A-Za-z]+)`).FindStringSubmatch(message); found != nil {
		return found[1]
	}
	var operation *smithy.OperationError
	if !errors.As(err, &operation) {
		return ""
	}
	for inner := operation; errors.As(inner.Err, &inner); {
		operation = inner // That of STS, within the one that needed credentials.
	}
	return strings.ToLower(operation.ServiceID) + ":" + operation.OperationName
}

// sanitize makes one line of what the provider said, without signed URLs, key IDs and
// the coded text that only somebody else with rights can read.
func sanitize(message string) string {
	message, _, _ = strings.Cut(message, "Encoded authorization failure message")
	message = regexp.MustCompile(`(https?://[^\s?]+)\?\S*`).ReplaceAllString(message, "$1")
	message = regexp.MustCompile(`\b(AKIA|ASIA)[A-Z0-9]{12,}\b`).ReplaceAllString(message, "$1…")
	message = strings.Join(strings.FieldsFunc(message, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage-len("…")], "") + "…"
	}
	return message
}

// refusal is an error of our own, before anything is sent.
func refusal(op string, class cloud.Class, code, message string) error {
	return &cloud.Error{Class: class, Provider: v1.ProviderAWS, Op: op, Code: code, Message: message}
}
