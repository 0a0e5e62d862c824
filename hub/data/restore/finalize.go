package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// finalize releases the lock of the database, deletes volumes that no claim got, and removes
// the finalizer of the Restore.
func (w *work) finalize(ctx context.Context) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(w.stored, v1.RestoreFinalizer) {
		return reconcile.Result{}, nil
	}
	w.restore = w.stored.DeepCopy()
	if !done(w.stored) {
		result, err := w.undo(ctx)
		if err != nil {
			return reconcile.Result{}, err
		}
		if result.Stops() {
			w.decideStalled(result)
			w.setConditions(metav1.Condition{
				Type: v1.ConditionReady, Status: metav1.ConditionFalse, ObservedGeneration: w.restore.Generation, LastTransitionTime: metav1.NewTime(w.now),
				Reason: result.Reason, Message: v1.Excerpt(w.withWayBack("being deleted: ", result.Message), steps.MaxMessage),
			})
			if err := w.write(ctx); err != nil {
				return reconcile.Result{}, err
			}
			return w.options.Waits.Later(max(result.Wait, steps.Member)), nil
		}
	}
	before := w.stored.DeepCopy()
	controllerutil.RemoveFinalizer(w.stored, v1.RestoreFinalizer)
	if err := w.client.Patch(ctx, w.stored, retry.MergeFromLocked(before)); err != nil {
		return reconcile.Result{}, fmt.Errorf("removing the finalizer: %w", err)
	}
	return reconcile.Result{}, nil
}

// undo ends a Restore that is under way.
func (w *work) undo(ctx context.Context) (steps.Result, error) {
	migrate(w.restore, w.now) // What it says was said before.
	if w.restore.Spec.Verify {
		return w.undoVerification(ctx)
	}
	if result, err := w.readAll(ctx); result.Stops() || err != nil {
		return result, err
	}
	if w.targetFacts == nil && w.restore.Status.Dump != nil && w.restore.DeletionTimestamp.IsZero() {
		// The workloads that use the database are stopped there, and only this Restore starts
		// them again. A user who deletes the Restore gives that up.
		return steps.RetryAfter(steps.Member, v1.ReasonClusterDetached, "waiting for the cluster and the backup to be there again, to start the application again"), nil
	}
	if w.targetFacts == nil {
		return steps.Result{}, nil
	}
	if w.isDump() {
		return w.cancelLoad(ctx), nil
	}
	result, err := w.seeThrough(ctx)
	// Without the application no database could start empty: nothing waits for volumes that are gone.
	if err != nil || result.Stops() && (result.Reason != v1.ReasonVolumeChanged || w.targetFacts.copy != nil) {
		return result, err
	}
	return steps.Unwind(ctx, w.steps(), w.restore.Status.Steps)
}

// seeThrough has the database get claims again, with the volumes that it had or the restored ones: it must not start without.
func (w *work) seeThrough(ctx context.Context) (steps.Result, error) {
	if w.restore.PutsBack() {
		// Until the database is stopped for it, one whose former volumes are gone gets the restored ones.
		if result, err := w.endPutBack(ctx); result.Reason != v1.ReasonVolumeChanged || steps.Begun(w.restore.Status.Steps, v1.RestoreStepHalt) {
			return result, err
		}
	}
	if w.replaced() && !w.bound() && !w.ended() {
		return w.endBind(ctx)
	}
	return steps.Result{}, nil
}

// endPutBack puts the replaced volumes back. A database that is stopped for it, and whose former volumes are gone, gets the
// restored ones.
func (w *work) endPutBack(ctx context.Context) (steps.Result, error) {
	recorded := &w.restore.Status.Steps
	if !steps.Begun(*recorded, stepRebind) {
		if steps.Complete(*recorded, stepReturn) {
			return steps.Result{}, nil // Whether the database is ready on them, nothing waits for.
		}
		if result := w.paused(); result.Stops() {
			return result, nil
		}
		result, err := w.advanceBack(ctx)
		if err != nil || result.Reason != v1.ReasonVolumeChanged || !steps.Begun(*recorded, v1.RestoreStepHalt) || w.findRestored(ctx).Stops() {
			return result, err
		}
	}
	rebind := steps.Step{Name: stepRebind, Run: inMember(w.rebindVolumes), NoWayBack: true, Once: true}
	return steps.Advance(ctx, []steps.Step{rebind}, recorded, w.now)
}

// endBind runs the steps up to Bind. Where nothing was replaced and a restored volume is gone, no claim is left to wait for.
func (w *work) endBind(ctx context.Context) (steps.Result, error) {
	all := w.steps()
	end := slices.IndexFunc(all, func(s steps.Step) bool { return s.Name == stepBind })
	result, err := steps.Advance(ctx, all[:end+1], &w.restore.Status.Steps, w.now)
	if result.Reason == v1.ReasonVolumeChanged && len(w.retired()) == 0 {
		return w.removeLost(ctx), nil
	}
	return result, err
}

// removeLost deletes the claims of restored volumes that are gone: a database would wait for them.
func (w *work) removeLost(ctx context.Context) steps.Result {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	waiting := steps.Result{}
	for _, v := range w.restore.Status.Volumes {
		live := w.targetFacts.claims[v.Claim]
		if live == nil || live.pv != nil || live.pvc.Spec.VolumeName != v.PersistentVolume {
			continue
		}
		if err := w.retire(ctx, live); err != nil {
			return w.memberError(err)
		}
		waiting = steps.RetryAfter(memberDelay, v1.ReasonDeleting, "waiting for the claim %s in %s to be deleted", v.Claim, w.member.Name)
	}
	return waiting
}

// startAgain releases the lock of the database.
func (w *work) startAgain(ctx context.Context) (steps.Result, error) {
	if err := w.releaseDatabaseLock(ctx); err != nil {
		return w.memberError(err), nil
	}
	return steps.Result{}, nil
}

// readAll reads what a Restore works on. A member or a backup that no longer exists needs
// nothing any more, and leaves targetFacts nil.
func (w *work) readAll(ctx context.Context) (steps.Result, error) {
	if missing, err := w.getObjects(ctx); missing.Stops() || err != nil {
		return steps.Result{}, err
	}
	return w.findTarget(ctx), nil
}

// releaseDatabaseLock releases the lock, so that the database starts on whatever claims it has.
func (w *work) releaseDatabaseLock(ctx context.Context) error {
	if w.targetFacts == nil || w.targetFacts.copy == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	_, err := releaseLock(ctx, w.writer(), w.targetFacts.copy, w.restore)
	return err
}

// memberError returns the result for an error of the member or of the cloud.
func (w *work) memberError(err error) steps.Result {
	switch {
	case errors.Is(err, errBusy):
		return steps.RetryAfter(steps.Member, v1.ReasonInUse, "another Restore works on the database in %s", w.member.Name)
	case cloud.ClassOf(err) != "":
		return steps.FromError(err, "restoring")
	default:
		return steps.FromMember(err, w.member.Name, "replace volumes")
	}
}
