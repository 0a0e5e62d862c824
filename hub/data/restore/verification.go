package restore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// namespace returns the namespace for the claims.
func (w *work) namespace() string {
	if w.restore.Spec.Verify {
		return VerificationNamespace
	}
	return w.restore.Namespace
}

// verification returns the database that verifies a backup. It uses the application's image if the
// application still has the version of the backup, and the resources and nodes of the application's
// database. For a dump it starts empty; of data of a snapshot the names of its user and database are known unless a user has
// made the credentials.
func (w *work) verification() verificationDatabase {
	sum := sha256.Sum256([]byte(w.restore.UID))
	d := verificationDatabase{
		name: "v-" + hex.EncodeToString(sum[:8]), engine: w.backup.Status.Engine, version: w.backup.Status.Version,
		storage: resource.MustParse("1Gi"), // The claim of a snapshot exists already, so that this has no effect.
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
		d.storage = *resource.NewQuantity(verificationSize(db, &w.backup.Status), resource.BinarySI)
		if w.targetFacts != nil && w.targetFacts.class.name != "" {
			d.storageClass = &w.targetFacts.class.name
		}
	case db == nil || db.CredentialsSecretRef != nil:
		d.credentials = render.DatabaseCredentials(w.backup.Spec.AppRef.Name)
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
	case w.isDump() && w.member.Spec.Mode == v1.ModeAgent:
		return steps.Fail(v1.ReasonForbidden, "in members of mode Agent the hub may start no database to load a dump into: verify in one of mode Agentless")
	case w.isDump():
		return steps.Result{}
	case len(w.backup.Status.Snapshots) != 1:
		return steps.Fail(v1.ReasonBackupNotReady, "Backup %q is of %d volumes, and one can be verified", w.backup.Name, len(w.backup.Status.Snapshots))
	default:
		return steps.Result{}
	}
}

// proveDump starts a database on a dump that was loaded and, when it serves, marks the Backup as verified. The dump was read to
// its end, and its checksum compared.
func (w *work) proveDump(ctx context.Context) steps.Result {
	if result := w.startVerification(ctx); result.Stops() {
		return result
	}
	return w.verified(ctx, fmt.Sprintf("%s %s has started on the restored data and serves", w.backup.Status.Engine, w.backup.Status.Version))
}

// proveSnapshot has a Job read all of the data of a volume, and then marks the Backup as verified.
func (w *work) proveSnapshot(ctx context.Context) steps.Result {
	member, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	for i := range w.restore.Status.Volumes {
		outcome, result, err := w.importJob(member, &w.restore.Status.Volumes[i])
		if err != nil {
			return steps.FromMember(err, w.member.Name, "create Jobs")
		}
		if result.Stops() {
			return result
		}
		if w.proof != "" {
			w.proof += ", "
		}
		w.proof += outcome.Message
	}
	return w.verified(ctx, fmt.Sprintf("%s %s has recovered the data, and all of it was read by %s", w.backup.Status.Engine, w.backup.Status.Version, w.proof))
}

// maxProof bounds what a Backup says of its verification, in bytes.
const maxProof = 512

// verified marks the Backup as verified. A member has said a part of how that was done.
func (w *work) verified(ctx context.Context, how string) steps.Result {
	how = v1.Excerpt(how, maxProof)
	w.proof = how
	before := w.backup.DeepCopy()
	w.backup.Status.LastVerifiedTime = v1.Seconds(w.now)
	w.backup.Status.Verified = &v1.Verified{From: v1.VerifiedFrom{Region: w.member.Status.Region, Cluster: w.member.Name}, Message: how}
	if err := w.client.Status().Patch(ctx, w.backup, retry.MergeFromLocked(before)); err != nil {
		return steps.RetryAfter(memberDelay, v1.ReasonVerifying, "the backup is verified; recording that on the Backup")
	}
	return steps.Result{}
}

// startVerification starts the database, and reports whether it serves.
func (w *work) startVerification(ctx context.Context) steps.Result {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	ready, err := w.verification().start(ctx, w.targetFacts.cluster)
	switch {
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
		ready.Reason, ready.Message = v1.ReasonVerified, w.proof
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
	if w.isDump() || slices.ContainsFunc(w.restore.Status.Volumes, isStatic) {
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
