package restore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/memberjob"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// VerificationNamespace holds the name of the namespace in which backups are verified.
const VerificationNamespace = "shopfleet-verify"

// namespace returns the namespace for the claims.
func (w *work) namespace() string {
	if w.restore.Spec.Verify {
		return VerificationNamespace
	}
	return w.restore.Namespace
}

// verification returns the database that a Job creates to verify a backup. Its name is unique among verifications. It uses the
// application's image if the application still has the version of the backup, and the resources and nodes of the
// application's database. For a dump it starts empty; of data of a snapshot the names of its user and database are known
// unless a user has made the credentials.
func (w *work) verification() database.Spec {
	const generated = "shop"
	sum := sha256.Sum256([]byte(w.restore.UID))
	d := database.Spec{
		Owner:  objectparts.Owner{Kind: "restore", Name: "v-" + hex.EncodeToString(sum[:8]), Namespace: VerificationNamespace},
		Suffix: "-database", Field: "the backup",
		Engine: w.backup.Status.Engine, Version: w.backup.Status.Version, Replicas: 1,
		Storage:      resource.MustParse("1Gi"), // The claim of a snapshot exists already, so that this has no effect.
		DatabaseName: generated, Username: generated,
	}
	db := w.database()
	if db != nil && db.Version == d.Version {
		d.Image = db.Image
	}
	if db != nil {
		d.Resources, d.Pods, d.Registry = db.Resources, settingsBeside(db.PodSettings), w.app.Spec.ImageRegistry
		d.UserIDs = w.app.Spec.Security.PodUserIDs
	}
	switch {
	case w.isDump():
		d.Storage = *resource.NewQuantity(verificationSize(db, &w.backup.Status), resource.BinarySI)
		if w.targetFacts != nil && w.targetFacts.class.name != "" {
			d.StorageClass = &w.targetFacts.class.name
		}
	case db == nil || db.CredentialsSecretRef != nil:
		d.CredentialsSecret = render.DatabaseCredentials(w.backup.Spec.AppRef.Name)
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
	if !w.isDump() && len(w.backup.Status.Snapshots) != 1 {
		return steps.Fail(v1.ReasonBackupNotReady, "Backup %q is of %d volumes, and one can be verified", w.backup.Name, len(w.backup.Status.Snapshots))
	}
	return steps.Result{}
}

// proveDump marks the Backup as verified, with the message of the Job that loaded the dump and read all data. The Job of an
// earlier release of the hub only loaded the dump, and its message is not used.
func (w *work) proveDump(ctx context.Context) steps.Result {
	member, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	job := &batchv1.Job{}
	how := fmt.Sprintf("%s %s has loaded the dump", w.backup.Status.Engine, w.backup.Status.Version)
	err := w.reader().Get(member, client.ObjectKey{Namespace: w.namespace(), Name: w.restore.Status.Dump.Job}, job)
	if err == nil {
		var outcome memberjob.Outcome
		if outcome, err = memberjob.ReadResult(member, w.reader(), job); outcome.Container == jobs.ImportContainer && outcome.Message != "" {
			how += ", and all of it was read by " + outcome.Message
		}
	}
	if client.IgnoreNotFound(err) != nil {
		return steps.FromMember(err, w.member.Name, "read Jobs")
	}
	return w.verified(ctx, how)
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

// removeVerification deletes the Job that verified a dump, its claim and its volume.
func (w *work) removeVerification(ctx context.Context) (steps.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	if result := w.cancelVerificationLoad(ctx); result.Stops() {
		return result, nil
	}
	if w.member.Spec.Mode == v1.ModeAgent {
		return steps.Result{}, nil // No release of the hub started a database there.
	}
	gone, err := w.removeFormerDatabase(ctx)
	if err != nil {
		return w.memberError(err), nil
	}
	if !gone {
		return steps.RetryAfter(memberDelay, v1.ReasonDeleting, "deleting the database"), nil
	}
	return steps.Result{}, nil
}

// removeFormerDatabase deletes the database, with its claim, that an earlier release of the hub started to verify a dump, and
// reports whether it is gone.
func (w *work) removeFormerDatabase(ctx context.Context) (gone bool, err error) {
	spec := w.verification()
	rendered, err := database.Render(spec)
	if err != nil {
		return false, fmt.Errorf("rendering the database: %w", err)
	}
	gone = true
	for _, each := range rendered.Objects {
		o, ok := each.Resource.DeepCopyObject().(client.Object)
		if !ok {
			continue
		}
		err := w.reader().Get(ctx, client.ObjectKeyFromObject(o), o)
		if err == nil {
			same := client.Preconditions{UID: new(o.GetUID())}
			err = w.writer().Delete(ctx, o, same, client.PropagationPolicy(metav1.DeletePropagationBackground))
		}
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return false, fmt.Errorf("deleting %T %q: %w", o, o.GetName(), err)
		default:
			gone = false
		}
	}
	claim, err := w.cleaner().claim(ctx, client.ObjectKey{Namespace: VerificationNamespace, Name: spec.PrimaryClaim()})
	return gone && claim, err
}

// cleaner deletes claims and their volumes in the member.
func (w *work) cleaner() cleaner {
	return cleaner{reader: w.reader(), writer: w.writer(), now: w.now}
}
