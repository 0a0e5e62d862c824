package restore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	// lockFieldManager is the field manager of the locks.
	lockFieldManager = "shopfleet-restore"
	// maxRestored bounds v1.RestoredAnnotation.
	maxRestored = 20
)

// errBusy means that another Restore works on the same database.
var errBusy = errors.New("another restore of this database is in progress")

// lockHolder returns the Restore that works on the database of a copy; empty if none does.
func lockHolder(copied *v1.EcommerceApp) string {
	if name := copied.Annotations[v1.RestoringAnnotation]; name != "" {
		return name
	}
	return copied.Annotations[v1.LoadingAnnotation]
}

// takeLock records on a copy, in one of the two annotations, that a Restore works on its
// database. It reports whether that is new. The error wraps errBusy when another Restore
// does, else it is the member's.
func takeLock(ctx context.Context, w client.Writer, copied *v1.EcommerceApp, annotation, restore string) (taken bool, err error) {
	if last := lockHolder(copied); last != "" {
		if last == restore && copied.Annotations[annotation] == restore {
			return false, nil
		}
		return false, fmt.Errorf("restore %q works on the database: %w", last, errBusy)
	}
	before := copied.DeepCopy()
	if copied.Annotations == nil {
		copied.Annotations = map[string]string{}
	}
	copied.Annotations[annotation] = restore
	delete(copied.Annotations, v1.LoadedAnnotation)
	return true, write(ctx, w, copied, before)
}

// releaseLock removes the annotations of a Restore from a copy, but not the annotations of another
// Restore. It records the Restore on the copy if it has replaced data, or may have. It reports
// whether anything changed.
func releaseLock(ctx context.Context, w client.Writer, copied *v1.EcommerceApp, restore *v1.Restore) (given bool, err error) {
	before := copied.DeepCopy()
	for _, annotation := range []string{v1.RestoringAnnotation, v1.LoadingAnnotation} {
		if copied.Annotations[annotation] != restore.Name {
			continue
		}
		delete(copied.Annotations, annotation)
		if hasBackupData(restore) { // What was lost is there again.
			copied.Annotations[v1.LoadedAnnotation] = restore.Name
		}
	}
	if replacesData(restore) && !restored(copied, restore) {
		metav1.SetMetaDataAnnotation(&copied.ObjectMeta, v1.RestoredAnnotation, withRestored(copied, restore))
	}
	if maps.Equal(copied.Annotations, before.Annotations) {
		return false, nil
	}
	return true, write(ctx, w, copied, before)
}

// replacesData reports whether a Restore has replaced data of a database, or may have.
func replacesData(r *v1.Restore) bool {
	return replaced(r) || r.Status.Dump != nil && r.Status.Dump.Started
}

// hasBackupData reports whether the database has the data of the backup, as far as a Restore is concerned.
func hasBackupData(r *v1.Restore) bool {
	s := &r.Status
	if s.Dump != nil {
		return s.Dump.Loaded
	}
	return bound(r) && (!steps.Begun(s.Steps, stepReturn) || steps.Complete(s.Steps, stepRebind))
}

// restored reports whether a copy records that a Restore has ended that replaced data.
func restored(copied *v1.EcommerceApp, r *v1.Restore) bool {
	return slices.Contains(strings.Split(copied.Annotations[v1.RestoredAnnotation], ","), string(r.UID))
}

// withRestored returns the value of v1.RestoredAnnotation with one more Restore.
func withRestored(copied *v1.EcommerceApp, r *v1.Restore) string {
	all := strings.FieldsFunc(copied.Annotations[v1.RestoredAnnotation], func(c rune) bool { return c == ',' })
	all = append(all, string(r.UID))
	return strings.Join(all[max(0, len(all)-maxRestored):], ",")
}

func write(ctx context.Context, w client.Writer, copied, before *v1.EcommerceApp) error {
	locked := retry.MergeFromLocked(before)
	if err := w.Patch(ctx, copied, locked, client.FieldOwner(lockFieldManager)); err != nil {
		return fmt.Errorf("patching EcommerceApp %q in %q: %w", copied.Name, copied.Namespace, err)
	}
	return nil
}
