package component_test

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// storedAs returns an object as the API server stores it after it was applied, and was changed by admission.
func storedAs[T component.Resource](applied T, change func(T)) T {
	component.Record(component.Object{Resource: applied}, "")
	change(applied)
	return applied
}

// recordAll records what was rendered of the objects of components.
func recordAll(components []component.Component) []component.Component {
	for _, c := range components {
		for _, object := range c.Objects {
			component.Record(object, "")
		}
	}
	return components
}

// mirroredShop returns a shop that runs where the images of all workloads and pods come from a mirror.
func mirroredShop() component.Live {
	const image = "mirror.example.com/image:1"
	of := func(d *appsv1.Deployment) { d.Spec.Template = template(image) }
	return with(running(),
		storedAs(statefulSet("database", 1, 1), func(s *appsv1.StatefulSet) { s.Spec.Template = template(image) }),
		pod("app-database-0", serves(image)),
		storedAs(deployment("backend", 2, 2), of), storedAs(deployment("frontend", 3, 3), of))
}

// TestMirroredImages checks that a shop whose images are rewritten runs, and that each release is written
// in order, as without a mirror.
func TestMirroredImages(t *testing.T) {
	reconfigured := func(components []component.Component) {
		components[0].Objects[1].Resource = statefulSet("database", 1, 0, func(s *appsv1.StatefulSet) { s.Annotations[v1.SpecHashAnnotation] = "new" })
	}
	for name, tt := range map[string]struct {
		change []func([]component.Component)
		live   func(component.Live)
		want   map[string]string
	}{
		"as it was":                {nil, nil, map[string]string{}},
		"a release of the backend": {[]func([]component.Component){newImage(1, "backend")}, nil, map[string]string{}},
		"a release of the backend while the database gets another configuration": {
			[]func([]component.Component){newImage(1, "backend"), reconfigured}, nil, map[string]string{}},
		"a release of the backend and the database": {[]func([]component.Component){newImage(1, "backend"), func(c []component.Component) {
			c[0].Objects[1].Resource = statefulSet("database", 1, 0, withImage("image:2"))
		}}, nil, map[string]string{"backend": "Updating waiting for database"}},
		"another configuration of the backend while the database is down": {
			[]func([]component.Component){func(c []component.Component) {
				c[1].Objects[0].Resource = deployment("backend", 2, 0, written("new", "image:1"))
			}},
			func(l component.Live) { with(l, pod("app-database-0")) }, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			components, found := shop(), mirroredShop()
			for _, change := range tt.change {
				change(components)
			}
			if tt.live != nil {
				tt.live(found)
			}
			got, err := component.Decide(component.Input{Components: recordAll(components), Live: found, OwnerUID: owner, Generation: 2, Conditions: initialized(1)})
			if err != nil {
				t.Fatal(err)
			}
			if states := wait(got.States); len(states) != len(tt.want) || states["backend"] != tt.want["backend"] {
				t.Errorf("waiting: %v, want %v", states, tt.want)
			}
			if name == "as it was" && slices.ContainsFunc(got.States, func(s component.State) bool { return !s.Ready }) {
				t.Errorf("states %+v", got.States)
			}
		})
	}
}

