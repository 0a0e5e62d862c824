package restore

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/data/memberjob"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
)

const (
	// controllersLimit is the time after which a snapshot that no controller looks at is explained.
	controllersLimit = 2 * time.Minute
	// maxImports bounds the attempts of an import whose objects others deleted.
	maxImports = 3
)

// canImport reports whether the member can make a volume from a snapshot, before anything is stopped.
func (w *work) canImport() steps.Result {
	switch {
	case !csi.HasSnapshots(w.member):
		return steps.RetryAfter(steps.Refused, v1.ReasonDriverMissing, "%s has no VolumeSnapshots: %s", w.member.Name, csi.InstallSnapshots)
	case w.targetFacts.class.driver == "" && w.targetFacts.class.provisioner != "":
		return steps.RetryAfter(steps.Refused, v1.ReasonDriverMissing, "the storage class %s in %s has the provisioner %s, which makes no volumes from snapshots of %s: "+
			"set spec.database.storageClassName", w.targetFacts.class.name, w.member.Name, w.targetFacts.class.provisioner, w.member.Status.Provider)
	case w.targetFacts.class.driver == "":
		return steps.RetryAfter(steps.Refused, v1.ReasonDriverMissing, "%s has no storage class for the claim: "+
			"set spec.database.storageClassName, or make one the default", w.member.Name)
	default:
		return steps.Result{}
	}
}

// importVolumes has the driver of the member make the volumes, and gives the data a new identity. The application runs
// meanwhile. The zero Result means that all are there.
func (w *work) importVolumes(ctx context.Context) steps.Result {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	waiting := steps.Result{}
	for i := range w.restore.Status.Volumes {
		v := &w.restore.Status.Volumes[i]
		if v.State == v1.RestoredVolumeReady {
			continue
		}
		v.State = v1.RestoredVolumeCreating
		result, err := w.importVolume(ctx, v)
		if err != nil {
			result = steps.FromMember(err, w.member.Name, "create VolumeSnapshots and Jobs")
		}
		if result.Fatal {
			return result
		}
		if result.Stops() {
			waiting = result
		}
	}
	return waiting
}

// importVolume brings one volume further. Each object is made when the one before it is ready.
func (w *work) importVolume(ctx context.Context, v *v1.RestoredVolume) (steps.Result, error) {
	i := w.importOf(v)
	if err := w.makeNamespace(ctx); err != nil {
		return steps.Result{}, err
	}
	content, snapshot := i.content(), i.snapshot()
	for _, o := range []client.Object{content, snapshot} {
		if err := w.ensure(ctx, o); err != nil {
			return steps.Result{}, err
		}
	}
	if result := w.snapshotReady(v, content, snapshot); result.Stops() {
		return result, nil
	}
	claim := i.claim(w.importSize(v, snapshot))
	if err := w.ensure(ctx, claim); err != nil {
		return steps.Result{}, err
	}
	if w.restore.Spec.Verify {
		v.State = v1.RestoredVolumeReady // The pod of the Job that proves it has the driver make it.
		return steps.Result{}, nil
	}
	_, result, err := w.importJob(ctx, v)
	if result.Stops() || err != nil {
		return result, err
	}
	if claim.Spec.VolumeName == "" {
		return steps.RetryAfter(memberDelay, v1.ReasonCreatingVolumes, "waiting for the claim %s in %s to be bound", claim.Name, w.member.Name), nil
	}
	v.PersistentVolume, v.State = claim.Spec.VolumeName, v1.RestoredVolumeReady
	return steps.Result{}, nil
}

// ensure reads an object, or creates it.
func (w *work) ensure(ctx context.Context, o client.Object) error {
	wanted := o.DeepCopyObject().(client.Object)
	err := w.reader().Get(ctx, client.ObjectKeyFromObject(o), o)
	if !apierrors.IsNotFound(err) {
		return err
	}
	if err := w.writer().Create(ctx, wanted, client.FieldOwner(v1.HubFieldManager)); err != nil {
		return fmt.Errorf("creating %s: %w", wanted.GetName(), err)
	}
	return w.reader().Get(ctx, client.ObjectKeyFromObject(o), o)
}

