package restore

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// stopDatabase stops the database, if there is one, until nothing uses its claims.
func (w *work) stopDatabase(ctx context.Context) steps.Result {
	if w.bound() || w.targetFacts.copy == nil {
		return steps.Result{}
	}
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	if _, err := takeLock(ctx, w.writer(), w.targetFacts.copy, v1.RestoringAnnotation, w.restore.Name); err != nil {
		return w.memberError(err)
	}
	pod := &corev1.Pod{}
	key := client.ObjectKey{Namespace: w.restore.Namespace, Name: render.DatabasePod(w.backup.Spec.AppRef.Name)}
	err := w.reader().Get(ctx, key, pod)
	switch {
	case apierrors.IsNotFound(err):
		return steps.Result{}
	case err != nil:
		return w.memberError(err)
	default:
		return steps.RetryAfter(memberDelay, v1.ReasonStoppingDatabase, "waiting for the database in %s to stop", w.member.Name)
	}
}

// replaceClaims puts the restored volumes in their place.
func (w *work) replaceClaims(ctx context.Context) steps.Result {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	waiting := steps.Result{}
	for i := range w.restore.Status.Volumes {
		v := &w.restore.Status.Volumes[i]
		bound, err := w.replaceClaim(ctx, v)
		if err != nil {
			return w.memberError(err)
		}
		if !bound {
			waiting = steps.RetryAfter(memberDelay, v1.ReasonCreatingVolumes, "waiting for the claim %s in %s to be bound", v.Claim, w.member.Name)
		}
	}
	return waiting
}

// replaceClaim brings one claim closer to its restored volume, and reports whether it is
// bound to it. Each step is safe to repeat.
func (w *work) replaceClaim(ctx context.Context, v *v1.RestoredVolume) (bool, error) {
	if v.State == v1.RestoredVolumeBound {
		return true, nil // From now on the database's StatefulSet owns the claim.
	}
	live := w.targetFacts.claims[v.Claim]
	// Before anything is deleted, so that errors of the cloud come first.
	if err := w.ensurePV(ctx, v); err != nil {
		return false, err
	}
	if live != nil && live.pvc.Spec.VolumeName != v.PersistentVolume {
		return false, w.retire(ctx, v, live)
	}
	if live == nil {
		return false, w.makeClaim(ctx, v)
	}
	if live.pvc.Status.Phase != corev1.ClaimBound {
		return false, nil
	}
	v.State = v1.RestoredVolumeBound
	return true, nil
}

// retire deletes a claim, after it set the reclaim policy of its volume to Retain and recorded
// that the Restore cannot be undone: without the claim the database must not start.
func (w *work) retire(ctx context.Context, v *v1.RestoredVolume, live *claim) error {
	c := w.writer()
	if live.pv != nil {
		if live.pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
			before := live.pv.DeepCopy()
			live.pv.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
			// Optimistic: the deletion below must not come before it is true.
			if err := c.Patch(ctx, live.pv, retry.MergeFromLocked(before)); err != nil {
				return fmt.Errorf("keeping the volume %s: %w", live.pv.Name, err)
			}
		}
	}
	if v.State != v1.RestoredVolumeReplacing {
		v.State = v1.RestoredVolumeReplacing
		if live.pv != nil {
			v.Replaced = live.pv.Name
		}
		return nil
	}
	if !live.pvc.DeletionTimestamp.IsZero() {
		return nil
	}
	same := client.Preconditions{UID: new(live.pvc.UID), ResourceVersion: new(live.pvc.ResourceVersion)}
	if err := c.Delete(ctx, live.pvc, same); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the claim %s: %w", live.pvc.Name, err)
	}
	return nil
}

