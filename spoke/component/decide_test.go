package component_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// told returns the steps in short: an action and the component or object.
func told(steps []component.Step) []string {
	var list []string
	for _, s := range steps {
		switch s.Action {
		case component.Apply:
			list = append(list, "apply "+strings.ToLower(s.Object.Resource.GetObjectKind().GroupVersionKind().Kind)+" "+s.Component)
		case component.Grow:
			list = append(list, fmt.Sprintf("grow %s to %s", s.Target.GetName(), s.Size.String()))
		default:
			list = append(list, fmt.Sprintf("%s %s %s", strings.ToLower(string(s.Action)), s.Target.GetName(), s.Propagation))
		}
	}
	return list
}

func wait(states []component.State) map[string]string {
	waits := make(map[string]string)
	for _, s := range states {
		if s.Reason == v1.ReasonWaitingForDependency {
			waits[s.Name] = string(s.Phase) + " " + s.Message
		}
	}
	return waits
}

func all() []string {
	return []string{
		"apply service database", "apply statefulset database",
		"apply deployment backend", "apply service backend",
		"apply deployment frontend", "apply service frontend",
		"apply configmap ingress", "apply configmap monitoring",
	}
}

// written changes the hash and the image of a Deployment.
func written(hash, image string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Annotations = map[string]string{v1.SpecHashAnnotation: hash}
		d.Spec.Template = template(image)
	}
}

// gatesTest holds a state of an application, and its wanted steps and the components that wait.
type gatesTest struct {
	components []component.Component
	live       component.Live
	conditions []metav1.Condition
	steps      []string
	waits      map[string]string
}

