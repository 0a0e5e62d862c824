package rediscover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/accounts"
	"github.com/shopfleet/shopfleet/hub/accounts/stepresult"
	"github.com/shopfleet/shopfleet/hub/logicalbackup"
)

const (
	// maxObjects bounds how many objects a hub may have in a bucket.
	maxObjects = 1_000_000
	// maxManifests bounds how many manifests one pass reads: fewer than the pace of an
	// account allows in its time.
	maxManifests = 3000
)

// shelf is what a bucket lists of a hub: the sizes of all objects, by key, and the prefixes
// of those that have a manifest, sorted.
type dumpStore struct {
	sizes    map[string]int64
	prefixes []string
}

// listDumps adds the dumps in the account's bucket that the hub does not know.
func (r *Reconciler) listDumps(ctx context.Context, f *found, owner cloud.Owner) (stepresult.Result, error) {
	bucket, err := r.options.Accounts.Bucket(ctx, f.account.Name)
	if e, of := errors.AsType[*cloud.Error](err); of && e.Code == accounts.CodeNoBucket {
		return stepresult.Result{}, nil
	}
	if err != nil {
		return stepresult.FromError(err, "connecting to the bucket"), nil
	}
	known, err := r.knownDumps(ctx, f.account.Name, bucket.Name)
	if err != nil {
		return stepresult.Result{}, err
	}
	there, v := list(ctx, bucket, logicalbackup.Root(owner))
	if v.Stops() {
		return v, nil
	}
	read := 0
	for _, prefix := range there.prefixes {
		switch {
		case known[prefix]:
			f.known++
			continue
		case read == maxManifests:
			f.more++
			continue
		}
		read++
		m, err := r.read(ctx, bucket, prefix)
		switch {
		case err == nil && m.Hub == owner.Hub && isAt(m, prefix):
			f.dumps = append(f.dumps, f.dump(m, v1.DumpObject{Bucket: bucket.Name, Location: bucket.Location, Prefix: prefix, State: v1.DumpSent}, whole(m, there, prefix)))
		case err == nil, errors.Is(err, logicalbackup.ErrManifest), cloud.ClassOf(err) == cloud.ClassInvalid:
			f.unread++
		case cloud.ClassOf(err) == cloud.ClassNotFound: // It went meanwhile.
		default:
			return stepresult.FromError(err, "reading the manifest of a dump"), nil
		}
	}
	f.dumps = sorted(f.dumps)
	return stepresult.Result{}, nil
}

// knownDumps are the prefixes of the dumps in a bucket that there are Backups of.
func (r *Reconciler) knownDumps(ctx context.Context, account, bucket string) (map[string]bool, error) {
	backups := &v1.BackupList{}
	if err := r.client.List(ctx, backups, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing backups: %w", err)
	}
	known := map[string]bool{}
	for i := range backups.Items {
		s := &backups.Items[i].Status
		if s.Account == account && s.Dump != nil && s.Dump.Object != nil && s.Dump.Object.Bucket == bucket {
			known[s.Dump.Object.Prefix] = true
		}
	}
	return known, nil
}

// list reads what a bucket has below a root. It is complete, or there is a verdict.
func list(ctx context.Context, objects cloud.Objects, root string) (dumpStore, stepresult.Result) {
	there := dumpStore{sizes: map[string]int64{}}
	for o, err := range objects.ListObjects(ctx, root) {
		if err != nil {
			return dumpStore{}, stepresult.FromError(err, "listing the bucket")
		}
		if len(there.sizes) == maxObjects {
			return dumpStore{}, stepresult.Fail(v1.ReasonQuotaExceeded, "There are more than %d objects of the hub in the bucket", maxObjects)
		}
		there.sizes[o.Key] = o.Bytes
		if prefix, is := logicalbackup.IsManifest(o.Key); is {
			there.prefixes = append(there.prefixes, prefix)
		}
	}
	return there, stepresult.Result{}
}

// read reads a manifest, and waits for its turn where the account's pace asks for that.
func (r *Reconciler) read(ctx context.Context, objects cloud.Objects, prefix string) (logicalbackup.Manifest, error) {
	for {
		m, err := logicalbackup.Find(ctx, objects, prefix)
		if cloud.ClassOf(err) != cloud.ClassThrottled {
			return m, err
		}
		timer := r.options.Clock.NewTimer(max(cloud.RetryAfter(err), time.Second))
		select {
		case <-ctx.Done():
			timer.Stop()
			return m, err
		case <-timer.C():
		}
	}
}

// isAt tells whether a manifest is of what lies where it was found: it could have been
// carried there.
func isAt(m logicalbackup.Manifest, prefix string) bool {
	hash, at := strings.CutPrefix(prefix, logicalbackup.Root(cloud.Owner{Hub: m.Hub, App: m.AppUID})+m.Backup+"-")
	return at && hash != "" && !strings.Contains(hash, "/")
}

// whole tells whether all parts of a dump are there.
func whole(m logicalbackup.Manifest, there dumpStore, prefix string) bool {
	for i, size := range m.Parts {
		if got, found := there.sizes[logicalbackup.PartKey(prefix, i)]; !found || got != size {
			return false
		}
	}
	return true
}

// sorted sorts Backups by namespace and name. Of those of one name the newest stays.
func sorted(backups []v1.Backup) []v1.Backup {
	slices.SortFunc(backups, func(a, b v1.Backup) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), b.Status.SnapshotTime.Compare(a.Status.SnapshotTime.Time))
	})
	return slices.CompactFunc(backups, func(a, b v1.Backup) bool { return a.Namespace == b.Namespace && a.Name == b.Name })
}

// dump returns the Backup of a dump.
func (f found) dump(m logicalbackup.Manifest, at v1.DumpObject, whole bool) v1.Backup {
	b := v1.Backup{
		ObjectMeta: f.meta(m.Namespace, m.Backup, labels{m.App, m.Cluster}),
		Spec: v1.BackupSpec{
			AppRef: v1.ObjectReference{Name: m.App}, ClusterRef: v1.ObjectReference{Name: m.Cluster}, Method: v1.BackupDump, Deletion: v1.DeletionRetain,
		},
		Status: v1.BackupStatus{
			Phase: v1.BackupCompleted, Message: "Found again in the bucket",
			AppUID: m.AppUID, Account: f.account.Name, Provider: m.Provider, Region: m.Region,
			Engine: m.Engine, Version: m.Version, Consistency: v1.ConsistencyApplication,
			Size:         resource.NewQuantity(m.Bytes, resource.BinarySI).String(),
			SnapshotTime: &metav1.Time{Time: m.SnapshotTime}, CompletionTime: &metav1.Time{Time: m.CompletionTime},
			Dump: &v1.DumpFile{Claim: m.Claim, File: m.File, Bytes: m.Bytes, SHA256: m.SHA256, Object: &at},
		},
	}
	if m.ScheduledTime != nil {
		b.Spec.ScheduledTime = &metav1.Time{Time: *m.ScheduledTime}
	}
	c := metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1.ReasonCompleted}
	if !whole {
		b.Status.Phase, b.Status.Message = v1.BackupFailed, "Found again in the bucket, but not whole"
		c.Status, c.Reason = metav1.ConditionFalse, v1.ReasonDumpMissing
	}
	c.Message, c.LastTransitionTime = b.Status.Message, metav1.NewTime(f.now)
	meta.SetStatusCondition(&b.Status.Conditions, c)
	return b
}
