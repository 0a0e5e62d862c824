package backup

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
)

// dumpLost is the message for a dump that was in the bucket.
const dumpLost = "The bucket does not have all of the dump any more"

// wasSent reports whether all of a dump is in a bucket, or was.
func wasSent(b *v1.Backup) bool {
	d := b.Status.Dump
	return d != nil && d.Object != nil && (d.Object.State == v1.DumpSent || d.Object.State == v1.DumpMissing)
}

// compareDumps returns which dumps are in the bucket of an account, by their prefix. Buckets list what they have, so
// that one complete list says it for all dumps of the hub. Those that are elsewhere are not known.
func (a *auditor) compareDumps(ctx context.Context, account string, backups []v1.Backup) map[string]bool {
	bucket, err := a.options.Accounts.Bucket(ctx, account)
	if err != nil {
		return nil
	}
	owner := cloud.Owner{Hub: a.options.HubUID}
	var listed map[string]int64
	has := map[string]bool{}
	for i := range backups {
		b := &backups[i]
		if !wasSent(b) || !bucket.Has(b.Status.Dump.Object) || !dumps.Owns(owner, b.Status.Dump.Object.Prefix) {
			continue
		}
		if listed == nil {
			if listed, err = listBucket(ctx, bucket, dumps.Root(owner)); err != nil {
				return nil
			}
		}
		has[b.Status.Dump.Object.Prefix] = dumps.IsWhole(listed, b.Status.Dump)
	}
	return has
}

// listBucket returns the sizes of the objects below a prefix, by key.
func listBucket(ctx context.Context, objects cloud.ObjectStore, prefix string) (map[string]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	listed := map[string]int64{}
	for o, err := range objects.ListObjects(ctx, prefix) {
		if err != nil {
			return nil, err
		}
		listed[o.Key] = o.Bytes
	}
	return listed, nil
}

// concludeDump sets the state of a dump that is known to be in its bucket or not, and the condition Copied. It reports
// whether the dump is missing since now. The file may still be on its claim, so that the Backup can be restored there.
func (w *work) concludeDump(has map[string]bool) (lost bool) {
	if !wasSent(w.backup) {
		return false
	}
	o := w.backup.Status.Dump.Object
	there, known := has[o.Prefix]
	switch {
	case known && !there && o.State == v1.DumpSent:
		o.State = v1.DumpMissing
		w.set(v1.ConditionCopied, metav1.Condition{Status: metav1.ConditionFalse, Reason: v1.ReasonDumpMissing, Message: dumpLost})
		return true
	case known && there && o.State == v1.DumpMissing:
		o.State = v1.DumpSent
		if c := meta.FindStatusCondition(w.backup.Status.Conditions, v1.ConditionCopied); c != nil && c.Reason == v1.ReasonDumpMissing {
			w.concludeCopies("")
		}
	}
	return false
}
