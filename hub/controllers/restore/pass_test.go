package restore

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
)

// dumpTest is a placed shop with a dump on a claim, and a Restore of it.
type dumpTest struct {
	*backupenv.Env
	process    *backupenv.Process
	reconciler *Reconciler
	recorder   *events.FakeRecorder
	key        client.ObjectKey
}

// TestDumps restores dumps pass by pass. Each case has a Restore of its own.
func TestDumps(t *testing.T) {
	e := backupenv.Start(t)
	e.CreateShop(t)
	e.MustCreate(t, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: backupenv.Namespace, Name: render.DatabaseDumps(backupenv.Shop)},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	})
	b := apitest.Backup("dump").Namespace(backupenv.Namespace).With(func(b *v1.Backup) { b.Spec.Method = v1.BackupDump }).Obj()
	e.MustCreate(t, b)
	at := metav1.NewTime(e.Clock.Now().Truncate(time.Second))
	b.Status = v1.BackupStatus{
		Phase: v1.BackupCompleted, Engine: v1.EnginePostgreSQL, Version: "15.4", SnapshotTime: &at,
		Dump: &v1.DumpFile{
			Claim: render.DatabaseDumps(backupenv.Shop), Job: "j", File: "backup-20260302T020000Z.dump", Bytes: 7, SHA256: strings.Repeat("0", 64),
		},
	}
	if err := e.Status().Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	e.RunMember(t)
	for name, test := range map[string]func(*dumpTest, *testing.T){
		"failure is final":       (*dumpTest).failureIsFinal,
		"loaded and let go":      (*dumpTest).loadedAndLetGo,
		"deleted while it loads": (*dumpTest).deletedWhileItLoads,
		"note":                   (*dumpTest).notes,
	} {
		t.Run(name, func(t *testing.T) {
			d := &dumpTest{Env: e, process: e.NewProcess(backupenv.Crash{}), recorder: events.NewFakeRecorder(10)}
			d.reconciler = NewReconciler(d.process.Client, Options{
				HubUID: backupenv.HubUID, Accounts: d.process.Accounts, Member: d.process.Member, Recorder: d.recorder, Clock: e.Clock,
			})
			d.clear(t)
			r := apitest.Restore(strings.ReplaceAll(name, " ", "-")).Namespace(backupenv.Namespace).From("dump").Obj()
			d.MustCreate(t, r)
			d.key = client.ObjectKeyFromObject(r)
			test(d, t)
		})
	}
}

