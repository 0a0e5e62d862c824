package component_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestHasStarted checks that only a pod of the present intent shows that its server has started, and once it has, it
// does not matter how it goes on.
func TestHasStarted(t *testing.T) {
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	waits := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}
	runs := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	of := func(name, revision string, c corev1.ContainerStatus, inits ...corev1.ContainerStatus) *corev1.Pod {
		return pod(name, func(p *corev1.Pod) {
			p.Labels = map[string]string{appsv1.StatefulSetRevisionLabel: revision}
			c.Name = "main"
			p.Status.ContainerStatuses, p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "metrics", State: runs}, c}, inits
		})
	}
	const first, second = "app-database-0", "app-database-1"
	prepare := func(state corev1.ContainerState) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: component.PrepareContainer, State: state}
	}
	pulls, running := corev1.ContainerStatus{State: waits}, corev1.ContainerStatus{State: runs}
	outdated := func(s *appsv1.StatefulSet) { s.Annotations = map[string]string{v1.SpecHashAnnotation: "before"} }
	for name, tt := range map[string]struct {
		pods   []*corev1.Pod
		change func(*appsv1.StatefulSet)
		want   bool
	}{
		"no pod":                         {nil, nil, false},
		"its image cannot be pulled":     {[]*corev1.Pod{of(first, "r2", pulls, prepare(waits))}, nil, false},
		"runs":                           {[]*corev1.Pod{of(first, "r2", running)}, nil, true},
		"says that it started":           {[]*corev1.Pod{of(first, "r2", corev1.ContainerStatus{Started: new(true)})}, nil, true},
		"says that it did not":           {[]*corev1.Pod{of(first, "r2", corev1.ContainerStatus{Started: new(false), State: waits})}, nil, false},
		"has ended":                      {[]*corev1.Pod{of(first, "r2", corev1.ContainerStatus{State: ended})}, nil, true},
		"crashes":                        {[]*corev1.Pod{of(first, "r2", corev1.ContainerStatus{State: waits, LastTerminationState: ended})}, nil, true},
		"was restarted":                  {[]*corev1.Pod{of(first, "r2", corev1.ContainerStatus{State: waits, RestartCount: 1})}, nil, true},
		"prepares its data":              {[]*corev1.Pod{of(first, "r2", corev1.ContainerStatus{}, prepare(runs))}, nil, true},
		"could not prepare its data":     {[]*corev1.Pod{of(first, "r2", corev1.ContainerStatus{}, prepare(ended))}, nil, true},
		"a replica":                      {[]*corev1.Pod{of(first, "r1", running), of(second, "r2", running)}, nil, true},
		"of the revision before":         {[]*corev1.Pod{of(first, "r1", running), of(second, "r2", pulls)}, nil, false},
		"of the intent before":           {[]*corev1.Pod{of(first, "r2", running)}, outdated, false},
		"the revision is not known yet":  {[]*corev1.Pod{of(first, "r2", running)}, func(s *appsv1.StatefulSet) { s.Generation = 2 }, false},
		"there is no revision":           {[]*corev1.Pod{of(first, "", running)}, func(s *appsv1.StatefulSet) { s.Status.UpdateRevision = "" }, false},
		"the pod is of another workload": {[]*corev1.Pod{of("other-0", "r2", running)}, nil, false},
		"the intent is stored otherwise": {[]*corev1.Pod{of(first, "r2", running)}, func(s *appsv1.StatefulSet) { s.Spec.Template = template("mirror/image:1") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			set := statefulSet("database", 2, 0, func(s *appsv1.StatefulSet) { s.Status.UpdateRevision = "r2" })
			if tt.change != nil {
				tt.change(set)
			}
			found := live(set)
			for _, p := range tt.pods {
				with(found, p)
			}
			shop := []component.Component{part("database", nil, service("database"), statefulSet("database", 2, 0))}
			if got := component.HasStarted(shop, found, "database", "main"); got != tt.want {
				t.Errorf("started: %t, want %t", got, tt.want)
			}
			if component.HasStarted(shop, found, "backend", "main") || component.HasStarted(shop, live(), "database", "main") {
				t.Error("another component, or a set that does not exist, has started")
			}
		})
	}
}
