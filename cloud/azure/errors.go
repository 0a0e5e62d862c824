package azure

import (
	"errors"
	"net/http"
	"slices"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/azure/apierror"
)

// Codes of our own.
const (
	codeNotVisible = "NotVisible"
	codeNameTaken  = "NameTaken"
	// codeGroupMissing is the service's.
	codeGroupMissing = "ResourceGroupNotFound"
)

// request represents a request to the service, for use in its errors.
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

// question returns what the errors of the request are made from.
func (r request) question() apierror.Question {
	q := apierror.Question{Op: r.op, Mutates: r.mutates(), Class: r.class}
	if r.resource != "" {
		q.Permission, q.Linked = r.permission(), r.linked()
	}
	return q
}

// linked returns the permission that the method needs on what its request refers to: the disk
// of a snapshot, and the disk encryption set of a copy.
func (r request) linked() string {
	switch r.op {
	case "EnsureSnapshot":
		return "Microsoft.Compute/disks/beginGetAccess/action"
	case "EnsureCopy":
		return "Microsoft.Compute/diskEncryptionSets/read"
	default:
		return ""
	}
}

// refuse returns an error of the adapter, which the service did not return.
func (r request) refuse(class cloud.Class, code, message string) *cloud.Error {
	return r.question().Refuse(class, code, message)
}

// fail turns an error of the SDK into one of package cloud; nil stays nil.
func (a *account) fail(r request, err error) error {
	return r.question().Fail(err, a.config.Clock.Now())
}

// class returns the class of a refusal. Codes are checked first because some statuses
// have several meanings.
func (r request) class(status int, code string) cloud.Class {
	switch code {
	case "QuotaExceeded", "SubscriptionQuotaReached", "ResourceQuotaExceeded", "SnapshotCountExceeded":
		return cloud.ClassQuota
	case "AllocationFailed", "ZonalAllocationFailed", "OverconstrainedZonalAllocationRequest":
		return cloud.ClassTransient // Short of machines: it goes by itself.
	case "SkuNotAvailable", "NotAvailableForSubscription":
		return cloud.ClassUnsupported
	case "ScopeLocked", "RequestDisallowedByPolicy":
		if r.verb == "delete" {
			return cloud.ClassLocked
		}
		return cloud.ClassDenied // Until a user removes the lock of the group, or changes the policy.
	case codeGroupMissing, "SubscriptionNotFound", "MissingSubscriptionRegistration":
		return cloud.ClassInvalid // The account is wrong, not the request.
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

// conflict returns the class of a 409.
func (r request) conflict(code string) cloud.Class {
	switch {
	case r.verb == "delete" && concurrent(code):
		return cloud.ClassTransient
	case r.verb == "delete":
		return cloud.ClassInUse // Read through a shared access signature.
	case code == "OperationNotAllowed":
		return cloud.ClassQuota // How the service calls its bounds: per disk, of copies, of the region.
	case concurrent(code):
		return cloud.ClassAmbiguous // The object is being created, maybe by an earlier request of this hub.
	case slices.Contains([]string{"PropertyChangeNotAllowed", "InvalidResourceLocation", "ResourceExists", "ResourceAlreadyExists"}, code):
		return cloud.ClassConflict
	default:
		return cloud.ClassTransient // The source is not ready for it.
	}
}

// concurrent reports whether a code means that another request is in progress.
func concurrent(code string) bool {
	return slices.Contains([]string{"Conflict", "AnotherOperationInProgress", "OperationPreempted", "ConcurrentRequest"}, code)
}

// takenOrUnderWay reports whether an error means that the object exists or is being
// created.
func takenOrUnderWay(err error) bool {
	return cloud.ClassOf(err) == cloud.ClassConflict || cloud.ClassOf(err) == cloud.ClassAmbiguous && concurrent(codeOf(err))
}

// codeOf returns the code of a cloud.Error, or an empty string.
func codeOf(err error) string {
	if e, ok := errors.AsType[*cloud.Error](err); ok {
		return e.Code
	}
	return ""
}
