package bench_test

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// patchedNamespace contains an application of the baselines whose status the bare patcher writes.
const patchedNamespace = "bare-status"

func deployments() schema.GroupVersionResource {
	return appsv1.SchemeGroupVersion.WithResource("deployments")
}

// measureStatus measures from the write of a Deployment's status in a member, which follows when
// its pod is no longer ready, until the status on the hub is written. The bare patcher writes the status that
// the hub wrote last, with another number: a status of another size would take another time.
func (f *fixture) measureStatus(b *testing.B) {
	b.Helper()
	shop := f.steadyShop(b)
	f.startPatcher(b, f.members[0], shop)
	f.compare(b, "member status → hub status, p50 / p99",
		subject{"hub", func(b *testing.B, _ int) time.Duration {
			b.Helper()
			took := f.report(b, shop.Namespace, hubSide())
			f.setReady(b, shop.Namespace, corev1.ConditionTrue)
			f.steadyShop(b)
			return took
		}},
		subject{"bare patcher", func(b *testing.B, _ int) time.Duration {
			b.Helper()
			took := f.report(b, patchedNamespace, bareSide())
			f.setReady(b, patchedNamespace, corev1.ConditionTrue)
			f.awaitDeployment(b, f.members[0], patchedNamespace)
			return took
		}})
}

// report makes the pod of the frontend in the first member not ready, and returns the time from the first
// status of the Deployment to the first of the application on the hub.
func (f *fixture) report(b *testing.B, namespace string, by side) time.Duration {
	b.Helper()
	m := f.members[0]
	from := f.Mark(b)
	// The first event is the present state.
	count := 0
	reported := f.hub.await(b, by.apps, namespace, func(*unstructured.Unstructured) bool { count++; return count > 1 })
	f.setReady(b, namespace, corev1.ConditionFalse)
	reported()
	changed := request{resource: deployments().Resource, subresource: "status", namespace: namespace}.first(b, from.Since(b, m.Cluster))
	patch, written := request{user: by.user, verb: "patch", resource: by.apps.Resource, subresource: "status", namespace: namespace}, audit.Log{}
	within(b, "the log of the hub", func() (bool, string) {
		// A watch may tell of the change before its response is complete.
		written = from.Since(b, f.hub.Cluster).Since(changed.Received).Where(patch.matches)
		return len(written) > 0, fmt.Sprintf("it has no request as %+v", patch)
	})
	return written[0].Completed.Sub(changed.Completed)
}

// setReady sets the readiness of the pod of the frontend in the first member, which lasts.
func (f *fixture) setReady(b *testing.B, namespace string, status corev1.ConditionStatus) {
	b.Helper()
	m, pods := f.members[0], &corev1.PodList{}
	if err := m.admin.List(b.Context(), pods, client.InNamespace(namespace), client.MatchingLabels{v1.ComponentLabel: render.Frontend}); err != nil {
		b.Fatal(err)
	}
	if len(pods.Items) != 1 {
		b.Fatalf("the frontend in %s has %d pods", namespace, len(pods.Items))
	}
	patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":%q}]}}`, status)
	if err := m.admin.Status().Patch(b.Context(), &pods.Items[0], client.RawPatch(types.StrategicMergePatchType, patch)); err != nil {
		b.Fatal(err)
	}
}

// startPatcher creates a Deployment in a member and an application on the hub, and starts the
// bare patcher between them. Its status is that of a shop.
func (f *fixture) startPatcher(b *testing.B, m *cluster, shop *v1.EcommerceApp) {
	b.Helper()
	if err := f.Hub.Get(b.Context(), client.ObjectKeyFromObject(shop), shop); err != nil {
		b.Fatal(err)
	}
	status := shop.Status
	app := bareOf(b, f.shop(patchedNamespace, "shop"))
	framework.Create(b, f.Hub, app)
	labels := map[string]string{v1.ComponentLabel: render.Frontend}
	framework.Create(b, m.admin, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: patchedNamespace, Name: "shop-frontend"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "frontend", Image: "shop:v1"}}},
			},
		},
	})
	last := int64(-1)
	m.follow(b, deployments(), patchedNamespace, func(_ watch.Event, d *unstructured.Unstructured) {
		ready, _, err := unstructured.NestedInt64(d.Object, "status", "readyReplicas")
		if err != nil || ready == last {
			return
		}
		last, status.Ready = ready, fmt.Sprintf("%d/1", ready)
		patch := fmt.Appendf(nil, `{"status":%s}`, encode(b, status))
		if _, err := f.hub.bare.Resource(bareApps()).Namespace(patchedNamespace).Patch(b.Context(), app.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
			b.Errorf("patching the status: %v", err)
		}
	})
	f.awaitDeployment(b, m, patchedNamespace)
}

// awaitDeployment blocks until the pod of the Deployment is ready and that is reported on the hub.
func (f *fixture) awaitDeployment(b *testing.B, m *cluster, namespace string) {
	b.Helper()
	framework.Await(b, m.admin, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop-frontend"}}, "the pod",
		func(d *appsv1.Deployment) error {
			if d.Status.ReadyReplicas != 1 || d.Status.UnavailableReplicas != 0 {
				return fmt.Errorf("%d of 1 pods are ready", d.Status.ReadyReplicas)
			}
			return nil
		})
	app := &unstructured.Unstructured{}
	app.SetGroupVersionKind(bareApps().GroupVersion().WithKind("EcommerceApp"))
	app.SetNamespace(namespace)
	app.SetName("shop")
	framework.Await(b, f.Hub, app, "its report", func(app *unstructured.Unstructured) error {
		if got, _, err := unstructured.NestedString(app.Object, "status", "ready"); err != nil || got != "1/1" {
			return fmt.Errorf("%q is reported: %w", got, err)
		}
		return nil
	})
}
