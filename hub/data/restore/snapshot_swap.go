package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// stopDatabase stops the database, if there is one, until nothing uses its claims.
func (w *work) stopDatabase(ctx context.Context) steps.Result {
	if w.targetFacts.copy == nil {
		return steps.Result{}
	}
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	taken, err := takeLock(ctx, w.writer(), w.targetFacts.copy, v1.RestoringAnnotation, w.restore.Name)
	if err != nil {
		return w.memberError(err)
	}
	if taken { // A pod that is not there at this moment may be on its way.
		return steps.RetryAfter(memberDelay, v1.ReasonStoppingDatabase, "the database in %s is being stopped", w.member.Name)
	}
	for _, name := range render.DatabasePods(w.backup.Spec.AppRef.Name) {
		switch err := w.reader().Get(ctx, client.ObjectKey{Namespace: w.restore.Namespace, Name: name}, &corev1.Pod{}); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return w.memberError(err)
		default: // That of a node that is lost stays until a user deletes it.
			return steps.RetryAfter(memberDelay, v1.ReasonStoppingDatabase, "waiting for the database in %s to stop: pod %s is there", w.member.Name, name)
		}
	}
	return steps.Result{}
}

// mayRetire looks again at what may have changed while the snapshots were imported, when the database does not run and can still
// be started as it was, and has the imported volumes kept.
func (w *work) mayRetire(ctx context.Context) steps.Result {
	if result := w.mayReplace(ctx); result.Stops() {
		return result
	}
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	for _, v := range w.restore.Status.Volumes {
		err := w.keep(ctx, v.PersistentVolume)
		if apierrors.IsNotFound(err) {
			return steps.Fail(v1.ReasonVolumeChanged, "there is no PersistentVolume %s in %s any more, which was made of the snapshot", v.PersistentVolume, w.member.Name)
		}
		if err != nil {
			return w.memberError(err)
		}
	}
	return steps.Result{}
}

// keep has a volume stay without its claim.
func (w *work) keep(ctx context.Context, name string) error {
	pv := &corev1.PersistentVolume{}
	if err := w.reader().Get(ctx, client.ObjectKey{Name: name}, pv); err != nil {
		return fmt.Errorf("getting the PersistentVolume %s: %w", name, err)
	}
	return w.retain(ctx, pv)
}

// retain has a volume that was read stay without its claim.
func (w *work) retain(ctx context.Context, pv *corev1.PersistentVolume) error {
	if pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimRetain {
		return nil
	}
	before := pv.DeepCopy()
	pv.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	// Optimistic: a deletion of the claim must not come before it is true.
	if err := w.writer().Patch(ctx, pv, retry.MergeFromLocked(before)); err != nil {
		return fmt.Errorf("keeping the volume %s: %w", pv.Name, err)
	}
	return nil
}

// retireClaims deletes the claims that have other volumes than the restored ones. The volumes stay. From its beginning on there
// is no way back: without its claim the database must not start.
func (w *work) retireClaims(ctx context.Context) steps.Result {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	waiting := steps.Result{}
	for i := range w.restore.Status.Volumes {
		v := &w.restore.Status.Volumes[i]
		live := w.targetFacts.claims[v.Claim]
		if live == nil || live.pvc.Spec.VolumeName == v.PersistentVolume {
			continue
		}
		if live.pv != nil && v.Replaced == "" { // What is made meanwhile is not what was replaced.
			v.Replaced = live.pv.Name
		}
		if err := w.retire(ctx, live); err != nil {
			return w.memberError(err)
		}
		waiting = steps.RetryAfter(memberDelay, v1.ReasonCreatingVolumes, "waiting for the claim %s in %s to be deleted", v.Claim, w.member.Name)
	}
	return waiting
}