// check checks the plan of the application.
func (g gatesTest) check(t *testing.T) {
	t.Helper()
	got, err := component.Decide(component.Input{
		Components: g.components, Live: g.live, OwnerUID: owner, Generation: 1, Conditions: g.conditions,
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(g.steps, told(got.Steps)); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(g.waits, wait(got.States)); diff != "" {
		t.Errorf("waiting (-want +got):\n%s", diff)
	}
}

func TestDecideGates(t *testing.T) {
	disabled := shop()
	disabled[1] = component.Component{Name: "backend", DependsOn: []string{"database"}, Disabled: true}
	newVersion := shop()
	newVersion[1].Objects[0].Resource = deployment("backend", 2, 0, written("new", "image:2"))
	stopping := slices.Clone(newVersion)
	stopping[1].Stopped = true
	databaseDown := with(running(), statefulSet("database", 1, 0))
	otherImage := with(running(), statefulSet("database", 1, 0), deployment("backend", 2, 2, written("current", "image:edited")))
	tests := map[string]gatesTest{
		"nothing exists": {shop(), live(), nil, all()[:2], map[string]string{
			"backend": "Pending waiting for database", "frontend": "Pending waiting for backend",
			"ingress": "Pending waiting for frontend", "monitoring": "Pending waiting for backend and frontend",
		}},
		"the database is ready": {shop(), live(service("database"), statefulSet("database", 1, 1)), nil, all()[:4], map[string]string{
			"frontend": "Pending waiting for backend", "ingress": "Pending waiting for frontend", "monitoring": "Pending waiting for backend and frontend",
		}},
		"the backend is ready": {shop(), live(service("database"), statefulSet("database", 1, 1), deployment("backend", 2, 2), service("backend")), nil,
			all()[:6], map[string]string{"ingress": "Pending waiting for frontend", "monitoring": "Pending waiting for frontend"}},
		"all is well":          {shop(), running(), initialized(1), all(), map[string]string{}},
		"the database is down": {shop(), databaseDown, initialized(1), all(), map[string]string{}},
		"the database is down and the frontend was deleted": {shop(),
			without(with(running(), statefulSet("database", 1, 0)), deployment("frontend", 3, 3), service("frontend")), initialized(1), all(), map[string]string{}},
		"the database is down at first, and the backend's Deployment was deleted": {shop(),
			live(service("database"), statefulSet("database", 1, 0), service("backend")), nil, all()[:2], map[string]string{
				"backend": "Pending waiting for database", "frontend": "Pending waiting for backend",
				"ingress": "Pending waiting for frontend", "monitoring": "Pending waiting for backend and frontend",
			}},
		"a new version of the backend while the database is down": {newVersion, databaseDown, initialized(1),
			append(append(append([]string{}, all()[:2]...), "apply service backend"), all()[4:]...), map[string]string{"backend": "Updating waiting for database"}},
		"a new version of the backend, which is to stop, while the database is down": {stopping, databaseDown, initialized(1),
			all(), map[string]string{"backend": "Updating waiting for database"}},
		"an image of the backend that another client changed while the database is down": {shop(), otherImage, initialized(1), all(), map[string]string{}},
		"a new spec while the backend is down, and the frontend's Deployment is missing": {shop(),
			without(with(running(), deployment("backend", 2, 0)), deployment("frontend", 3, 3)), initialized(0),
			append(all()[:4], all()[6:]...), map[string]string{"frontend": "Pending waiting for backend"}},
		"a new version of the backend": {newVersion, running(), initialized(1), all(), map[string]string{}},
		"a disabled component is no obstacle": {disabled,
			live(service("database"), statefulSet("database", 1, 1)), nil,
			[]string{all()[0], all()[1], all()[4], all()[5]}, map[string]string{"ingress": "Pending waiting for frontend", "monitoring": "Pending waiting for frontend"}},
	}
	for name, tt := range tests {
		t.Run(name, tt.check)
	}
}

// TestDecideAwaits checks that a component that never ran begins once the objects that it refers to are there, and that one
// that runs goes on without them.
func TestDecideAwaits(t *testing.T) {
	secret := component.Key{GroupKind: schema.GroupKind{Kind: "Secret"}, Name: "card"}
	components := shop()
	components[0].References = []component.Key{secret}
	for name, tt := range map[string]struct {
		live    component.Live
		awaited map[component.Key]bool
		want    string
	}{
		"new":          {live(), map[component.Key]bool{secret: true}, "Pending waiting for Secret card"},
		"there":        {live(), map[component.Key]bool{}, ""},
		"runs already": {running(), map[component.Key]bool{secret: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := component.Decide(component.Input{Components: components, Live: tt.live, OwnerUID: owner, Generation: 1, Awaited: tt.awaited})
			if err != nil {
				t.Fatal(err)
			}
			begins := slices.Contains(told(got.Steps), all()[1])
			if waits := wait(got.States)["database"]; waits != tt.want || begins != (tt.want == "") {
				t.Errorf("waits %q, begins %t; want %q", waits, begins, tt.want)
			}
		})
	}
}

// TestDecideKeepsConfiguration checks that the ConfigMap of the version before stays for pods that restart
// until all of them are replaced, and that the wanted one is there, or restored, at once.
func TestDecideKeepsConfiguration(t *testing.T) {
	const create, update, prune = "apply configmap backend", "apply deployment backend", "delete app-backend-1 Background"
	config := func(name string) *corev1.ConfigMap { return configMap("app-backend-"+name, "backend") }
	before := deployment("backend", 2, 2, written("old", "image:1"))
	after := func(change func(*appsv1.Deployment)) component.Live {
		return with(running(), config("1"), config("2"), deployment("backend", 2, 2, written("new", "image:2"), change))
	}
	nothing := func(*appsv1.Deployment) {}
	stuck := func(d *appsv1.Deployment) {
		d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"}}
	}
	down := statefulSet("database", 1, 0)
	tests := map[string]struct {
		live     component.Live
		eventual bool
		steps    []string
	}{
		"the version waits":                               {with(running(), before, down, config("1")), false, []string{create}},
		"the version is written":                          {with(running(), before, config("1")), false, []string{create, update}},
		"the version is planned":                          {with(running(), before, config("1")), true, []string{create, update, prune}},
		"the new Deployment was not observed yet":         {after(func(d *appsv1.Deployment) { d.Generation = 2 }), false, []string{create, update}},
		"pods are being replaced":                         {after(func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 1 }), false, []string{create, update}},
		"a pod of before is left":                         {after(func(d *appsv1.Deployment) { d.Status.Replicas = 3 }), false, []string{create, update}},
		"the rollout fails":                               {after(stuck), false, []string{create, update}},
		"a new pod is not ready":                          {after(func(d *appsv1.Deployment) { d.Status.AvailableReplicas = 1 }), false, []string{create, update}},
		"all pods are replaced":                           {after(nothing), false, []string{create, update, prune}},
		"all pods are replaced, and the database is down": {with(after(nothing), down), false, []string{create, update, prune}},
		"the new one was deleted":                         {without(after(nothing), config("2")), false, []string{create, update}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			components := shop()
			components[1] = part("backend", []string{"database"}, config("2"), deployment("backend", 2, 0, written("new", "image:2")))
			got, err := component.Decide(component.Input{
				Components: components, Live: without(tt.live, service("backend")), OwnerUID: owner, Generation: 2, Conditions: initialized(1), Eventual: tt.eventual,
			})
			if err != nil {
				t.Fatal(err)
			}
			steps := told(slices.DeleteFunc(got.Steps, func(s component.Step) bool { return s.Component != "backend" }))
			if diff := cmp.Diff(tt.steps, steps); diff != "" {
				t.Errorf("steps of the backend (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecideOfStorage(t *testing.T) {
	grown := func(s *appsv1.StatefulSet) { s.Spec.VolumeClaimTemplates[0].Spec = claimSpec("20Gi") }
	now := at(0)
	tests := map[string]struct {
		want  *appsv1.StatefulSet
		live  []component.Resource
		steps []string
	}{
		"as it is": {statefulSet("db", 2, 0), []component.Resource{statefulSet("db", 2, 2), claim("data-app-db-0", "10Gi", corev1.ClaimBound)},
			[]string{"apply statefulset db"}},
		"larger": {statefulSet("db", 2, 0, grown),
			[]component.Resource{statefulSet("db", 2, 2), claim("data-app-db-0", "10Gi", corev1.ClaimBound), claim("data-app-db-1", "10Gi", corev1.ClaimBound)},
			[]string{"grow data-app-db-0 to 20Gi", "grow data-app-db-1 to 20Gi", "apply statefulset db"}},
		"larger, one of two claims has grown": {statefulSet("db", 2, 0, grown),
			[]component.Resource{statefulSet("db", 2, 2), claim("data-app-db-0", "20Gi", corev1.ClaimBound), claim("data-app-db-1", "10Gi", corev1.ClaimBound)},
			[]string{"grow data-app-db-1 to 20Gi", "apply statefulset db"}},
		"larger, the claims have grown": {statefulSet("db", 1, 0, grown),
			[]component.Resource{statefulSet("db", 1, 1), claim("data-app-db-0", "20Gi", corev1.ClaimBound)},
			[]string{"recreate app-db Orphan"}},
		"larger, and started all at once": {statefulSet("db", 1, 0, grown, func(s *appsv1.StatefulSet) { s.Spec.PodManagementPolicy = appsv1.ParallelPodManagement }),
			[]component.Resource{statefulSet("db", 1, 1, func(s *appsv1.StatefulSet) { s.Spec.PodManagementPolicy = appsv1.OrderedReadyPodManagement }),
				claim("data-app-db-0", "10Gi", corev1.ClaimBound)},
			[]string{"grow data-app-db-0 to 20Gi", "recreate app-db Orphan"}},
		"larger, and with other labels": {statefulSet("db", 1, 0, grown, func(s *appsv1.StatefulSet) {
			s.Spec.VolumeClaimTemplates[0].Labels = map[string]string{"a": "b"}
		}), []component.Resource{statefulSet("db", 1, 1), claim("data-app-db-0", "10Gi", corev1.ClaimBound)},
			[]string{"grow data-app-db-0 to 20Gi", "recreate app-db Orphan"}},
		"larger, one claim has grown and one is not bound": {statefulSet("db", 2, 0, grown),
			[]component.Resource{statefulSet("db", 2, 2, grown), claim("data-app-db-0", "20Gi", corev1.ClaimBound), claim("data-app-db-1", "10Gi", corev1.ClaimPending)},
			[]string{"apply statefulset db"}},
		"larger, the old set is gone": {statefulSet("db", 1, 0, grown), []component.Resource{claim("data-app-db-0", "20Gi", corev1.ClaimBound)},
			[]string{"apply statefulset db"}},
		"larger, the old set is going": {statefulSet("db", 1, 0, grown),
			[]component.Resource{statefulSet("db", 1, 1, func(s *appsv1.StatefulSet) { s.DeletionTimestamp = &now }), claim("data-app-db-0", "20Gi", corev1.ClaimBound)},
			[]string{"apply statefulset db"}},
		"a kept claim is larger": {statefulSet("db", 1, 0), []component.Resource{statefulSet("db", 1, 1), claim("data-app-db-0", "50Gi", corev1.ClaimBound)},
			[]string{"apply statefulset db"}},
		"another selector": {statefulSet("db", 1, 0), []component.Resource{statefulSet("db", 1, 1, func(s *appsv1.StatefulSet) {
			s.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"old": "yes"}}
		})}, []string{"recreate app-db Foreground"}},
		"a stranger's set": {statefulSet("db", 1, 0, grown), []component.Resource{statefulSet("db", 1, 1, func(s *appsv1.StatefulSet) { s.OwnerReferences = nil })},
			[]string{"apply statefulset db"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := component.Decide(component.Input{
				Components: []component.Component{part("db", nil, tt.want)}, Live: live(tt.live...), OwnerUID: owner, Generation: 1,
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.steps, told(got.Steps)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestImmutable(t *testing.T) {
	tests := map[string]struct {
		change func(*appsv1.StatefulSet)
		want   string
	}{
		"replicas":      {func(s *appsv1.StatefulSet) { s.Spec.Replicas = new(int32(5)) }, ""},
		"image":         {func(s *appsv1.StatefulSet) { s.Spec.Template = template("image:2") }, ""},
		"default":       {func(s *appsv1.StatefulSet) { s.Spec.PodManagementPolicy = appsv1.OrderedReadyPodManagement }, ""},
		"default class": {func(s *appsv1.StatefulSet) { s.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = new("default") }, ""},
		"parallel":      {func(s *appsv1.StatefulSet) { s.Spec.PodManagementPolicy = appsv1.ParallelPodManagement }, "podManagementPolicy"},
		"service":       {func(s *appsv1.StatefulSet) { s.Spec.ServiceName = "other" }, "serviceName"},
		"selector":      {func(s *appsv1.StatefulSet) { s.Spec.Selector = nil }, "selector"},
		"size":          {func(s *appsv1.StatefulSet) { s.Spec.VolumeClaimTemplates[0].Spec = claimSpec("1Gi") }, "volumeClaimTemplates"},
		"label":         {func(s *appsv1.StatefulSet) { s.Spec.VolumeClaimTemplates[0].Labels = map[string]string{"a": "b"} }, ""},
		"no claims":     {func(s *appsv1.StatefulSet) { s.Spec.VolumeClaimTemplates = nil }, "volumeClaimTemplates"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := component.Immutable(statefulSet("db", 1, 0), statefulSet("db", 1, 1, tt.change)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDecidePrunes(t *testing.T) {
	retained := configMap("credentials", "database")
	retained.OwnerReferences = nil
	theirs := configMap("theirs", "frontend")
	theirs.OwnerReferences[0].UID = "someone"
	now := at(0)
	going := configMap("going", "frontend")
	going.DeletionTimestamp = &now
	components := shop()
	components[4] = component.Component{Name: "monitoring", Disabled: true}
	got, err := component.Decide(component.Input{
		Components: components, OwnerUID: owner, Generation: 1, Conditions: initialized(1),
		Live: with(running(), configMap("old-config", "backend"), deployment("cache", 1, 1), configMap("old-rules", "ingress"), retained, theirs, going),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"delete app-dashboard Background", "delete old-rules Background", "delete old-config Background", "delete app-cache Foreground"}
	if diff := cmp.Diff(want, told(got.Steps)[len(all())-1:]); diff != "" {
		t.Errorf("deletions (-want +got):\n%s", diff)
	}
}

func TestDecideDeletion(t *testing.T) {
	retained := configMap("credentials", "database")
	retained.OwnerReferences = nil
	now := at(0)
	going := func(d *appsv1.Deployment) { d.DeletionTimestamp = &now }
	tests := map[string]struct {
		components []component.Component
		live       component.Live
		steps      []string
		states     []string
	}{
		"all of it": {shop(), with(running(), retained),
			[]string{"delete app-dashboard Background", "delete app-ingress Background"},
			[]string{"monitoring: waiting for ConfigMap app-dashboard to be deleted", "ingress: waiting for ConfigMap app-ingress to be deleted",
				"frontend: waiting for monitoring to be deleted", "backend: waiting for monitoring to be deleted", "database: waiting for backend to be deleted"}},
		"the frontend is going": {shop(), live(deployment("frontend", 3, 3, going), deployment("backend", 2, 2), statefulSet("database", 1, 1)),
			nil, []string{"frontend: waiting for Deployment app-frontend to be deleted", "backend: waiting for frontend to be deleted", "database: waiting for backend to be deleted"}},
		"a gap":    {shop(), live(deployment("frontend", 3, 3), statefulSet("database", 1, 1)), []string{"delete app-frontend Foreground"}, []string{"frontend: waiting for Deployment app-frontend to be deleted", "database: waiting for frontend to be deleted"}},
		"the last": {shop(), live(statefulSet("database", 1, 1)), []string{"delete app-database Foreground"}, []string{"database: waiting for StatefulSet app-database to be deleted"}},
		"configuration of two versions": {shop(), live(configMap("app-backend-1", "backend"), configMap("app-backend-2", "backend")),
			[]string{"delete app-backend-1 Background", "delete app-backend-2 Background"}, []string{"backend: waiting for ConfigMap app-backend-1 to be deleted"}},
		"nothing is left": {shop(), live(retained, claim("data-app-database-0", "10Gi", corev1.ClaimBound)), nil, nil},
		"nothing can be rendered": {nil, live(deployment("frontend", 1, 1), statefulSet("database", 1, 1)),
			[]string{"delete app-frontend Foreground", "delete app-database Foreground"},
			[]string{"frontend: waiting for Deployment app-frontend to be deleted", "database: waiting for StatefulSet app-database to be deleted"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := component.DecideDeletion(tt.components, tt.live, owner)
			if diff := cmp.Diff(tt.steps, told(got.Steps)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			var states []string
			for _, s := range got.States {
				states = append(states, s.Name+": "+s.Message)
				if s.Phase != v1.PhaseDeleting || s.Ready {
					t.Errorf("%s is %s", s.Name, s.Phase)
				}
			}
			if diff := cmp.Diff(tt.states, states); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSelectedVolumes checks that a selector that a policy adds to the claims is kept, and that a wanted selector
// must be present.
func TestSelectedVolumes(t *testing.T) {
	selecting := func(tier string) func(*appsv1.StatefulSet) {
		return func(s *appsv1.StatefulSet) {
			s.Spec.VolumeClaimTemplates[0].Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": tier}}
		}
	}
	for name, tt := range map[string]struct {
		want, live *appsv1.StatefulSet
		field      string
	}{
		"none":    {statefulSet("db", 1, 0), statefulSet("db", 1, 0), ""},
		"added":   {statefulSet("db", 1, 0), statefulSet("db", 1, 0, selecting("ssd")), ""},
		"same":    {statefulSet("db", 1, 0, selecting("ssd")), statefulSet("db", 1, 0, selecting("ssd")), ""},
		"another": {statefulSet("db", 1, 0, selecting("ssd")), statefulSet("db", 1, 0, selecting("hdd")), "volumeClaimTemplates"},
		"removed": {statefulSet("db", 1, 0, selecting("ssd")), statefulSet("db", 1, 0), "volumeClaimTemplates"},
	} {
		if got := component.Immutable(tt.want, tt.live); got != tt.field {
			t.Errorf("%s: %q differs, want %q", name, got, tt.field)
		}
	}
}
