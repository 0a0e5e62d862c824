package kind

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// testLostData deletes claim and pod of a primary with orders: no empty database comes up in its place, the
// shop says what is lost and where it still is, and a dump brings the orders back.
func (e *environment) testLostData(t *testing.T) {
	t.Helper()
	r := e.regions[0]
	id := r.order(t, shop)
	want := r.checksums(t, shop)
	backup := e.dump(t, shop, r)
	for _, object := range []string{"pvc/data-" + primary, "pod/" + primary} {
		r.must(t, "delete", object, "--namespace", namespace, "--wait=false")
	}
	fleettest.Within(t, patience, "the data to be lost", func(ctx context.Context) error { return e.saysLost(ctx, r) })
	fleettest.Within(t, patience, "the primary to initialize nothing", func(ctx context.Context) error {
		pod := &corev1.Pod{}
		if err := r.get(ctx, primary, pod); err != nil {
			return err
		}
		if code := component.PrepareExit(pod); code != database.ExitLost {
			return fmt.Errorf("%w: the init container ended with code %d", errWaiting, code)
		}
		return nil
	})
	dumps := &batchv1.CronJob{}
	if err := r.get(t.Context(), render.DatabaseCronJob(shop), dumps); err != nil || dumps.Spec.Suspend == nil || !*dumps.Spec.Suspend {
		t.Errorf("the schedule of the dumps goes on: %v", err)
	}

	// The new database is empty: nothing is overwritten.
	restore := e.load(t, shop+"-lost", v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: backup.Name}})
	e.awaitRestore(t, restore, v1.RestoreCompleted, v1.ReasonCompleted)
	fleettest.Within(t, patience, "the loss to end", func(ctx context.Context) error {
		copied := &v1.EcommerceApp{}
		if err := r.get(ctx, shop, copied); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(copied.Status.Conditions, v1.ConditionDatabaseLost); c != nil {
			return fmt.Errorf("%w: %s", errNotSo, c.Message)
		}
		return nil
	})
	r.same(t, shop, want)
	if !slices.Contains(r.inDatabase(t, shop), id) {
		t.Errorf("order %s is lost", id)
	}
	r.order(t, shop)
	r.copyAgain(t)
	e.running(t, shop)
	e.follows(t, r)
}

// saysLost returns an error unless the copy and the hub say that the data is lost, and where it still is.
func (e *environment) saysLost(ctx context.Context, r *region) error {
	copied := &v1.EcommerceApp{}
	if err := r.get(ctx, shop, copied); err != nil {
		return err
	}
	c := framework.Condition(copied.Status.Conditions, v1.ConditionDatabaseLost)
	for _, text := range []string{"data-" + primary, replica, v1.StartEmptyAnnotation} {
		if !strings.Contains(c.Message, text) {
			return fmt.Errorf("%w: the copy says %q", errNotSo, c.Message)
		}
	}
	app, err := e.app(ctx, shop)
	if err != nil {
		return err
	}
	conditions := app.Status.Conditions
	if !framework.Cluster(&app.Status, r.name).DatabaseLost || !meta.IsStatusConditionTrue(conditions, v1.ConditionDatabaseLost) ||
		!meta.IsStatusConditionTrue(conditions, v1.ConditionStalled) || !meta.IsStatusConditionTrue(conditions, v1.ConditionDegraded) ||
		meta.IsStatusConditionTrue(conditions, v1.ConditionAvailable) {
		return fmt.Errorf("%w: the hub says %+v", errNotSo, conditions)
	}
	return nil
}

// copyAgain makes the replica, which has the data of the lost database, copy the primary's.
func (r *region) copyAgain(t *testing.T) {
	t.Helper()
	claim := r.replicaClaim(t)
	r.must(t, "delete", "pvc/"+claim.Name, "pod/"+replica, "--namespace", namespace, "--wait=false")
	fleettest.Within(t, patience, "the replica to have another claim", func(ctx context.Context) error {
		next := &corev1.PersistentVolumeClaim{}
		if err := r.get(ctx, claim.Name, next); err != nil {
			return err
		}
		if next.UID == claim.UID {
			return errWaiting
		}
		return nil
	})
}
