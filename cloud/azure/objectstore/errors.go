package objectstore

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/azure/apierror"
)

const (
	// codeMissing is the service's code of a blob that is not there, and not of a
	// container.
	codeMissing = "BlobNotFound"
	// blobs is the prefix of the permissions on blobs.
	blobs = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/"
	// delegate is the permission to get a user delegation key.
	delegate = "Microsoft.Storage/storageAccounts/blobServices/generateUserDelegationKey/action"
)

// question returns the Question of a method, with the verb of its permission.
func question(op, verb string) apierror.Question {
	q := apierror.Question{Op: op, Permission: blobs + verb, Mutates: verb != "read", Elsewhere: cloud.ClassInvalid}
	q.Class = func(status int, code string) cloud.Class { return class(verb, status, code) }
	return q
}

// fail turns an error of the SDK into one of package cloud; nil stays nil.
func (b *box) fail(q apierror.Question, err error) error {
	err = q.Fail(err, b.config.Clock.Now())
	if out, ok := errors.AsType[*cloud.Error](err); ok && out.Class == cloud.ClassInvalid && out.Code == "" {
		out.Code, out.Message = "NotStorage", "the endpoint does not answer as Azure Blob Storage does: "+out.Message
	}
	return err
}

// class returns the class of a refusal.
func class(verb string, status int, code string) cloud.Class {
	switch {
	case code == "AuthenticationFailed", code == "NoAuthenticationInformation":
		return cloud.ClassAuthExpired
	case code == "ContainerDisabled", code == "InvalidResourceName":
		return cloud.ClassInvalid // The account is wrong, not the request.
	case code == "ContainerBeingDeleted", code == "AccountBeingCreated":
		return cloud.ClassTransient
	case code == "AccountIsDisabled":
		return cloud.ClassDenied
	case verb == "delete" && held(code):
		return cloud.ClassLocked
	case code == "BlobArchived", code == "BlobBeingRehydrated":
		return cloud.ClassInvalid // Until a user restores it from the archive tier.
	case verb == "write" && (taken(code) || held(code)):
		return cloud.ClassConflict
	}
	switch status {
	case http.StatusForbidden:
		return cloud.ClassDenied
	case http.StatusNotFound, http.StatusGone:
		return cloud.ClassNotFound
	case http.StatusConflict:
		return cloud.ClassTransient // Something else is under way.
	case http.StatusPreconditionFailed:
		return cloud.ClassConflict
	default:
		return cloud.ClassInvalid
	}
}

// taken reports whether a code means that the blob exists already.
func taken(code string) bool {
	return slices.Contains([]string{"BlobAlreadyExists", "ConditionNotMet", "UnauthorizedBlobOverwrite"}, code)
}

// held reports whether a code means that a blob cannot be changed: because of a policy of the
// container or the account, a legal hold, or a lease.
func held(code string) bool {
	return strings.HasPrefix(code, "BlobImmutableDueTo") ||
		slices.Contains([]string{"LeaseIdMissing", "LeaseIdMismatchWithBlobOperation", "SnapshotsPresent", "ScopeLocked"}, code)
}

// codeOf returns the code of a cloud.Error, or an empty string.
func codeOf(err error) string {
	if e, ok := errors.AsType[*cloud.Error](err); ok {
		return e.Code
	}
	return ""
}
