package controller

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// testPaused checks that only the status of a paused application is written, and that it lists exactly what is
// written after the pause.
func testPaused(t *testing.T, w *writer) {
	t.Helper()
	w.reconcile(t)
	name := w.key.Name + "-frontend"
	frontend := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: name}}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(frontend), frontend); err != nil {
		t.Fatal(err)
	}
	version := frontend.ResourceVersion
	w.patch(t, `{"spec":{"paused":true,"image":"shop:v2"}}`)
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.key.Namespace, Name: name}}
	if err := w.Delete(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t)
	want := []v1.PendingChange{
		{Kind: "Deployment", Name: name, Action: v1.PendingUpdate, Fields: []string{
			"metadata.labels[app.kubernetes.io/version]: v1 -> v2",
			"spec.template.metadata.labels[app.kubernetes.io/version]: v1 -> v2",
			"spec.template.spec.containers[frontend].image: shop:v1 -> shop:v2",
		}},
		{Kind: "Service", Name: name, Action: v1.PendingCreate},
	}
	status := w.stored(t).Status
	if int(status.PendingChangeCount) != len(status.PendingChanges) || status.Phase != v1.PhasePaused {
		t.Errorf("%s with %d changes", status.Phase, status.PendingChangeCount)
	}
	for _, change := range want {
		if !slices.ContainsFunc(status.PendingChanges, func(c v1.PendingChange) bool { return cmp.Equal(c, change) }) {
			t.Errorf("%+v is not among %+v", change, status.PendingChanges)
		}
	}
	if c := meta.FindStatusCondition(status.Conditions, v1.ConditionProgressing); c.Status != metav1.ConditionFalse || c.Reason != v1.ReasonPaused {
		t.Errorf("%+v", c)
	}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(frontend), frontend); err != nil || frontend.ResourceVersion != version {
		t.Errorf("the frontend was written: %v", err)
	}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(service), service); !apierrors.IsNotFound(err) {
		t.Errorf("the Service was written: %v", err)
	}

	w.patch(t, `{"spec":{"paused":false}}`)
	w.reconcile(t)
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(service), service); err != nil {
		t.Error(err)
	}
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(frontend), frontend); err != nil || frontend.Spec.Template.Spec.Containers[0].Image != "shop:v2" {
		t.Errorf("the frontend has %v: %v", frontend.Spec.Template.Spec.Containers, err)
	}
	if status := w.stored(t).Status; status.PendingChangeCount != 0 || status.PendingChanges != nil || status.Phase == v1.PhasePaused {
		t.Errorf("%s with %d changes: %v", status.Phase, status.PendingChangeCount, status.PendingChanges)
	}

	testPausedDeletion(t, w)
}

// testPausedDeletion deletes a paused application, which proceeds.
func testPausedDeletion(t *testing.T, w *writer) {
	t.Helper()
	w.patch(t, `{"spec":{"paused":true}}`)
	app := w.stored(t)
	if err := w.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		w.reconcile(t)
	}
	if err := w.Get(t.Context(), w.key, app); err == nil && slices.Contains(app.Finalizers, v1.SpokeFinalizer) && app.Status.PendingChangeCount > 0 {
		t.Errorf("the deletion waits: %+v", app.Status)
	}
}
