package component_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

func sized(size string) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) { s.Spec.VolumeClaimTemplates[0].Spec = claimSpec(size) }
}

// small returns a database with a claim that should grow from 10Gi to 20Gi.
func small(change ...func(*appsv1.StatefulSet)) component.Live {
	return with(running(), statefulSet("database", 1, 1, change...), claim("data-app-database-0", "10Gi", corev1.ClaimBound))
}

// larger returns a shop with a larger database, and other images.
func larger(databaseImage, backendImage string) []component.Component {
	components := shop()
	components[0].Objects[1].Resource = statefulSet("database", 1, 0, sized("20Gi"), func(s *appsv1.StatefulSet) {
		s.Spec.Template = template(databaseImage)
		if databaseImage != "image:1" {
			s.Annotations[v1.SpecHashAnnotation] = databaseImage
		}
	})
	components[1].Objects[0].Resource = deployment("backend", 2, 0, written(backendImage, backendImage))
	return components
}

// TestDecideWhileGrowing checks that claims that are still to grow hold up nothing:
// neither what else changes about their StatefulSet nor what depends on it.
func TestDecideWhileGrowing(t *testing.T) {
	tests := map[string]struct {
		components   []component.Component
		live         component.Live
		claimsToGrow bool
		reason       string
		backend      bool
	}{
		"nothing else":            {larger("image:1", "image:1"), small(), true, v1.ReasonWaitingForStorage, true},
		"another backend":         {larger("image:1", "image:2"), small(), true, v1.ReasonWaitingForStorage, true},
		"another database":        {larger("image:2", "image:2"), small(), false, v1.ReasonProgressing, false},
		"the database is down":    {larger("image:1", "image:2"), small(func(s *appsv1.StatefulSet) { s.Status.ReadyReplicas = 0 }), false, v1.ReasonWaitingForReplicas, false},
		"the claims have grown":   {larger("image:1", "image:2"), with(small(), claim("data-app-database-0", "20Gi", corev1.ClaimBound)), false, v1.ReasonProgressing, false},
		"the set was made before": {larger("image:1", "image:2"), small(sized("20Gi")), true, v1.ReasonWaitingForStorage, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := component.Decide(component.Input{
				Components: tt.components, Live: tt.live, OwnerUID: owner, Generation: 2, Conditions: initialized(1),
			})
			if err != nil {
				t.Fatal(err)
			}
			state := got.States[0]
			if state.Ready || state.Growing != tt.claimsToGrow || state.Reason != tt.reason {
				t.Errorf("the database is ready %v, growing %v, %s: %s", state.Ready, state.Growing, state.Reason, state.Message)
			}
			if backend := slices.Contains(told(got.Steps), "apply deployment backend"); backend != tt.backend {
				t.Errorf("the backend is written: %v, want %v", backend, tt.backend)
			}
			want := tt.components[0].Objects[1].Resource.(*appsv1.StatefulSet)
			for _, step := range got.Steps {
				if set, ok := step.Object.Resource.(*appsv1.StatefulSet); ok && step.Action == component.Apply {
					canBeWritten(t, want, set, tt.live)
				}
			}
		})
	}
}

// canBeWritten checks that a set that is written has the wanted pods, and nothing
// that the API server does not let change.
func canBeWritten(t *testing.T, want, set *appsv1.StatefulSet, found component.Live) {
	t.Helper()
	have, _ := found[component.KeyOf(set)].(*appsv1.StatefulSet)
	if field := component.Immutable(set, have); field != "" {
		t.Errorf("the set is written with another %s", field)
	}
	if diff := cmp.Diff(want.Spec.Template, set.Spec.Template); diff != "" {
		t.Errorf("pods of the set (-want +got):\n%s", diff)
	}
}

