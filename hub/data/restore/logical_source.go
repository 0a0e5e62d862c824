package restore

import (
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// dumpTarget describes where a dump is available to a database.
type dumpTarget struct {
	// here is true if the database is in the cluster and namespace that the dump was made
	// in, and claim if the claim with the dump still exists.
	here, claim bool
	// last records the source that the last attempt read the dump from: a dump that was
	// not on its claim is not looked for there again.
	last v1.DumpSource
}

// dumpSource decides where the dump of a Backup is read, which is neither pending nor failed.
func dumpSource(b *v1.Backup, at dumpTarget) (v1.DumpSource, steps.Result) {
	d := b.Status.Dump
	switch {
	case d == nil || d.File == "":
		return "", steps.Fail(v1.ReasonDumpMissing, "Backup %q does not say which file its dump is", b.Name)
	case at.here && at.claim && at.last != v1.DumpFromBucket:
		return v1.DumpFromClaim, steps.Result{}
	case sent(b):
		return v1.DumpFromBucket, steps.Result{}
	case d.Object != nil && b.Status.Phase == v1.BackupFinalizing:
		return "", steps.RetryAfter(steps.Member, v1.ReasonBackupNotReady, "the dump of Backup %q is on its way to the bucket", b.Name)
	case at.here:
		return "", steps.Fail(v1.ReasonDumpMissing, "the dump %s is not on the claim %s of %s any more, and in no bucket: "+
			"give the CloudAccount of %s spec.objectStorage for dumps to come", d.File, d.Claim, b.Spec.ClusterRef.Name, b.Spec.ClusterRef.Name)
	default:
		return "", steps.Fail(v1.ReasonDumpMissing, "the dump is only in %s: give its CloudAccount spec.objectStorage for dumps to come", b.Spec.ClusterRef.Name)
	}
}

// sent reports whether all of a dump was in a bucket. One that was missing there when it was last looked at may be there
// again: see there.
func sent(b *v1.Backup) bool {
	d := b.Status.Dump
	return d != nil && d.Object != nil && (d.Object.State == v1.DumpSent || d.Object.State == v1.DumpMissing)
}
