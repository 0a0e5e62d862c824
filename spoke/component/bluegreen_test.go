package component_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// withTemplate returns the frontend's Deployment of one template of its pods.
func withTemplate(hash string, ready int32, change ...func(*appsv1.Deployment)) *appsv1.Deployment {
	d := deployment("frontend", 3, ready)
	d.Name += "-" + hash
	d.Annotations = map[string]string{v1.SpecHashAnnotation: "of " + hash}
	d.Labels[v1.PodTemplateLabel] = hash
	d.Spec.Selector.MatchLabels = map[string]string{"pods": "frontend", v1.PodTemplateLabel: hash}
	d.Spec.Template = template("image:" + hash)
	for _, c := range change {
		c(d)
	}
	return d
}

// selecting returns the frontend's Service, which selects the pods of a Deployment.
func selecting(d *appsv1.Deployment) *corev1.Service {
	s := service("frontend")
	s.Annotations = map[string]string{v1.SpecHashAnnotation: "selects " + d.Name}
	if hash := d.Labels[v1.PodTemplateLabel]; hash != "" {
		s.Labels[v1.PodTemplateLabel] = hash
	}
	s.Spec.Selector = d.Spec.Selector.MatchLabels
	return s
}

// budget returns the disruption budget of the pods of a Deployment.
func budget(d *appsv1.Deployment) *policyv1.PodDisruptionBudget {
	b := &policyv1.PodDisruptionBudget{TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}, ObjectMeta: metadata(d.Name, "frontend")}
	b.Labels = d.Labels
	return b
}

// wanting returns the components of a shop whose frontend has a Deployment.
func wanting(d *appsv1.Deployment) []component.Component {
	components := shop()
	components[2] = part("frontend", []string{"backend"}, d, selecting(d))
	return components
}

// served returns the live objects of a shop whose customers are served by the pods of a Deployment.
func served(by *appsv1.Deployment, others ...component.Resource) component.Live {
	return with(with(without(running(), deployment("frontend", 3, 3)), selecting(by), by), others...)
}

// replacement holds what is written of the frontend in one state of its Deployments, and what is said of it.
type replacement struct {
	components []component.Component
	live       component.Live
	steps      []string
	state      string
	change     component.Change
	available  string
}

