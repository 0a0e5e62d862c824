package aggregate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestUrgent changes one thing of a status at a time.
func TestUrgent(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*v1.EcommerceAppStatus)
		want   bool
	}{
		"nothing":    {func(*v1.EcommerceAppStatus) {}, false},
		"replicas":   {func(s *v1.EcommerceAppStatus) { s.Clusters[0].ReadyReplicas = 1 }, false},
		"generation": {func(s *v1.EcommerceAppStatus) { s.ObservedGeneration = 2 }, true},
		"rejected clusters": {func(s *v1.EcommerceAppStatus) {
			s.Placement = &v1.PlacementStatus{Rejected: []v1.RejectedClusters{{Reason: v1.ReasonNotSelected, Clusters: 1}}}
		}, false},
		"reason":                 {func(s *v1.EcommerceAppStatus) { s.Conditions[0].Reason = "Another" }, true},
		"not available any more": {func(s *v1.EcommerceAppStatus) { s.Conditions[1].Status = metav1.ConditionUnknown }, true},
		"phase":                  {func(s *v1.EcommerceAppStatus) { s.Phase = v1.PhaseFailed }, true},
		"rollout":                {func(s *v1.EcommerceAppStatus) { s.Rollout = &v1.RolloutStatus{Revision: 2} }, true},
		"an answer":              {func(s *v1.EcommerceAppStatus) { s.LastHandledReconcileAt = "now" }, true},
		"an image update":        {func(s *v1.EcommerceAppStatus) { s.LastHandledImageUpdate = "now" }, true},
		"a condition more": {func(s *v1.EcommerceAppStatus) {
			s.Conditions = append(s.Conditions, metav1.Condition{Type: v1.ConditionDegraded})
		}, true},
		"status of a condition":        {func(s *v1.EcommerceAppStatus) { s.Conditions[0].Status = metav1.ConditionUnknown }, true},
		"another phase of a cluster":   {func(s *v1.EcommerceAppStatus) { s.Clusters[0].Phase = v1.PhaseFailed }, true},
		"another cluster":              {func(s *v1.EcommerceAppStatus) { s.Clusters = append(s.Clusters, v1.ClusterStatus{Name: "c"}) }, true},
		"ready no more":                {func(s *v1.EcommerceAppStatus) { s.Clusters[0].Ready = false }, true},
		"pod templates":                {func(s *v1.EcommerceAppStatus) { s.Rendering = &v1.RolloutStatus{Revision: 2} }, true},
		"pod templates of a cluster":   {func(s *v1.EcommerceAppStatus) { s.Clusters[0].RenderingVersion = "2" }, true},
		"unknown origin":               {func(s *v1.EcommerceAppStatus) { s.Clusters[0].UnknownOrigin = "another hub" }, true},
		"revision of a cluster":        {func(s *v1.EcommerceAppStatus) { s.Clusters[0].Revision = 2 }, true},
		"share of a cluster":           {func(s *v1.EcommerceAppStatus) { s.Clusters[0].Share = &v1.ReplicaShare{} }, true},
		"pods of an earlier version":   {func(s *v1.EcommerceAppStatus) { s.Clusters[0].HeldTemplates = true }, false},
		"cluster that is left is lost": {func(s *v1.EcommerceAppStatus) { s.Clusters[1].Stale = true }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := v1.EcommerceAppStatus{
				ObservedGeneration: 1,
				Conditions: []metav1.Condition{
					{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: "One"},
					{Type: v1.ConditionAvailable, Status: metav1.ConditionTrue},
				},
				Clusters: []v1.ClusterStatus{
					{Name: "a", Phase: v1.PhaseRunning, Ready: true}, {Name: "b", Phase: v1.PhaseDeleting},
				},
			}
			after := *before.DeepCopy()
			tt.change(&after)
			if got := Urgent(before, after); got != tt.want {
				t.Errorf("urgent: %t, want %t", got, tt.want)
			}
		})
	}
}

// TestUnrelatedMember checks that a member that joins and is rejected is no change of an application that is placed
// elsewhere, and progress of one that is not placed.
func TestUnrelatedMember(t *testing.T) {
	t.Parallel()
	joined := []v1.RejectedClusters{{Reason: v1.ReasonNotSelected, Clusters: 1, Examples: []string{"new"}}}
	placed := Input{Generation: 1, Now: at(0), Clusters: []Cluster{member("a")}, Chosen: []string{"a"}}
	placed.Previous = Compute(placed)
	before := placed.Previous
	placed.Now, placed.Rejected = at(9), joined
	if diff := cmp.Diff(before, Compute(placed)); diff != "" {
		t.Errorf("the join changes the status (-before +after):\n%s", diff)
	}
	placed.HandledImageUpdate = "now"
	if diff := cmp.Diff(joined, Compute(placed).Placement.Rejected); diff != "" {
		t.Errorf("the next change leaves out the counts (-want +got):\n%s", diff)
	}

	unplaced := Input{Generation: 1, Now: at(0), Rejected: []v1.RejectedClusters{{Reason: v1.ReasonNotSelected, Clusters: 2}}}
	unplaced.Previous = Compute(unplaced)
	unplaced.Now, unplaced.Rejected = at(9), joined
	after := Compute(unplaced)
	if diff := cmp.Diff(joined, after.Placement.Rejected); diff != "" {
		t.Errorf("counts of an application without a cluster (-want +got):\n%s", diff)
	}
	if Urgent(unplaced.Previous, after) {
		t.Error("counts are urgent")
	}
}
