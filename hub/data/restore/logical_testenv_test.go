package restore

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
)

// dumpTest is a placed shop with a dump on a claim, and a Restore of it.
type dumpTest struct {
	*backupenv.Env
	process  *backupenv.Process
	options  Options
	recorder *events.FakeRecorder
	backup   string
	key      client.ObjectKey
	// start is the time at which each case starts.
	start time.Time
	// restores is how many were created.
	restores int
}

// TestRestores shares one environment, which takes seconds to start. The crashes come first,
// because they need the shop that it starts with.
func TestRestores(t *testing.T) {
	e := backupenv.Start(t)
	e.CreateShop(t)
	t.Run("crashes", (&crashes{Env: e}).all)
	t.Run("dumps", (&dumpTest{Env: e, start: e.Clock.Now()}).all)
	t.Run("lock", (&lockTest{Env: e}).all)
	t.Run("cleanup", (&cleanupTest{Env: e}).all)
}

// all restores dumps pass by pass. Each case has a Backup and a Restore of its own.
func (d *dumpTest) all(t *testing.T) {
	t.Run("failure is final", d.failureIsFinal)
	t.Run("from the claim", d.fromClaim)
	t.Run("of a lost database", d.ofALostDatabase)
	t.Run("replayed", d.replayed)
	t.Run("from the bucket", d.fromBucket)
	t.Run("pruned", d.pruned)
	t.Run("verified", d.verified)
	t.Run("one Job", d.oneJob)
	t.Run("a Job of the build before", d.formerJob)
	t.Run("deleted while it loads", d.deletedWhileItLoads)
	t.Run("deleted before it begins", d.deletedBeforeItBegins)
	t.Run("refusals", d.refusals)
	t.Run("failures while the shop is stopped", d.failsWhileStopped)
	t.Run("a Job that cannot start", d.jobCannotStart)
	t.Run("a Job that is not created", d.jobIsNotCreated)
	t.Run("while a dump is made", d.whileDumping)
	t.Run("denied by a policy", d.denied)
	t.Run("denied while the shop is stopped", d.deniedWhileStopped)
	t.Run("paused", d.paused)
	t.Run("verification is denied by a policy", d.deniedVerification)
	t.Run("delivered twice", d.deliveredTwice)
	t.Run("crashes", d.crashes)
}

// reset returns to a shop whose database is ready, a Backup with changes, and a Restore that
// has not begun.
func (d *dumpTest) reset(t *testing.T, changes ...func(*v1.Backup)) {
	t.Helper()
	d.Clock.SetTime(d.start)
	d.Buckets, d.process, d.recorder = bucket.NewStore(d.Clock), d.NewProcess(t, backupenv.Crash{}), events.NewFakeRecorder(10)
	d.options = Options{
		Accounts: d.process.Accounts, Member: d.process.Member, Recorder: d.recorder, Clock: d.Clock, SpokeImage: "spoke:1",
	}
	d.DeleteAll(t, &v1.EcommerceApp{}, &batchv1.Job{}, &corev1.Pod{}, &corev1.Secret{}, &corev1.PersistentVolumeClaim{})
	d.RunMember(t)
	d.MustCreate(t, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: backupenv.Namespace, Name: render.DatabaseDumps(backupenv.Shop)},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	})
	d.place(t)
	d.backup = d.createBackup(t, changes)
	d.createRestore(t, func(*v1.RestoreSpec) {})
}

func (d *dumpTest) createRestore(t *testing.T, change func(*v1.RestoreSpec)) {
	t.Helper()
	d.restores++
	r := apitest.Restore(fmt.Sprintf("restore-%d", d.restores)).Namespace(backupenv.Namespace).From(d.backup).To(backupenv.Member).Obj()
	r.Finalizers = []string{v1.RestoreFinalizer}
	change(&r.Spec)
	d.MustCreate(t, r)
	d.key = client.ObjectKeyFromObject(r)
}

// place places the shop, with a database that is ready.
func (d *dumpTest) place(t *testing.T) {
	t.Helper()
	d.MustCreate(t, apitest.App(backupenv.Shop).Namespace(backupenv.Namespace).Database(v1.EnginePostgreSQL, "15.4", "1Gi").Obj())
	d.RunMember(t)
}

// createBackup creates a Backup whose dump is on its claim, and in the bucket if the
// changes say so.
func (d *dumpTest) createBackup(t *testing.T, changes []func(*v1.Backup)) string {
	t.Helper()
	b := apitest.Backup(fmt.Sprintf("dump-%d", d.restores)).Namespace(backupenv.Namespace).With(func(b *v1.Backup) { b.Spec.Method = v1.BackupDump }).Obj()
	b.Status = v1.BackupStatus{
		Phase: v1.BackupCompleted, AppUID: "app-1", Account: backupenv.Account, Engine: v1.EnginePostgreSQL, Version: "15.4",
		SnapshotTime: &metav1.Time{Time: d.Clock.Now().Truncate(time.Second)},
		Dump: &v1.DumpFile{
			Claim: render.DatabaseDumps(backupenv.Shop), Job: "j", File: "backup-20260302T020000Z.dump", Bytes: 7, SHA256: strings.Repeat("0", 64),
		},
	}
	for _, change := range changes {
		change(b)
	}
	status := b.Status
	d.MustCreate(t, b)
	b.Status = status
	if o := b.Status.Dump.Object; o != nil {
		d.Buckets.Put(dumps.PartKey(o.Prefix, 0), []byte("content"))
		if sealed, err := dumps.Seal(t.Context(), bucket.Connect(d.Buckets, bucket.Options{}), backupenv.HubUID, b); err != nil || !sealed {
			t.Fatalf("sealed %t: %v", sealed, err)
		}
	}
	if err := d.Status().Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	return b.Name
}

