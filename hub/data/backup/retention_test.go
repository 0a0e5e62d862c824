package backup_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
)

// TestRetention follows Backups to the end of their lives: what was neither pruned nor
// marked for deletion stays in the cloud and is found again.
func TestRetention(t *testing.T) {
	e := newTestenv(t)
	e.createShop(t)
	for _, name := range []string{"pruned", "marked", "lost"} {
		e.backUp(t, name)
	}
	e.strip(t, "pruned")
	e.storeDump(t, "dump-lost")
	e.storeDump(t, "dump-marked")
	e.rediscover(t, "dumps")

	for _, name := range []string{"marked", "dump-marked"} {
		b := e.Backup(t, name)
		b.Spec.Deletion = v1.DeletionDelete
		if err := e.Update(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		e.remove(t, b)
	}
	e.remove(t, e.Backup(t, "lost"))
	e.stored(t, "dump-lost", "lost", "pruned")

	e.rediscover(t, "snapshots")
	if found := e.Backup(t, "lost"); found.Spec.Deletion != v1.DeletionRetain || found.Status.Phase != v1.BackupCompleted {
		t.Errorf("found again as %s with deletion %s", found.Status.Phase, found.Spec.Deletion)
	}
	// Retention is held while the clock of the hub is wrong. Then it stops between its two
	// writes once, and what was found again stays.
	e.skew.Store(-int64(49 * time.Hour))
	e.Clock.Step(49 * time.Hour)
	e.backUp(t, "newest")
	e.held(t)
	e.brokenDeletes.Store(1)
	e.skew.Store(0)
	e.wake(t)
	e.gone(t, apitest.Backup("pruned").Namespace(backupenv.Namespace).Obj())
	if e.brokenDeletes.Load() >= 0 {
		t.Error("no deletion failed")
	}
	e.stored(t, "dump-lost", "lost", "newest")
	release := e.protect(t)
	e.unmarked(t, "newest")
	release()

	// Neither the member nor the cloud is there.
	e.away.Store(true)
	e.accounts.Remove(backupenv.Account)
	e.remove(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: backupenv.Namespace}})
	e.stored(t, "dump-lost", "lost", "newest")

	e.connect()
	e.MustCreate(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: backupenv.Namespace}})
	e.rediscover(t, "everything")
	for _, name := range []string{"dump-lost", "lost", "newest"} {
		e.Backup(t, name)
	}
}

// TestRetentionAfterTheEnd checks that the Backups of an application that was deleted are pruned by the retention that they
// remember, and that the newest stays.
func TestRetentionAfterTheEnd(t *testing.T) {
	e := newTestenv(t)
	e.createShop(t)
	app := apitest.App("shop").Namespace(backupenv.Namespace).Obj()
	keepBoth := client.RawPatch(types.MergePatchType, []byte(`{"spec": {"database": {"backup": {"retention": {"keepLast": 2}}}}}`))
	if err := e.Patch(t.Context(), app, keepBoth); err != nil {
		t.Fatal(err)
	}
	e.backUp(t, "first")
	e.Clock.Step(time.Minute)
	e.backUp(t, "second")
	if b := e.Backup(t, "second"); b.Status.HubUID != backupenv.HubUID || b.Status.Retention == nil || *b.Status.Retention.KeepLast != 2 || *b.Status.Retention.KeepDays != 1 {
		t.Errorf("of the hub %q, with the retention %+v", b.Status.HubUID, b.Status.Retention)
	}
	e.Clock.Step(49 * time.Hour)
	e.wake(t)
	e.stored(t, "first", "second")
	e.remove(t, app)
	e.gone(t, apitest.Backup("first").Namespace(backupenv.Namespace).Obj())
	e.stored(t, "second")
	e.Backup(t, "second")
}

// strip removes the finalizer of a Backup, which gets it back: without it, the deletion of the Backup
// leaves its snapshots in the cloud.
func (e *testEnv) strip(t *testing.T, name string) {
	t.Helper()
	b := e.Backup(t, name)
	if err := e.Patch(t.Context(), b, client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"finalizers": null}}`))); err != nil {
		t.Fatal(err)
	}
	e.eventually(t, "the finalizer of "+name, func(ctx context.Context) error {
		if err := e.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if !controllerutil.ContainsFinalizer(b, v1.BackupFinalizer) {
			return fmt.Errorf("finalizers are %q", b.Finalizers)
		}
		return nil
	})
}

// held waits until the scheduler reports that nothing is pruned.
func (e *testEnv) held(t *testing.T) {
	t.Helper()
	e.eventually(t, "pruning to be held", func(context.Context) error {
		last := e.summary.Load()
		if last == nil || last.Condition == nil || last.Condition.Status != metav1.ConditionFalse || last.Condition.Reason != v1.ReasonPruningHeld {
			return fmt.Errorf("the last report is %+v", last)
		}
		return nil
	})
	e.stored(t, "dump-lost", "lost", "newest", "pruned")
}

// wake triggers a pass over the application.
func (e *testEnv) wake(t *testing.T) {
	t.Helper()
	app := apitest.App("shop").Namespace(backupenv.Namespace).Obj()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata": {"annotations": {"woken": "true"}}}`))
	if err := e.Patch(t.Context(), app, patch); err != nil {
		t.Fatal(err)
	}
}

// protect deletes the application, which is protected from that, past the admission policies:
// its Backups go on until it is released.
func (e *testEnv) protect(t *testing.T) (release func()) {
	t.Helper()
	app := apitest.App("shop").Namespace(backupenv.Namespace).Obj()
	change := func(metadata string) {
		t.Helper()
		if err := e.Patch(t.Context(), app, client.RawPatch(types.MergePatchType, []byte(metadata))); err != nil {
			t.Fatal(err)
		}
	}
	change(`{"metadata": {"finalizers": ["` + v1.HubFinalizer + `"], "annotations": {"` + v1.DeletionProtectionAnnotation + `": "true"}}}`)
	if err := e.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	return func() { change(`{"metadata": {"finalizers": null}}`) }
}

// unmarked does what retention has done when the hub dies between its two writes, to a
// Backup that is to be kept.
func (e *testEnv) unmarked(t *testing.T, name string) {
	t.Helper()
	b := e.Backup(t, name)
	metav1.SetMetaDataAnnotation(&b.ObjectMeta, v1.PrunedAnnotation, "true")
	b.Spec.Deletion = v1.DeletionDelete
	if err := e.Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	e.eventually(t, "the mark of retention to be taken back", func(ctx context.Context) error {
		if err := e.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if b.Spec.Deletion != v1.DeletionRetain || b.Annotations[v1.PrunedAnnotation] != "" {
			return fmt.Errorf("deletion %s, annotations %v", b.Spec.Deletion, b.Annotations)
		}
		return nil
	})
}
