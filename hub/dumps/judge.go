package dumps

import (
	"errors"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/accounts/verdict"
)

// Judge returns what an error of this package, or of a bucket, means: as verdict.Judge, in
// the words of dumps.
func Judge(err error, what string) verdict.Verdict {
	if errors.Is(err, ErrManifest) {
		return verdict.Fail(v1.ReasonDumpMissing, "%s: the manifest in the bucket is not that of the dump", what)
	}
	v := verdict.Judge(err, what)
	switch class := cloud.ClassOf(err); {
	case v.Reason == v1.ReasonAccountNotFound:
	case class == cloud.ClassNotFound:
		v.Reason = v1.ReasonDumpMissing
	case class == cloud.ClassConflict:
		v.Reason = v1.ReasonSendFailed
	}
	return v
}
