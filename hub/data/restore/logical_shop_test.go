package restore

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// fromClaim goes the whole way: nothing is loaded while anything uses the database, and
// nothing is left.
func (d *dumpTest) fromClaim(t *testing.T) {
	d.reset(t)
	d.DeleteAll(t, &v1.EcommerceApp{})
	d.until(t, v1.ReasonNoDatabase)
	d.expectChanges(t)
	d.place(t)
	d.createPod(t, "shop-backend-x", map[string]string{v1.ComponentLabel: "backend"})
	// The login before the shop does not use the database.
	d.createPod(t, "shop-oauth2-proxy-x", map[string]string{v1.ComponentLabel: "ingress"})
	components := func(backend int32) {
		t.Helper()
		backupenv.Change(t, d.Env, backupenv.Shop, func(a *v1.EcommerceApp) {
			a.Status.Components = []v1.ComponentStatus{{Name: "database", Replicas: 1}, {Name: "backend", Replicas: backend}, {Name: "ingress", Replicas: 2}}
		})
	}
	databaseReady := func(status corev1.ConditionStatus) {
		t.Helper()
		backupenv.Change(t, d.Env, render.DatabasePod(backupenv.Shop), func(p *corev1.Pod) { p.Status.Conditions[0].Status = status })
	}
	components(2)
	before := len(d.process.Sent())
	d.until(t, v1.ReasonStoppingApplication)
	if diff := cmp.Diff([]string{"patch restores.ecommerce.io/status", patchCopy}, d.process.Sent()[before:before+2]); diff != "" {
		t.Fatalf("changes (-want +got):\n%s", diff)
	}
	stopping := func(what string) {
		t.Helper()
		d.passes(t, 1)
		if ready := d.ready(t); ready.Reason != v1.ReasonStoppingApplication {
			t.Errorf("%s: %+v", what, ready)
		}
	}
	stopping("two pods are wanted")
	components(0)
	stopping("a pod runs")
	d.endPod(t, "shop-backend-x")
	databaseReady(corev1.ConditionFalse)
	d.until(t, v1.ReasonStartingDatabase)
	databaseReady(corev1.ConditionTrue)
	before = len(d.process.Sent())
	d.until(t, v1.ReasonLoading)
	if diff := cmp.Diff([]string{"patch restores.ecommerce.io/status", createJob}, d.process.Sent()[before:before+2]); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if s := d.restore(t).Status.Dump; !s.Started || s.From != v1.DumpFromClaim {
		t.Errorf("status %+v", s)
	}
	app, job := &v1.EcommerceApp{}, d.job(t)
	if !d.Exists(t, backupenv.Shop, app) || job.Spec.Template.Spec.InitContainers != nil || job.OwnerReferences[0].UID != app.UID || job.Labels[v1.RestoreLabel] != d.key.Name {
		t.Errorf("the Job is %+v", job)
	}
	d.passes(t, 1)
	d.endLoad(t, 0)
	d.passes(t, 1)
	// Stored before anything follows from it.
	if s := d.restore(t).Status; s.Phase != v1.RestoreStarting || !s.Dump.Loaded {
		t.Errorf("status %+v", s)
	}
	d.expectChanges(t, patchCopy, createJob)
	d.until(t, v1.ReasonCompleted)
	d.expectChanges(t, patchCopy, createJob, patchCopy, deleteJob)
	d.expectNothingLeft(t)
}

