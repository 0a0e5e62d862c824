package backup

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// finalize removes the finalizer of a Backup, after it has deleted its data where
// spec.deletion is Delete. A Backup whose data is retained waits for nothing but a Restore
// that is in progress: neither for its member nor for its cloud.
func (w *work) finalize(ctx context.Context) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(w.stored, v1.BackupFinalizer) {
		return reconcile.Result{}, nil
	}
	w.backup = w.stored.DeepCopy()
	result, err := w.inUse(ctx)
	if err == nil && !result.Stops() && w.backup.Spec.Deletion == v1.DeletionDelete {
		result, err = w.deleteData(ctx)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if !result.Stops() {
		return reconcile.Result{}, w.removeFinalizer(ctx)
	}
	w.backup.Status.Phase, w.backup.Status.Message = v1.BackupDeleting, v1.Excerpt(result.Message, steps.MaxMessage)
	w.backup.Status.ObservedGeneration = w.backup.Generation
	if err := w.write(ctx); err != nil {
		return reconcile.Result{}, err
	}
	return w.options.Waits.Later(result.Wait), nil
}

// deleteData deletes the dump in its bucket, or the snapshots and their copies.
func (w *work) deleteData(ctx context.Context) (steps.Result, error) {
	if result, err := w.mayDelete(ctx); result.Stops() || err != nil {
		return result, err
	}
	if result := w.deleteDump(ctx); result.Stops() {
		return result, nil
	}
	return w.deleteAll(ctx), nil
}

func (w *work) removeFinalizer(ctx context.Context) error {
	before := w.stored.DeepCopy()
	controllerutil.RemoveFinalizer(w.stored, v1.BackupFinalizer)
	if err := w.client.Patch(ctx, w.stored, retry.MergeFromLocked(before)); err != nil {
		return fmt.Errorf("removing the finalizer: %w", err)
	}
	return nil
}

// inUse returns a Result that waits while a Restore needs the Backup.
func (w *work) inUse(ctx context.Context) (steps.Result, error) {
	restoring, err := w.restoring(ctx)
	if err != nil || restoring == "" {
		return steps.Result{}, err
	}
	return steps.RetryAfter(steps.Member, v1.ReasonInUse, "the Restore %s uses it", restoring), nil
}

// deleteAll deletes copies and then snapshots. A failure of one does not keep the others,
// but a snapshot stays while copies of it are looked for, which are found by their source.
// Of several that are waited for, the first is reported, and the shortest wait counts.
func (w *work) deleteAll(ctx context.Context) steps.Result {
	first := steps.Result{}
	note := func(result steps.Result) {
		switch {
		case !result.Stops():
		case !first.Stops():
			first = result
		default:
			first.Wait = min(first.Wait, result.Wait)
		}
	}
	for i := range w.backup.Status.Snapshots {
		s, lookedFor := &w.backup.Status.Snapshots[i], false
		for j := range s.Copies {
			c := &s.Copies[j]
			result := w.deleteSnapshot(ctx, s, c, true)
			lookedFor = lookedFor || result.Stops() && (c.ID == "" || c.Attempt > 0)
			note(result)
		}
		if !lookedFor {
			note(w.deleteSnapshot(ctx, s, &s.CloudSnapshot, false))
		}
	}
	return first
}

// deleteSnapshot deletes one snapshot. The zero result means that it is gone, or not ours.
func (w *work) deleteSnapshot(ctx context.Context, s *v1.VolumeSnapshot, c *v1.CloudSnapshot, isCopy bool) steps.Result {
	if c.ID == "" && c.SentTime == nil && c.Attempt == 0 {
		return steps.Result{} // Never asked for, or known not to be there.
	}
	if c.State == v1.SnapshotMissing && c.Attempt == 0 && c.Requests < 2 {
		return steps.Result{} // The cloud has said so, and may have no such region or account any more.
	}
	session, err := w.options.Accounts.Session(ctx, w.backup.Status.Account, c.Region)
	if err != nil {
		return retryFatal(steps.FromError(err, "connecting to the cloud in "+c.Region))
	}
	if result := w.deleteEarlier(ctx, session, s, c, isCopy); result.Stops() {
		return result
	}
	if c.ID == "" && c.SentTime == nil {
		return steps.Result{}
	}
	if result := w.deleteAllDuplicates(ctx, session, s, attempt{c: c, number: c.Attempt, isCopy: isCopy}); result.Stops() {
		return result
	}
	if c.ID == "" {
		if result, gone := w.findUnrecorded(ctx, session, s, c, isCopy); result.Stops() || gone {
			return result
		}
	}
	ref := cloud.SnapshotRef{Region: c.Region, ID: c.ID}
	if !intentOf(c).MaySend(w.now) {
		if _, err := session.Snapshots.GetSnapshot(ctx, ref); cloud.ClassOf(err) == cloud.ClassNotFound {
			// Deleting what is not visible yet has no effect.
			return steps.RetryAfter(intentOf(c).Wait(w.now), v1.ReasonRetrying, "waiting until the snapshot in %s is visible", c.Region)
		}
	}
	err = session.Snapshots.DeleteSnapshot(ctx, ref, w.owner())
	switch {
	case err == nil, cloud.ClassOf(err) == cloud.ClassNotFound:
		c.ID, c.State, c.SentTime = "", "", nil
		return steps.Result{}
	case isForeign(err):
		w.options.Recorder.Eventf(w.backup, nil, corev1.EventTypeWarning, v1.ReasonSnapshotForeign, "Delete",
			"The snapshot %s in %s is not ours, or lost the tags that say so; it was left alone", c.ID, c.Region)
		c.ID, c.State, c.SentTime = "", "", nil
		return steps.Result{}
	}
	return retryFatal(steps.FromError(err, "deleting the snapshot in "+c.Region))
}

