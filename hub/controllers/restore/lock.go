package restore

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// lockFieldManager is the field manager of the locks.
const lockFieldManager = "shopfleet-restore"

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
	return true, write(ctx, w, copied, before)
}

// releaseLock removes the annotations of a Restore from a copy, and leaves those of another
// one. It reports whether there were any.
func releaseLock(ctx context.Context, w client.Writer, copied *v1.EcommerceApp, restore string) (given bool, err error) {
	before := copied.DeepCopy()
	for _, annotation := range []string{v1.RestoringAnnotation, v1.LoadingAnnotation} {
		if copied.Annotations[annotation] == restore {
			delete(copied.Annotations, annotation)
		}
	}
	if len(copied.Annotations) == len(before.Annotations) {
		return false, nil
	}
	return true, write(ctx, w, copied, before)
}

func write(ctx context.Context, w client.Writer, copied, before *v1.EcommerceApp) error {
	locked := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := w.Patch(ctx, copied, locked, client.FieldOwner(lockFieldManager)); err != nil {
		return fmt.Errorf("patching EcommerceApp %q in %q: %w", copied.Name, copied.Namespace, err)
	}
	return nil
}
