package component_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// old marks a Deployment as written from another intent.
func old(d *appsv1.Deployment) { d.Annotations[v1.SpecHashAnnotation] = "old" }

// recorded records the rendered content of a Deployment in it; admission changes it later.
func recorded(d *appsv1.Deployment) { component.Record(component.Object{Resource: d}, "") }

// mirrored and annotated return Deployments that the API server has stored otherwise than they were applied.
func mirrored(d *appsv1.Deployment) { d.Spec.Template = template("mirror.example.com/image:1") }

func annotated(d *appsv1.Deployment) { d.Spec.Template.Annotations = map[string]string{"a": "b"} }

type deploymentCase struct {
	live    *appsv1.Deployment
	phase   v1.Phase
	reason  string
	message string
}

func deploymentCases() map[string]deploymentCase {
	condition := func(kind appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: kind, Status: status, Reason: reason}}
		}
	}
	now := at(0)
	return map[string]deploymentCase{
		"ready":   {deployment("web", 3, 3), v1.PhaseRunning, v1.ReasonRunning, "3 of 3 replicas are ready"},
		"missing": {nil, v1.PhaseUpdating, v1.ReasonProgressing, "Deployment app-web is being created"},
		"some pods are not ready": {deployment("web", 3, 1), v1.PhaseUpdating, v1.ReasonWaitingForReplicas,
			"1 of 3 replicas are ready"},
		"the status is old": {deployment("web", 3, 3, func(d *appsv1.Deployment) { d.Generation = 2 }), v1.PhaseUpdating,
			v1.ReasonWaitingForReplicas, "3 of 3 replicas are ready"},
		"rolling": {deployment("web", 3, 3, func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }), v1.PhaseUpdating,
			v1.ReasonProgressing, "1 of 3 replicas are updated"},
		"old pods are left": {deployment("web", 3, 3, func(d *appsv1.Deployment) { d.Status.Replicas, d.Status.UpdatedReplicas = 4, 4 }),
			v1.PhaseUpdating, v1.ReasonWaitingForReplicas, "1 of 4 replicas are still to be removed"},
		"stuck": {deployment("web", 3, 1, condition(appsv1.DeploymentProgressing, corev1.ConditionFalse, "ProgressDeadlineExceeded")),
			v1.PhaseFailed, v1.ReasonDeadlineExceeded, "Deployment app-web made no progress within its deadline: 1 of 3 replicas are ready"},
		"stuck, and another image is wanted": {deployment("web", 3, 1,
			condition(appsv1.DeploymentProgressing, corev1.ConditionFalse, "ProgressDeadlineExceeded"),
			old), v1.PhaseUpdating, v1.ReasonProgressing, "Deployment app-web is being updated"},
		"stuck before the change": {deployment("web", 3, 1,
			condition(appsv1.DeploymentProgressing, corev1.ConditionFalse, "ProgressDeadlineExceeded"),
			func(d *appsv1.Deployment) { d.Generation = 2 }),
			v1.PhaseUpdating, v1.ReasonWaitingForReplicas, "1 of 3 replicas are ready"},
		"pods are refused": {deployment("web", 3, 1, condition(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "FailedCreate")),
			v1.PhaseUpdating, v1.ReasonFailedCreate, "1 of 3 replicas are ready; the cluster rejects the creation of pods"},
		"another image": {deployment("web", 3, 3, old, func(d *appsv1.Deployment) { d.Spec.Template = template("image:0") }),
			v1.PhaseUpdating, v1.ReasonProgressing, "Deployment app-web is being updated"},
		"an older intent": {deployment("web", 3, 3, old),
			v1.PhaseUpdating, v1.ReasonProgressing, "Deployment app-web is being updated"},
		"another number": {deployment("web", 2, 2, old),
			v1.PhaseScaling, v1.ReasonScaling, "Deployment app-web is being scaled to 3 replicas"},
		"another number and image": {deployment("web", 2, 2, old, func(d *appsv1.Deployment) { d.Spec.Template = template("image:0") }),
			v1.PhaseUpdating, v1.ReasonProgressing, "Deployment app-web is being updated"},
		"scaled by a stranger":           {deployment("web", 1, 1), v1.PhaseRunning, v1.ReasonRunning, "1 of 1 replicas are ready"},
		"scaled to nothing by a policy":  {deployment("web", 0, 0), v1.PhaseUpdating, v1.ReasonWaitingForReplicas, "0 of 3 replicas are ready"},
		"stored with another image":      {deployment("web", 3, 3, mirrored), v1.PhaseRunning, v1.ReasonRunning, "3 of 3 replicas are ready"},
		"stored with other annotations":  {deployment("web", 3, 3, annotated), v1.PhaseRunning, v1.ReasonRunning, "3 of 3 replicas are ready"},
		"stored otherwise, and unready":  {deployment("web", 3, 1, mirrored), v1.PhaseUpdating, v1.ReasonWaitingForReplicas, "1 of 3 replicas are ready"},
		"scaled where images are stored": {deployment("web", 2, 2, recorded, old, mirrored), v1.PhaseScaling, v1.ReasonScaling, "Deployment app-web is being scaled to 3 replicas"},
		"another image where replicas are stored": {deployment("web", 3, 3, func(d *appsv1.Deployment) { d.Spec.Template = template("image:0") }, recorded, old, func(d *appsv1.Deployment) {
			d.Spec.Replicas = new(int32(2))
		}), v1.PhaseUpdating, v1.ReasonProgressing, "Deployment app-web is being updated"},
		"being deleted": {deployment("web", 3, 3, func(d *appsv1.Deployment) { d.DeletionTimestamp = &now }),
			v1.PhaseUpdating, v1.ReasonProgressing, "Deployment app-web is being deleted"},
		"a foreign container": {deployment("web", 3, 3, func(d *appsv1.Deployment) {
			d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, corev1.Container{Name: "mesh", Image: "mesh:1"})
		}), v1.PhaseRunning, v1.ReasonRunning, "3 of 3 replicas are ready"},
	}
}

