package spoke_test

import (
	"context"
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	mysqlv1 "github.com/shopfleet/shopfleet/api/mysql/v1"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
)

// noClaims is a quota that lets a namespace have no other claims than it has, so that a primary whose claim
// is gone gets none: the simulated kubelets would run its pod without data.
const noClaims = "no-claims"

// testLostDatabase takes the claim and the pod of a primary. The shop says so and starts no empty database,
// also if it is created again, until a user consents, or asks for the end of the volumes.
func testLostDatabase(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		app := w.shop(t)
		app.Spec.Database.Replicas = new(int32(2))
		framework.Create(t, w, app)
		w.awaitRunning(t, app)
		pods := w.databasePods(t, app)
		w.quota(t, app.Namespace, "0")
		w.lose(t, app.Namespace, "data-"+pods[0].Name, pods[0].Name)
		w.awaitFailed(t, app, v1.ReasonDatabaseLost, "data-"+pods[0].Name, pods[1].Name, v1.StartEmptyAnnotation)
		w.awaitDumps(t, app, true)
		if c := framework.Condition(app.Status.Conditions, v1.ConditionAvailable); c.Status != metav1.ConditionFalse {
			t.Errorf("Available is %+v", c)
		}

		w.recreate(t, app)
		w.awaitFailed(t, app, v1.ReasonDatabaseLost, "data-"+pods[0].Name)
		framework.Edit(t, w, app, func(app *v1.EcommerceApp) {
			metav1.SetMetaDataAnnotation(&app.ObjectMeta, v1.StartEmptyAnnotation, "once")
		})
		framework.Await(t, w, app, "the consent to count", func(app *v1.EcommerceApp) error {
			return isLost(app.Status.Conditions, false)
		})
		w.quota(t, app.Namespace, "10")
		w.awaitRunning(t, app)
		w.awaitDumps(t, app, false)

		w.quota(t, app.Namespace, "0")
		w.lose(t, app.Namespace, "data-"+pods[0].Name, pods[0].Name)
		w.awaitFailed(t, app, v1.ReasonDatabaseLost) // The token has consented once.
		for _, claim := range []string{"data-" + pods[0].Name, "data-" + pods[1].Name} {
			w.env.ExpectDeletes(invariants.Expected{Resource: "persistentvolumeclaims", Namespace: app.Namespace, Name: claim})
		}
		w.env.ExpectDeletes(invariants.Expected{Resource: "secrets", Namespace: app.Namespace, Name: app.Name + "-database-created"})
		framework.Edit(t, w, app, func(app *v1.EcommerceApp) { app.Spec.Deletion.Volumes = v1.DeletionDelete })
		w.recreate(t, app)
		framework.Await(t, w, app, "the database to be another one", func(app *v1.EcommerceApp) error {
			if app.Status.DatabaseCreated {
				t.Error("the mark outlived the volumes")
			}
			if part(app, "database").Name == "" {
				return errNotYet
			}
			return isLost(app.Status.Conditions, false)
		})
		if err := w.Get(t.Context(), client.ObjectKey{Namespace: app.Namespace, Name: "data-" + pods[1].Name}, &corev1.PersistentVolumeClaim{}); err == nil {
			t.Error("the claim of a replica was not deleted")
		}
		w.quota(t, app.Namespace, "10")
		w.awaitRunning(t, app)
	}
}

// testLostMySQLCluster checks the same for a MySQLCluster.
func testLostMySQLCluster(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		db := apitest.SeedMySQLCluster()
		db.Namespace = w.namespace(t)
		framework.Create(t, w, db)
		running := func(db *mysqlv1.MySQLCluster) error {
			if db.Status.Phase != v1.PhaseRunning || !db.Status.DatabaseCreated {
				return fmt.Errorf("%s, created %t: %s", db.Status.Phase, db.Status.DatabaseCreated, db.Status.Message)
			}
			return isLost(db.Status.Conditions, false)
		}
		framework.Await(t, w, db, "the database to run", running)
		w.quota(t, db.Namespace, "0")
		w.lose(t, db.Namespace, "data-"+db.Name+"-0", db.Name+"-0")
		framework.Await(t, w, db, "the data to be lost", func(db *mysqlv1.MySQLCluster) error {
			if db.Status.Phase != v1.PhaseFailed || !meta.IsStatusConditionTrue(db.Status.Conditions, v1.ConditionStalled) {
				return fmt.Errorf("%s: %s", db.Status.Phase, db.Status.Message)
			}
			return isLost(db.Status.Conditions, true)
		})
		framework.Edit(t, w, db, func(db *mysqlv1.MySQLCluster) {
			metav1.SetMetaDataAnnotation(&db.ObjectMeta, v1.StartEmptyAnnotation, "once")
		})
		w.quota(t, db.Namespace, "10")
		framework.Await(t, w, db, "an empty database to run", running)
	}
}

// isLost returns an error unless the data is lost, or is not, as wanted.
func isLost(conditions []metav1.Condition, want bool) error {
	if is := meta.IsStatusConditionTrue(conditions, v1.ConditionDatabaseLost); is != want {
		return fmt.Errorf("the data is lost: %t", is)
	}
	return nil
}

// lose deletes a claim, and the pod that uses it, so that both are gone.
func (e *environment) lose(t *testing.T, namespace, claim, pod string) {
	t.Helper()
	lost := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: claim}}
	if err := e.Get(t.Context(), client.ObjectKeyFromObject(lost), lost); err != nil {
		t.Fatal(err)
	}
	uid := lost.UID
	for _, object := range []client.Object{lost, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: pod}}} {
		if err := e.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	framework.Eventually(t, "the claim to be gone", func(ctx context.Context) error {
		err := e.Get(ctx, client.ObjectKey{Namespace: namespace, Name: claim}, lost)
		if err == nil && lost.UID == uid {
			return errNotYet
		}
		return client.IgnoreNotFound(err)
	})
}

// recreate deletes an application and creates it again.
func (e *environment) recreate(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	framework.Delete(t, e, app)
	framework.AwaitGone(t, e, app)
	spec := app.Spec
	*app = *shop(app.Namespace)
	app.Spec = spec
	framework.Create(t, e, app)
}

// quota sets the number of claims that a namespace may have, as soon as that is enforced.
func (e *environment) quota(t *testing.T, namespace, claims string) {
	t.Helper()
	const counted = corev1.ResourceName("count/persistentvolumeclaims")
	want := corev1.ResourceList{counted: quantity(claims)}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: noClaims}, Spec: corev1.ResourceQuotaSpec{Hard: want}}
	if err := e.Create(t.Context(), quota); err != nil {
		framework.Edit(t, e, quota, func(quota *corev1.ResourceQuota) { quota.Spec.Hard = want })
	}
	framework.Await(t, e, quota, "the quota to be enforced", func(quota *corev1.ResourceQuota) error {
		if hard := quota.Status.Hard[counted]; hard.Cmp(want[counted]) != 0 || len(quota.Status.Hard) == 0 {
			return errNotYet
		}
		return nil
	})
}

// awaitDumps waits until the schedule of the dumps is suspended, or is not.
func (e *environment) awaitDumps(t *testing.T, app *v1.EcommerceApp, suspended bool) {
	t.Helper()
	dumps := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-database-backup"}}
	framework.Await(t, e, dumps, fmt.Sprintf("dumps to be suspended: %t", suspended), func(dumps *batchv1.CronJob) error {
		if is := dumps.Spec.Suspend != nil && *dumps.Spec.Suspend; is != suspended {
			return fmt.Errorf("suspended: %t", is)
		}
		return nil
	})
}
