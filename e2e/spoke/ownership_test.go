package spoke_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// testChangedBack checks that a field that another client changed and changed back while no spoke ran is the other
// client's. The spoke takes it back, or the next change of it would not be seen.
func testChangedBack(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		app := w.runningShop(t)
		service := &corev1.Service{}
		service.Namespace, service.Name = app.Namespace, app.Name+"-backend"
		set := func(value string) {
			t.Helper()
			framework.Edit(t, w, service, func(s *corev1.Service) { s.Labels[v1.ComponentLabel] = value })
		}
		w.stop()
		set("other")
		set("backend")
		w.run(t)
		framework.Await(t, w, service, "the label to be owned again", func(s *corev1.Service) error {
			if !slices.ContainsFunc(s.ManagedFields, func(m metav1.ManagedFieldsEntry) bool {
				return m.Manager == v1.SpokeFieldManager && m.Operation == metav1.ManagedFieldsOperationApply &&
					strings.Contains(m.FieldsV1.GetRawString(), `"f:`+v1.ComponentLabel+`"`)
			}) {
				return errNotYet
			}
			return nil
		})
		set("other")
		framework.Await(t, w, service, "the label to be repaired", func(s *corev1.Service) error {
			if s.Labels[v1.ComponentLabel] != "backend" {
				return errNotYet
			}
			return nil
		})
	}
}

// testUnchanged checks that an unchanged app costs one write per reconciliation requested of
// it, and nothing else: forced, resynced, and after a restart.
func testUnchanged(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		app := w.runningShop(t)
		versions := w.versions(t, app)
		w.reconcile(t, app, "warm")
		mark := w.markSettled(t, app.Namespace)
		for i := range 5 {
			w.reconcile(t, app, fmt.Sprint("forced ", i))
		}
		w.checkStatusWrites(t, mark, app, 5)
		// Applications of earlier tests may not be gone yet.
		reads := mark.By(t, w.cluster, config.SpokeServiceAccount).Verb("get", "list").Where(func(e audit.Event) bool {
			return e.Namespace == "" || e.Namespace == app.Namespace
		})
		if len(reads) > 0 {
			t.Errorf("an unchanged app was read for:\n%s", reads)
		}

		w.stop()
		mark = w.mark(t)
		w.run(t)
		w.reconcile(t, app, "after a restart")
		w.checkStatusWrites(t, mark, app, 1)
		if reads := w.childReads(t, mark, app); len(reads) > 0 {
			t.Errorf("children that the applied hash tells of were read:\n%s", reads)
		}

		w.stop()
		without := []byte(`{"status":{"appliedHash":null}}`)
		if err := w.Status().Patch(t.Context(), app.DeepCopy(), client.RawPatch(types.MergePatchType, without)); err != nil {
			t.Fatal(err)
		}
		const another = "after another restart, without an applied hash"
		w.ask(t, app, another) // The first pass writes the hash and the answer, in one write.
		mark = w.mark(t)
		w.run(t)
		w.awaitAnswer(t, app, another)
		w.checkStatusWrites(t, mark, app, 1)
		if reads := w.childReads(t, mark, app); len(reads) < 10 {
			t.Errorf("without an applied hash the children must be read once, got:\n%s", reads)
		}

		mark = w.mark(t)
		framework.Edit(t, w, app, func(app *v1.EcommerceApp) { app.Labels = map[string]string{"applied": "again"} })
		w.reconcile(t, app, "after a label")
		framework.Pause(t, retry.ProgressPeriod+longestWait) // Resyncs, of which the last may write progress.
		w.checkStatusWrites(t, mark, app, 1)
		now := w.versions(t, app)
		for name, version := range versions {
			if now[name] != version {
				t.Errorf("%s has changed", name)
			}
		}
		w.checkEditWhileDown(t, app)
	}
}

// checkEditWhileDown edits an app while no spoke runs: the applied hash still tells of the children that are as
// before.
func (e *environment) checkEditWhileDown(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	e.stop()
	framework.Edit(t, e, app, func(app *v1.EcommerceApp) { app.Spec.Frontend.Replicas = new(int32(4)) })
	mark := e.mark(t)
	e.run(t)
	e.awaitRunning(t, app)
	// The Deployment is read again if a pass begins before the watch has delivered what the one before wrote.
	reads := e.childReads(t, mark, app).Where(func(event audit.Event) bool {
		return event.Resource != "deployments" || event.Name != app.Name+"-frontend"
	})
	if len(reads) > 1 {
		t.Errorf("children other than the Deployment that was edited were read:\n%s", reads)
	}
}

// childReads returns the reads of single children of an application since a mark.
func (e *environment) childReads(t testing.TB, mark framework.Marks, app *v1.EcommerceApp) audit.Log {
	t.Helper()
	reads := mark.By(t, e.cluster, config.SpokeServiceAccount).Verb("get")
	return slices.DeleteFunc(reads, func(event audit.Event) bool {
		return event.Namespace != app.Namespace || event.Resource == "ecommerceapps"
	})
}