func replacements() map[string]replacement {
	replicas := func(n *int32) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) { d.Spec.Replicas, d.Status.Replicas = n, d.Status.ReadyReplicas }
	}
	first, second, rolling := withTemplate("1", 3), withTemplate("2", 0), deployment("frontend", 3, 3)
	second.Status.Replicas = 3
	stopped := func(components []component.Component) []component.Component {
		components[2].Stopped = true
		return components
	}
	backendFirst := wanting(second)
	newImage(1, "backend")(backendFirst)
	const create, keep, switchOver = "apply app-frontend-2", "apply app-frontend of 1", "apply app-frontend of 2"
	const created, served2 = "Updating Deployment app-frontend-2 is being created", "customers can be served"
	return map[string]replacement{
		"an edit": {wanting(second), served(first), []string{create, keep}, created, component.ImageUpdated, served2},
		"new pods start": {wanting(second), served(first, withTemplate("2", 2), budget(first), budget(withTemplate("0", 0))),
			[]string{create, keep, "delete app-frontend-0"}, "Updating 2 of 3 replicas are ready", component.Unchanged, served2},
		"new pods are ready": {wanting(second), served(first, withTemplate("2", 3)),
			[]string{create, switchOver}, "Updating Service app-frontend is being updated", component.Switched, served2},
		"new pods serve": {wanting(second), served(withTemplate("2", 3), first, budget(first)),
			[]string{create, switchOver, "delete app-frontend-1", "delete app-frontend-1"}, "Running 3 of 3 replicas are ready", component.Unchanged, served2},
		"a new pod is lost at the switch": {wanting(second), served(withTemplate("2", 2), first),
			[]string{create, keep}, "Updating 2 of 3 replicas are ready", component.Unchanged, served2},
		"no pod serves, and some of the new ones could": {wanting(second), served(withTemplate("1", 0), withTemplate("2", 2)),
			[]string{create, switchOver}, "Updating Service app-frontend is being updated", component.Switched, "frontend: Deployment app-frontend-1 has no available replica"},
		"no pod serves, and none could": {wanting(second), served(withTemplate("1", 0), second),
			[]string{create, keep}, "Updating 0 of 3 replicas are ready", component.Unchanged, "frontend: Deployment app-frontend-1 has no available replica"},
		"a third template": {wanting(withTemplate("3", 0)), served(first, second),
			[]string{"apply app-frontend-3", keep, "delete app-frontend-2 unless app-frontend selects it"}, "Updating Deployment app-frontend-3 is being created", component.ImageUpdated, served2},
		"back to the first template": {wanting(withTemplate("1", 0)), served(first, second),
			[]string{"apply app-frontend-1", keep, "delete app-frontend-2"}, "Running 3 of 3 replicas are ready", component.Unchanged, served2},
		"from a rolling update": {wanting(second), served(rolling), []string{create, "apply app-frontend of "}, created, component.ImageUpdated, served2},
		"to a rolling update": {wanting(rolling), served(first),
			[]string{"apply app-frontend", keep}, "Updating Deployment app-frontend is being created", component.ConfigurationUpdated, served2},
		"the Service was deleted": {wanting(second), without(served(first, second), service("frontend")),
			[]string{create, keep}, "Updating 0 of 3 replicas are ready", component.Unchanged, served2},
		"the Service was deleted, and two could have the requests": {wanting(second), without(served(withTemplate("1", 3), withTemplate("0", 3)), service("frontend")),
			[]string{create, "apply app-frontend of 0", "delete app-frontend-1"}, "Updating Deployment app-frontend-2 is being created", component.ImageUpdated, served2},
		"another number of pods": {wanting(withTemplate("2", 0, replicas(new(int32(5))))), served(first, withTemplate("2", 1, replicas(new(int32(5))))),
			[]string{create, keep, "scale app-frontend-1 to 5"}, "Updating 1 of 5 replicas are ready", component.Unchanged, served2},
		"scaled to zero": {wanting(withTemplate("2", 0, replicas(new(int32(0))))), served(first, withTemplate("2", 0, replicas(new(int32(0))))),
			[]string{create, switchOver}, "Updating Service app-frontend is being updated", component.Switched, served2},
		"stopped for a restore": {stopped(wanting(withTemplate("2", 0, replicas(new(int32(0)))))), served(first, withTemplate("2", 0, replicas(new(int32(0))))),
			[]string{create, keep, "scale app-frontend-1 to 0"}, "Running 0 of 0 replicas are ready", component.Unchanged, served2},
		"to an autoscaler": {wanting(deployment("frontend", 0, 0, replicas(nil))), served(first),
			[]string{"apply app-frontend with 3", keep}, "Updating Deployment app-frontend is being created", component.ConfigurationUpdated, served2},
		"the backend changes first": {backendFirst, served(first, deployment("backend", 2, 2, func(d *appsv1.Deployment) { d.Spec.Template = template("image:0") })),
			[]string{keep}, "Updating waiting for backend", component.ImageUpdated, served2},
	}
}

// toldOf returns the steps about an object of the frontend's pods in words.
func toldOf(s component.Step) string {
	selects := ""
	if s.Selects != nil && s.Target.GetLabels()[v1.PodTemplateLabel] == "2" {
		selects = " unless " + s.Selects.GetName() + " selects it"
	}
	switch s.Action {
	case component.Scale:
		return "scale " + s.Target.GetName() + " to " + strconv.Itoa(int(s.Replicas))
	case component.Delete:
		return "delete " + s.Target.GetName() + selects
	default:
		object := s.Object.Resource
		text := "apply " + object.GetName()
		switch o := object.(type) {
		case *corev1.Service:
			text += " of " + o.Spec.Selector[v1.PodTemplateLabel]
		case *appsv1.Deployment:
			if o.Spec.Replicas != nil && o.Labels[v1.PodTemplateLabel] == "" && o.Status.Replicas == 0 {
				text += " with " + strconv.Itoa(int(*o.Spec.Replicas))
			}
		}
		return text
	}
}

