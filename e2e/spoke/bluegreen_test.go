package spoke_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testBlueGreen replaces the pods of a frontend at once. The kubelets are stopped, so that new pods are not
// ready: those before serve until they are, also after another version has superseded them.
func testBlueGreen(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		app := w.shop(t)
		app.Spec.Frontend.Strategy, app.Spec.Backend.Strategy = v1.StrategyBlueGreen, v1.StrategyBlueGreen
		framework.Create(t, w, app)
		w.awaitRunning(t, app)
		before := w.frontends(t, app)
		if len(before) != 1 || !w.selects(t, app, &before[0]) {
			t.Fatalf("the Service does not select the pods of the one frontend: %v", names(before))
		}
		framework.Edit(t, w, app, func(app *v1.EcommerceApp) { app.Spec.Frontend.Replicas = new(int32(2)) })
		w.awaitRunning(t, app)

		thaw, mark := w.freeze(t), w.mark(t)
		for _, image := range []string{"ecommerce-frontend:v3.0.0", "ecommerce-frontend:v4.0.0"} {
			framework.Edit(t, w, app, func(app *v1.EcommerceApp) { app.Spec.Frontend.Image = image })
			framework.Await(t, w, app, "the frontend of "+image, func(app *v1.EcommerceApp) error {
				all := w.frontends(t, app)
				if !slices.ContainsFunc(all, func(d appsv1.Deployment) bool { return d.Spec.Template.Spec.Containers[0].Image == image }) || len(all) != 2 {
					return fmt.Errorf("there are %v", names(all))
				}
				return messageContains(app, "frontend", "0 of 2 replicas are ready")
			})
			w.checkServing(t, app, &before[0])
		}
		w.scaleServing(t, app, &before[0])
		started := time.Now()
		thaw()
		w.awaitRunning(t, app)
		framework.AwaitGone(t, w, &before[0])
		after := w.frontends(t, app)
		if len(after) != 1 || !w.selects(t, app, &after[0]) || *after[0].Spec.Replicas != 3 {
			t.Errorf("the Service does not select the three pods of the one frontend: %v", names(after))
		}
		awaitEvents(t, w, app, "ImageUpdated", "Switched")
		log := mark.Since(t, w.cluster).In(app.Namespace).Writes().Succeeded()
		switched := slices.IndexFunc(log, func(e audit.Event) bool { return e.Resource == "services" && e.Received.After(started) })
		if early := log[:max(switched, 0)].Verb("delete").Where(func(e audit.Event) bool { return strings.HasPrefix(e.Name, before[0].Name) }); len(early) > 0 {
			t.Errorf("deleted before the Service selects other pods:\n%s", early)
		}
		if err := w.Delete(t.Context(), app); err != nil { // Otherwise a later definition of a kind replaces its pods.
			t.Fatal(err)
		}
	}
}

// checkServing checks that the pods of a Deployment serve while others start.
func (e *environment) checkServing(t *testing.T, app *v1.EcommerceApp, serving *appsv1.Deployment) {
	t.Helper()
	if !e.selects(t, app, serving) {
		t.Errorf("the Service does not select the pods of %s, which serve", serving.Name)
	}
	e.awaitAvailable(t, app, metav1.ConditionTrue, "customers can be served")
}

// scaleServing wants another pod, and deletes the Service, while new pods start: those that serve are scaled
// and selected.
func (e *environment) scaleServing(t *testing.T, app *v1.EcommerceApp, serving *appsv1.Deployment) {
	t.Helper()
	framework.Edit(t, e, app, func(app *v1.EcommerceApp) { app.Spec.Frontend.Replicas = new(int32(3)) })
	framework.Await(t, e, serving, "the pods that serve to be three", func(d *appsv1.Deployment) error {
		if *d.Spec.Replicas != 3 {
			return fmt.Errorf("%d are wanted", *d.Spec.Replicas)
		}
		return nil
	})
	e.checkRecreated(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-frontend"}})
	if !e.selects(t, app, serving) {
		t.Error("the Service that was deleted is created for pods that are not ready")
	}
}

// frontends returns the Deployments of the frontend, without those that are being deleted.
func (e *environment) frontends(t *testing.T, app *v1.EcommerceApp) []appsv1.Deployment {
	t.Helper()
	list := &appsv1.DeploymentList{}
	if err := e.List(t.Context(), list, client.InNamespace(app.Namespace), client.MatchingLabels{v1.ComponentLabel: "frontend"}); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(d appsv1.Deployment) bool { return d.DeletionTimestamp != nil })
}

// selects reports whether the Service of the frontend selects the pods of a Deployment, and no others.
func (e *environment) selects(t *testing.T, app *v1.EcommerceApp, d *appsv1.Deployment) bool {
	t.Helper()
	service := &corev1.Service{}
	if err := e.Get(t.Context(), client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-frontend"}, service); err != nil {
		t.Fatal(err)
	}
	return maps.Equal(service.Spec.Selector, d.Spec.Selector.MatchLabels)
}

func names(all []appsv1.Deployment) []string {
	list := make([]string, 0, len(all))
	for i := range all {
		list = append(list, all[i].Name)
	}
	return list
}
