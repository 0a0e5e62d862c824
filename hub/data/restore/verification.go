package restore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// verifyLimit bounds the verification of a snapshot; a dump, which is downloaded, has preparationLimit.
const verifyLimit = time.Hour

// namespace returns the namespace for the claims.
func (w *work) namespace() string {
	if w.restore.Spec.Verify {
		return VerificationNamespace
	}
	return w.restore.Namespace
}

// claimName returns the name of the claim that a claim of the backup is restored to.
func (w *work) claimName(of string) string {
	if w.restore.Spec.Verify {
		return w.verification().claim()
	}
	return of
}

// verification returns the database that verifies a backup. It uses the application's image if the
// application still has the version of the backup, and the resources and nodes of the application's
// database. For a dump, it starts empty and has its own credentials.
func (w *work) verification() verificationDatabase {
	sum := sha256.Sum256([]byte(w.restore.UID))
	d := verificationDatabase{
		name: "v-" + hex.EncodeToString(sum[:8]), engine: w.backup.Status.Engine, version: w.backup.Status.Version,
		credentials: client.ObjectKey{Namespace: w.restore.Namespace, Name: render.DatabaseCredentials(w.backup.Spec.AppRef.Name)},
		storage:     resource.MustParse("1Gi"), // The claim exists already, so that this has no effect.
	}
	db := w.database()
	if db != nil && db.Version == d.version {
		d.image = db.Image
	}
	if db != nil {
		d.resources, d.pods, d.registry = db.Resources, settingsBeside(db.PodSettings), w.app.Spec.ImageRegistry
		d.userIDs = w.app.Spec.Security.PodUserIDs
	}
	switch {
	case w.isDump():
		d.credentials = client.ObjectKey{}
		d.storage = *resource.NewQuantity(verificationSize(db, &w.backup.Status), resource.BinarySI)
		if w.targetFacts != nil && w.targetFacts.class.name != "" {
			d.storageClass = &w.targetFacts.class.name
		}
	case db != nil && db.CredentialsSecretRef != nil:
		d.credentials.Name = db.CredentialsSecretRef.Name
	}
	return d
}

// settingsBeside returns the settings of the pods of a database that also apply in another
// namespace: the pods that affinity names are not there, and nothing there needs an identity in a cloud,
// nor the sidecars that labels and annotations ask for.
func settingsBeside(of v1.PodSettings) v1.PodSettings {
	of.ServiceAccountAnnotations, of.PodLabels, of.PodAnnotations = nil, nil, nil
	if of.Affinity != nil {
		of.Affinity = &v1.Affinity{NodeAffinity: of.Affinity.NodeAffinity}
	}
	return of
}

// canVerify reports whether a backup can be proven in the member.
func (w *work) canVerify() steps.Result {
	switch {
	case w.member.Spec.Mode == v1.ModeAgent:
		return steps.Fail(v1.ReasonForbidden, "in members of mode Agent the hub may start no database: verify in one of mode Agentless")
	case w.isDump():
		return steps.Result{}
	case len(w.backup.Status.Snapshots) != 1:
		return steps.Fail(v1.ReasonBackupNotReady, "Backup %q is of %d volumes, and one can be verified", w.backup.Name, len(w.backup.Status.Snapshots))
	default:
		return steps.Result{}
	}
}

// verify starts the database and, when it serves, marks the Backup as verified. That shows that the engine
// starts, recovers by its log and serves; a damaged page that is not read is not found. A dump is read to
// its end, and its checksum compared.
func (w *work) verify(ctx context.Context) steps.Result {
	if result := w.startVerification(ctx); result.Stops() {
		return result
	}
	before := w.backup.DeepCopy()
	w.backup.Status.LastVerifiedTime = v1.Seconds(w.now)
	if err := w.client.Status().Patch(ctx, w.backup, retry.MergeFromLocked(before)); err != nil {
		return steps.RetryAfter(memberDelay, v1.ReasonVerifying, "the database has started; recording that on the Backup")
	}
	return steps.Result{}
}

