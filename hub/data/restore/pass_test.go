package restore

import (
	"errors"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
)

const (
	patchCopy   = "patch ecommerceapps.ecommerce.io"
	createJob   = "create jobs.batch"
	deleteJob   = "delete jobs.batch"
	createClaim = "create persistentvolumeclaims"
	deleteClaim = "delete persistentvolumeclaims"
)

// failureIsFinal checks that a failure is stored before the Restore is undone, and that the following passes do not
// load the dump again.
func (d *dumpTest) failureIsFinal(t *testing.T) {
	d.reset(t)
	d.passes(t, 2)
	d.endLoad(t, jobs.ExitNotEmpty)
	d.passes(t, 1)
	if s := d.restore(t).Status; s.Phase != v1.RestoreCleaningUp {
		t.Fatalf("the Restore is %s", s.Phase)
	}
	d.expectChanges(t, patchCopy, createJob)
	d.passes(t, 6)
	s := d.restore(t).Status
	ready := meta.FindStatusCondition(s.Conditions, v1.ConditionReady)
	if s.Phase != v1.RestoreFailed || ready.Reason != v1.ReasonDatabaseNotEmpty || s.Message != ready.Message || s.CompletionTime == nil {
		t.Errorf("%+v", s)
	}
	d.expectChanges(t, patchCopy, createJob, deleteJob, patchCopy)
	d.expectNothingLeft(t)
	if n := len(d.recorder.Events); n != 1 {
		t.Errorf("%d events", n)
	}
}

// deletedWhileItLoads checks that the Job is deleted first, then the shop starts when no pod is at work, and then the
// Restore is released.
func (d *dumpTest) deletedWhileItLoads(t *testing.T) {
	d.reset(t, elsewhere)
	d.passes(t, 2)
	job, pod := d.job(t).Name, d.RunJob(t)
	if err := d.Delete(t.Context(), d.restore(t)); err != nil {
		t.Fatal(err)
	}
	d.passes(t, 3)
	if r := d.restore(t); len(r.Finalizers) == 0 || d.Exists(t, job, &corev1.Secret{}) {
		t.Errorf("while a pod is at work: %v, %s", r.Finalizers, r.Status.Message)
	}
	d.expectChanges(t, patchCopy, createClaim, createJob, deleteJob)
	if err := d.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	d.passes(t, 2)
	d.RunMember(t) // Lets the claim go.
	d.passes(t, 2)
	if d.Exists(t, d.key.Name, &v1.Restore{}) {
		t.Error("the Restore is not released")
	}
	d.expectChanges(t, patchCopy, createClaim, createJob, deleteJob, patchCopy, deleteClaim)
	d.expectNothingLeft(t)
}

// deletedBeforeItBegins checks that a Restore without the application in the member has nothing to undo.
func (d *dumpTest) deletedBeforeItBegins(t *testing.T) {
	d.reset(t)
	d.DeleteAll(t, &v1.EcommerceApp{})
	d.passes(t, 1)
	if err := d.Delete(t.Context(), d.restore(t)); err != nil {
		t.Fatal(err)
	}
	d.passes(t, 1)
	if d.Exists(t, d.key.Name, &v1.Restore{}) {
		t.Error("the Restore is not released")
	}
	d.expectChanges(t)
}

// verified checks that a dump is downloaded from the bucket, although it is on its claim too, and that one Job loads and reads
// it, on a volume that is large enough for the dump and a database. Afterwards no object is left, and the Backup has the
// message of the Job.
func (d *dumpTest) verified(t *testing.T) {
	d.reset(t)
	d.createRestore(t, func(s *v1.RestoreSpec) { s.Verify = true })
	d.passes(t, 1)
	if got := d.ready(t).Message; !strings.HasPrefix(got, "the dump is only in eu-1") {
		t.Errorf("in no bucket: %s", got)
	}
	d.reset(t, sentDump)
	d.createRestore(t, func(s *v1.RestoreSpec) { s.Verify, s.Overwrite = true, true })
	d.until(t, v1.ReasonLoading)
	s, claim, job := d.restore(t).Status.Dump, &corev1.PersistentVolumeClaim{}, &batchv1.Job{}
	if err := errors.Join(
		d.Get(t.Context(), client.ObjectKey{Namespace: VerificationNamespace, Name: s.Claim}, claim),
		d.Get(t.Context(), client.ObjectKey{Namespace: VerificationNamespace, Name: s.Job}, job),
	); err != nil {
		t.Fatal(err)
	}
	overwrite := corev1.EnvVar{Name: "OVERWRITE", Value: "true"}
	if s.From != v1.DumpFromBucket || len(job.OwnerReferences) != 0 || slices.Contains(job.Spec.Template.Spec.Containers[0].Env, overwrite) {
		t.Errorf("status %+v, and the Job is %+v", s, job)
	}
	if size := claim.Spec.Resources.Requests[corev1.ResourceStorage]; size.Value() < verificationSize(nil, &v1.BackupStatus{}) {
		t.Errorf("the claim has %s", size.String())
	}
	former := (&work{restore: d.restore(t), backup: d.Backup(t, d.backup)}).verification().Credentials()
	d.MustCreate(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: VerificationNamespace, Name: former}}) // Of a hub before this one.
	pv := backupenv.CSIVolume("fetched", "vol-fetched")
	pv.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
	d.MustCreate(t, pv)
	claim.Spec.VolumeName = "fetched"
	if err := d.Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	d.RunMember(t)
	d.end(t, jobs.ImportContainer, 0)
	d.process.Run(t, NewReconciler(d.process.Client, d.options), d.key, func() bool { return done(d.restore(t)) })
	r := d.restore(t)
	const said = "postgresql 15.4 has loaded the dump, and all of it was read by message"
	if verified := d.Backup(t, d.backup).Status.Verified; r.Status.Phase != v1.RestoreCompleted || verified == nil || verified.Message != said {
		t.Errorf("%s: %s, and the Backup says %+v", r.Status.Phase, r.Status.Message, verified)
	}
	d.expectNothingVerified(t)
}

// expectNothingVerified checks that nothing is left of verifications.
func (d *dumpTest) expectNothingVerified(t *testing.T) {
	t.Helper()
	d.RunMember(t)
	for _, list := range []client.ObjectList{&batchv1.JobList{}, &corev1.SecretList{}, &corev1.PersistentVolumeClaimList{}} {
		if err := d.List(t.Context(), list, client.InNamespace(VerificationNamespace)); err != nil {
			t.Fatal(err)
		}
		if n := meta.LenList(list); n != 0 {
			t.Errorf("%d are left in a %T", n, list)
		}
	}
}
