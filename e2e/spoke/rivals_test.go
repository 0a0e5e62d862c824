package spoke_test

import (
	"context"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testAutoscaled scales a Deployment of an application as an autoscaler does.
func testAutoscaled(w *environment, app *v1.EcommerceApp) func(*testing.T) {
	return func(t *testing.T) {
		mark := w.mark(t)
		backend := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-backend"}}
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: app.Spec.Backend.Autoscaling.MinReplicas + 1}}
		if err := w.SubResource("scale").Update(t.Context(), backend, client.WithSubResourceBody(scale), client.FieldOwner("autoscaler")); err != nil {
			t.Fatal(err)
		}
		w.awaitRunning(t, app)
		w.reconcile(t, app, "after scaling")
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(backend), backend); err != nil {
			t.Fatal(err)
		}
		if *backend.Spec.Replicas != scale.Spec.Replicas {
			t.Errorf("%d replicas, want those of the autoscaler: %d", *backend.Spec.Replicas, scale.Spec.Replicas)
		}
		if writes := w.writes(t, mark, app.Namespace).Of("deployments"); len(writes) > 0 {
			t.Errorf("wrote Deployments:\n%s", writes)
		}
	}
}

// testTwoManagers makes another client apply a field of a Deployment with force each time it was
// repaired: writes end, and a condition names the client. A new spec is applied all the same.
func testTwoManagers(w *environment, app *v1.EcommerceApp) func(*testing.T) {
	return func(t *testing.T) {
		mark := w.mark(t)
		frontend := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-frontend"}}
		begun := time.Now()
		end := w.rewrite(t, frontend, 1)
		framework.Await(t, w, app, "a condition that names the field and its manager", func(app *v1.EcommerceApp) error {
			degraded := framework.Condition(app.Status.Conditions, v1.ConditionDegraded)
			if degraded.Status != metav1.ConditionTrue || degraded.Reason != v1.ReasonFieldManagerConflict ||
				!strings.Contains(degraded.Message, stranger) || !strings.Contains(degraded.Message, "spec.replicas") {
				return errNotYet
			}
			return nil
		})
		awaitEvents(t, w, app, v1.ReasonFieldManagerConflict)
		w.reconcile(t, app, "while two managers disagree")
		end()
		// A slow machine may need more than the time in which repairs are counted.
		// Writes that met one of the other client's are refused, and repeated later.
		if writes, most := w.writes(t, mark, app.Namespace).Of("deployments").Succeeded(), 15+2*int(time.Since(begun)/(5*time.Minute)); len(writes) > most {
			t.Errorf("%d writes of Deployments, want %d at most", len(writes), most)
		}
		framework.Edit(t, w, app, func(app *v1.EcommerceApp) { app.Spec.Frontend.Replicas = new(int32(2)) })
		framework.Await(t, w, frontend, "the new number of replicas", func(d *appsv1.Deployment) error {
			if *d.Spec.Replicas != 2 {
				return errNotYet
			}
			return nil
		})
		w.awaitRunning(t, app)
		framework.AwaitCondition(t, w, app, metav1.Condition{Type: v1.ConditionDegraded, Status: metav1.ConditionFalse})
	}
}

// rewrite applies the number of replicas of a Deployment, with force, each time it differs, until
// end is called.
func (e *environment) rewrite(t *testing.T, deployment *appsv1.Deployment, replicas int64) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	watch, err := e.Watch(ctx, &appsv1.DeploymentList{}, client.InNamespace(deployment.Namespace))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range watch.ResultChan() {
			live, is := event.Object.(*appsv1.Deployment)
			if !is || live.Name != deployment.Name || int64(*live.Spec.Replicas) == replicas {
				continue
			}
			intent := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": replicas}}}
			intent.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
			intent.SetNamespace(deployment.Namespace)
			intent.SetName(deployment.Name)
			if err := e.Apply(ctx, client.ApplyConfigurationFromUnstructured(intent), client.FieldOwner(stranger), client.ForceOwnership); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	}()
	return func() {
		cancel()
		watch.Stop()
		<-done
	}
}