// clear takes back what a case that failed may have left.
func (d *dumpTest) clear(t *testing.T) {
	t.Helper()
	app := apitest.App(backupenv.Shop).Namespace(backupenv.Namespace).Obj()
	free := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"annotations": {"`+v1.LoadingAnnotation+`": null}}}`))
	if err := errors.Join(
		d.Patch(t.Context(), app, free),
		d.DeleteAllOf(t.Context(), &batchv1.Job{}, client.InNamespace(backupenv.Namespace), client.PropagationPolicy(metav1.DeletePropagationBackground)),
	); err != nil {
		t.Fatal(err)
	}
}

func (d *dumpTest) restore(t *testing.T) *v1.Restore {
	t.Helper()
	r := &v1.Restore{}
	if err := d.Get(t.Context(), d.key, r); err != nil {
		t.Fatal(err)
	}
	return r
}

func (d *dumpTest) passes(t *testing.T, n int) {
	t.Helper()
	for range n {
		if _, err := d.reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: d.key}); err != nil {
			t.Fatal(err)
		}
	}
}

// changes returns what was done to the copy and to the Job, without repetitions.
func (d *dumpTest) changes() []string {
	sent := slices.DeleteFunc(d.process.Sent(), func(s string) bool {
		return !strings.HasSuffix(s, "v1.Job") && s != "patch *v1.EcommerceApp"
	})
	return slices.Compact(sent)
}

// expect checks what was done in the member, and that nothing is left of it.
func (d *dumpTest) expect(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, d.changes()); diff != "" {
		t.Errorf("done (-want +got):\n%s", diff)
	}
	app, all := &v1.EcommerceApp{}, &batchv1.JobList{}
	if err := d.Get(t.Context(), client.ObjectKey{Namespace: backupenv.Namespace, Name: backupenv.Shop}, app); err != nil {
		t.Fatal(err)
	}
	if err := d.List(t.Context(), all, client.InNamespace(backupenv.Namespace)); err != nil {
		t.Fatal(err)
	}
	if holder := lockHolder(app); holder != "" || len(all.Items) != 0 {
		t.Errorf("the copy is annotated with %q, and %d Jobs are left", holder, len(all.Items))
	}
}

// failureIsFinal: a failure is stored before it is taken back, and the passes that take it
// back do not load the dump again.
func (d *dumpTest) failureIsFinal(t *testing.T) {
	t.Helper()
	d.passes(t, 2)
	d.EndJob(t, backupenv.Exit{Container: jobs.LoadContainer, Code: jobs.ExitNotEmpty})
	d.passes(t, 1)
	if s := d.restore(t).Status; s.Phase != v1.RestoreCleaningUp || len(d.changes()) != 2 {
		t.Fatalf("the Restore is %s, and this was done: %s", s.Phase, d.changes())
	}
	d.passes(t, 6)
	s := d.restore(t).Status
	ready := meta.FindStatusCondition(s.Conditions, v1.ConditionReady)
	if s.Phase != v1.RestoreFailed || ready.Reason != v1.ReasonDatabaseNotEmpty || s.Message != ready.Message || s.CompletionTime == nil {
		t.Errorf("%+v", s)
	}
	d.expect(t, "patch *v1.EcommerceApp", "create *v1.Job", "delete *v1.Job", "patch *v1.EcommerceApp")
	if n := len(d.recorder.Events); n != 1 {
		t.Errorf("%d events", n)
	}
}

func (d *dumpTest) loadedAndLetGo(t *testing.T) {
	t.Helper()
	d.passes(t, 2)
	d.EndJob(t, backupenv.Exit{Container: jobs.LoadContainer})
	d.passes(t, 1)
	if s := d.restore(t).Status; s.Phase != v1.RestoreStarting || !s.Dump.Loaded || len(d.changes()) != 2 {
		t.Fatalf("%+v, and this was done: %s", s, d.changes())
	}
	d.passes(t, 6)
	if s := d.restore(t).Status; s.Phase != v1.RestoreCompleted {
		t.Errorf("the Restore is %s: %s", s.Phase, s.Message)
	}
	d.expect(t, "patch *v1.EcommerceApp", "create *v1.Job", "patch *v1.EcommerceApp", "delete *v1.Job")
}

// deletedWhileItLoads: the Job is deleted first, then the shop starts, and then the Restore
// is released.
func (d *dumpTest) deletedWhileItLoads(t *testing.T) {
	t.Helper()
	d.passes(t, 2)
	pod := d.RunJob(t)
	if err := d.Delete(t.Context(), d.restore(t)); err != nil {
		t.Fatal(err)
	}
	d.passes(t, 3)
	if r := d.restore(t); len(r.Finalizers) == 0 || !strings.Contains(r.Status.Message, "being deleted") {
		t.Errorf("while a pod is at work: %v, %s", r.Finalizers, r.Status.Message)
	}
	if err := d.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	d.passes(t, 3)
	if err := d.Get(t.Context(), d.key, &v1.Restore{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Restore is not released: %v", err)
	}
	d.expect(t, "patch *v1.EcommerceApp", "create *v1.Job", "delete *v1.Job", "patch *v1.EcommerceApp")
}

// notes: the volume of a claim is stored once, before the claim is deleted.
func (d *dumpTest) notes(t *testing.T) {
	t.Helper()
	stored := d.restore(t)
	w := &work{Reconciler: d.reconciler, stored: stored, restore: stored.DeepCopy()}
	for range 2 {
		if err := w.note(t.Context(), "data-0", "pvc-1"); err != nil {
			t.Fatal(err)
		}
	}
	want := []v1.RestoredVolume{{Claim: "data-0", PersistentVolume: "pvc-1"}}
	if diff := cmp.Diff(want, d.restore(t).Status.Volumes); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	// A pass that has read an old Restore writes nothing.
	old := &work{Reconciler: d.reconciler, stored: stored, restore: stored.DeepCopy()}
	if err := old.note(t.Context(), "data-1", "pvc-2"); !apierrors.IsConflict(err) {
		t.Errorf("an old one: %v", err)
	}
}
