package spoke_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// testAvailability updates the backend while a replica of the database copies the primary's
// data, and then takes the primary away. The kubelets are stopped, so that nothing becomes ready.
func testAvailability(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		app := w.shop(t)
		app.Spec.Database.Replicas = new(int32(2))
		framework.Create(t, w, app)
		w.awaitRunning(t, app)
		w.awaitAvailable(t, app, metav1.ConditionTrue, "customers can be served")

		thaw := w.freeze(t)
		w.loseDatabasePod(t, app, 1)
		w.startCopy(t, app)
		framework.Await(t, w, app, "a copy of the primary's data", func(app *v1.EcommerceApp) error {
			return messageContains(app, "database", "pod "+app.Name+"-database-1 copies the primary's data")
		})
		framework.Edit(t, w, app, func(app *v1.EcommerceApp) { app.Spec.Backend.Image = "ecommerce-backend:v3.0.0" })
		backend := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-backend"}}
		framework.Await(t, w, backend, "the new version of the backend", func(d *appsv1.Deployment) error {
			if image := d.Spec.Template.Spec.Containers[0].Image; image != "ecommerce-backend:v3.0.0" {
				return fmt.Errorf("the image is %s", image)
			}
			return nil
		})
		w.awaitAvailable(t, app, metav1.ConditionTrue, "customers can be served")
		if ready := meta.FindStatusCondition(app.Status.Conditions, v1.ConditionReady); app.Status.Phase != v1.PhaseUpdating ||
			ready.Status != metav1.ConditionFalse || ready.Reason != v1.ReasonCopyingData {
			t.Errorf("phase %s, Ready is %s, %s: the database was ready in the meantime, or failed", app.Status.Phase, ready.Status, ready.Reason)
		}

		w.loseDatabasePod(t, app, 0)
		w.awaitAvailable(t, app, metav1.ConditionFalse, "database: pod "+app.Name+"-database-0 ")
		thaw()
		w.awaitRunning(t, app)
		w.awaitAvailable(t, app, metav1.ConditionTrue, "customers can be served")
	}
}

// loseDatabasePod deletes a pod of the database, and waits until another one takes its place.
func (e *environment) loseDatabasePod(t *testing.T, app *v1.EcommerceApp, ordinal int) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: fmt.Sprintf("%s-database-%d", app.Name, ordinal)}}
	if err := e.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
		t.Fatal(err)
	}
	lost := pod.UID
	if err := e.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	framework.Await(t, e, pod, "another pod", func(pod *corev1.Pod) error {
		if pod.UID == lost {
			return errNotYet
		}
		return nil
	})
}

// startCopy makes the second pod of the database copy the primary's data, as a kubelet reports it.
func (e *environment) startCopy(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-database-1"}}
	if err := e.Get(t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
		t.Fatal(err)
	}
	before := pod.DeepCopy()
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{
		Name: component.PrepareContainer, Image: "postgres", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
	}}
	if err := e.Status().Patch(t.Context(), pod, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// awaitAvailable waits until an app reports whether customers can be served, and what they lack.
func (e *environment) awaitAvailable(t *testing.T, app *v1.EcommerceApp, want metav1.ConditionStatus, text string) {
	t.Helper()
	framework.Await(t, e, app, "Available to be "+string(want), func(app *v1.EcommerceApp) error {
		c := meta.FindStatusCondition(app.Status.Conditions, v1.ConditionAvailable)
		if c == nil || c.Status != want || c.ObservedGeneration != app.Generation || !strings.HasPrefix(c.Message, text) {
			return fmt.Errorf("it is %+v", c)
		}
		return nil
	})
}