// fromBucket checks a load in another cluster, by an order that is deleted afterwards.
func (d *dumpTest) fromBucket(t *testing.T) {
	d.reset(t, elsewhere)
	account := backupenv.AccountSpec()
	account.ObjectStorage.Endpoint, account.ObjectStorage.CABundle = "https://bucket.example.com", d.Config.CAData
	d.process.Accounts.Set(backupenv.Account, account, nil)
	d.until(t, v1.ReasonLoading)
	job, secret := d.job(t), &corev1.Secret{}
	if !d.Exists(t, job.Name, secret) {
		t.Fatal("there is no order")
	}
	o, err := order.Read(secret.Data[order.FileName])
	if err != nil || o.Direction != order.Fetch || len(o.Parts) != 1 || !bytes.Equal(o.CABundle, d.Config.CAData) {
		t.Errorf("the order is %+v, %v", o, err)
	}
	claim := d.restore(t).Status.Dump.Claim
	if job.Spec.Template.Spec.InitContainers[0].Image != "spoke:1" || !d.Exists(t, claim, &corev1.PersistentVolumeClaim{}) || claim == render.DatabaseDumps(backupenv.Shop) {
		t.Errorf("the Job is %+v, its claim %q", job.Spec.Template.Spec, claim)
	}
	d.renewals(t, job.Name)
	d.endLoad(t, 0)
	d.until(t, v1.ReasonCompleted)
	d.expectNothingLeft(t)
}

// pruned checks that a file that was pruned from its claim is downloaded from the bucket.
func (d *dumpTest) pruned(t *testing.T) {
	d.reset(t, sentDump)
	d.until(t, v1.ReasonLoading)
	d.endLoad(t, jobs.ExitMissing)
	d.until(t, v1.ReasonRetrying)
	d.until(t, v1.ReasonLoading)
	if from := d.restore(t).Status.Dump.From; from != v1.DumpFromBucket || d.job(t).Spec.Template.Spec.InitContainers == nil {
		t.Errorf("it is read from %s", from)
	}
	d.endLoad(t, 0)
	d.until(t, v1.ReasonCompleted)
	d.expectNothingLeft(t)
}

// renameBucket gives the account another bucket.
func (d *dumpTest) renameBucket() {
	account := backupenv.AccountSpec()
	account.ObjectStorage.Bucket = "others"
	d.process.Accounts.Set(backupenv.Account, account, nil)
}

// manifestKey returns the key of the dump's manifest in the bucket.
func (d *dumpTest) manifestKey(t *testing.T) string {
	t.Helper()
	return dumps.ManifestKey(d.Backup(t, d.backup).Status.Dump.Object.Prefix)
}

