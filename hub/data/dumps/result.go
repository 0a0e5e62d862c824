package dumps

import (
	"errors"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// FromError returns the result of an error of this package or of a bucket, with reasons of
// dumps in place of the reasons of package steps.
func FromError(err error, what string) steps.Result {
	if errors.Is(err, ErrManifest) {
		return steps.Fail(v1.ReasonDumpMissing, "%s: the manifest in the bucket is of another dump: make another Backup", what)
	}
	result := steps.FromError(err, what)
	switch class := cloud.ClassOf(err); {
	case result.Reason == v1.ReasonAccountNotFound:
	case class == cloud.ClassNotFound:
		result.Reason = v1.ReasonDumpMissing
	case class == cloud.ClassConflict:
		result.Reason = v1.ReasonSendFailed
	}
	return result
}
