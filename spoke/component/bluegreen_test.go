package component_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// version returns the frontend's Deployment of one version of its pods.
func version(name string, ready int32) *appsv1.Deployment {
	d := deployment("frontend", 3, ready)
	d.Name += "-" + name
	d.Annotations = map[string]string{v1.SpecHashAnnotation: "of version " + name}
	d.Labels[v1.PodTemplateLabel] = name
	d.Spec.Template = template("image:" + name)
	return d
}

// selecting returns the frontend's Service, which selects the pods of a Deployment.
func selecting(d *appsv1.Deployment, hash string) *corev1.Service {
	s := service("frontend")
	s.Labels = d.Labels
	s.Annotations = map[string]string{v1.SpecHashAnnotation: hash}
	return s
}

// replacement is what is written of the frontend in one state of its Deployments, and what is said of it.
type replacement struct {
	components []component.Component
	live       component.Live
	steps      []string
	state      string
	change     component.Change
	available  string
}

func replacements() map[string]replacement {
	before, failed := version("1", 3), version("2", 0)
	rolling := deployment("frontend", 3, 3)
	wanted := func(d *appsv1.Deployment) []component.Component {
		components := shop()
		components[2] = part("frontend", []string{"backend"}, d, selecting(d, "new"))
		return components
	}
	serving := func(d *appsv1.Deployment, objects ...component.Resource) component.Live {
		l := with(without(running(), rolling), selecting(d, "old"), d)
		return with(l, objects...)
	}
	const create, switchOver = "apply deployment frontend", "apply service frontend"
	return map[string]replacement{
		"an edit": {wanted(version("2", 0)), serving(before),
			[]string{create}, "Updating Deployment app-frontend-2 is being created", component.ImageUpdated, ""},
		"new pods start": {wanted(version("2", 0)), serving(before, version("2", 2)),
			[]string{create}, "Updating 2 of 3 replicas are ready", component.Unchanged, ""},
		"new pods are ready": {wanted(version("2", 0)), serving(before, version("2", 3)),
			[]string{create, switchOver}, "Updating Service app-frontend is being updated", component.Switched, ""},
		"new pods serve": {wanted(version("2", 0)), with(without(running(), rolling), before, version("2", 3), selecting(version("2", 3), "new")),
			[]string{create, switchOver, "delete app-frontend-1 Foreground"}, "Running 3 of 3 replicas are ready", component.Unchanged, ""},
		"pods that serve are lost before": {wanted(version("2", 0)), serving(version("1", 0), version("2", 2)),
			[]string{create}, "Updating 2 of 3 replicas are ready", component.Unchanged, "frontend: Deployment app-frontend-1 has no available replica"},
		"a third version supersedes the second": {wanted(version("3", 0)), serving(before, failed),
			[]string{create, "delete app-frontend-2 Foreground"}, "Updating Deployment app-frontend-3 is being created", component.ImageUpdated, ""},
		"back to the first version": {wanted(version("1", 0)), with(without(running(), rolling), before, failed, selecting(before, "new")),
			[]string{create, switchOver, "delete app-frontend-2 Foreground"}, "Running 3 of 3 replicas are ready", component.Unchanged, ""},
		"from a rolling update": {wanted(version("2", 0)), serving(rolling),
			[]string{create}, "Updating Deployment app-frontend-2 is being created", component.ImageUpdated, ""},
		"to a rolling update": {wanted(rolling), without(serving(before), rolling),
			[]string{create}, "Updating Deployment app-frontend is being created", component.ConfigurationUpdated, ""},
		"the Service was deleted": {wanted(version("2", 0)), without(serving(before, version("2", 1)), service("frontend")),
			[]string{create, switchOver, "delete app-frontend-1 Foreground"}, "Updating Service app-frontend is being created", component.Unchanged, ""},
		"the backend changes first": {func() []component.Component {
			c := wanted(version("2", 0))
			newImage(1, "backend")(c)
			return c
		}(), serving(before, deployment("backend", 2, 2, func(d *appsv1.Deployment) { d.Spec.Template = template("image:0") })),
			nil, "Updating waiting for backend", component.ImageUpdated, ""},
	}
}

// TestBlueGreen lists what is written of a frontend whose pods are replaced at once, and what becomes of
// those before.
func TestBlueGreen(t *testing.T) {
	for name, tt := range replacements() {
		t.Run(name, func(t *testing.T) {
			got, err := component.Plan(component.Input{Components: tt.components, Live: tt.live, OwnerUID: owner, Generation: 2, Conditions: initialized(1)})
			if err != nil {
				t.Fatal(err)
			}
			steps := slices.DeleteFunc(told(got.Steps), func(step string) bool { return !strings.Contains(step, "frontend") })
			if diff := cmp.Diff(tt.steps, steps, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if state := string(got.States[2].Phase) + " " + got.States[2].Message; state != tt.state {
				t.Errorf("the frontend is %q, want %q", state, tt.state)
			}
			if change := component.Classify(tt.components[2], tt.live); change != tt.change {
				t.Errorf("it is classified as %q, want %q", change, tt.change)
			}
			report := component.Summarize(component.Summary{Generation: 2, Now: at(0), Previous: initialized(1), States: got.States})
			if c := meta.FindStatusCondition(report.Conditions, v1.ConditionAvailable); c.Message != tt.available && tt.available != "" {
				t.Errorf("Available says %q, want %q", c.Message, tt.available)
			}
		})
	}
}