func TestObserveDeployment(t *testing.T) {
	for name, tt := range deploymentCases() {
		t.Run(name, func(t *testing.T) {
			found := live()
			if tt.live != nil {
				found = live(tt.live)
			}
			c := part("web", nil, deployment("web", 3, 0))
			got := component.Observe(c, found, true)
			if got.Phase != tt.phase || got.Reason != tt.reason || got.Message != tt.message || got.Ready != (tt.phase == v1.PhaseRunning) {
				t.Errorf("got %s, %s, %q, ready %v", got.Phase, got.Reason, got.Message, got.Ready)
			}
			first := component.Observe(c, found, false)
			want := tt.phase
			if want == v1.PhaseUpdating || want == v1.PhaseScaling {
				want = v1.PhaseCreating
			}
			if first.Phase != want {
				t.Errorf("before the first readiness the phase is %s, want %s", first.Phase, want)
			}
		})
	}
}

func TestObserveStatefulSet(t *testing.T) {
	tests := map[string]struct {
		live    component.Live
		ready   bool
		reason  string
		message string
	}{
		"ready": {live(statefulSet("db", 3, 3)), true, v1.ReasonRunning, "3 of 3 replicas are ready"},
		"a claim is not bound": {live(statefulSet("db", 3, 1), claim("data-app-db-0", "10Gi", corev1.ClaimBound), claim("data-app-db-1", "10Gi", corev1.ClaimPending)),
			false, v1.ReasonWaitingForStorage, "claim data-app-db-1 is not bound"},
		"pods are not ready": {live(statefulSet("db", 3, 1), claim("data-app-db-0", "10Gi", corev1.ClaimBound)),
			false, v1.ReasonWaitingForReplicas, "1 of 3 replicas are ready"},
		"an update is not over": {live(statefulSet("db", 3, 3, func(s *appsv1.StatefulSet) {
			s.Status.UpdateRevision, s.Status.UpdatedReplicas = "r2", 2
		})), false, v1.ReasonProgressing, "2 of 3 replicas are updated"},
		"a field that cannot change": {live(statefulSet("db", 3, 3, func(s *appsv1.StatefulSet) { s.Spec.ServiceName = "other" })),
			false, v1.ReasonProgressing, "StatefulSet app-db is being updated"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := component.Observe(part("db", nil, statefulSet("db", 3, 0)), tt.live, true)
			if got.Ready != tt.ready || got.Reason != tt.reason || got.Message != tt.message || got.Growing {
				t.Errorf("got ready %v, %s, %q, growing %v", got.Ready, got.Reason, got.Message, got.Growing)
			}
			if got.Timed == got.Ready {
				t.Errorf("got timed %v, ready %v: we watch the time of one that is not ready", got.Timed, got.Ready)
			}
		})
	}
}

