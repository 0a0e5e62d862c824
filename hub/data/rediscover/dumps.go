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
	"github.com/shopfleet/shopfleet/hub/data/accounts"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

const (
	// maxObjects bounds the number of objects of a hub in a bucket.
	maxObjects = 1_000_000
	// maxManifests bounds the number of manifests that one pass reads, so that it stays
	// within the account's rate limit.
	maxManifests = 3000
)

// dumpStore is the listing of a hub's objects in a bucket: their sizes by key, and the
// sorted prefixes that have a manifest.
type dumpStore struct {
	sizes    map[string]int64
	prefixes []string
}

// listDumps adds the dumps in the account's bucket that have no Backup.
func (r *Reconciler) listDumps(ctx context.Context, f *found, owner cloud.Owner) (steps.Result, error) {
	bucket, err := r.options.Accounts.Bucket(ctx, f.account.Name)
	if e, of := errors.AsType[*cloud.Error](err); of && e.Code == accounts.CodeNoBucket {
		return steps.Result{}, nil
	}
	if err != nil {
		return steps.FromError(err, "connecting to the bucket"), nil
	}
	known, err := r.knownDumps(ctx, f.account.Name, bucket.Name)
	if err != nil {
		return steps.Result{}, err
	}
	listed, result := list(ctx, bucket, dumps.Root(owner))
	if result.Stops() {
		return result, nil
	}
	read := 0
	for _, prefix := range listed.prefixes {
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
		case err == nil && m.Hub == owner.Hub && matchesPrefix(m, prefix):
			f.dumps = append(f.dumps, f.dump(m, v1.DumpObject{Bucket: bucket.Name, Location: bucket.Location, Prefix: prefix, State: v1.DumpSent}, whole(m, listed, prefix)))
		case err == nil, errors.Is(err, dumps.ErrManifest), cloud.ClassOf(err) == cloud.ClassInvalid:
			f.unread++
		case cloud.ClassOf(err) == cloud.ClassNotFound: // Deleted in the meantime.
		default:
			return steps.FromError(err, "reading the manifest of a dump"), nil
		}
	}
	f.dumps = sorted(f.dumps)
	return steps.Result{}, nil
}

// knownDumps returns the prefixes of the dumps in a bucket that have a Backup.
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

// list lists the objects below a root. The listing is complete unless the result is a failure.
func list(ctx context.Context, objects cloud.ObjectStore, root string) (dumpStore, steps.Result) {
	listed := dumpStore{sizes: map[string]int64{}}
	for o, err := range objects.ListObjects(ctx, root) {
		if err != nil {
			return dumpStore{}, steps.FromError(err, "listing the bucket")
		}
		if len(listed.sizes) == maxObjects {
			return dumpStore{}, steps.Fail(v1.ReasonQuotaExceeded, "there are more than %d objects of the hub in the bucket: delete those that are not needed", maxObjects)
		}
		listed.sizes[o.Key] = o.Bytes
		if prefix, is := dumps.IsManifest(o.Key); is {
			listed.prefixes = append(listed.prefixes, prefix)
		}
	}
	return listed, steps.Result{}
}

// read reads a manifest. It waits and retries when the rate limit is exceeded.
func (r *Reconciler) read(ctx context.Context, objects cloud.ObjectStore, prefix string) (dumps.Manifest, error) {
	for {
		m, err := dumps.Find(ctx, objects, prefix)
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

// matchesPrefix reports whether a manifest describes the dump at its prefix; it could
// have been copied there.
func matchesPrefix(m dumps.Manifest, prefix string) bool {
	hash, at := strings.CutPrefix(prefix, dumps.Root(cloud.Owner{Hub: m.Hub, App: m.AppUID})+m.Backup+"-")
	return at && hash != "" && !strings.Contains(hash, "/")
}

// whole reports whether all parts of a dump exist.
func whole(m dumps.Manifest, listed dumpStore, prefix string) bool {
	for i, size := range m.Parts {
		if got, found := listed.sizes[dumps.PartKey(prefix, i)]; !found || got != size {
			return false
		}
	}
	return true
}

// sorted sorts Backups by namespace and name, and keeps the newest of each name.
func sorted(backups []v1.Backup) []v1.Backup {
	slices.SortFunc(backups, func(a, b v1.Backup) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), b.Status.SnapshotTime.Compare(a.Status.SnapshotTime.Time))
	})
	return slices.CompactFunc(backups, func(a, b v1.Backup) bool { return a.Namespace == b.Namespace && a.Name == b.Name })
}

// dump returns the Backup for a dump.
func (f found) dump(m dumps.Manifest, at v1.DumpObject, whole bool) v1.Backup {
	b := v1.Backup{
		ObjectMeta: f.meta(m.Namespace, m.Backup, labels{m.App, m.Cluster}),
		Spec: v1.BackupSpec{
			AppRef: v1.ObjectReference{Name: m.App}, ClusterRef: v1.ObjectReference{Name: m.Cluster}, Method: v1.BackupDump, Deletion: v1.DeletionRetain,
		},
		Status: v1.BackupStatus{
			Phase: v1.BackupCompleted, Message: "Rediscovered in the bucket",
			HubUID: m.Hub, AppUID: m.AppUID, Account: f.account.Name, Provider: knownProvider(m.Provider), Region: m.Region,
			Engine: m.Engine, Version: m.Version, Consistency: v1.ConsistencyApplication, DeleteLockDays: m.DeleteLockDays,
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
		b.Status.Phase, b.Status.Message = v1.BackupFailed, "Rediscovered in the bucket, but incomplete"
		c.Status, c.Reason = metav1.ConditionFalse, v1.ReasonDumpMissing
	}
	c.Message, c.LastTransitionTime = b.Status.Message, metav1.NewTime(f.now)
	meta.SetStatusCondition(&b.Status.Conditions, c)
	return b
}

// knownProvider returns other for a provider that this build does not know: the build that stored the dump
// may name more, or the same by another name, and the API server refuses a Backup with these.
func knownProvider(p v1.Provider) v1.Provider {
	switch p {
	case "", v1.ProviderAWS, v1.ProviderGCP, v1.ProviderAzure:
		return p
	default:
		return v1.ProviderOther
	}
}
