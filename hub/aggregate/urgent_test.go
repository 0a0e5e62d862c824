package aggregate

import (
	"testing"

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
		"nothing":                      {func(*v1.EcommerceAppStatus) {}, false},
		"replicas":                     {func(s *v1.EcommerceAppStatus) { s.Clusters[0].ReadyReplicas = 1 }, false},
		"generation":                   {func(s *v1.EcommerceAppStatus) { s.ObservedGeneration = 2 }, true},
		"placement":                    {func(s *v1.EcommerceAppStatus) { s.Placement = &v1.PlacementStatus{RejectedCount: 1} }, true},
		"reason":                       {func(s *v1.EcommerceAppStatus) { s.Conditions[0].Reason = "Another" }, true},
		"not available any more":       {func(s *v1.EcommerceAppStatus) { s.Conditions[1].Status = metav1.ConditionUnknown }, true},
		"another cluster":              {func(s *v1.EcommerceAppStatus) { s.Clusters = append(s.Clusters, v1.ClusterStatus{Name: "c"}) }, true},
		"ready no more":                {func(s *v1.EcommerceAppStatus) { s.Clusters[0].Ready = false }, true},
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
