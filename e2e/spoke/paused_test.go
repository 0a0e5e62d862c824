package spoke_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// safely is three shops under a spoke in safe mode: one drifted, one is being deleted, one is new.
type safely struct {
	*environment
	drifted, doomed, fresh *v1.EcommerceApp
	// frontend and service are those of the shop that drifted.
	frontend *appsv1.Deployment
	service  *corev1.Service
}

// testSafeMode checks that a spoke in safe mode reports what it would write, also after a restart. It writes nothing
// but statuses until the safe mode ends, and then what it reported.
func testSafeMode(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		namespace := w.namespace(t)
		s := &safely{
			environment: w, drifted: framework.Small(namespace, "drifted"), doomed: framework.Small(namespace, "doomed"), fresh: framework.Small(namespace, "fresh"),
			service: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "drifted-frontend"}},
		}
		s.frontend = &appsv1.Deployment{ObjectMeta: s.service.ObjectMeta}
		for _, app := range []*v1.EcommerceApp{s.drifted, s.doomed} {
			framework.Create(t, w, app)
			w.awaitRunning(t, app)
		}
		w.restartIn(t, true)
		defer w.restartIn(t, false)
		mark := w.mark(t)
		framework.Edit(t, w, s.frontend, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "other:v1" })
		if err := errors.Join(w.Delete(t.Context(), s.service), w.Delete(t.Context(), s.doomed.DeepCopy())); err != nil {
			t.Fatal(err)
		}
		framework.Create(t, w, s.fresh)
		s.awaitReports(t)
		w.restartIn(t, true)
		// The status of a new generation shows that this process has been through it.
		framework.Edit(t, w, s.fresh, func(app *v1.EcommerceApp) { app.Spec.Frontend.Replicas = new(int32(2)) })
		framework.Await(t, w, s.fresh, "the edit to be observed", func(app *v1.EcommerceApp) error {
			if app.Status.ObservedGeneration != app.Generation {
				return errNotYet
			}
			return nil
		})
		s.awaitReports(t)
		for _, e := range mark.By(t, w.cluster, config.SpokeServiceAccount).Writes() {
			if e.Resource != "ecommerceapps" || e.Subresource != "status" {
				t.Errorf("written in safe mode: %s", e)
			}
		}
		w.restartIn(t, false)
		s.awaitWritten(t)
	}
}

// awaitReports waits until the statuses list what would be written.
func (s *safely) awaitReports(t *testing.T) {
	t.Helper()
	s.awaitPending(t, s.drifted, v1.PendingChange{Kind: "Service", Name: s.service.Name, Action: v1.PendingCreate})
	s.awaitPending(t, s.drifted, v1.PendingChange{
		Kind: "Deployment", Name: s.frontend.Name, Action: v1.PendingUpdate, Fields: []string{".image: other:v1 -> shop:v1"},
	})
	s.awaitPending(t, s.doomed, v1.PendingChange{Kind: "Ingress", Name: "doomed-ingress", Action: v1.PendingDelete})
	s.awaitPending(t, s.fresh, v1.PendingChange{Kind: "Deployment", Name: "fresh-frontend", Action: v1.PendingCreate})
	if c := framework.Condition(s.drifted.Status.Conditions, v1.ConditionProgressing); c.Status != metav1.ConditionFalse || c.Reason != v1.ReasonPaused || s.drifted.Status.Phase != v1.PhasePaused {
		t.Errorf("phase %s, %+v", s.drifted.Status.Phase, c)
	}
}

// awaitWritten waits until everything is written, and nothing is reported any more.
func (s *safely) awaitWritten(t *testing.T) {
	t.Helper()
	framework.AwaitGone(t, s, s.doomed)
	framework.Await(t, s, s.service, "the Service to be back", func(*corev1.Service) error { return nil })
	for _, app := range []*v1.EcommerceApp{s.drifted, s.fresh} {
		s.awaitRunning(t, app)
		if app.Status.PendingChangeCount != 0 || app.Status.PendingChanges != nil {
			t.Errorf("still pending for %s: %+v", app.Name, app.Status.PendingChanges)
		}
	}
	if err := s.Get(t.Context(), client.ObjectKeyFromObject(s.frontend), s.frontend); err != nil || s.frontend.Spec.Template.Spec.Containers[0].Image != "shop:v1" {
		t.Errorf("the frontend runs %s: %v", s.frontend.Spec.Template.Spec.Containers[0].Image, err)
	}
}

// restartIn ends the spoke, and starts another, in safe mode or not.
func (e *environment) restartIn(t *testing.T, safeMode bool) {
	t.Helper()
	e.stop()
	e.safeMode = safeMode
	e.run(t)
}

// awaitPending blocks until the status of an application lists a change with such fields.
func (e *environment) awaitPending(t *testing.T, app *v1.EcommerceApp, want v1.PendingChange) {
	t.Helper()
	framework.AwaitApp(t, e, app, fmt.Sprintf("%+v to be pending", want), func(status *v1.EcommerceAppStatus) error {
		for _, c := range status.PendingChanges {
			fields := slices.IndexFunc(want.Fields, func(field string) bool { return !strings.Contains(strings.Join(c.Fields, "\n"), field) }) < 0
			if c.Kind == want.Kind && c.Name == want.Name && c.Action == want.Action && fields {
				return nil
			}
		}
		return fmt.Errorf("pending are %d: %+v", status.PendingChangeCount, status.PendingChanges)
	})
}
