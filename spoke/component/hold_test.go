package component_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// versioned returns a shop as a version renders it from some inputs, with the pods ready.
func versioned(version, inputs string) []component.Component {
	components := []component.Component{
		part("database", nil, configMap("database-config-"+version, "database"), statefulSet("database", 1, 1)),
		part("backend", []string{"database"}, deployment("backend", 2, 2), service("backend")),
		part("frontend", []string{"backend"}, deployment("frontend", 3, 3), service("frontend")),
	}
	for _, c := range components {
		for i := range c.Objects {
			object := &c.Objects[i]
			switch w := object.Resource.(type) {
			case *appsv1.Deployment:
				w.Spec.Template = template("image:" + version)
			case *appsv1.StatefulSet:
				w.Spec.Template = template("image:" + version)
			default:
				continue
			}
			object.Inputs = inputs
			component.Record(*object, version)
		}
	}
	return components
}

// existing returns the objects of components as live ones.
func existing(components []component.Component, change func(component.Resource)) component.Live {
	found := component.Live{}
	for _, c := range components {
		for _, o := range c.Objects {
			if change != nil {
				change(o.Resource)
			}
			found[component.KeyOf(o.Resource)] = o.Resource
		}
	}
	return found
}

// earlier makes an object one of a release that noted neither inputs nor versions.
func earlier(r component.Resource) {
	if text := r.GetAnnotations()[v1.RenderedAnnotation]; text != "" {
		r.SetAnnotations(map[string]string{v1.RenderedAnnotation: strings.Join(strings.Split(text, ".")[:4], ".")})
	}
}

// ofEarlierRelease makes a workload one of a release that noted neither inputs nor versions, with annotations of the pods.
func ofEarlierRelease(annotations map[string]string) func(component.Resource) {
	return func(r component.Resource) {
		switch w := r.(type) {
		case *appsv1.Deployment:
			w.Spec.Template.Annotations = annotations
		case *appsv1.StatefulSet:
			w.Spec.Template.Annotations = annotations
		}
		component.Record(component.Object{Resource: r}, "")
		earlier(r)
	}
}

// restartedByOthers makes a workload one of the first release, which noted nothing, with pods that another client has restarted.
func restartedByOthers(r component.Resource) {
	r.SetAnnotations(nil)
	switch w := r.(type) {
	case *appsv1.Deployment:
		w.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}
	case *appsv1.StatefulSet:
		w.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z"}
	}
}

// missing makes all pods of a Deployment but one unavailable.
func missing(name string) func(component.Resource) {
	return func(r component.Resource) {
		if d, ok := r.(*appsv1.Deployment); ok && d.Name == "app-"+name {
			d.Status.AvailableReplicas = 1
		}
	}
}

