package backup

import (
	"context"
	"path"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

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
	compared := map[string]*v1.DumpFile{}
	for i := range backups {
		b := &backups[i]
		// Without a location, it may be in another bucket of the name.
		if wasSent(b) && b.Status.Dump.Object.Location != "" && bucket.Has(b.Status.Dump.Object) && dumps.Owns(owner, b.Status.Dump.Object.Prefix) {
			compared[b.Status.Dump.Object.Prefix] = b.Status.Dump
		}
	}
	if len(compared) == 0 {
		return nil
	}
	listed, err := listDumps(ctx, bucket, dumps.Root(owner), compared)
	if err != nil {
		log.FromContext(ctx).Info("Dumps are not compared with their bucket", "account", account, "cause", err.Error())
		return nil
	}
	has := map[string]bool{}
	for prefix, file := range compared {
		if whole, err := dumps.AreListed(listed, file); err == nil {
			has[prefix] = whole
		}
	}
	return has
}

// listDumps returns the sizes of the objects of dumps, by key, from a list of all below a root: a bucket may have far more.
func listDumps(ctx context.Context, objects cloud.ObjectStore, root string, of map[string]*v1.DumpFile) (map[string]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	listed := map[string]int64{}
	for o, err := range objects.ListObjects(ctx, root) {
		if err != nil {
			return nil, err
		}
		if of[path.Dir(o.Key)] != nil {
			listed[o.Key] = o.Bytes
		}
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