// retire deletes a claim whose volume stays. Nothing is deleted before the status says that the step was begun, and what is
// replaced.
func (w *work) retire(ctx context.Context, live *claim) error {
	if live.pv != nil {
		if err := w.retain(ctx, live.pv); err != nil {
			return err
		}
	}
	if !w.recorded() || !live.pvc.DeletionTimestamp.IsZero() {
		return nil
	}
	same := client.Preconditions{UID: new(live.pvc.UID), ResourceVersion: new(live.pvc.ResourceVersion)}
	if err := w.writer().Delete(ctx, live.pvc, same); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the claim %s: %w", live.pvc.Name, err)
	}
	return nil
}

// recorded reports whether the stored status says what this pass is about to replace.
func (w *work) recorded() bool {
	stored, next := &w.stored.Status, &w.restore.Status
	return steps.Begun(stored.Steps, stepRetire) && equality.Semantic.DeepEqual(stored.Volumes, next.Volumes) && slices.Equal(stored.ReplicaVolumes, next.ReplicaVolumes)
}

// bindClaims makes the claims that the database looks for, on the restored volumes.
func (w *work) bindClaims(ctx context.Context) steps.Result {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	waiting := steps.Result{}
	for i := range w.restore.Status.Volumes {
		v := &w.restore.Status.Volumes[i]
		if v.State == v1.RestoredVolumeBound {
			continue // From now on the database's StatefulSet owns the claim.
		}
		bound, err := w.bind(ctx, v)
		if err != nil {
			return w.notBound(err)
		}
		if bound {
			v.State = v1.RestoredVolumeBound
			continue
		}
		waiting = steps.RetryAfter(memberDelay, v1.ReasonCreatingVolumes, "waiting for the claim %s in %s to be bound", v.Claim, w.member.Name)
	}
	return waiting
}

// errVolumeGone means that there is no PersistentVolume of a name any more.
var errVolumeGone = errors.New("the volume is gone")

// notBound returns the result for an error of bind. A volume that is gone does not come back.
func (w *work) notBound(err error) steps.Result {
	if !errors.Is(err, errVolumeGone) {
		return w.memberError(err)
	}
	then := ""
	if len(w.retired()) == 0 {
		left := "nothing was replaced"
		if replicas := w.restore.Status.ReplicaVolumes; len(replicas) > 0 {
			left = "the volumes of replicas are kept: " + strings.Join(replicas, ", ")
		}
		then = fmt.Sprintf("; %s: kubectl delete restore %s -n %s releases the database, and another Restore can begin",
			left, w.restore.Name, w.restore.Namespace)
	}
	return steps.Fail(v1.ReasonVolumeChanged, "in %s: %v%s", w.member.Name, err, then)
}

// bind brings one claim closer to its restored volume, and reports whether it is bound to it. Each step is safe to repeat.
// Without the volume nothing is deleted.
func (w *work) bind(ctx context.Context, v *v1.RestoredVolume) (bool, error) {
	pv := &corev1.PersistentVolume{}
	if err := w.reader().Get(ctx, client.ObjectKey{Name: v.PersistentVolume}, pv); apierrors.IsNotFound(err) {
		return false, fmt.Errorf("finding the PersistentVolume %s: %w", v.PersistentVolume, errVolumeGone)
	} else if err != nil {
		return false, fmt.Errorf("getting the PersistentVolume %s: %w", v.PersistentVolume, err)
	}
	switch live := w.targetFacts.claims[v.Claim]; {
	case live != nil && live.pvc.Spec.VolumeName == v.PersistentVolume:
		return live.pvc.DeletionTimestamp.IsZero() && live.pvc.Status.Phase == corev1.ClaimBound, nil
	case live != nil:
		if live.pv != nil && v.Replaced == "" { // What is made meanwhile is not what was replaced.
			v.Replaced = live.pv.Name
		}
		return false, w.retire(ctx, live) // One that was made meanwhile.
	}
	if v.PersistentVolume != v.Replaced {
		if free, err := w.free(ctx, w.importOf(v), pv); !free || err != nil {
			return false, err
		}
	}
	if err := w.reserve(ctx, pv, v.Claim); err != nil {
		return false, err
	}
	return false, w.makeClaim(ctx, v, pv)
}

