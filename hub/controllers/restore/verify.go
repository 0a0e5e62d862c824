package restore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/accounts/verdict"
	"github.com/shopfleet/shopfleet/hub/controllers/restore/drill"
	"github.com/shopfleet/shopfleet/hub/queues"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// verifyLimit is how long a backup has to be proven.
const verifyLimit = time.Hour

// namespace is where the claims are to be.
func (w *work) namespace() string {
	if w.restore.Spec.Verify {
		return drill.Namespace
	}
	return w.restore.Namespace
}

// claimName is the name of the claim that a claim of the backup is restored to.
func (w *work) claimName(of string) string {
	if w.restore.Spec.Verify {
		return w.drill().Claim()
	}
	return of
}

// drill is the database that a backup is proven with. Of the application's image the
// engine is taken, if the application has still the version of the backup.
func (w *work) drill() drill.Drill {
	sum := sha256.Sum256([]byte(w.restore.UID))
	d := drill.Drill{
		Name: "v-" + hex.EncodeToString(sum[:8]), Engine: w.backup.Status.Engine, Version: w.backup.Status.Version,
		Credentials: client.ObjectKey{Namespace: w.restore.Namespace, Name: render.DatabaseCredentials(w.backup.Spec.AppName)},
		Storage:     resource.MustParse("1Gi"), // The claim is there already, and nobody reads this.
	}
	if w.app == nil || w.app.Spec.Database == nil {
		return d
	}
	if ref := w.app.Spec.Database.CredentialsSecretRef; ref != nil {
		d.Credentials.Name = ref.Name
	}
	if w.app.Spec.Database.Version == d.Version {
		d.Image = w.app.Spec.Database.Image
	}
	return d
}

// provable tells whether a backup can be proven in the member.
func (w *work) provable() verdict.Verdict {
	switch {
	case w.member.Spec.Mode == v1.ModeAgent:
		return verdict.Fail(v1.ReasonForbidden, "in members of mode Agent the hub may start no database: verify in one of mode Agentless")
	case len(w.backup.Status.Snapshots) != 1:
		return verdict.Fail(v1.ReasonBackupNotReady, "Backup %q is of %d volumes, and one can be verified", w.backup.Name, len(w.backup.Status.Snapshots))
	default:
		return verdict.Verdict{}
	}
}

// prove starts the database and, when it serves, says so on the Backup.
func (w *work) prove(ctx context.Context) verdict.Verdict {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	ready, err := w.drill().Start(ctx, w.place.cluster)
	switch {
	case apierrors.IsNotFound(err):
		return verdict.Hold(verdict.Member, v1.ReasonCredentialsMissing, "%s has not the application's credentials, which the database is asked with", w.member.Name)
	case err != nil:
		return w.memberTrouble(err)
	case !ready:
		return verdict.Hold(memberDelay, v1.ReasonVerifying, "waiting for the database to start on the restored data in %s", w.member.Name)
	}
	before := w.backup.DeepCopy()
	w.backup.Status.LastVerifiedTime = seconds(w.now)
	if err := w.client.Status().Patch(ctx, w.backup, locked(before)); err != nil {
		return verdict.Hold(memberDelay, v1.ReasonVerifying, "the database has started; noting it on the Backup")
	}
	return verdict.Verdict{}
}

// concludeVerification writes what came of it, and has everything taken away.
func (w *work) concludeVerification(v verdict.Verdict) {
	s := &w.restore.Status
	if v.Stops() && !v.Fatal && w.age() > verifyLimit {
		v = verdict.Fail(v1.ReasonVerificationFailed, "not proven within %s: %s", verifyLimit, v.Message)
	}
	w.conclude(v)
	switch {
	case v.Fatal:
		s.Phase, s.CompletionTime = v1.RestoreCleaningUp, nil
	case !v.Stops():
		s.Phase, s.CompletionTime = v1.RestoreCleaningUp, nil
		ready := meta.FindStatusCondition(s.Conditions, v1.ConditionReady)
		ready.Reason, ready.Message = v1.ReasonVerified, fmt.Sprintf("%s %s has started on the restored data and serves", w.backup.Status.Engine, w.backup.Status.Version)
		s.Message = ready.Message
	}
}

// cleanUp takes away what was made to prove a backup, and then says what came of it.
func (w *work) cleanUp(ctx context.Context) (reconcile.Result, error) {
	v, err := w.takeAway(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	if v.Stops() {
		return queues.Later(max(v.Wait, memberDelay)), nil
	}
	s := &w.restore.Status
	s.Phase, s.CompletionTime = v1.RestoreFailed, seconds(w.now)
	if meta.IsStatusConditionTrue(s.Conditions, v1.ConditionReady) {
		s.Phase = v1.RestoreCompleted
	}
	return reconcile.Result{}, w.write(ctx)
}

// takeAway deletes the database, its claim and its volume. What is not reached is tried
// again for as long as the member is one.
func (w *work) takeAway(ctx context.Context) (verdict.Verdict, error) {
	if len(w.restore.Status.Volumes) == 0 {
		return verdict.Verdict{}, nil // Nothing was made.
	}
	if v, err := w.look(ctx); v.Stops() || err != nil {
		return v, err
	}
	if w.place == nil {
		return verdict.Verdict{}, nil // The member or the backup is no more.
	}
	short, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	gone, err := w.drill().Remove(short, w.place.cluster)
	if err != nil {
		return w.memberTrouble(err), nil
	}
	if !gone {
		return verdict.Hold(memberDelay, v1.ReasonDeleting, "taking the database away"), nil
	}
	for i := range w.restore.Status.Volumes {
		name := w.restore.Status.Volumes[i].PersistentVolume
		err := w.place.cluster.GetAPIReader().Get(short, client.ObjectKey{Name: name}, &corev1.PersistentVolume{})
		if err == nil && w.restore.Status.Volumes[i].State == stateBound {
			return verdict.Hold(memberDelay, v1.ReasonDeleting, "waiting for the driver to delete the volume"), nil
		}
		if client.IgnoreNotFound(err) != nil {
			return w.memberTrouble(err), nil
		}
	}
	return w.deleteVolumes(ctx), nil
}

// deleteVolumes deletes the volumes that the driver did not.
func (w *work) deleteVolumes(ctx context.Context) verdict.Verdict {
	for i := range w.restore.Status.Volumes {
		if err := w.deleteVolume(ctx, &w.restore.Status.Volumes[i]); err != nil {
			return verdict.Judge(err, "deleting the volume that was verified")
		}
	}
	return verdict.Verdict{}
}

// deleteVolume deletes a volume that was made, unless it is gone or not ours.
func (w *work) deleteVolume(ctx context.Context, v *v1.RestoredVolume) error {
	if v.Volume == "" {
		return nil
	}
	session, err := w.options.Accounts.Session(ctx, w.backup.Status.Account, w.member.Status.Region)
	if err != nil {
		return err
	}
	ref := cloud.VolumeRef{Region: w.member.Status.Region, Zone: v.Zone, Handle: v.Volume}
	if err := session.Volumes.DeleteVolume(ctx, ref, w.owner()); err != nil && !foreign(err) {
		return err
	}
	return nil
}
