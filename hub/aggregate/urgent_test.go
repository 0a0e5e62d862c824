package aggregate

import (
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestLossOfAClusterThatIsLeftIsUrgent: its phase says nothing about it, and the
// application's conditions may be about another one already.
func TestLossOfAClusterThatIsLeftIsUrgent(t *testing.T) {
	t.Parallel()
	status := func(stale bool) v1.EcommerceAppStatus {
		return v1.EcommerceAppStatus{Clusters: []v1.ClusterStatus{{Name: "a", Phase: v1.PhaseDeleting, Stale: stale}}}
	}
	if !Urgent(status(false), status(true)) || !Urgent(status(true), status(false)) {
		t.Error("a cluster that is lost, or comes back, can wait")
	}
	if Urgent(status(true), status(true)) {
		t.Error("no change cannot wait")
	}
}