// free deletes the claim that a volume was imported with, and reports whether it is gone. The volume stays.
func (w *work) free(ctx context.Context, i volumeImport, pv *corev1.PersistentVolume) (bool, error) {
	if err := w.deleteJob(ctx, i); err != nil { // A claim stays for as long as a pod names it.
		return false, err
	}
	live, err := w.readClaim(ctx, w.reader(), i.name)
	if live == nil || err != nil {
		return err == nil, err
	}
	return false, w.retire(ctx, &claim{pvc: live.pvc, pv: pv})
}

// reserve reserves a volume for the claim of the database.
func (w *work) reserve(ctx context.Context, pv *corev1.PersistentVolume, claim string) error {
	ref := &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: w.namespace(), Name: claim}
	// With a UID it waits for a claim that was deleted, as a volume that was replaced does.
	if now := pv.Spec.ClaimRef; now != nil && now.Namespace == ref.Namespace && now.Name == ref.Name && now.UID == "" {
		return nil
	}
	before := pv.DeepCopy()
	pv.Spec.ClaimRef = ref
	if err := w.writer().Patch(ctx, pv, retry.MergeFromLocked(before)); err != nil {
		return fmt.Errorf("reserving the volume %s for the claim %s: %w", pv.Name, claim, err)
	}
	return nil
}

// makeNamespace makes the namespace of the claims, unless the application is there.
func (w *work) makeNamespace(ctx context.Context) error {
	if w.targetFacts.copy != nil {
		return nil
	}
	return w.ensure(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: w.namespace(), Labels: map[string]string{v1.ManagedByLabel: v1.ManagedBy},
	}})
}

// makeClaim makes the claim that the database looks for, on the restored volume.
func (w *work) makeClaim(ctx context.Context, v *v1.RestoredVolume, pv *corev1.PersistentVolume) error {
	claim := render.DatabaseClaim(w.backup.Spec.AppRef.Name, w.namespace(), w.backup.Status.Engine)
	claim.Name = v.Claim
	if takesPasswords(v) && !steps.Begun(w.restore.Status.Steps, v1.RestoreStepStart) {
		claim.Annotations = map[string]string{v1.ImportedAnnotation: "true"}
	}
	claim.Spec = corev1.PersistentVolumeClaimSpec{
		AccessModes: pv.Spec.AccessModes, VolumeName: pv.Name, StorageClassName: new(pv.Spec.StorageClassName),
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceStorage: pv.Spec.Capacity[corev1.ResourceStorage],
		}},
	}
	err := w.writer().Create(ctx, claim, client.FieldOwner(v1.HubFieldManager))
	if apierrors.IsNotFound(err) {
		err = w.makeNamespace(ctx) // It was deleted meanwhile; the next pass makes the claim.
	}
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the claim %s: %w", claim.Name, err)
	}
	return nil
}

// takesPasswords reports whether the data of a volume takes the passwords that it is started with next. That of a volume
// that is put back does not, nor that of one that a hub before this one made in the cloud: no Job has opened it.
func takesPasswords(v *v1.RestoredVolume) bool {
	return v.PersistentVolume != v.Replaced && !strings.HasPrefix(v.PersistentVolume, staticVolume)
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
	if !steps.Complete(w.stored.Status.Steps, stepBind) {
		// Written down before the copy records the end of the Restore.
		return steps.RetryAfter(memberDelay, v1.ReasonStartingDatabase, "the claims in %s are bound", w.member.Name)
	}
	return w.start(ctx)
}

// start releases the lock of the database, and waits until it is ready.
func (w *work) start(ctx context.Context) steps.Result {
	if w.targetFacts.copy == nil {
		return steps.Result{}
	}
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
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

// replaced reports whether claims may have been deleted: from there on there is no way back.
func (w *work) replaced() bool { return replaced(w.restore) }

func replaced(r *v1.Restore) bool { return steps.Begun(r.Status.Steps, stepRetire) }