// snapshotReady reports whether the driver knows the snapshot.
func (w *work) snapshotReady(v *v1.RestoredVolume, content, snapshot *unstructured.Unstructured) steps.Result {
	bound, _, _ := unstructured.NestedString(content.Object, "spec", "volumeSnapshotRef", "uid")
	if !snapshot.GetDeletionTimestamp().IsZero() || bound != "" && bound != string(snapshot.GetUID()) {
		// A content is bound to one VolumeSnapshot for good.
		if v.Attempt++; v.Attempt >= maxImports {
			return steps.Fail(v1.ReasonSnapshotFailed, "the VolumeSnapshot %s in %s was deleted again and again", snapshot.GetName(), w.member.Name)
		}
		return steps.RetryAfter(memberDelay, v1.ReasonRetrying, "the VolumeSnapshot %s in %s was deleted; importing the snapshot again", snapshot.GetName(), w.member.Name)
	}
	if ready, _, _ := unstructured.NestedBool(snapshot.Object, "status", "readyToUse"); ready {
		return steps.Result{}
	}
	message := fmt.Sprintf("waiting for the driver in %s to find the snapshot %s", w.member.Name, v.Snapshot)
	for _, o := range []*unstructured.Unstructured{content, snapshot} {
		if said, _, _ := unstructured.NestedString(o.Object, "status", "error", "message"); said != "" {
			message += ": " + memberjob.Sanitize(said)
			return steps.RetryAfter(steps.Member, v1.ReasonCreatingVolumes, "%s", message)
		}
	}
	if content.Object["status"] == nil && w.since(content.GetCreationTimestamp().Time) > controllersLimit {
		message += ": nothing has looked at the VolumeSnapshotContent: " + csi.InstallSnapshots
	}
	return steps.RetryAfter(memberDelay, v1.ReasonCreatingVolumes, "%s", message)
}

// importJob runs the Job that uses the claim first. The zero Result means that it has succeeded.
func (w *work) importJob(ctx context.Context, v *v1.RestoredVolume) (memberjob.Outcome, steps.Result, error) {
	spec, err := w.target(v)
	if err != nil {
		return memberjob.Outcome{}, steps.Fail(v1.ReasonInvalidSpec, "the database in %s: %v", w.member.Name, err), nil
	}
	job, err := jobs.Import(spec)
	if err != nil {
		return memberjob.Outcome{}, steps.Fail(v1.ReasonInvalidSpec, "the database in %s: %v", w.member.Name, err), nil
	}
	if err := w.ensure(ctx, job); err != nil {
		return memberjob.Outcome{}, steps.Result{}, err
	}
	outcome, err := memberjob.ReadResult(ctx, w.reader(), job)
	switch {
	case err != nil:
		return outcome, steps.Result{}, err
	case outcome.Ended && !outcome.Succeeded:
		return outcome, w.notImported(outcome), nil
	case !outcome.Ended:
		reason := v1.ReasonCreatingVolumes
		if spec.Prove {
			reason = v1.ReasonVerifying
		}
		result := steps.RetryAfter(memberDelay, reason, "the Job %s in %s looks at the data", job.Name, w.member.Name)
		if outcome.Why != "" {
			result.Message += ": " + outcome.Why
		}
		return outcome, result, nil
	default:
		return outcome, steps.Result{}, nil
	}
}

// notImported returns the result of a Job that failed for good.
func (w *work) notImported(o memberjob.Outcome) steps.Result {
	said := o.Message
	if said == "" {
		said = o.Why
	}
	if o.Expired {
		return steps.Fail(v1.ReasonSnapshotFailed, "the Job in %s had no more time to read the data: %s", w.member.Name, said)
	}
	switch o.ExitCode {
	case jobs.ExitNoData:
		return steps.Fail(v1.ReasonSnapshotFailed, "the volume that %s made of the snapshot has no database: %s", w.member.Name, said)
	case jobs.ExitOtherLogin:
		return steps.Fail(v1.ReasonCredentialsMissing, "the data is not that of the database in %s: %s", w.member.Name, said)
	case jobs.ExitVersion:
		return steps.Fail(v1.ReasonEngineMismatch, "the database in %s cannot read the data: %s", w.member.Name, said)
	case jobs.ExitOwner:
		return steps.Fail(v1.ReasonForbidden, "the database in %s cannot read the data: %s", w.member.Name, said)
	case jobs.ExitOlder:
		return steps.Fail(v1.ReasonSnapshotFailed, "the volume that %s made of the snapshot: %s", w.member.Name, said)
	case jobs.ExitDamaged:
		return steps.Fail(v1.ReasonVerificationFailed, "the volume that %s made of the snapshot: %s", w.member.Name, said)
	default:
		return steps.Fail(v1.ReasonSnapshotFailed, "the data could not be opened in %s: %s", w.member.Name, said)
	}
}

