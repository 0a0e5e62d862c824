package component_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/shopfleet/shopfleet/spoke/component"
)

// pod returns a pod of a StatefulSet.
func pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	for _, c := range change {
		c(p)
	}
	return p
}

func TestPods(t *testing.T) {
	kind := schema.GroupKind{Kind: "Pod"}
	want := []component.Key{{kind, "shop", "app-database-0"}, {kind, "shop", "app-database-1"}}
	if diff := cmp.Diff(want, component.Pods(statefulSet("database", 2, 0))); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	if got := component.Pods(deployment("web", 2, 0)); got != nil {
		t.Errorf("pods of a Deployment: %v", got)
	}
}

// TestPodsAreNeverDeleted gives the application itself as the controller of a pod, which only
// a user can do.
func TestPodsAreNeverDeleted(t *testing.T) {
	stray := pod("app-database-0", func(p *corev1.Pod) { p.ObjectMeta = metadata(p.Name, "database") })
	decision, err := component.Plan(component.Input{
		Components: shop(), Live: with(running(), stray), OwnerUID: owner, Generation: 1, Conditions: initialized(1),
	})
	if err != nil {
		t.Fatal(err)
	}
	deletes := component.DeletePlan(shop(), live(stray), owner)
	for _, step := range append(decision.Steps, deletes.Steps...) {
		if step.Action != component.Apply {
			t.Errorf("%s of %s", step.Action, step.Target.GetName())
		}
	}
	if len(deletes.States) > 0 {
		t.Errorf("the deletion waits for the pod: %v", deletes.States)
	}
}
