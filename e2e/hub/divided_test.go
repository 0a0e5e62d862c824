package hub_test

import (
	"fmt"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
)

// testDivided divides the replicas of a shop among two members, scales it, and drains one of them.
func (s *suite) testDivided(t *testing.T) {
	s.ExpectDeletes(invariants.Expected{Cluster: "eu-1", Namespace: "small", Name: "divided*"}) // By the drain.
	app := small("divided", "eu-1", "us-1")
	app.Spec.Replicas = new(int32(4))
	app.Spec.Placement.Replicas = v1.PlacementReplicas{
		Mode: v1.ReplicasDivided, Weights: []v1.WeightedClusters{{Weight: 3, Selector: v1.ClusterCriteria{Providers: []v1.Provider{v1.ProviderAWS}}}},
	}
	s.Create(t, app)
	s.AwaitRunning(t, app, eu, us)
	s.awaitReplicas(t, app, map[string]int32{"eu-1": 3, "us-1": 1})
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) { a.Spec.Replicas = new(int32(8)) })
	s.awaitReplicas(t, app, map[string]int32{"eu-1": 6, "us-1": 2})
	s.schedule(t, drained)
	s.awaitPlaced(t, app, "us-1")
	s.awaitReplicas(t, app, map[string]int32{"us-1": 8})
	s.Delete(t, app)
}

// awaitReplicas blocks until the clusters run these numbers of frontends, and the status has their sum.
func (s *suite) awaitReplicas(t *testing.T, app *v1.EcommerceApp, want map[string]int32) {
	t.Helper()
	s.AwaitApp(t, app, fmt.Sprintf("%s to run %v", app.Name, want), func(status *v1.EcommerceAppStatus) error {
		var sum int32
		for i := range status.Clusters {
			entry := &status.Clusters[i]
			if entry.Replicas != want[entry.Name] || entry.ReadyReplicas != entry.Replicas || entry.Share == nil {
				return fmt.Errorf("%w: %d of %d ready in %s", errElsewhere, entry.ReadyReplicas, entry.Replicas, entry.Name)
			}
			sum += entry.Replicas
		}
		if status.Replicas != sum || len(status.Clusters) != len(want) {
			return fmt.Errorf("%w: %d replicas in %d clusters", errElsewhere, status.Replicas, len(status.Clusters))
		}
		return nil
	})
}
