package restore

import (
	"errors"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/hub/data/memberjob"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
)

// deliveredTwice checks the last attempt's order with the first attempt's Job.
func (d *dumpTest) deliveredTwice(t *testing.T) {
	key := client.ObjectKey{Namespace: backupenv.Namespace, Name: "twice"}
	for _, attempt := range []string{"first", "second"} {
		meta := metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, Labels: map[string]string{"attempt": attempt}}
		job := &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}},
		}}}}
		if err := memberjob.Create(t.Context(), d, job, &corev1.Secret{ObjectMeta: meta}); err != nil {
			t.Fatal(err)
		}
	}
	job, secret := &batchv1.Job{}, &corev1.Secret{}
	if !d.Exists(t, key.Name, job) || !d.Exists(t, key.Name, secret) || job.Labels["attempt"] != "first" || secret.Labels["attempt"] != "second" {
		t.Errorf("the Job is %v, its order %v", job.Labels, secret.Labels)
	}
	former := job.DeepCopy()
	former.UID = "former"
	if err := memberjob.Stop(t.Context(), d, former); !apierrors.IsConflict(err) {
		t.Errorf("stopping a former Job of the name: %v, want a conflict", err)
	}
	for range 2 {
		if err := errors.Join(memberjob.DeleteOrder(t.Context(), d, key), memberjob.Stop(t.Context(), d, job)); err != nil {
			t.Error(err)
		}
	}
	if !d.Gone(t, key, job) || !d.Gone(t, key, secret) {
		t.Error("the Job or its order is left")
	}
}

// crashes ends the hub at each request for a Restore of a dump from the bucket: one Job loads
// it once, and nothing is left, also if the Restore is deleted.
func (d *dumpTest) crashes(t *testing.T) {
	d.JobExit = func(*testing.T, *batchv1.Job) backupenv.Exit { return backupenv.Exit{Container: jobs.LoadContainer} }
	t.Cleanup(func() { d.JobExit = nil })
	test := backupenv.CrashTest{
		Reconciler: func(p *backupenv.Process) reconcile.Reconciler {
			options := d.options
			options.Accounts, options.Member = p.Accounts, p.Member
			return NewReconciler(p.Client, options)
		},
		Create: func(t *testing.T) client.ObjectKey { t.Helper(); d.reset(t, elsewhere); return d.key },
		Done: func(t *testing.T, _ client.ObjectKey) bool {
			t.Helper()
			r := d.restore(t)
			s := r.Status
			if s.Phase == v1.RestoreCleaningUp && !r.Spec.Verify || s.Phase == v1.RestoreFailed {
				t.Fatalf("the Restore failed: %s", s.Message)
			}
			return s.Phase == v1.RestoreCompleted
		},
		Check: func(t *testing.T, _ client.ObjectKey, sent []string) {
			t.Helper()
			if n := backupenv.Count(sent, createJob); n != 1 {
				t.Errorf("%d of 1 Job: %q", n, sent)
			}
			d.expectNothingLeft(t)
		},
	}
	t.Run("completed", func(t *testing.T) { d.TestCrashes(t, test) })
	test.Crashed = func(t *testing.T, _ client.ObjectKey) {
		t.Helper()
		if err := d.Delete(t.Context(), d.restore(t)); err != nil {
			t.Fatal(err)
		}
	}
	test.Recovered = func(t *testing.T, key client.ObjectKey) bool { t.Helper(); return d.Gone(t, key, &v1.Restore{}) }
	test.Check = func(t *testing.T, _ client.ObjectKey, _ []string) { t.Helper(); d.expectNothingLeft(t) }
	t.Run("deleted", func(t *testing.T) { d.TestCrashes(t, test) })
	d.JobExit = func(*testing.T, *batchv1.Job) backupenv.Exit { return backupenv.Exit{Container: jobs.ImportContainer} }
	test.Create = func(t *testing.T) client.ObjectKey {
		t.Helper()
		d.reset(t, sentDump)
		d.createRestore(t, func(s *v1.RestoreSpec) { s.Verify = true })
		return d.key
	}
	test.Check = func(t *testing.T, _ client.ObjectKey, _ []string) { t.Helper(); d.expectNothingVerified(t) }
	t.Run("deleted while it verifies", func(t *testing.T) { d.TestCrashes(t, test) })
	test.Crashed, test.Recovered = nil, nil
	test.Check = func(t *testing.T, _ client.ObjectKey, sent []string) {
		t.Helper()
		if n := backupenv.Count(sent, createJob); n != 1 || d.Backup(t, d.backup).Status.Verified == nil {
			t.Errorf("%d of 1 Job, and the Backup is not verified: %q", n, sent)
		}
		d.expectNothingVerified(t)
	}
	t.Run("verified", func(t *testing.T) { d.TestCrashes(t, test) })
}

// makeNamespace makes the namespace of verifications.
func (c *crashes) makeNamespace(t *testing.T) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: VerificationNamespace, Labels: map[string]string{v1.ManagedByLabel: v1.ManagedBy}}}
	if err := c.Create(t.Context(), namespace); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
}