// TestDecideGrowsTheRetainedClaim checks that the claim of dumps grows with its intent, when it
// can, and that it is not written otherwise.
func TestDecideGrowsTheRetainedClaim(t *testing.T) {
	want := claim("dumps", "20Gi", "")
	want.Labels = map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.InstanceLabel: "app"}
	live := func(size string, change func(*corev1.PersistentVolumeClaim)) component.Live {
		c := claim("dumps", size, corev1.ClaimBound)
		c.Labels = maps.Clone(want.Labels)
		change(c)
		return component.Live{component.KeyOf(c): c}
	}
	as := func(*corev1.PersistentVolumeClaim) {}
	for name, tt := range map[string]struct {
		live component.Live
		grow bool
	}{
		"smaller":       {live("10Gi", as), true},
		"of that size":  {live("20Gi", as), false},
		"larger":        {live("30Gi", as), false},
		"none":          {component.Live{}, false},
		"not bound":     {live("10Gi", func(c *corev1.PersistentVolumeClaim) { c.Status.Phase = corev1.ClaimPending }), false},
		"being deleted": {live("10Gi", func(c *corev1.PersistentVolumeClaim) { c.DeletionTimestamp = &metav1.Time{} }), false},
		"another's":     {live("10Gi", func(c *corev1.PersistentVolumeClaim) { c.Labels[v1.InstanceLabel] = "other" }), false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := component.Decide(component.Input{
				Components: []component.Component{{Name: "database", Objects: []component.Object{{Resource: want, Once: true, Retain: true}}}}, Live: tt.live,
			})
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(got.Steps, func(s component.Step) bool { return s.Action == component.Grow })
			if i >= 0 != tt.grow || tt.grow && (got.Steps[i].Size.String() != "20Gi" || !got.Steps[i].Optional || got.Steps[i].Component != "database") {
				t.Errorf("steps %+v", got.Steps)
			}
		})
	}
}

// TestCannotGrow checks that a database with volumes that cannot grow is as ready
// as it is otherwise, and that the condition Degraded reports it.
func TestCannotGrow(t *testing.T) {
	growing := component.State{Name: "db", Phase: v1.PhaseUpdating, Reason: v1.ReasonWaitingForStorage, Growing: true, Timed: true}
	refused := component.Problem{Component: "db", Reason: v1.ReasonStorageNotExpandable, Message: "claim 0 cannot grow", Blocking: true}
	second := component.Problem{Component: "db", Reason: v1.ReasonStorageNotExpandable, Message: "claim 1 cannot grow", Blocking: true}
	optional := component.Problem{Component: "db", Reason: v1.ReasonStorageNotExpandable, Message: "claim of dumps cannot grow", Optional: true}
	forbidden := component.Problem{Component: "db", Reason: v1.ReasonForbidden, Message: "not allowed", Blocking: true}
	tests := map[string]struct {
		db       component.State
		problems []component.Problem
		phase    v1.Phase
		state    string
		degraded string
	}{
		"growing": {growing, nil, v1.PhaseUpdating, "", ""},
		"refused": {growing, []component.Problem{refused, second}, v1.PhaseRunning, "claim 0 cannot grow", v1.ReasonStorageNotExpandable},
		"refused, and down": {unready("db", v1.PhaseUpdating, v1.ReasonWaitingForReplicas), []component.Problem{refused},
			v1.PhaseUpdating, "not yet", v1.ReasonStorageNotExpandable},
		"the dumps'":                        {ready("db"), []component.Problem{optional}, v1.PhaseRunning, "ready", v1.ReasonStorageNotExpandable},
		"the dumps', while the data's grow": {growing, []component.Problem{optional}, v1.PhaseUpdating, "", v1.ReasonStorageNotExpandable},
		"refused, and more":                 {growing, []component.Problem{refused, forbidden}, v1.PhaseFailed, "not allowed", v1.ReasonForbidden},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := component.Summarize(component.SummaryInput{Generation: 2, ObservedGeneration: 1, Previous: initialized(1), Now: at(0),
				States: []component.State{tt.db, ready("web")}, Problems: tt.problems})
			if got.Phase != tt.phase || got.States[0].Message != tt.state || got.States[0].Ready != (tt.phase == v1.PhaseRunning) {
				t.Errorf("got %s, state %+v", got.Phase, got.States[0])
			}
			if got.ObservedGeneration != 2 {
				t.Errorf("observed generation %d", got.ObservedGeneration)
			}
			stalled := meta.FindStatusCondition(got.Conditions, v1.ConditionStalled)
			if want := len(tt.problems) > 0 && !tt.problems[0].Optional; want != (stalled.Status == metav1.ConditionTrue) || want && stalled.Reason != tt.degraded {
				t.Errorf("Stalled is %s, %s", stalled.Status, stalled.Reason)
			}
			degraded := meta.FindStatusCondition(got.Conditions, v1.ConditionDegraded)
			if (degraded.Status == metav1.ConditionTrue) != (tt.degraded != "") || tt.degraded != "" && degraded.Reason != tt.degraded {
				t.Errorf("Degraded is %s, %s", degraded.Status, degraded.Reason)
			}
		})
	}
}
