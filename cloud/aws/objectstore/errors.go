package objectstore

import (
	"errors"
	"net/http"
	"strings"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/aws/apierror"
)

// checkAnswer checks that a response is from S3.
func checkAnswer(response *http.Response, body []byte) error {
	r := response.Request
	good := false
	if response.StatusCode >= http.StatusMultipleChoices {
		if r != nil && r.Method == http.MethodHead && response.Header.Get("X-Amz-Request-Id") != "" {
			return nil // It has no body.
		}
		return wantRoot(body, "Error")
	}
	switch {
	case r == nil:
	case r.Method == http.MethodDelete:
		good = response.StatusCode == http.StatusNoContent
	case r.Method == http.MethodGet && r.URL.Query().Get("list-type") != "":
		return wantRoot(body, "ListBucketResult")
	case r.Method == http.MethodGet && r.URL.Query().Has("versions"):
		return wantRoot(body, "ListVersionsResult")
	default:
		good = response.Header.Get("Etag") != ""
	}
	if !good {
		return apierror.ErrAnswer
	}
	return nil
}

func wantRoot(body []byte, want string) error {
	root, err := apierror.Root(body)
	if err == nil && root != want {
		return apierror.ErrAnswer
	}
	return err
}

// The codes on which something is decided here.
const (
	// codeExists is the code of a PUT of an existing object.
	codeExists = "PreconditionFailed"
	// codeEmpty is the code of a GET of the first bytes of an empty object.
	codeEmpty = "InvalidRange"
	// codeUnsummed is the code, among others, of a PUT without a checksum to a bucket with a default retention.
	codeUnsummed = "InvalidRequest"
	// codeTooLarge and codeExistsOther are not from S3.
	codeTooLarge    = "TooLarge"
	codeExistsOther = "OtherContent"
)

// read and change are the kinds of requests: a lost response to a change is Ambiguous.
const (
	read   = false
	change = true
)

// fail converts an error of the SDK.
func (c *client) fail(op string, changes bool, err error) *cloud.Error {
	out := apierror.Failure{Op: op, Changes: changes, Err: err, ClassOf: classOf}.Classify()
	switch {
	case out.Class == cloud.ClassAuthExpired:
		c.credentials.Invalidate()
	case out.Class == cloud.ClassDenied && op == "DeleteObject" && strings.Contains(strings.ToLower(out.Message), "object lock"):
		// S3 has no code for this, only a message.
		out.Class, out.Code = cloud.ClassLocked, "ObjectLocked"
	case out.Class == cloud.ClassLocked && op != "DeleteObject":
		out.Class = cloud.ClassDenied
	case out.Code == "s3:ListObjectsV2":
		out.Code = "s3:ListBucket"
	case out.Code == "s3:ListObjectVersions":
		out.Code = "s3:ListBucketVersions"
	case out.Code == "s3:HeadObject":
		out.Code = "s3:GetObject"
	}
	return out
}

// classOf returns the class of an error code of S3, or an empty one for an unknown code.
// It lists the codes that S3 and compatible services document for our calls, and those that the SDK
// makes of the status of a HEAD.
func classOf(code string) cloud.Class {
	switch code {
	case "NoSuchKey", "NoSuchBucket", "NotFound":
		return cloud.ClassNotFound
	case codeExists:
		return cloud.ClassConflict
	case "SlowDownRead", "SlowDownWrite", "TooManyRequests":
		return cloud.ClassThrottled
	case "ConditionalRequestConflict", "OperationAborted", "TemporaryRedirect", "BadDigest", "IncompleteBody", "RequestTimeout",
		"XAmzContentSHA256Mismatch", "BadRequest":
		return cloud.ClassTransient // Refused: another request was under way, or this one came to harm. A HEAD has no code.
	case "QuotaExceeded", "XMinioAdminBucketQuotaExceeded", "XMinioStorageFull":
		return cloud.ClassQuota
	case "AllAccessDisabled", "AccountProblem", "NotSignedUp", "AccessForbidden", "Forbidden":
		return cloud.ClassDenied
	case "InvalidToken", "TokenRefreshRequired", "RequestTimeTooSkewed":
		return cloud.ClassAuthExpired
	case "NotImplemented", "MethodNotAllowed":
		return cloud.ClassUnsupported
	case "ObjectLocked":
		return cloud.ClassLocked
	default:
		return ""
	}
}

// refusal returns an error that the adapter raises, not S3.
func refusal(op string, class cloud.Class, code, message string, cause error) error {
	return &cloud.Error{Class: class, Provider: v1.ProviderAWS, Op: op, Code: code, Message: message, Err: cause}
}

// is reports whether an error has a code of S3's.
func is(err error, code string) bool {
	e, ok := errors.AsType[*cloud.Error](err)
	return ok && e.Code == code
}
