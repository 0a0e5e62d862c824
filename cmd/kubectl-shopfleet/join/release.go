package join

import (
	"context"
	"fmt"

	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/installer"
)

// Release removes the finalizer of the copies that the hub has managed, and returns how many. With it no user
// could delete them, or their namespaces: the hub no longer finalizes them. What they run has an
// owner reference, so that the garbage collector deletes it with them; volumes stay. Copies of an agent
// keep theirs. The hub must not have access any more, or it adds the finalizer again.
func (m Member) Release(ctx context.Context) (int, error) {
	copies, err := m.copies(ctx)
	if err != nil {
		return 0, err
	}
	released := 0
	for i := range copies {
		if !holdsAfterwards(&copies[i]) {
			continue
		}
		if err := m.release(ctx, &copies[i]); err != nil {
			return released, fmt.Errorf("removing the finalizer of EcommerceApp %s/%s: %w", copies[i].Namespace, copies[i].Name, err)
		}
		released++
	}
	return released, nil
}

// holdsAfterwards reports whether a copy has a finalizer that no controller removes once the hub has left.
func holdsAfterwards(copied *v1.EcommerceApp) bool {
	return copied.ManagedByMode() == v1.ManagedByHub && controllerutil.ContainsFinalizer(copied, v1.SpokeFinalizer)
}

func (m Member) release(ctx context.Context, copied *v1.EcommerceApp) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := m.Client.Get(ctx, client.ObjectKeyFromObject(copied), copied); err != nil {
			return client.IgnoreNotFound(err)
		}
		before := copied.DeepCopy()
		if !holdsAfterwards(copied) || !controllerutil.RemoveFinalizer(copied, v1.SpokeFinalizer) {
			return nil
		}
		return client.IgnoreNotFound(m.Client.Patch(ctx, copied,
			client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.FieldOwner(installer.FieldManager)))
	})
}
