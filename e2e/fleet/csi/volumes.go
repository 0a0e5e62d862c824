package csi

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shopfleet/shopfleet/cloud/fake"
)

const (
	provisionerAnnotation = "volume.kubernetes.io/storage-provisioner"
	provisionedAnnotation = "pv.kubernetes.io/provisioned-by"
	nodeAnnotation        = "volume.kubernetes.io/selected-node"

	conflictDelay = 100 * time.Millisecond
	gib           = 1 << 30
)

// provide makes the volume of a claim, or a larger one of it.
func (s *SimulatedDriver) provide(ctx context.Context, request reconcile.Request) error {
	claim := &corev1.PersistentVolumeClaim{}
	if err := s.client.Get(ctx, request.NamespacedName, claim); err != nil {
		return err
	}
	switch {
	case claim.Annotations[provisionerAnnotation] != s.driver.name || !claim.DeletionTimestamp.IsZero():
		return nil
	case claim.Spec.VolumeName != "":
		return s.grow(ctx, claim)
	}
	class := &storagev1.StorageClass{}
	if err := s.client.Get(ctx, client.ObjectKey{Name: *claim.Spec.StorageClassName}, class); err != nil {
		return err
	}
	zone, err := s.zone(ctx, claim)
	if err != nil {
		return err
	}
	name := "pvc-" + string(claim.UID)
	if err := s.client.Get(ctx, client.ObjectKey{Name: name}, &corev1.PersistentVolume{}); !apierrors.IsNotFound(err) {
		return err
	}
	size := rounded(claim.Spec.Resources.Requests[corev1.ResourceStorage])
	handle, err := s.driver.Provision(Volume{
		Name: name, Zone: zone, SizeBytes: size.Value(), Parameters: class.Parameters,
		Tags: map[string]string{
			"kubernetes.io/created-for/pvc/namespace": claim.Namespace, "kubernetes.io/created-for/pvc/name": claim.Name,
		},
	})
	if err != nil {
		return fmt.Errorf("making volume %q: %w", name, err)
	}
	return unlessExists(s.client.Create(ctx, s.volumeOf(claim, class, corev1.PersistentVolumeSpec{
		Capacity: corev1.ResourceList{corev1.ResourceStorage: size},
		PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
			Driver: s.driver.name, VolumeHandle: handle, FSType: class.Parameters["csi.storage.k8s.io/fstype"],
		}},
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: s.driver.topology, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}},
		}}}},
	})))
}

// volumeOf completes the PersistentVolume of a claim.
func (s *SimulatedDriver) volumeOf(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, spec corev1.PersistentVolumeSpec) *corev1.PersistentVolume {
	spec.AccessModes, spec.VolumeMode = claim.Spec.AccessModes, claim.Spec.VolumeMode
	spec.StorageClassName, spec.PersistentVolumeReclaimPolicy = class.Name, *class.ReclaimPolicy
	spec.ClaimRef = &corev1.ObjectReference{
		APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name: "pvc-" + string(claim.UID), Annotations: map[string]string{provisionedAnnotation: s.driver.name},
		},
		Spec: spec,
	}
}

// zone returns where the volume of a claim is to be: the zone of the node that the scheduler
// chose, else of any.
func (s *SimulatedDriver) zone(ctx context.Context, claim *corev1.PersistentVolumeClaim) (string, error) {
	nodes := &corev1.NodeList{}
	if err := s.client.List(ctx, nodes); err != nil {
		return "", fmt.Errorf("listing nodes: %w", err)
	}
	chosen := claim.Annotations[nodeAnnotation]
	for i := range nodes.Items {
		if n := &nodes.Items[i]; chosen == "" || n.Name == chosen {
			return n.Labels[s.driver.topology], nil
		}
	}
	return "", fmt.Errorf("claim %s/%s: there is no node %q", claim.Namespace, claim.Name, chosen)
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

// reclaim deletes a volume that is released and not to be kept.
func (s *SimulatedDriver) reclaim(ctx context.Context, request reconcile.Request) error {
	pv := &corev1.PersistentVolume{}
	if err := s.client.Get(ctx, request.NamespacedName, pv); err != nil {
		return err
	}
	if pv.Spec.CSI == nil || pv.Spec.CSI.Driver != s.driver.name || pv.Status.Phase != corev1.VolumeReleased ||
		pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete || !pv.DeletionTimestamp.IsZero() {
		return nil
	}
	// A policy that was changed to Retain in between is respected.
	if err := s.client.Delete(ctx, pv, client.Preconditions{ResourceVersion: new(pv.ResourceVersion)}); err != nil {
		return fmt.Errorf("deleting volume %q: %w", pv.Name, err)
	}
	s.driver.cloud.RemoveVolume(pv.Spec.CSI.VolumeHandle)
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
