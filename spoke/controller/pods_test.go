package controller

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// wholePod returns a pod as an API server returns it: with more than is cached.
func wholePod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-database-0", UID: "1", ResourceVersion: "7",
			Labels: map[string]string{v1.InstanceLabel: "web"}, Annotations: map[string]string{"example.com/large": "value"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: "web-database"}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubelet"}},
		},
		Spec: corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "database", Image: "postgres:16", Command: []string{"serve"}}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, HostIP: "127.0.0.1",
			Conditions:            []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Unix(1, 0), Message: "ready"}},
			InitContainerStatuses: []corev1.ContainerStatus{{Name: "prepare", Image: "postgres:16", ImageID: "sha256:1", RestartCount: 2}},
			ContainerStatuses:     []corev1.ContainerStatus{{Name: "database", Image: "postgres:16", ContainerID: "containerd://1", Ready: true}},
		},
	}
}

func TestPodsAreCachedSlim(t *testing.T) {
	want := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-database-0", UID: "1", ResourceVersion: "7",
			Labels:          map[string]string{v1.InstanceLabel: "web"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Name: "web-database"}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "database", Image: "postgres:16"}}},
		Status: corev1.PodStatus{
			Phase:                 corev1.PodRunning,
			Conditions:            []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			InitContainerStatuses: []corev1.ContainerStatus{{Name: "prepare", RestartCount: 2}},
			ContainerStatuses:     []corev1.ContainerStatus{{Name: "database", Ready: true}},
		},
	}
	var got any = wholePod()
	for range 2 { // A transform may see an object twice.
		var err error
		if got, err = newSlimmer().pod(got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("cached pod (-want +got):\n%s", diff)
		}
	}
	if got, err := newSlimmer().pod("other"); got != "other" || err != nil {
		t.Errorf("another object becomes %v: %v", got, err)
	}
}

func TestPodsOfDatabasesAreCached(t *testing.T) {
	for object, options := range CacheOptions(EcommerceApp()).ByObject {
		if _, is := object.(*corev1.Pod); !is {
			continue
		}
		for component, want := range map[string]bool{"database": true, "database-backup": false, "backend": false} {
			if got := options.Label.Matches(labels.Set{v1.ManagedByLabel: v1.ManagedBy, v1.ComponentLabel: component}); got != want {
				t.Errorf("a pod of %s is cached: %t, want %t", component, got, want)
			}
		}
		if options.Label.Matches(labels.Set{v1.ComponentLabel: "database"}) {
			t.Error("a pod of another application is cached")
		}
		return
	}
	t.Error("pods are not restricted")
}

// TestPodsAreNoChildren checks that pods are observed, and that nothing lists them in order to
// prune or delete them.
func TestPodsAreNoChildren(t *testing.T) {
	kinds := []AnyKind{EcommerceApp(), WebApp(), MySQLCluster()}
	isPod := func(object client.Object) bool {
		_, is := object.(*corev1.Pod)
		return is
	}
	if slices.ContainsFunc(childrenOf(kinds), isPod) {
		t.Error("pods are children")
	}
	if !slices.ContainsFunc(observedOf(kinds), isPod) {
		t.Error("pods are not observed")
	}
}

func TestPodsWake(t *testing.T) {
	tests := map[string]struct {
		change func(*corev1.Pod)
		want   bool
	}{
		"what is not cached": {func(p *corev1.Pod) { p.ResourceVersion, p.Status.HostIP = "8", "127.0.0.2" }, false},
		"restart": {func(p *corev1.Pod) {
			p.ResourceVersion, p.Status.InitContainerStatuses[0].RestartCount = "8", 3
		}, true},
		"time of a condition": {func(p *corev1.Pod) {
			p.ResourceVersion, p.Status.Conditions[0].LastTransitionTime = "8", metav1.Unix(2, 0)
		}, false},
		"label": {func(p *corev1.Pod) { p.ResourceVersion, p.Labels["role"] = "8", "primary" }, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			after := wholePod()
			tt.change(after)
			update := event.UpdateEvent{ObjectOld: slim(t, wholePod()), ObjectNew: slim(t, after)}
			if got := childChanged(update); got != tt.want {
				t.Errorf("the owner is woken: %t, want %t", got, tt.want)
			}
		})
	}
}

func slim(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	object, err := newSlimmer().pod(pod)
	if err != nil {
		t.Fatal(err)
	}
	slim, ok := object.(*corev1.Pod)
	if !ok {
		t.Fatalf("the pod becomes %T", object)
	}
	return slim
}
