package component_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/shopfleet/shopfleet/api/v1"
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
	decision, err := component.Decide(component.Input{
		Components: shop(), Live: with(running(), stray), OwnerUID: owner, Generation: 1, Conditions: initialized(1),
	})
	if err != nil {
		t.Fatal(err)
	}
	deletes := component.DecideDeletion(shop(), live(stray), owner)
	for _, step := range append(decision.Steps, deletes.Steps...) {
		if step.Action != component.Apply {
			t.Errorf("%s of %s", step.Action, step.Target.GetName())
		}
	}
	if len(deletes.States) > 0 {
		t.Errorf("the deletion waits for the pod: %v", deletes.States)
	}
}

// serves makes a pod ready, with an image.
func serves(image string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		p.Spec.Containers = []corev1.Container{{Name: "main", Image: image}}
	}
}

// preparing gives a pod an init container that runs, after some restarts.
func preparing(restarts int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{
			Name: component.PrepareContainer, RestartCount: restarts,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
		}}
	}
}

// TestCopying checks when a replica counts as copying the primary's data.
func TestCopying(t *testing.T) {
	primary, first, second := "app-db-0", "app-db-1", "app-db-2"
	const waits = "1 of 3 replicas are ready"
	gone := func(p *corev1.Pod) { p.DeletionTimestamp = new(at(0)) }
	tests := map[string]struct {
		pods    []component.Resource
		reason  string
		message string
	}{
		"one copies": {[]component.Resource{pod(primary, serves("image:1")), pod(first), pod(second, preparing(0))},
			v1.ReasonCopyingData, waits + "; pod app-db-2 copies the primary's data"},
		"two copy": {[]component.Resource{pod(primary, serves("image:1")), pod(first, preparing(0)), pod(second, preparing(0))},
			v1.ReasonCopyingData, waits + "; pod app-db-1 copies the primary's data"},
		"the copy has crashed":         {[]component.Resource{pod(primary, serves("image:1")), pod(first, preparing(1))}, v1.ReasonWaitingForReplicas, waits},
		"there is nothing to copy":     {[]component.Resource{pod(primary), pod(first, preparing(0))}, v1.ReasonWaitingForReplicas, waits},
		"the primary itself":           {[]component.Resource{pod(primary, serves("image:1"), preparing(0))}, v1.ReasonWaitingForReplicas, waits},
		"the pod is being deleted":     {[]component.Resource{pod(primary, serves("image:1")), pod(first, preparing(0), gone)}, v1.ReasonWaitingForReplicas, waits},
		"the init container has ended": {[]component.Resource{pod(primary, serves("image:1")), pod(first)}, v1.ReasonWaitingForReplicas, waits},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := component.Observe(part("db", nil, service("db"), statefulSet("db", 3, 0)), with(live(tt.pods...), service("db"), statefulSet("db", 3, 1)), true)
			if got.Reason != tt.reason || got.Message != tt.message || got.Copying != (tt.reason == v1.ReasonCopyingData) {
				t.Errorf("got copying %t, %s, %q", got.Copying, got.Reason, got.Message)
			}
			if !got.Timed || got.Ready || got.Phase != v1.PhaseUpdating {
				t.Errorf("got timed %t, ready %t, %s", got.Timed, got.Ready, got.Phase)
			}
		})
	}
}

// TestPrepareExit checks that the last end of the init container counts, also while it runs again.
func TestPrepareExit(t *testing.T) {
	ended := func(code int32) *corev1.ContainerStateTerminated {
		return &corev1.ContainerStateTerminated{ExitCode: code}
	}
	prepare := func(now, last *corev1.ContainerStateTerminated) corev1.ContainerStatus {
		return corev1.ContainerStatus{
			Name: component.PrepareContainer, State: corev1.ContainerState{Terminated: now}, LastTerminationState: corev1.ContainerState{Terminated: last},
		}
	}
	other := corev1.ContainerStatus{Name: "copy", State: corev1.ContainerState{Terminated: ended(9)}}
	for name, tt := range map[string]struct {
		statuses []corev1.ContainerStatus
		deleted  bool
		want     int32
	}{
		"not started":             {nil, false, -1},
		"runs":                    {[]corev1.ContainerStatus{prepare(nil, nil)}, false, -1},
		"ended":                   {[]corev1.ContainerStatus{prepare(ended(3), nil)}, false, 3},
		"ended twice":             {[]corev1.ContainerStatus{prepare(ended(3), ended(4))}, false, 3},
		"runs again":              {[]corev1.ContainerStatus{prepare(nil, ended(4))}, false, 4},
		"behind another":          {[]corev1.ContainerStatus{other, prepare(ended(3), nil)}, false, 3},
		"another":                 {[]corev1.ContainerStatus{other}, false, -1},
		"the pod is deleted soon": {[]corev1.ContainerStatus{prepare(ended(3), nil)}, true, -1},
	} {
		p := pod("app-db-0")
		p.Status.InitContainerStatuses = tt.statuses
		if tt.deleted {
			p.DeletionTimestamp = new(at(0))
		}
		if got := component.PrepareExit(p); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
	if got := component.PrepareExit(nil); got != -1 {
		t.Errorf("without a pod: %d", got)
	}
}