func TestObserveOthers(t *testing.T) {
	noted := part("ingress", nil, configMap("rules", "ingress"))
	noted.Note = "give it a host"
	once := part("secrets", nil, configMap("secret", "secrets"))
	once.Objects[0].Once = true
	changed := configMap("secret", "secrets")
	changed.Annotations[v1.SpecHashAnnotation] = "old"
	autoscaled := part("web", nil, deployment("web", 0, 0, func(d *appsv1.Deployment) { d.Spec.Replicas = nil }))
	tests := map[string]struct {
		c    component.Component
		live component.Live
		want component.State
	}{
		"disabled": {component.Component{Name: "x", Disabled: true}, live(),
			component.State{Name: "x", Phase: v1.PhaseDisabled, Ready: true, Reason: v1.ReasonDisabled, Message: "disabled"}},
		"with a note": {noted, live(configMap("rules", "ingress")),
			component.State{Name: "ingress", Phase: v1.PhaseRunning, Ready: true, Reason: v1.ReasonRunning, Message: "ready; give it a host"}},
		"written once": {once, live(changed),
			component.State{Name: "secrets", Phase: v1.PhaseRunning, Ready: true, Reason: v1.ReasonRunning, Message: "ready"}},
		"autoscaled": {autoscaled, live(deployment("web", 7, 7)),
			component.State{Name: "web", Phase: v1.PhaseRunning, Ready: true, Reason: v1.ReasonRunning, Message: "7 of 7 replicas are ready",
				Replicas: 7, ReadyReplicas: 7, UpdatedReplicas: 7, Selector: "pods=web", Awaited: "pods=web", Serving: true, Creation: component.Creation{Pods: 7}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, component.Observe(tt.c, tt.live, true)); diff != "" {
				t.Errorf("state (-want +got):\n%s", diff)
			}
		})
	}
}

// TestClassifyCredentials checks that a database whose credentials exist already is new.
func TestClassifyCredentials(t *testing.T) {
	c := part("database", nil, deployment("database", 1, 0))
	credentials := component.Object{Resource: configMap("credentials", "database"), Once: true}
	c.Objects = append([]component.Object{credentials}, c.Objects...)
	if got := component.Classify(c, live(configMap("credentials", "database")), nil); got != component.New {
		t.Errorf("got %q, want %q", got, component.New)
	}
}