// ensurePV makes the PersistentVolume of a restored volume.
func (w *work) ensurePV(ctx context.Context, v *v1.RestoredVolume) error {
	reader := w.reader()
	err := reader.Get(ctx, client.ObjectKey{Name: v.PersistentVolume}, &corev1.PersistentVolume{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	session, err := w.options.Accounts.Session(ctx, w.backup.Status.Account, w.member.Status.Region)
	if err != nil {
		return err
	}
	volume, err := session.Volumes.DescribeVolume(ctx, cloud.VolumeRef{Region: w.member.Status.Region, Zone: v.Zone, Handle: v.Volume})
	if err != nil {
		return fmt.Errorf("looking at the volume of the claim %s: %w", v.Claim, err)
	}
	pv, err := csi.StaticPV(volume, csi.PVSpec{
		Name: v.PersistentVolume, Driver: w.targetFacts.class.driver,
		ClaimNamespace: w.namespace(), ClaimName: v.Claim, StorageClass: w.targetFacts.class.name,
	})
	if err != nil {
		return err
	}
	if w.restore.Spec.Verify {
		// The volume goes with the claim.
		pv.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
	}
	if err := w.writer().Create(ctx, pv, client.FieldOwner(v1.HubFieldManager)); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the PersistentVolume %s: %w", pv.Name, err)
	}
	return nil
}

// makeClaim makes the claim that the database looks for, on the restored volume.
func (w *work) makeClaim(ctx context.Context, v *v1.RestoredVolume) error {
	c := w.writer()
	pv := &corev1.PersistentVolume{}
	if err := w.reader().Get(ctx, client.ObjectKey{Name: v.PersistentVolume}, pv); err != nil {
		return fmt.Errorf("getting the PersistentVolume %s: %w", v.PersistentVolume, err)
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: w.namespace(), Labels: map[string]string{v1.ManagedByLabel: v1.ManagedBy},
	}}
	if w.targetFacts.copy == nil {
		if err := c.Create(ctx, namespace, client.FieldOwner(v1.HubFieldManager)); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating the namespace: %w", err)
		}
	}
	claim := render.DatabaseClaim(w.backup.Spec.AppRef.Name, w.namespace(), w.backup.Status.Engine)
	claim.Name = v.Claim
	claim.Spec = corev1.PersistentVolumeClaimSpec{
		AccessModes: pv.Spec.AccessModes, VolumeName: pv.Name, StorageClassName: new(w.targetFacts.class.name),
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceStorage: pv.Spec.Capacity[corev1.ResourceStorage],
		}},
	}
	if err := c.Create(ctx, claim, client.FieldOwner(v1.HubFieldManager)); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the claim %s: %w", claim.Name, err)
	}
	return nil
}

// startDatabase releases the lock of the database, and waits until it is ready.
func (w *work) startDatabase(ctx context.Context) steps.Result {
	if w.targetFacts.copy == nil {
		return steps.Result{}
	}
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	if taken := w.superseded(); taken != "" {
		return steps.Fail(v1.ReasonConflict, "the claim %s in %s was given another volume meanwhile", taken, w.member.Name)
	}
	if !bound(w.stored) {
		// Written down before the copy records the end of the Restore.
		return steps.RetryAfter(memberDelay, v1.ReasonStartingDatabase, "the claims in %s are bound", w.member.Name)
	}
	given, err := releaseLock(ctx, w.writer(), w.targetFacts.copy, w.restore)
	if err != nil {
		return w.memberError(err)
	}
	pod := &corev1.Pod{}
	key := client.ObjectKey{Namespace: w.restore.Namespace, Name: render.DatabasePod(w.backup.Spec.AppRef.Name)}
	err = w.reader().Get(ctx, key, pod)
	if client.IgnoreNotFound(err) != nil {
		return w.memberError(err)
	}
	if given || err != nil || !serves(pod) {
		return steps.RetryAfter(memberDelay, v1.ReasonStartingDatabase, "waiting for the database in %s to be ready", w.member.Name)
	}
	return steps.Result{}
}

// superseded returns a restored claim that has another volume by now; empty if none has.
func (w *work) superseded() string {
	for i := range w.restore.Status.Volumes {
		v := &w.restore.Status.Volumes[i]
		if live := w.targetFacts.claims[v.Claim]; live != nil && v.State == v1.RestoredVolumeBound && live.pvc.Spec.VolumeName != v.PersistentVolume {
			return v.Claim
		}
	}
	return ""
}

// bound reports whether all claims are bound to restored volumes, and there are such.
func (w *work) bound() bool { return bound(w.restore) }

func bound(r *v1.Restore) bool {
	all := r.Status.Volumes
	return len(all) > 0 && !slices.ContainsFunc(all, func(v v1.RestoredVolume) bool { return v.State != v1.RestoredVolumeBound })
}

// replaced reports whether a claim was deleted or bound: from there on there is no way
// back.
func (w *work) replaced() bool { return replaced(w.restore) }

func replaced(r *v1.Restore) bool {
	return slices.ContainsFunc(r.Status.Volumes, func(v v1.RestoredVolume) bool {
		return v.State == v1.RestoredVolumeBound || v.State == v1.RestoredVolumeReplacing
	})
}