// TestHold checks that pod templates of another version stay until the version is released, and then change one
// component after the other.
func TestHold(t *testing.T) {
	t.Parallel()
	all := []string{"database", "backend", "frontend"}
	starting := func(name string) func(component.Resource) {
		return func(r component.Resource) {
			if d, ok := r.(*appsv1.Deployment); ok && d.Name == "app-"+name {
				d.Status.AvailableReplicas = 0
			}
			if s, ok := r.(*appsv1.StatefulSet); ok && s.Name == "app-"+name {
				s.Status.ReadyReplicas = 0
			}
		}
	}
	without := func(name string) component.Live {
		found := existing(versioned("1", "a"), nil)
		delete(found, component.KeyOf(deployment(name, 1, 1)))
		return found
	}
	for name, tt := range map[string]struct {
		live      component.Live
		rendering component.Rendering
		inputs    string
		want      []string
	}{
		"the same version":                     {existing(versioned("2", "a"), nil), component.Rendering{Version: "2"}, "a", nil},
		"another version":                      {existing(versioned("1", "a"), nil), component.Rendering{Version: "2"}, "a", all},
		"an edit":                              {existing(versioned("1", "a"), nil), component.Rendering{Version: "2"}, "b", nil},
		"a workload that is missing":           {without("backend"), component.Rendering{Version: "2"}, "a", []string{"database", "frontend"}},
		"of another owner":                     {existing(versioned("1", "a"), func(r component.Resource) { r.SetOwnerReferences(nil) }), component.Rendering{Version: "2"}, "a", nil},
		"no version":                           {existing(versioned("1", "a"), nil), component.Rendering{}, "a", nil},
		"of an earlier release":                {existing(versioned("1", "a"), earlier), component.Rendering{Version: "2", Observed: true}, "a", all},
		"of an earlier release, scraped":       {existing(versioned("1", "a"), ofEarlierRelease(map[string]string{"prometheus.io/scrape": "true"})), component.Rendering{Version: "2", Observed: true}, "a", all},
		"of an earlier release, annotated":     {existing(versioned("1", "a"), ofEarlierRelease(map[string]string{"example.com/a": "b"})), component.Rendering{Version: "2", Observed: true}, "a", nil},
		"of an earlier release, and an edit":   {existing(versioned("1", "a"), earlier), component.Rendering{Version: "2"}, "a", nil},
		"released: the first":                  {existing(versioned("1", "a"), nil), component.Rendering{Version: "2", Released: true}, "a", []string{"backend", "frontend"}},
		"released: it is not ready":            {mixed(starting("database"), "2", "1", "1"), component.Rendering{Version: "2", Released: true}, "a", []string{"backend", "frontend"}},
		"released: the second":                 {mixed(nil, "2", "1", "1"), component.Rendering{Version: "2", Released: true}, "a", []string{"frontend"}},
		"released: one that waits for nothing": {mixed(starting("frontend"), "2", "1", "1"), component.Rendering{Version: "2", Released: true}, "a", nil},
		"released: one that is being observed": {mixed(func(r component.Resource) { r.SetGeneration(2) }, "1", "1", "1"), component.Rendering{Version: "2", Released: true}, "a", []string{"backend", "frontend"}},
		"with annotations of others":           {existing(versioned("1", "a"), restartedByOthers), component.Rendering{Version: "2", Observed: true}, "a", all},
		"released: a replica is not ready":     {mixed(missing("backend"), "2", "2", "1"), component.Rendering{Version: "2", Released: true}, "a", nil},
		"released: all":                        {mixed(nil, "2", "2", "2"), component.Rendering{Version: "2", Released: true}, "a", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.rendering.OwnerUID = owner
			got, held := component.Hold(versioned("2", tt.inputs), tt.live, tt.rendering)
			if diff := cmp.Diff(tt.want, held); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
			for _, c := range got {
				checkHeld(t, c, tt.live)
			}
		})
	}
}

// mixed returns live workloads of which each component has a version of its own.
func mixed(change func(component.Resource), versions ...string) component.Live {
	found := component.Live{}
	for i, version := range versions {
		maps.Copy(found, existing(versioned(version, "a")[i:i+1], change))
	}
	return found
}

// checkHeld compares the workloads of a component that keep their pod templates with the live ones.
func checkHeld(t *testing.T, c component.Component, live component.Live) {
	t.Helper()
	for _, o := range c.Objects {
		if !o.KeepsTemplate() {
			if o.Instead != nil {
				t.Errorf("%s is applied as it is, and has another one instead", o.Resource.GetName())
			}
			continue
		}
		exists := live[component.KeyOf(o.Resource)]
		if diff := cmp.Diff(component.ContainerImages(podTemplate(exists)), component.ContainerImages(podTemplate(o.Resource))); diff != "" {
			t.Errorf("%s (-live +held):\n%s", o.Resource.GetName(), diff)
		}
		if component.ContainerImages(podTemplate(o.Instead))["main"] != "image:2" {
			t.Errorf("%s has nothing to apply if it cannot stay", o.Resource.GetName())
		}
	}
}

func podTemplate(r component.Resource) corev1.PodTemplateSpec {
	switch w := r.(type) {
	case *appsv1.Deployment:
		return w.Spec.Template
	case *appsv1.StatefulSet:
		return w.Spec.Template
	default:
		return corev1.PodTemplateSpec{}
	}
}