// target returns the Job that opens a volume as the database of the application will.
func (w *work) target(v *v1.RestoredVolume) (jobs.ImportSpec, error) {
	i := w.importOf(v)
	spec := jobs.ImportSpec{
		Job:   jobs.Job{Namespace: i.namespace, Name: i.name, Labels: i.labels()},
		Claim: i.name, Zone: w.restore.Spec.Zone, Position: w.backup.Status.Position, Prove: w.restore.Spec.Verify,
	}
	if spec.Prove {
		spec.Database = w.verification()
		return spec, nil
	}
	var err error
	// An application that is there has its credentials.
	spec.HasCredentials = w.targetFacts.copy != nil
	spec.Database, err = w.databaseThere()
	return spec, err
}

// removeImports deletes what the volumes were imported with, and volumes that are not bound to a claim of the database.
func (w *work) removeImports(ctx context.Context) (steps.Result, error) {
	if w.targetFacts == nil {
		return steps.Result{}, nil // The member is no more.
	}
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	waiting := steps.Result{}
	for j := range w.restore.Status.Volumes {
		v := &w.restore.Status.Volumes[j]
		if isStatic(*v) {
			continue // It was not imported.
		}
		for attempt := range v.Attempt + 1 {
			was := *v
			was.Attempt = attempt
			gone, err := w.deleteImport(ctx, w.importOf(&was))
			if err != nil {
				return w.memberError(err), nil
			}
			if !gone {
				waiting = steps.RetryAfter(memberDelay, v1.ReasonDeleting, "deleting what the snapshot was imported with in %s", w.member.Name)
			}
		}
	}
	return waiting, nil
}

// deleteImport deletes the objects of an import, and reports whether they are gone. A VolumeSnapshot that is being deleted
// counts as gone: csi-provisioner keeps it for some minutes.
func (w *work) deleteImport(ctx context.Context, i volumeImport) (gone bool, err error) {
	if err := w.deleteJob(ctx, i); err != nil {
		return false, err
	}
	gone, err = w.cleaner().claim(ctx, client.ObjectKey{Namespace: i.namespace, Name: i.name})
	if err != nil || !gone {
		return false, err
	}
	return true, w.deleteSnapshot(ctx, i)
}

// deleteJob deletes the Job of an import.
func (w *work) deleteJob(ctx context.Context, i volumeImport) error {
	job := &batchv1.Job{}
	err := w.reader().Get(ctx, client.ObjectKey{Namespace: i.namespace, Name: i.name}, job)
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	return memberjob.Stop(ctx, w.writer(), job)
}

// deleteSnapshot deletes the VolumeSnapshot of an import and its content, whose policy leaves what is in the cloud.
func (w *work) deleteSnapshot(ctx context.Context, i volumeImport) error {
	for _, o := range []client.Object{i.snapshot(), i.content()} {
		err := w.reader().Get(ctx, client.ObjectKeyFromObject(o), o)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) || err == nil && !o.GetDeletionTimestamp().IsZero() {
			continue
		}
		if err != nil {
			return fmt.Errorf("getting %s: %w", o.GetName(), err)
		}
		if err := w.writer().Delete(ctx, o, client.Preconditions{UID: new(o.GetUID())}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting %s: %w", o.GetName(), err)
		}
	}
	return nil
}

// databaseThere returns the database that will run on the volumes: that of the copy, else of the application as it should be
// there, else one like that of the backup.
func (w *work) databaseThere() (database.Spec, error) {
	return w.databaseLike(w.targetFacts.copy, w.app)
}
