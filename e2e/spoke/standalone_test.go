package spoke_test

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testWithoutHub asks for what only a hub does: the shop runs, and says what has no effect and
// that it has no backups.
func testWithoutHub(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		app := w.shop(t)
		app.Spec.Database.Backup.Method = v1.BackupSnapshot
		app.Spec.Placement.Regions = []string{"eu-west-1"}
		framework.Create(t, w, app)
		w.awaitRunning(t, app)
		framework.Await(t, w, app, "what has no effect to be named", func(app *v1.EcommerceApp) error {
			supported, degraded := framework.Condition(app.Status.Conditions, v1.ConditionSupported), framework.Condition(app.Status.Conditions, v1.ConditionDegraded)
			if supported.Reason != v1.ReasonNotSupported || degraded.Reason != v1.ReasonNotSupported || degraded.Status != metav1.ConditionTrue ||
				supported.Message != "without a hub these fields have no effect: spec.database.backup.method, spec.placement" {
				return fmt.Errorf("%+v, %+v", supported, degraded)
			}
			return framework.Observed(app)
		})
		framework.Edit(t, w, app, func(app *v1.EcommerceApp) {
			app.Spec.Database.Backup.Method, app.Spec.Placement = v1.BackupDump, v1.Placement{}
		})
		w.awaitRunning(t, app)
		framework.Await(t, w, app, "nothing to be named", func(app *v1.EcommerceApp) error {
			if c := framework.Condition(app.Status.Conditions, v1.ConditionSupported); c.Type != "" {
				return fmt.Errorf("%+v", c)
			}
			if c := framework.Condition(app.Status.Conditions, v1.ConditionDegraded); c.Reason == v1.ReasonNotSupported {
				return fmt.Errorf("%+v", c)
			}
			return nil
		})
		if err := w.Get(t.Context(), client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-database-backup"}, &batchv1.CronJob{}); err != nil {
			t.Error(err)
		}
	}
}