// TestWhatHeldTemplatesName checks that objects that pods of the version before read are not pruned while these run.
func TestWhatHeldTemplatesName(t *testing.T) {
	t.Parallel()
	found := existing(versioned("1", "a"), nil)
	for _, released := range []bool{false, true} {
		rendering := component.Rendering{Version: "2", Released: released, OwnerUID: owner}
		components, _ := component.Hold(versioned("2", "a"), found, rendering)
		decision, err := component.Decide(component.Input{Components: components, Live: found, OwnerUID: owner, Generation: 1, Eventual: true})
		if err != nil {
			t.Fatal(err)
		}
		pruned := false
		for _, step := range decision.Steps {
			pruned = pruned || step.Action == component.Delete && step.Target.GetName() == "database-config-1"
		}
		if pruned != released {
			t.Errorf("released %t: the former ConfigMap is pruned: %t", released, pruned)
		}
	}
}

// TestStorageReplacesNoHeldTemplate checks that a StatefulSet whose claims have grown is replaced when its pod
// template is, and is ready until then.
func TestStorageReplacesNoHeldTemplate(t *testing.T) {
	t.Parallel()
	found := existing(versioned("1", "a"), nil)
	config := configMap("database-config-2", "database")
	found[component.KeyOf(config)] = config
	for _, key := range component.Claims(statefulSet("database", 1, 1)) {
		found[key] = claim(key.Name, "20Gi", corev1.ClaimBound)
	}
	for _, released := range []bool{false, true} {
		wanted := versioned("2", "a")
		set, ok := wanted[0].Objects[1].Resource.(*appsv1.StatefulSet)
		if !ok {
			t.Fatal("the database has no StatefulSet")
		}
		set.Spec.VolumeClaimTemplates[0].Spec = claimSpec("20Gi")
		components, _ := component.Hold(wanted, found, component.Rendering{Version: "2", Released: released, OwnerUID: owner})
		for _, c := range components {
			for _, o := range c.Objects {
				component.Record(o, "2")
			}
		}
		decision, err := component.Decide(component.Input{Components: components, Live: found, OwnerUID: owner, Generation: 1})
		if err != nil {
			t.Fatal(err)
		}
		replaced := false
		for _, step := range decision.Steps {
			replaced = replaced || step.Action == component.Recreate
		}
		if state := decision.States[0]; replaced != released || state.Ready == released {
			t.Errorf("released %t: the set is replaced: %t; %s is ready: %t", released, replaced, state.Name, state.Ready)
		}
	}
}

// TestHeldBlueGreen checks that a workload whose name has a hash of its pod template keeps the one that serves, with
// all that selects it.
func TestHeldBlueGreen(t *testing.T) {
	t.Parallel()
	serving := withTemplate("1", 3)
	component.Record(component.Object{Resource: serving, Inputs: "a"}, "1")
	found := served(serving, budget(serving))
	for inputs, want := range map[string][]string{
		"a": {"app-frontend-1 1", "app-frontend 1", "app-frontend-1 1"},
		"b": {"app-frontend-2 2", "app-frontend 2", "app-frontend-2 2"},
	} {
		next := withTemplate("2", 0)
		components := []component.Component{part("frontend", nil, next, selecting(next), budget(next))}
		components[0].Objects[0].Inputs = inputs
		held, names := component.Hold(components, found, component.Rendering{Version: "2", OwnerUID: owner})
		var got []string
		for _, o := range held[0].Objects {
			got = append(got, o.Resource.GetName()+" "+o.Resource.GetLabels()[v1.PodTemplateLabel])
		}
		if diff := cmp.Diff(want, got); diff != "" || (len(names) > 0) != (inputs == "a") {
			t.Errorf("inputs %s: held %v (-want +got):\n%s", inputs, names, diff)
		}
		if service, ok := held[0].Objects[1].Resource.(*corev1.Service); !ok || service.Spec.Selector[v1.PodTemplateLabel] != want[1][len(want[1])-1:] {
			t.Errorf("inputs %s: the Service selects %v", inputs, service.Spec.Selector)
		}
		if next.Name != "app-frontend-2" || next.Labels[v1.PodTemplateLabel] != "2" {
			t.Error("what was rendered has changed")
		}
	}
}