func TestClassify(t *testing.T) {
	tests := map[string]struct {
		live component.Live
		want component.Change
	}{
		"new":       {live(), component.New},
		"unchanged": {live(deployment("web", 1, 1)), component.Unchanged},
		"image": {live(deployment("web", 3, 3, old, func(d *appsv1.Deployment) { d.Spec.Template = template("image:0") })),
			component.ImageUpdated},
		"restart": {live(deployment("web", 3, 3, old, func(d *appsv1.Deployment) {
			d.Spec.Template.Annotations = map[string]string{v1.RestartedAtAnnotation: "then"}
		})), component.ImageUpdated},
		"restart, and no more than stored": {live(deployment("web", 3, 3, old, recorded, func(d *appsv1.Deployment) {
			d.Spec.Template.Annotations = map[string]string{v1.RestartedAtAnnotation: "then"}
		})), component.ConfigurationUpdated},
		"configuration, with images of a mirror": {live(deployment("web", 3, 3, recorded, old, mirrored)), component.ConfigurationUpdated},
		"image, with images of a mirror": {live(deployment("web", 3, 3, func(d *appsv1.Deployment) { d.Spec.Template = template("image:0") }, recorded, old, mirrored)),
			component.ImageUpdated},
		"number, with images of a mirror":       {live(deployment("web", 1, 1, recorded, old, mirrored), configMap("web-2", "web")), component.Scaled},
		"unchanged, with images of a mirror":    {live(deployment("web", 1, 1, mirrored)), component.Unchanged},
		"configuration, with replicas of a cap": {live(deployment("web", 3, 3, recorded, old, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(1)) }), configMap("web-2", "web")), component.ConfigurationUpdated},
		"number":                                {live(deployment("web", 1, 1, old), configMap("web-2", "web")), component.Scaled},
		"configuration":                         {live(deployment("web", 3, 3, old)), component.ConfigurationUpdated},
		"configuration and number":              {live(deployment("web", 1, 1, old), configMap("web-1", "web")), component.ConfigurationUpdated},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := component.Classify(part("web", nil, configMap("web-2", "web"), deployment("web", 3, 0)), tt.live, nil); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestClassifyWritten checks that a workload that the API server refused is not rolled out.
func TestClassifyWritten(t *testing.T) {
	t.Parallel()
	old := func(d *appsv1.Deployment) {
		d.Annotations[v1.SpecHashAnnotation], d.Spec.Template = "old", template("image:0")
	}
	c := part("web", nil, configMap("web-2", "web"), deployment("web", 3, 0))
	workload, config := component.KeyOf(deployment("web", 3, 0)), component.KeyOf(configMap("web-2", "web"))
	for name, tt := range map[string]struct {
		live    component.Live
		written map[component.Key]bool
		want    component.Change
	}{
		"all":                 {live(deployment("web", 3, 3, old)), nil, component.ImageUpdated},
		"the workload":        {live(deployment("web", 3, 3, old)), map[component.Key]bool{workload: true}, component.ImageUpdated},
		"all but it":          {live(deployment("web", 3, 3, old)), map[component.Key]bool{config: true}, component.Unchanged},
		"all but it, number":  {live(deployment("web", 1, 1), configMap("web-2", "web")), map[component.Key]bool{config: true}, component.Unchanged},
		"a part of a new one": {live(), map[component.Key]bool{config: true}, component.New},
	} {
		if got := component.Classify(c, tt.live, tt.written); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// TestWantedPods checks that the replicas that others set count, unless the wanted or the stored number is zero.
func TestWantedPods(t *testing.T) {
	for name, tt := range map[string]struct {
		wanted, live, counted int32
	}{
		"as wanted":         {3, 3, 3},
		"scaled by others":  {3, 5, 5},
		"to none by others": {3, 0, 3},
		"none are wanted":   {0, 2, 0},
		"neither has pods":  {0, 0, 0},
	} {
		got := component.Observe(part("web", nil, deployment("web", tt.wanted, 0)), live(deployment("web", tt.live, 0)), true)
		if got.Replicas != tt.counted {
			t.Errorf("%s: %d pods, want %d", name, got.Replicas, tt.counted)
		}
	}
}

// TestScaledByAnAutoscaler checks that replicas that an autoscaler sets count as they are stored.
func TestScaledByAnAutoscaler(t *testing.T) {
	left := func(stored int32) *appsv1.Deployment {
		d := deployment("web", 0, 0, old)
		d.Spec.Replicas = nil
		recorded(d)
		d.Spec.Replicas = new(stored)
		return d
	}
	for stored, want := range map[int32]v1.Phase{3: v1.PhaseUpdating, 5: v1.PhaseScaling} {
		if got := component.Observe(part("web", nil, deployment("web", 3, 0)), live(left(stored)), true); got.Phase != want {
			t.Errorf("%d stored, 3 wanted: phase %s, want %s", stored, got.Phase, want)
		}
	}
}
