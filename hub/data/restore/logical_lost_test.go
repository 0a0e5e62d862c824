package restore

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// ofALostDatabase checks that a lost database starts only after the Restore is announced on the copy, which is the
// consent to initialize it. It is not waited for before that, and nothing is loaded before it serves.
func (d *dumpTest) ofALostDatabase(t *testing.T) {
	d.reset(t)
	databaseReady := func(status corev1.ConditionStatus) {
		t.Helper()
		backupenv.Change(t, d.Env, render.DatabasePod(backupenv.Shop), func(p *corev1.Pod) { p.Status.Conditions[0].Status = status })
	}
	databaseReady(corev1.ConditionFalse)
	backupenv.Change(t, d.Env, backupenv.Shop, func(a *v1.EcommerceApp) {
		meta.SetStatusCondition(&a.Status.Conditions, metav1.Condition{Type: v1.ConditionDatabaseLost, Status: metav1.ConditionTrue, Reason: v1.ReasonDatabaseLost})
	})
	d.until(t, v1.ReasonStartingDatabase)
	copied := &v1.EcommerceApp{}
	if !d.Exists(t, backupenv.Shop, copied) || copied.Annotations[v1.LoadingAnnotation] != d.key.Name {
		t.Errorf("the copy is annotated with %v while the database is waited for", copied.Annotations)
	}
	d.passes(t, 3)
	jobs := &batchv1.JobList{}
	if err := d.List(t.Context(), jobs); err != nil || len(jobs.Items) > 0 {
		t.Errorf("%d Jobs before the database serves, %v", len(jobs.Items), err)
	}
	databaseReady(corev1.ConditionTrue)
	d.until(t, v1.ReasonLoading)
	d.endLoad(t, 0)
	d.until(t, v1.ReasonCompleted)
	d.expectNothingLeft(t)
}
