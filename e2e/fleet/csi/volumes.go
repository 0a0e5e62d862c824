package csi

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shopfleet/shopfleet/cloud/fake"
)

const (
	conflictDelay = 100 * time.Millisecond
	gib           = 1 << 30
)

// resize makes a volume larger when its claim asks for more.
func (s *SimulatedDriver) resize(ctx context.Context, request reconcile.Request) error {
	claim := &corev1.PersistentVolumeClaim{}
	if err := s.client.Get(ctx, request.NamespacedName, claim); err != nil {
		return err
	}
	if claim.Spec.VolumeName == "" || !claim.DeletionTimestamp.IsZero() {
		return nil
	}
	return s.grow(ctx, claim)
}

// grow resizes a bound claim to its request.
func (s *SimulatedDriver) grow(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	asked, has := claim.Spec.Resources.Requests[corev1.ResourceStorage], claim.Status.Capacity[corev1.ResourceStorage]
	if claim.Status.Phase != corev1.ClaimBound || asked.Cmp(has) <= 0 {
		return nil
	}
	pv := &corev1.PersistentVolume{}
	if err := s.client.Get(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, pv); err != nil {
		return err
	}
	if pv.Spec.CSI == nil || pv.Spec.CSI.Driver != s.driver.name {
		return nil
	}
	size := rounded(asked)
	s.driver.cloud.EditVolume(pv.Spec.CSI.VolumeHandle, func(v *fake.Volume) { v.SizeBytes = size.Value() })
	before := pv.DeepCopy()
	pv.Spec.Capacity[corev1.ResourceStorage] = size
	if err := s.client.Patch(ctx, pv, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("growing volume %q: %w", pv.Name, err)
	}
	old := claim.DeepCopy()
	claim.Status.Capacity[corev1.ResourceStorage] = size
	if err := s.client.Status().Patch(ctx, claim, client.MergeFrom(old)); err != nil {
		return fmt.Errorf("growing claim %q: %w", claim.Name, err)
	}
	return nil
}

// attach attaches a volume to a node, or detaches it.
func (s *SimulatedDriver) attach(ctx context.Context, request reconcile.Request) error {
	attachment := &storagev1.VolumeAttachment{}
	if err := s.client.Get(ctx, request.NamespacedName, attachment); err != nil {
		return err
	}
	if attachment.Spec.Attacher != s.driver.name || attachment.Spec.Source.PersistentVolumeName == nil {
		return nil
	}
	ending := !attachment.DeletionTimestamp.IsZero()
	pv := &corev1.PersistentVolume{}
	err := s.client.Get(ctx, client.ObjectKey{Name: *attachment.Spec.Source.PersistentVolumeName}, pv)
	switch {
	case err == nil:
		s.driver.cloud.EditVolume(pv.Spec.CSI.VolumeHandle, func(v *fake.Volume) { v.Attached = !ending })
	case !ending || !apierrors.IsNotFound(err):
		return err
	}
	finalizer, before := "external-attacher/"+s.driver.name, attachment.DeepCopy()
	if ending {
		controllerutil.RemoveFinalizer(attachment, finalizer)
		return s.client.Patch(ctx, attachment, client.MergeFrom(before))
	}
	if controllerutil.AddFinalizer(attachment, finalizer) {
		if err := s.client.Patch(ctx, attachment, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("attaching volume %q: %w", pv.Name, err)
		}
	}
	if attachment.Status.Attached {
		return nil
	}
	attachment.Status.Attached = true
	return s.client.Status().Update(ctx, attachment)
}

// rounded returns a size in whole GiB, which all three clouds make.
func rounded(size resource.Quantity) resource.Quantity {
	return *resource.NewQuantity((size.Value()+gib-1)/gib*gib, resource.BinarySI)
}