// startVerification starts the database, and reports whether it serves.
func (w *work) startVerification(ctx context.Context) steps.Result {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	ready, err := w.verification().start(ctx, w.targetFacts.cluster)
	switch {
	case apierrors.IsNotFound(err):
		return steps.RetryAfter(steps.Member, v1.ReasonCredentialsMissing, "%s does not have the Secret with the credentials of the application's database", w.member.Name)
	case err != nil:
		return w.memberError(err)
	case !ready:
		return steps.RetryAfter(memberDelay, v1.ReasonVerifying, "waiting for the database that the backup is verified with to start in %s", w.member.Name)
	default:
		return steps.Result{}
	}
}

// concludeVerification writes what came of it, and has everything deleted.
func (w *work) concludeVerification(result steps.Result) {
	s := &w.restore.Status
	w.conclude(result)
	switch {
	case result.Fatal:
		s.Phase, s.CompletionTime = v1.RestoreCleaningUp, nil
	case !result.Stops():
		s.Phase, s.CompletionTime = v1.RestoreCleaningUp, nil
		ready := meta.FindStatusCondition(s.Conditions, v1.ConditionReady)
		ready.Reason, ready.Message = v1.ReasonVerified, fmt.Sprintf("%s %s has started on the restored data and serves", w.backup.Status.Engine, w.backup.Status.Version)
		s.Message = ready.Message
	}
}

// cleanUp deletes the objects of a verification, or of a load that failed, and then reports
// the result.
func (w *work) cleanUp(ctx context.Context) (reconcile.Result, error) {
	result, err := w.undo(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	s := &w.restore.Status
	if ready := meta.FindStatusCondition(s.Conditions, v1.ConditionReady); ready != nil {
		s.Message = ready.Message
		if result.Stops() {
			s.Message = v1.Excerpt(ready.Message+" ("+result.Message+")", steps.MaxMessage)
		}
	}
	if result.Stops() {
		if err := w.write(ctx); err != nil {
			return reconcile.Result{}, err
		}
		return w.options.Waits.Later(max(result.Wait, memberDelay)), nil
	}
	s.Phase, s.CompletionTime = v1.RestoreFailed, v1.Seconds(w.now)
	if meta.IsStatusConditionTrue(s.Conditions, v1.ConditionReady) {
		s.Phase = v1.RestoreCompleted
	}
	return reconcile.Result{}, w.write(ctx)
}

// undoVerification ends a verification. What is not reached is tried again for as long as the member is one.
func (w *work) undoVerification(ctx context.Context) (steps.Result, error) {
	if len(w.restore.Status.Volumes) == 0 && w.restore.Status.Dump == nil {
		return steps.Result{}, nil // Nothing was made.
	}
	if result, err := w.readAll(ctx); result.Stops() || err != nil {
		return result, err
	}
	if w.targetFacts == nil {
		return steps.Result{}, nil // The member or the backup is no more.
	}
	if w.isDump() {
		return w.removeVerification(ctx)
	}
	return steps.Unwind(ctx, w.steps(), w.restore.Status.Steps)
}

// removeVerification deletes the database, its claim and its volume.
func (w *work) removeVerification(ctx context.Context) (steps.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	if result := w.cancelVerificationLoad(ctx); result.Stops() {
		return result, nil
	}
	gone, err := w.verification().remove(ctx, w.targetFacts.cluster, w.cleaner())
	if err != nil {
		return w.memberError(err), nil
	}
	if !gone {
		return steps.RetryAfter(memberDelay, v1.ReasonDeleting, "deleting the database"), nil
	}
	return steps.Result{}, nil
}

// cleaner deletes claims and their volumes in the member.
func (w *work) cleaner() cleaner {
	return cleaner{reader: w.reader(), writer: w.writer(), now: w.now}
}