// sentDump changes a Backup to one whose dump is also in the bucket, elsewhere to one whose
// dump is only there.
func sentDump(b *v1.Backup) {
	b.Status.Dump.Object = &v1.DumpObject{
		Bucket: "dumps", Prefix: dumps.Prefix(cloud.Owner{Hub: backupenv.HubUID, App: b.Status.AppUID}, b), State: v1.DumpSent,
	}
}

func elsewhere(b *v1.Backup) {
	sentDump(b)
	b.Spec.ClusterRef.Name = backupenv.Other
}

func (d *dumpTest) restore(t *testing.T) *v1.Restore {
	t.Helper()
	r := &v1.Restore{}
	if !d.Exists(t, d.key.Name, r) {
		t.Fatal("there is no Restore")
	}
	return r
}

// ready returns the condition of the Restore.
func (d *dumpTest) ready(t *testing.T) metav1.Condition {
	t.Helper()
	if c := meta.FindStatusCondition(d.restore(t).Status.Conditions, v1.ConditionReady); c != nil {
		return *c
	}
	return metav1.Condition{}
}

func (d *dumpTest) passes(t *testing.T, n int) {
	t.Helper()
	for range n {
		if _, err := NewReconciler(d.process.Client, d.options).Reconcile(t.Context(), reconcile.Request{NamespacedName: d.key}); err != nil {
			t.Fatal(err)
		}
	}
}

// until does passes until the Restore waits for a reason, or has failed or completed.
func (d *dumpTest) until(t *testing.T, reason string) {
	t.Helper()
	d.process.Run(t, NewReconciler(d.process.Client, d.options), d.key, func() bool {
		ready := d.ready(t)
		if ready.Reason != reason && done(d.restore(t)) {
			t.Fatalf("want %s, and the Restore ended: %+v", reason, ready)
		}
		return ready.Reason == reason
	})
}

// stale does a pass that has read an old Restore, and checks that it changes nothing.
func (d *dumpTest) stale(t *testing.T, old *v1.Restore) error {
	t.Helper()
	before := d.changes()
	w := &work{Reconciler: NewReconciler(d.process.Client, d.options), stored: old, now: d.Clock.Now()}
	_, err := w.pass(t.Context())
	d.expectChanges(t, before...)
	return err
}

// end ends the Job that runs.
func (d *dumpTest) end(t *testing.T, container string, code int32) {
	t.Helper()
	d.EndJob(t, backupenv.Exit{Container: container, Code: code, Message: "message"})
}

func (d *dumpTest) endLoad(t *testing.T, code int32) {
	t.Helper()
	d.end(t, jobs.LoadContainer, code)
}

// job returns the Job of the Restore.
func (d *dumpTest) job(t *testing.T) *batchv1.Job {
	t.Helper()
	job := &batchv1.Job{}
	if name := d.restore(t).Status.Dump.Job; !d.Exists(t, name, job) {
		t.Fatalf("there is no Job %q", name)
	}
	return job
}

// createPod creates a pod that runs.
func (d *dumpTest) createPod(t *testing.T, name string, labels map[string]string) {
	t.Helper()
	labels[v1.InstanceLabel], labels[v1.PartOfLabel] = backupenv.Shop, "ecommerceapp"
	d.MustCreate(t, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: backupenv.Namespace, Name: name, Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	})
}

// endPod ends a pod.
func (d *dumpTest) endPod(t *testing.T, name string) {
	t.Helper()
	backupenv.Change(t, d.Env, name, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
}

// changes returns what was done to the copy, to Jobs and to claims.
func (d *dumpTest) changes() []string {
	return slices.DeleteFunc(d.process.Sent(), func(s string) bool {
		return strings.Contains(s, " restores.") || strings.HasSuffix(s, " secrets")
	})
}

func (d *dumpTest) expectChanges(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, d.changes(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// expectNothingLeft checks that the copy is released, and that nothing is left in the
// member of what the dump was loaded with.
func (d *dumpTest) expectNothingLeft(t *testing.T) {
	t.Helper()
	d.RunMember(t)
	app := &v1.EcommerceApp{}
	if d.Exists(t, backupenv.Shop, app) && lockHolder(app) != "" {
		t.Errorf("the copy is annotated with %q", lockHolder(app))
	}
	for list, want := range map[client.ObjectList]int{&batchv1.JobList{}: 0, &corev1.SecretList{}: 0, &corev1.PersistentVolumeClaimList{}: 1} {
		if err := d.List(t.Context(), list, client.InNamespace(backupenv.Namespace)); err != nil {
			t.Fatal(err)
		}
		if got := meta.LenList(list); got != want {
			t.Errorf("%d of %d are left in a %T", got, want, list)
		}
	}
}
