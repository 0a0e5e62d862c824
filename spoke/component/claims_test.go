package component_test

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// deleted returns a bound claim that is being deleted.
func deleted(name string) *corev1.PersistentVolumeClaim {
	c := claim(name, "10Gi", corev1.ClaimBound)
	c.DeletionTimestamp = &metav1.Time{}
	return c
}

// TestDeletedClaims checks that nothing that may restart its pods is written to a database of which a claim
// is being deleted, that a user is told, and that what else the spec wants goes on.
func TestDeletedClaims(t *testing.T) {
	newer := func(s *appsv1.StatefulSet) { s.Annotations[v1.SpecHashAnnotation] = "new" }
	wanted := map[string]func(*appsv1.StatefulSet){
		"the same":         func(*appsv1.StatefulSet) {},
		"another image":    withImage("image:2"),
		"a larger volume":  func(s *appsv1.StatefulSet) { newer(s); sized("20Gi")(s) },
		"another service":  func(s *appsv1.StatefulSet) { newer(s); s.Spec.ServiceName = "other" },
		"another selector": func(s *appsv1.StatefulSet) { newer(s); s.Spec.Selector.MatchLabels = map[string]string{"a": "b"} },
		"more replicas":    func(s *appsv1.StatefulSet) { newer(s); s.Spec.Replicas = new(int32(3)) },
	}
	claims := map[string]struct {
		names []string
		says  string
	}{
		"that of the primary": {[]string{"data-app-database-0"}, "claim data-app-database-0 is being deleted and its data is lost when pod app-database-0 restarts"},
		"that of a replica":   {[]string{"data-app-database-1"}, "delete pod app-database-1, which then copies the primary's data"},
		"all":                 {[]string{"data-app-database-0", "data-app-database-1"}, "claim data-app-database-0 and 1 more is being deleted"},
	}
	for name, change := range wanted {
		for which, tt := range claims {
			t.Run(name+", "+which, func(t *testing.T) {
				components, found := replicated(newImage(1, "backend")), serving(claim("data-app-database-0", "10Gi", corev1.ClaimBound), claim("data-app-database-1", "10Gi", corev1.ClaimBound))
				components[0].Objects[1].Resource = statefulSet("database", 2, 0, change)
				for _, claim := range tt.names {
					with(found, deleted(claim))
				}
				got, err := component.Decide(component.Input{Components: components, Live: found, OwnerUID: owner, Generation: 1, Conditions: initialized(1)})
				if err != nil {
					t.Fatal(err)
				}
				// A release of both is in order.
				checkHeldSteps(t, got.Steps, name != "another image")
				checkHeldReport(t, got, tt.says, name == "the same")
			})
		}
	}
}

// checkHeldSteps checks that the StatefulSet has no step, and whether the release of the backend has one.
func checkHeldSteps(t *testing.T, steps []component.Step, release bool) {
	t.Helper()
	for _, step := range steps {
		if _, is := step.Object.Resource.(*appsv1.StatefulSet); is {
			t.Errorf("the set gets %s", step.Action)
		}
	}
	if written := slices.Contains(told(steps), "apply deployment backend"); written != release {
		t.Errorf("the backend is written %t: %v", written, told(steps))
	}
}

// checkHeldReport checks that Stalled says that a claim is being deleted, and whether the database is ready.
func checkHeldReport(t *testing.T, got component.Decision, says string, ready bool) {
	t.Helper()
	summary := component.Summarize(component.SummaryInput{Generation: 1, Now: at(0), Previous: initialized(1), States: got.States, Problems: got.Problems})
	stalled := meta.FindStatusCondition(summary.Conditions, v1.ConditionStalled)
	if stalled.Status != metav1.ConditionTrue || stalled.Reason != v1.ReasonClaimBeingDeleted || !strings.Contains(stalled.Message, says) {
		t.Errorf("Stalled is %s, %s: %s", stalled.Status, stalled.Reason, stalled.Message)
	}
	if database := summary.States[0]; database.Ready != ready {
		t.Errorf("the database is ready %t: %s", database.Ready, database.Message)
	}
}

// TestDeletedClaimsOfOthers lists claims that are being deleted and hold up nothing.
func TestDeletedClaimsOfOthers(t *testing.T) {
	stopped := shop()
	stopped[0].Objects[1].Resource = statefulSet("database", 0, 0, withImage("image:2"))
	for name, tt := range map[string]struct {
		components []component.Component
		live       component.Live
	}{
		"of a pod that is no longer wanted": {shop(), with(running(), deleted("data-app-database-1"))},
		"of a database that is stopped":     {stopped, with(running(), deleted("data-app-database-0"))},
		"of another application":            {shop(), with(running(), deleted("data-other-database-0"))},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := component.Decide(component.Input{Components: tt.components, Live: tt.live, OwnerUID: owner, Generation: 1, Conditions: initialized(1)})
			if err != nil || len(got.Problems) > 0 || !slices.Contains(told(got.Steps), "apply statefulset database") {
				t.Errorf("%v, problems %v, steps %v", err, got.Problems, told(got.Steps))
			}
		})
	}
}

// TestDeletedDumps checks that a claim with dumps that is being deleted is reported.
func TestDeletedDumps(t *testing.T) {
	dumps := component.Component{Name: "database", Objects: []component.Object{{Resource: claim("dumps", "10Gi", ""), Once: true, Retain: true}}}
	got, err := component.Decide(component.Input{Components: []component.Component{dumps}, Live: live(deleted("dumps"))})
	if err != nil || len(got.Problems) != 1 || !got.Problems[0].Blocking || !strings.HasPrefix(got.Problems[0].Message, "claim dumps is being deleted") {
		t.Errorf("%v, problems %+v", err, got.Problems)
	}
}