// findUnrecorded looks for a snapshot that may have been created although its response was lost.
func (w *work) findUnrecorded(ctx context.Context, session cloud.Session, s *v1.VolumeSnapshot, c *v1.CloudSnapshot, isCopy bool) (result steps.Result, gone bool) {
	found, err := w.findAttempt(ctx, session, s, attempt{c: c, number: c.Attempt, isCopy: isCopy})
	switch class := cloud.ClassOf(err); {
	case err == nil:
		c.ID = found.Ref.ID
		return steps.Result{}, false
	case class == cloud.ClassAmbiguous && !intentOf(c).MaySend(w.now):
		return steps.RetryAfter(intentOf(c).Wait(w.now), v1.ReasonRetrying, "looking for a snapshot in %s whose response was lost", c.Region), false
	case class == cloud.ClassAmbiguous, class == cloud.ClassNotFound, class == cloud.ClassConflict:
		c.SentTime = nil
		return steps.Result{}, true
	default:
		return retryFatal(steps.FromError(err, "looking for a snapshot in "+c.Region)), false
	}
}

// attempt is one of the attempts at a snapshot or a copy.
type attempt struct {
	c      *v1.CloudSnapshot
	number int32
	isCopy bool
}

// findAttempt finds the snapshot of an attempt, by its name. It requests no new one.
func (w *work) findAttempt(ctx context.Context, session cloud.Session, s *v1.VolumeSnapshot, a attempt) (cloud.Snapshot, error) {
	if a.isCopy {
		return session.Snapshots.EnsureCopy(ctx, cloud.CopySpec{
			Name: a.c.Name, Source: cloud.SnapshotRef{Region: s.Region, ID: s.ID}, Tags: w.tags(s), Attempt: int(a.number),
		})
	}
	earlier := *s
	earlier.Attempt = a.number
	return w.ensure(session, &earlier, false)(ctx)
}

// deleteEarlier deletes what attempts left behind that failed after they were accepted.
func (w *work) deleteEarlier(ctx context.Context, session cloud.Session, s *v1.VolumeSnapshot, c *v1.CloudSnapshot, isCopy bool) steps.Result {
	for n := range c.Attempt {
		found, err := w.findAttempt(ctx, session, s, attempt{c: c, number: n, isCopy: isCopy})
		if err == nil {
			err = session.Snapshots.DeleteSnapshot(ctx, found.Ref, w.owner())
		}
		if err != nil && !isAbsent(err) && !isForeign(err) {
			return retryFatal(steps.FromError(err, "deleting a failed snapshot in "+c.Region))
		}
	}
	return steps.Result{}
}

// isAbsent reports whether an error of an observation means that there is no such object, or
// none of that volume.
func isAbsent(err error) bool {
	switch cloud.ClassOf(err) {
	case cloud.ClassAmbiguous, cloud.ClassNotFound, cloud.ClassConflict:
		return true
	default:
		return false
	}
}

// deleteAllDuplicates deletes what lost responses left behind beside a snapshot, and waits until no
// more can turn up.
func (w *work) deleteAllDuplicates(ctx context.Context, session cloud.Session, s *v1.VolumeSnapshot, a attempt) steps.Result {
	if a.c.Requests < 2 {
		return steps.Result{}
	}
	found, err := w.findAttempt(ctx, session, s, a)
	if err == nil {
		err = w.removeDuplicates(ctx, session, found)
	}
	if err != nil && !isAbsent(err) {
		return retryFatal(steps.FromError(err, "deleting what lost responses left behind in "+a.c.Region))
	}
	if w.mayHaveDuplicates(a.c) {
		return steps.RetryAfter(duplicateDelay, v1.ReasonRetrying, "waiting until nothing more can come of the requests in %s whose responses were lost", a.c.Region)
	}
	return steps.Result{}
}

// isForeign reports whether an error is the refusal to touch what is not ours.
func isForeign(err error) bool {
	var e *cloud.Error
	return errors.As(err, &e) && e.Code == cloud.CodeForeign
}

// retryFatal returns the result with a wait where it has none, because a deletion never gives up:
// without the Backup nothing would name the snapshots that are left.
func retryFatal(result steps.Result) steps.Result {
	if result.Stops() && (result.Wait == 0 || result.Reason == v1.ReasonAccountNotFound) {
		result.Wait = steps.Refused
	}
	return result
}

// restoring returns the name of a Restore that is under way with this backup.
func (w *work) restoring(ctx context.Context) (string, error) {
	restores := &v1.RestoreList{}
	if err := w.client.List(ctx, restores, client.InNamespace(w.backup.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return "", fmt.Errorf("listing restores: %w", err)
	}
	for i := range restores.Items {
		r := &restores.Items[i]
		if r.Spec.BackupRef.Name == w.backup.Name && r.Status.Phase != v1.RestoreCompleted && r.Status.Phase != v1.RestoreFailed {
			return r.Name, nil
		}
	}
	return "", nil
}
