package restore

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	// provisioningLimit bounds the wait for a volume that a driver is creating.
	provisioningLimit = 10 * time.Minute
	// provisioner is on claims that a driver was asked to make a volume for.
	provisioner = "volume.kubernetes.io/storage-provisioner"
)

// cleaner deletes claims and volumes in one member.
type cleaner struct {
	// reader reads from the member's API server, and writer writes to it. Required.
	reader client.Reader
	writer client.Writer
	// now is the time.
	now time.Time
}

// claim deletes a claim of the hub and its volume, and reports whether the claim is gone. A
// claim of another owner counts as gone.
func (c cleaner) claim(ctx context.Context, key client.ObjectKey) (gone bool, err error) {
	claim := &corev1.PersistentVolumeClaim{}
	err = c.reader.Get(ctx, key, claim)
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("getting the claim %s: %w", key.Name, err)
	case claim.Labels[v1.ManagedByLabel] != v1.ManagedBy:
		return true, nil
	case claim.DeletionTimestamp.IsZero() && isProvisioning(claim, c.now):
		return false, nil
	}
	if claim.Spec.VolumeName != "" {
		if err := c.deleteVolumeWithClaim(ctx, claim); err != nil {
			return false, err
		}
	}
	if !claim.DeletionTimestamp.IsZero() {
		return false, nil
	}
	// Unchanged: it must not have been bound in between.
	same := client.Preconditions{UID: new(claim.UID), ResourceVersion: new(claim.ResourceVersion)}
	if err := c.writer.Delete(ctx, claim, same); client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("deleting the claim %s: %w", key.Name, err)
	}
	return false, nil
}

// isProvisioning reports whether a driver may be making the volume of a claim.
func isProvisioning(claim *corev1.PersistentVolumeClaim, now time.Time) bool {
	return claim.Spec.VolumeName == "" && claim.Annotations[provisioner] != "" && now.Sub(claim.CreationTimestamp.Time) < provisioningLimit
}

// deleteVolumeWithClaim sets the reclaim policy of a claim's volume to Delete: the classes that the hub
// creates retain the volumes of deleted claims. A volume that came after its claim is gone would stay,
// which is why a claim whose volume is being provisioned is waited for.
func (c cleaner) deleteVolumeWithClaim(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	pv := &corev1.PersistentVolume{}
	err := c.reader.Get(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, pv)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("getting the volume %s: %w", claim.Spec.VolumeName, err)
	}
	ref := pv.Spec.ClaimRef
	if ref == nil || ref.UID != claim.UID || pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete {
		return nil
	}
	before := pv.DeepCopy()
	pv.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
	return c.patch(ctx, pv, before)
}

func (c cleaner) patch(ctx context.Context, pv, before *corev1.PersistentVolume) error {
	locked := retry.MergeFromLocked(before)
	if err := c.writer.Patch(ctx, pv, locked, client.FieldOwner(v1.HubFieldManager)); err != nil {
		return fmt.Errorf("patching the volume %s to have it deleted: %w", pv.Name, err)
	}
	return nil
}
