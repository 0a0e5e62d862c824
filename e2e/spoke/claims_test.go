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
)

// testDeletedClaim deletes the claim of a database, which stays until its pod is gone, and makes edits that
// replace the pod otherwise: it stays, and a user is told. What else the spec wants goes on.
func testDeletedClaim(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		app := w.runningShop(t)
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: "data-" + app.Name + "-database-0"}}
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil {
			t.Fatal(err)
		}
		uid, pod, set := claim.UID, w.podUID(t, app), &appsv1.StatefulSet{}
		set.Namespace, set.Name = app.Namespace, app.Name+"-database"
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(set), set); err != nil {
			t.Fatal(err)
		}
		if err := w.Delete(t.Context(), claim); err != nil {
			t.Fatal(err)
		}
		w.awaitStalledClaim(t, app, claim.Name, true)
		edits := map[string]func(*v1.EcommerceApp){
			"version": func(app *v1.EcommerceApp) { app.Spec.Database.Version = "13.9" },
			"storage": func(app *v1.EcommerceApp) { app.Spec.Database.Storage = "300Gi" },
			"replicas of the frontend": func(app *v1.EcommerceApp) {
				app.Spec.Frontend.Replicas = new(*app.Spec.Frontend.Replicas + 1)
			},
		}
		for name, edit := range edits {
			framework.Edit(t, w, app, edit)
			t.Log("edited the " + name)
		}
		w.awaitStalledClaim(t, app, claim.Name, false)
		framework.Await(t, w, app, "the frontend to be scaled", func(app *v1.EcommerceApp) error {
			if c := part(app, "frontend"); !c.Ready || c.Replicas != *app.Spec.Frontend.Replicas {
				return errNotYet
			}
			return nil
		})
		framework.Pause(t, 2*longestWait)
		now := &appsv1.StatefulSet{}
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(set), now); err != nil || now.UID != set.UID || now.Generation != set.Generation {
			t.Errorf("the StatefulSet was written or replaced: generation %d became %d, %v", set.Generation, now.Generation, err)
		}
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil || claim.UID != uid {
			t.Errorf("the claim is gone: %v", err)
		}
		if w.podUID(t, app) != pod {
			t.Error("the database's pod was replaced")
		}
	}
}

// awaitStalledClaim waits until an application is stalled for a claim that is being deleted.
func (e *environment) awaitStalledClaim(t *testing.T, app *v1.EcommerceApp, claim string, ready bool) {
	t.Helper()
	framework.Await(t, e, app, "the claim to be named", func(app *v1.EcommerceApp) error {
		stalled := meta.FindStatusCondition(app.Status.Conditions, v1.ConditionStalled)
		if stalled == nil || stalled.Status != metav1.ConditionTrue || stalled.Reason != v1.ReasonClaimBeingDeleted || !strings.Contains(stalled.Message, claim) {
			return fmt.Errorf("Stalled is %+v", stalled)
		}
		if got := meta.IsStatusConditionTrue(app.Status.Conditions, v1.ConditionReady); got != ready || app.Status.ObservedGeneration != app.Generation {
			return fmt.Errorf("Ready is %t, generation %d of %d is observed", got, app.Status.ObservedGeneration, app.Generation)
		}
		if !meta.IsStatusConditionTrue(app.Status.Conditions, v1.ConditionAvailable) {
			return errNotYet
		}
		return nil
	})
}
