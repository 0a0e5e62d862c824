package restore

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/accounts/verdict"
	"github.com/shopfleet/shopfleet/hub/queues"
)

// errBusy means that another Restore works on the same database.
var errBusy = errors.New("one at a time")

// finalize lets the database go, deletes volumes that no claim got, and lets the
// Restore go.
func (w *work) finalize(ctx context.Context) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(w.stored, v1.RestoreFinalizer) {
		return reconcile.Result{}, nil
	}
	w.restore = w.stored.DeepCopy()
	if !done(w.stored) {
		v, err := w.undo(ctx)
		if err != nil {
			return reconcile.Result{}, err
		}
		if v.Stops() {
			w.restore.Status.Message = clip("being deleted: " + v.Message)
			if err := w.write(ctx); err != nil {
				return reconcile.Result{}, err
			}
			return queues.Later(max(v.Wait, verdict.Member)), nil
		}
	}
	before := w.stored.DeepCopy()
	controllerutil.RemoveFinalizer(w.stored, v1.RestoreFinalizer)
	if err := w.client.Patch(ctx, w.stored, locked(before)); err != nil {
		return reconcile.Result{}, fmt.Errorf("removing the finalizer: %w", err)
	}
	return reconcile.Result{}, nil
}

// undo ends a Restore that is under way. A member or a backup that left the fleet needs
// nothing any more.
func (w *work) undo(ctx context.Context) (verdict.Verdict, error) {
	w.backup, w.member = &v1.Backup{}, &v1.MemberCluster{}
	err := w.client.Get(ctx, client.ObjectKey{Namespace: w.restore.Namespace, Name: w.restore.Spec.BackupName}, w.backup)
	if err == nil {
		err = w.client.Get(ctx, client.ObjectKey{Name: w.clusterName()}, w.member)
	}
	if apierrors.IsNotFound(err) {
		return verdict.Verdict{}, nil
	}
	if err != nil {
		return verdict.Verdict{}, fmt.Errorf("getting what is restored: %w", err)
	}
	if v := w.lookAround(ctx); v.Stops() {
		return v, nil
	}
	if err := w.letDatabaseGo(ctx); err != nil {
		return w.memberTrouble(err), nil
	}
	return w.deleteUnused(ctx), nil
}

// letDatabaseGo lets the database start on whatever claims it has.
func (w *work) letDatabaseGo(ctx context.Context) error {
	if w.place == nil || w.place.copy == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	return w.annotate(ctx, "")
}

// deleteUnused deletes the volumes that were made and have no PersistentVolume.
func (w *work) deleteUnused(ctx context.Context) verdict.Verdict {
	if w.exchanged() {
		return verdict.Verdict{}
	}
	for i := range w.restore.Status.Volumes {
		v := &w.restore.Status.Volumes[i]
		if v.Volume == "" {
			continue
		}
		session, err := w.options.Accounts.Session(ctx, w.backup.Status.Account, w.member.Status.Region)
		if err != nil {
			return verdict.Judge(err, "connecting to the cloud")
		}
		ref := cloud.VolumeRef{Region: w.member.Status.Region, Zone: v.Zone, Handle: v.Volume}
		err = session.Volumes.DeleteVolume(ctx, ref, w.owner())
		var e *cloud.Error
		switch {
		case err == nil, errors.As(err, &e) && e.Code == cloud.CodeForeign:
			v.Volume, v.State = "", ""
		default:
			return verdict.Judge(err, "deleting the volume of the claim "+v.Claim)
		}
	}
	return verdict.Verdict{}
}

// memberTrouble is what an error of the member, or of the cloud, means.
func (w *work) memberTrouble(err error) verdict.Verdict {
	switch {
	case errors.Is(err, errBusy):
		return verdict.Hold(verdict.Member, v1.ReasonInUse, "another Restore works on the database in %s", w.member.Name)
	case cloud.ClassOf(err) != "":
		return verdict.Judge(err, "restoring")
	case apierrors.IsForbidden(err):
		return verdict.Hold(verdict.Refused, v1.ReasonForbidden, "the hub may not exchange volumes in %s: run kubectl shopfleet join again", w.member.Name)
	case apierrors.IsConflict(err):
		return verdict.Hold(memberDelay, v1.ReasonRetrying, "somebody else changed the claims in %s at the same time", w.member.Name)
	case apierrors.IsInvalid(err):
		return verdict.Hold(verdict.Refused, v1.ReasonApplyFailed, "%s does not take the volume or the claim as it is", w.member.Name)
	default:
		return verdict.Hold(verdict.Member, v1.ReasonClusterUnreachable, "%s does not answer", w.member.Name)
	}
}