// oneJob checks that a hub that was killed, or that has read an old Restore, creates no second Job.
func (d *dumpTest) oneJob(t *testing.T) {
	d.reset(t)
	old := d.restore(t)
	backupenv.Change(t, d.Env, d.key.Name, func(r *v1.Restore) { r.Labels = map[string]string{"a": "b"} })
	if err := d.stale(t, old); !apierrors.IsConflict(err) {
		t.Errorf("before it begins: %v", err)
	}
	d.until(t, v1.ReasonStoppingApplication)
	d.process.Refuse(createJob, errors.New("connection lost"))
	d.until(t, v1.ReasonClusterUnreachable)
	before := d.restore(t)
	d.process.Refuse(createJob, nil)
	d.until(t, v1.ReasonLoading)
	job := d.job(t)
	requested := before.Status.Dump.DeepCopy()
	requested.RequestTime = nil
	if diff := cmp.Diff(requested, d.restore(t).Status.Dump); diff != "" {
		t.Errorf("another attempt (-before +after):\n%s", diff)
	}
	if err := d.Delete(t.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	if err := d.stale(t, before); !apierrors.IsConflict(err) {
		t.Errorf("once the Job is gone: %v", err)
	}
	// A pod of the Job that may still be at work is waited for.
	d.createPod(t, "late", map[string]string{v1.RestoreLabel: d.key.Name, v1.ComponentLabel: "database-backup"})
	d.passes(t, 2)
	if ready := d.ready(t); !strings.Contains(ready.Message, "waiting in eu-1 for the last Job to end") {
		t.Errorf("%+v", ready)
	}
	d.expectChanges(t, patchCopy, createJob)
}

// refusals checks that impossible Restores fail before anything is stopped.
func (d *dumpTest) refusals(t *testing.T) {
	annotate := func(annotation string) func(*testing.T) {
		return func(t *testing.T) {
			t.Helper()
			backupenv.Change(t, d.Env, backupenv.Shop, func(a *v1.EcommerceApp) { a.Annotations = map[string]string{annotation: "tuesday"} })
		}
	}
	for name, tt := range map[string]struct {
		backup func(*v1.Backup)
		change func(*testing.T)
		reason string
		fatal  bool
	}{
		"another engine":   {func(b *v1.Backup) { b.Status.Engine = v1.EngineMySQL }, nil, v1.ReasonEngineMismatch, true},
		"an older version": {func(b *v1.Backup) { b.Status.Version = "16.1" }, nil, v1.ReasonEngineMismatch, true},
		"in no bucket":     {func(b *v1.Backup) { b.Spec.ClusterRef.Name = backupenv.Other }, nil, v1.ReasonDumpMissing, true},
		"no image":         {elsewhere, func(*testing.T) { d.options.SpokeImage = "" }, v1.ReasonDumpMissing, true},
		"another bucket":   {elsewhere, func(*testing.T) { d.renameBucket() }, v1.ReasonDumpMissing, true},
		"no manifest": {elsewhere, func(t *testing.T) {
			t.Helper()
			if err := d.Buckets.Delete(d.manifestKey(t)); err != nil {
				t.Fatal(err)
			}
		}, v1.ReasonDumpMissing, true},
		"no true manifest": {elsewhere, func(t *testing.T) { t.Helper(); d.Buckets.Put(d.manifestKey(t), []byte("{}")) }, v1.ReasonDumpMissing, true},
		"another loads":    {nil, annotate(v1.LoadingAnnotation), v1.ReasonInUse, false},
		"another restores": {nil, annotate(v1.RestoringAnnotation), v1.ReasonInUse, false},
		"being taken away": {nil, func(t *testing.T) {
			t.Helper()
			app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: backupenv.Namespace, Name: backupenv.Shop}}
			if err := d.Delete(t.Context(), app, client.PropagationPolicy(metav1.DeletePropagationForeground)); err != nil {
				t.Fatal(err)
			}
		}, v1.ReasonNoDatabase, false},
		"without database": {nil, func(t *testing.T) {
			t.Helper()
			d.DeleteAll(t, &v1.EcommerceApp{})
			d.MustCreate(t, apitest.App(backupenv.Shop).Namespace(backupenv.Namespace).Obj())
		}, v1.ReasonNoDatabase, false},
		"its claim is gone": {nil, func(t *testing.T) {
			t.Helper()
			d.DeleteAll(t, &corev1.PersistentVolumeClaim{})
			d.RunMember(t)
		}, v1.ReasonDumpMissing, true},
	} {
		t.Run(name, func(t *testing.T) {
			d.reset(t, slices.DeleteFunc([]func(*v1.Backup){tt.backup}, func(change func(*v1.Backup)) bool { return change == nil })...)
			if tt.change != nil {
				tt.change(t)
			}
			d.passes(t, 1)
			if ready := d.ready(t); ready.Reason != tt.reason || (d.restore(t).Status.CompletionTime != nil) != tt.fatal {
				t.Errorf("%+v", ready)
			}
			d.expectChanges(t)
		})
	}
}

// failsWhileStopped checks that a Restore that becomes impossible after the application was stopped ends.
func (d *dumpTest) failsWhileStopped(t *testing.T) {
	forbid := func(request string) func(*testing.T) {
		return func(t *testing.T) {
			t.Helper()
			d.until(t, v1.ReasonStoppingApplication)
			d.process.Refuse(request, apierrors.NewForbidden(schema.GroupResource{Resource: "jobs"}, "x", nil))
		}
	}
	for name, tt := range map[string]struct {
		change func(*testing.T)
		reason string
	}{
		"no Jobs":    {forbid(createJob), v1.ReasonForbidden},
		"no Secrets": {forbid("create secrets"), v1.ReasonForbidden},
		"another bucket by now": {func(t *testing.T) {
			t.Helper()
			d.until(t, v1.ReasonStoppingApplication)
			d.renameBucket()
		}, v1.ReasonDumpMissing},
		"a Job of the name": {func(t *testing.T) {
			t.Helper()
			ending := "-restore-" + objectparts.Hash(string(d.restore(t).UID)) + "-bucket"
			d.MustCreate(t, &batchv1.Job{
				ObjectMeta: metav1.ObjectMeta{Namespace: backupenv.Namespace, Name: objectparts.Name(backupenv.Shop, ending, objectparts.MaxName)},
				Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}},
				}}},
			})
		}, v1.ReasonLoadFailed},
	} {
		t.Run(name, func(t *testing.T) {
			d.reset(t, elsewhere)
			tt.change(t)
			d.until(t, tt.reason)
			if s := d.restore(t).Status; s.Phase != v1.RestoreCleaningUp || strings.Contains(s.Message, "signature") {
				t.Errorf("status %+v", s)
			}
		})
	}
}