func toldOfFrontend(steps []component.Step) []string {
	var list []string
	for _, s := range steps {
		if s.Component == "frontend" {
			list = append(list, toldOf(s))
		}
	}
	return list
}

// TestBlueGreen lists what is written of a frontend whose pods are replaced at once, and what becomes of
// those before.
func TestBlueGreen(t *testing.T) {
	for name, tt := range replacements() {
		t.Run(name, func(t *testing.T) {
			got, err := component.Decide(component.Input{Components: tt.components, Live: tt.live, OwnerUID: owner, Generation: 2, Conditions: initialized(1)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.steps, toldOfFrontend(got.Steps)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if state := string(got.States[2].Phase) + " " + got.States[2].Message; state != tt.state {
				t.Errorf("the frontend is %q, want %q", state, tt.state)
			}
			if change := component.Classify(tt.components[2], tt.live, nil); change != tt.change {
				t.Errorf("it is classified as %q, want %q", change, tt.change)
			}
			summary := component.Summarize(component.SummaryInput{Generation: 2, Now: at(0), Previous: initialized(1), States: got.States})
			if c := meta.FindStatusCondition(summary.Conditions, v1.ConditionAvailable); !strings.HasPrefix(c.Message, tt.available) {
				t.Errorf("Available says %q, want %q", c.Message, tt.available)
			}
		})
	}
}

// TestBlueGreenEventual checks that the writes of an edit have what comes after the switch.
func TestBlueGreenEventual(t *testing.T) {
	got, err := component.Decide(component.Input{Components: wanting(withTemplate("2", 0)), Live: served(withTemplate("1", 3)), OwnerUID: owner, Generation: 2, Eventual: true})
	if err != nil {
		t.Fatal(err)
	}
	steps := toldOfFrontend(got.Steps)
	for _, want := range []string{"apply app-frontend-2", "apply app-frontend of 2", "delete app-frontend-1"} {
		if !slices.Contains(steps, want) {
			t.Errorf("it lacks %q: %q", want, steps)
		}
	}
}

// TestServes checks that a Service that was not read serves nothing.
func TestServes(t *testing.T) {
	selecting := func(r component.Resource, hash string) component.Resource {
		r.SetLabels(map[string]string{v1.PodTemplateLabel: hash})
		return r
	}
	step := component.Step{Target: selecting(deployment("web", 1, 1), "new")}
	for name, tt := range map[string]struct {
		service component.Resource
		want    bool
	}{"not read": {nil, false}, "these pods": {selecting(service("web"), "new"), true}, "others": {selecting(service("web"), "old"), false}} {
		if got := step.Serves(tt.service); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestWaitingServiceKeepsAnnotations checks that the Service is scraped as before while new pods start: with the value
// that it has, and with the desired one if it is selected by no template yet.
func TestWaitingServiceKeepsAnnotations(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]*appsv1.Deployment{"of a template": withTemplate("1", 3), "of a rolling update": deployment("frontend", 3, 3)} {
		components, exists := wanting(withTemplate("2", 0)), selecting(by)
		desired := components[2].Objects[1].Resource
		metav1.SetMetaDataAnnotation(&desired.(*corev1.Service).ObjectMeta, "prometheus.io/port", "2")
		metav1.SetMetaDataAnnotation(&exists.ObjectMeta, "prometheus.io/port", "1")
		plan, err := component.Decide(component.Input{Components: components, Live: with(served(by), exists), OwnerUID: owner, Generation: 2, Conditions: initialized(1)})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, step := range plan.Steps {
			if service, is := step.Object.Resource.(*corev1.Service); is && service.Name == "app-frontend" {
				found = service.Annotations["prometheus.io/port"] != "" && service.Annotations[v1.SpecHashAnnotation] != ""
			}
		}
		if !found {
			t.Errorf("%s: the Service is not written with its annotations", name)
		}
	}
}
