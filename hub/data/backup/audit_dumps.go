package backup

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
	"github.com/shopfleet/shopfleet/hub/data/backup/dump"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
)

const (
	// dumpLost is the message for a dump that was in the bucket, and dumpGone for one that is not on its claim either.
	dumpLost = "The bucket does not have all of the dump any more"
	dumpGone = "The dump is neither in the bucket nor on its claim any more"
)

// wasSent reports whether all of a dump is in a bucket, or was.
func wasSent(b *v1.Backup) bool {
	d := b.Status.Dump
	return d != nil && d.Object != nil && (d.Object.State == v1.DumpSent || d.Object.State == v1.DumpMissing)
}

// compareDumps returns which dumps are in the bucket of an account, by their prefix. Buckets list what they have, so
// that one complete list says it for all dumps of a hub: this one, and those whose dumps were taken over. Those that are
// elsewhere are not known.
func (a *auditor) compareDumps(ctx context.Context, l *lists, backups []v1.Backup) map[string]bool {
	bucket, err := a.options.Accounts.Bucket(ctx, l.account.Name)
	if err != nil {
		l.orphans.unlisted = append(l.orphans.unlisted, unlistedBucket)
		return nil
	}
	compared := a.sentTo(bucket, backups)
	has := map[string]bool{}
	for _, hub := range slices.Sorted(maps.Keys(compared)) {
		note, found := func(cloud.Object) {}, len(l.orphans.found)
		if hub == a.options.HubUID {
			note = l.orphans.object
		}
		listed, err := listDumps(ctx, bucket, listing{dumps.Root(cloud.Owner{Hub: hub}), compared[hub], note})
		if err != nil {
			log.FromContext(ctx).Info("Dumps are not compared with their bucket", "account", l.account.Name, "hub", hub, "cause", err.Error())
			if hub == a.options.HubUID {
				l.orphans.found, l.orphans.unlisted = l.orphans.found[:found], append(l.orphans.unlisted, unlistedBucket)
			}
			continue
		}
		for prefix, file := range compared[hub] {
			if whole, err := dumps.AreListed(listed, file); err == nil {
				has[prefix] = whole
			}
		}
	}
	return has
}

// sentTo returns the dumps that were sent to a bucket, by hub, which this one is, and by prefix.
func (a *auditor) sentTo(bucket accounts.Bucket, backups []v1.Backup) map[string]map[string]*v1.DumpFile {
	compared := map[string]map[string]*v1.DumpFile{a.options.HubUID: {}}
	for i := range backups {
		b := &backups[i]
		// Without a location, it may be in another bucket of the name.
		if !wasSent(b) || b.Status.Dump.Object.Location == "" || !bucket.Has(b.Status.Dump.Object) {
			continue
		}
		prefix := b.Status.Dump.Object.Prefix
		hub := dumps.HubOf(prefix)
		if hub == "" {
			continue
		}
		if compared[hub] == nil {
			compared[hub] = map[string]*v1.DumpFile{}
		}
		compared[hub][prefix] = b.Status.Dump
	}
	return compared
}

// listing is a list of the objects below a root. The sizes of the dumps in of are kept, and note is called for each object.
type listing struct {
	root string
	of   map[string]*v1.DumpFile
	note func(cloud.Object)
}

// listDumps returns the sizes of the objects of dumps, by key, from a list of all below a root: a bucket may have far more.
func listDumps(ctx context.Context, objects cloud.ObjectStore, l listing) (map[string]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	listed := map[string]int64{}
	for o, err := range objects.ListObjects(ctx, l.root) {
		if err != nil {
			return nil, err
		}
		l.note(o)
		if l.of[path.Dir(o.Key)] != nil {
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
	w.backup.Status.HubUID = cmp.Or(w.backup.Status.HubUID, dumps.HubOf(o.Prefix))
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

// concludeLostDump sets the condition Ready of a dump that is missing in its bucket, and that a later one removed from its
// claim.
func (w *work) concludeLostDump(ctx context.Context) error {
	if !wasSent(w.backup) {
		return nil
	}
	gone := false
	if w.backup.Status.Dump.Object.State == v1.DumpMissing {
		list := &v1.BackupList{}
		if err := w.client.List(ctx, list, client.InNamespace(w.backup.Namespace), client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("listing backups: %w", err)
		}
		gone = slices.ContainsFunc(list.Items, func(later v1.Backup) bool { return dump.Removed(w.backup, &later) })
	}
	ready := metav1.Condition{Status: metav1.ConditionTrue, Reason: v1.ReasonCompleted, Message: "The backup can be restored"}
	switch {
	case gone:
		ready = metav1.Condition{Status: metav1.ConditionFalse, Reason: v1.ReasonDumpMissing, Message: dumpGone}
	case !w.backup.IsMissing():
		return nil
	}
	w.backup.Status.Message = ready.Message
	w.set(v1.ConditionReady, ready)
	return nil
}