// TestStoredClaimTemplates checks that a StatefulSet is not replaced again and again for what admission
// stores of the fields that cannot change, and that it is for a new intent.
func TestStoredClaimTemplates(t *testing.T) {
	changes := map[string]func(*appsv1.StatefulSet){
		"class":          func(s *appsv1.StatefulSet) { s.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = new("gold") },
		"size":           func(s *appsv1.StatefulSet) { s.Spec.VolumeClaimTemplates[0].Spec = claimSpec("5Gi") },
		"label":          func(s *appsv1.StatefulSet) { s.Spec.VolumeClaimTemplates[0].Labels = map[string]string{"team": "b"} },
		"service":        func(s *appsv1.StatefulSet) { s.Spec.ServiceName = "other" },
		"no claims":      func(s *appsv1.StatefulSet) { s.Spec.VolumeClaimTemplates = nil },
		"pod management": func(s *appsv1.StatefulSet) { s.Spec.PodManagementPolicy = appsv1.ParallelPodManagement },
	}
	label := func(s *appsv1.StatefulSet) { s.Spec.VolumeClaimTemplates[0].Labels = map[string]string{"team": "a"} }
	newer := func(s *appsv1.StatefulSet) { s.Annotations[v1.SpecHashAnnotation] = "new" }
	for name, change := range changes {
		for wanted, tt := range map[string]struct {
			want   func(*appsv1.StatefulSet)
			action component.Action
		}{
			"the same":               {func(*appsv1.StatefulSet) {}, component.Apply},
			"another image":          {func(s *appsv1.StatefulSet) { newer(s); s.Spec.Template = template("image:2") }, component.Apply},
			"another claim template": {func(s *appsv1.StatefulSet) { newer(s); s.Spec.VolumeClaimTemplates[0].Name = "db" }, component.Recreate},
		} {
			t.Run(name+", "+wanted, func(t *testing.T) {
				components := shop()
				components[0].Objects[1].Resource = statefulSet("database", 1, 0, label, tt.want)
				found := with(running(), storedAs(statefulSet("database", 1, 1, label), change))
				got, err := component.Decide(component.Input{Components: recordAll(components), Live: found, OwnerUID: owner, Generation: 2, Conditions: initialized(1)})
				if err != nil {
					t.Fatal(err)
				}
				// A class that is not wanted is a default.
				if said := len(got.Rewrites) == 1 && got.Rewrites[0].Kind == "StatefulSet"; said != (tt.action == component.Apply && name != "class") {
					t.Errorf("rewrites %+v", got.Rewrites)
				}
				checkSets(t, got.Steps, tt.action, components[0].Objects[1].Resource.(*appsv1.StatefulSet), found)
			})
		}
	}
}

// checkSets checks that the steps with a StatefulSet have an action, and that the API server takes what they apply.
func checkSets(t *testing.T, steps []component.Step, action component.Action, want *appsv1.StatefulSet, found component.Live) {
	t.Helper()
	for _, step := range steps {
		set, ok := step.Object.Resource.(*appsv1.StatefulSet)
		if !ok {
			continue
		}
		if step.Action != action {
			t.Errorf("the set gets %s, want %s", step.Action, action)
		}
		if step.Action == component.Apply {
			canBeWritten(t, want, set, found)
		}
	}
}

// TestReplacedAfterGrowth checks that a StatefulSet that was written while its claims grew is replaced when
// they have grown, whose templates are then those of another intent.
func TestReplacedAfterGrowth(t *testing.T) {
	components := recordAll(larger("image:1", "image:1"))
	before := statefulSet("database", 1, 1)
	component.Record(component.Object{Resource: before}, "")
	plan := func(live component.Live) component.Decision {
		got, err := component.Decide(component.Input{Components: components, Live: live, OwnerUID: owner, Generation: 2, Conditions: initialized(1)})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	written := func(d component.Decision) component.Step {
		i := slices.IndexFunc(d.Steps, func(s component.Step) bool { _, is := s.Object.Resource.(*appsv1.StatefulSet); return is })
		return d.Steps[i]
	}
	first := written(plan(with(running(), before)))
	if first.Action != component.Apply {
		t.Fatalf("while the claims grow the set gets %s", first.Action)
	}
	stored := first.Object.Resource.(*appsv1.StatefulSet)
	stored.Status = before.Status
	if second := written(plan(with(running(), stored, claim("data-app-database-0", "20Gi", corev1.ClaimBound)))); second.Action != component.Recreate {
		t.Errorf("after the claims have grown the set gets %s, want %s", second.Action, component.Recreate)
	}
}
