package controller

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// annotate sets an annotation of the application to a JSON value.
func (d *lostDatabase) annotate(t *testing.T, key, value string) {
	t.Helper()
	d.patch(t, fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, key, value))
}

func (d *lostDatabase) forgetStatus(t *testing.T) {
	t.Helper()
	app := d.stored(t)
	app.Status.DatabaseCreated = false
	if err := d.Status().Update(t.Context(), app); err != nil {
		t.Fatal(err)
	}
}

func (d *lostDatabase) createClaim(t *testing.T, ordinal int) {
	t.Helper()
	claim := render.DatabaseClaim(d.key.Name, d.key.Namespace, d.engine)
	claim.Name = strings.TrimSuffix(claim.Name, "0") + fmt.Sprint(ordinal)
	claim.Spec = corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, VolumeName: "pv",
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}
	if err := d.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	// No controller is there that ends the protection.
	if err := d.Patch(t.Context(), claim, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	claim.Status.Phase = corev1.ClaimBound
	if err := d.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
}

// deleteClaim deletes the claim of the primary.
func (d *lostDatabase) deleteClaim(t *testing.T) {
	t.Helper()
	d.deleteObject(t, &corev1.PersistentVolumeClaim{}, "data-"+d.pod(0))
}

func (d *lostDatabase) deleteObject(t *testing.T, object client.Object, name string) {
	t.Helper()
	object.SetNamespace(d.key.Namespace)
	object.SetName(name)
	if err := d.Delete(t.Context(), object, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
}

func (d *lostDatabase) deletePod(t *testing.T, ordinal int) {
	t.Helper()
	d.deleteObject(t, &corev1.Pod{}, d.pod(ordinal))
}

// createPod creates the pod of the primary.
func (d *lostDatabase) createPod(t *testing.T, ready bool) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.key.Namespace, Name: d.pod(0), Labels: d.names().PodSelector()},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: component.PrepareContainer, Image: "db:1"}},
			Containers:     []corev1.Container{{Name: database.Container, Image: "db:1"}},
		},
	}
	if err := d.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if ready {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	if err := d.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

// endPrepare makes the init container of the primary end with a code. The pod is not ready.
func (d *lostDatabase) endPrepare(t *testing.T, code int32) {
	t.Helper()
	pod := &corev1.Pod{}
	if err := d.Get(t.Context(), d.keyOf(d.pod(0)), pod); err != nil {
		t.Fatal(err)
	}
	pod.Status.Conditions = nil
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{
		Name: component.PrepareContainer, Image: "db:1", RestartCount: 1,
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}},
	}}
	if err := d.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

// end deletes the application after a change of it, and its pods.
func (d *lostDatabase) end(t *testing.T, change string) {
	t.Helper()
	d.patch(t, change)
	if err := d.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(d.key.Namespace), client.MatchingLabels(d.names().PodSelector()), client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	if err := d.Delete(t.Context(), &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: d.key.Namespace, Name: d.key.Name}}); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		d.reconcile(t)
		d.collectGarbage(t)
	}
	if err := d.Get(t.Context(), d.key, &v1.EcommerceApp{}); err == nil {
		t.Fatal("the application is still there")
	}
}

// collectGarbage ends the deletion of what is deleted in the foreground, in place of the controller.
func (d *lostDatabase) collectGarbage(t *testing.T) {
	t.Helper()
	for _, list := range []client.ObjectList{&appsv1.StatefulSetList{}, &appsv1.DeploymentList{}} {
		if err := d.List(t.Context(), list, client.InNamespace(d.key.Namespace), client.MatchingLabels{v1.InstanceLabel: d.key.Name}); err != nil {
			t.Fatal(err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			object, ok := item.(client.Object)
			if !ok || object.GetDeletionTimestamp() == nil {
				continue
			}
			if err := d.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (d *lostDatabase) createAgain(t *testing.T) {
	t.Helper()
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: d.key.Namespace, Name: d.key.Name}, Spec: v1.EcommerceAppSpec{Image: "shop:v1"}}
	if err := d.Create(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	d.patch(t, d.spec())
}