// jobCannotStart checks that the application is stopped for a shorter time than a load may take if the Job cannot
// start.
func (d *dumpTest) jobCannotStart(t *testing.T) {
	d.reset(t)
	d.until(t, v1.ReasonLoading)
	d.HoldJob(t, "ImagePullBackOff")
	d.Clock.SetTime(d.job(t).CreationTimestamp.Add(startLimit))
	d.passes(t, 1)
	if ready := d.ready(t); ready.Reason != v1.ReasonLoading || !strings.Contains(ready.Message, "ImagePullBackOff") {
		t.Errorf("in time: %+v", ready)
	}
	d.Clock.Step(time.Second)
	d.passes(t, 1)
	if ready := d.ready(t); ready.Reason != v1.ReasonLoadFailed || !strings.Contains(ready.Message, "could not start within 15m0s: ImagePullBackOff") {
		t.Errorf("in the end: %+v", ready)
	}
	d.reset(t, sentDump)
	d.createRestore(t, func(s *v1.RestoreSpec) { s.Verify = true })
	d.until(t, v1.ReasonLoading)
	d.HoldJob(t, "ImagePullBackOff")
	job := &batchv1.Job{}
	if err := d.Get(t.Context(), client.ObjectKey{Namespace: VerificationNamespace, Name: d.restore(t).Status.Dump.Job}, job); err != nil {
		t.Fatal(err)
	}
	d.Clock.SetTime(job.CreationTimestamp.Add(2 * startLimit))
	d.passes(t, 1)
	if ready := d.ready(t); ready.Reason != v1.ReasonLoading || !strings.Contains(ready.Message, "ImagePullBackOff") {
		t.Errorf("a verification, for which nothing is stopped: %+v", ready)
	}
	if err := d.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(VerificationNamespace), client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	d.end(t, jobs.ImportContainer, 0)
	d.process.Run(t, NewReconciler(d.process.Client, d.options), d.key, func() bool { return done(d.restore(t)) })
	d.expectNothingVerified(t)
}

// jobIsNotCreated checks that the application starts again if the member returns errors for longer than a Job may
// take to start.
func (d *dumpTest) jobIsNotCreated(t *testing.T) {
	d.reset(t)
	d.until(t, v1.ReasonStoppingApplication)
	stopped := d.Clock.Now()
	d.process.Refuse(createJob, apierrors.NewInternalError(errors.New("failed calling webhook")))
	d.process.Run(t, NewReconciler(d.process.Client, d.options), d.key, func() bool { return done(d.restore(t)) })
	if ready := d.ready(t); ready.Reason != v1.ReasonLoadFailed || !strings.Contains(ready.Message, "could not be created within 15m0s: eu-1 fails on an object of the hub") {
		t.Errorf("%+v", ready)
	}
	if took := d.Clock.Since(stopped); took < startLimit || took > startLimit+2*time.Minute {
		t.Errorf("it ended after %s", took)
	}
	d.expectChanges(t, patchCopy, patchCopy)
	d.expectNothingLeft(t)
}

// whileDumping checks that a dump that is being made is waited for before anything is stopped.
func (d *dumpTest) whileDumping(t *testing.T) {
	d.reset(t)
	d.createPod(t, "nightly-x", map[string]string{v1.ComponentLabel: "database-backup"})
	d.until(t, v1.ReasonInUse)
	d.expectChanges(t)
	d.endPod(t, "nightly-x")
	d.until(t, v1.ReasonLoading)
}
