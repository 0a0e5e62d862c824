package hub_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
)

// testSpread spreads a shop over regions while asia-1 is in that of eu-1.
func (s *suite) testSpread(t *testing.T) {
	s.setRegion(t, "asia-1", eu)
	defer s.setRegion(t, "asia-1", asia)
	app := small("spread")
	app.Spec.Placement.Preferences = []v1.WeightedClusters{{Weight: 1, Selector: v1.ClusterCriteria{Providers: []v1.Provider{v1.ProviderAWS}}}}
	s.ExpectDeletes(invariants.Expected{Cluster: "us-1", Resource: "ecommerceapps", Namespace: app.Namespace, Name: app.Name})
	for i, step := range []struct {
		spread          v1.Spread
		placed, regions []string
		rejected        []v1.RejectedClusters
		// unmet is a part of the message of Placed; empty if the spread is met.
		unmet string
	}{
		{
			spread: v1.Spread{MaxClustersPerDomain: 1}, placed: []string{"eu-1", "us-1"}, regions: []string{eu, us},
			rejected: []v1.RejectedClusters{{Reason: v1.ReasonSpreadLimit, Clusters: 1, Examples: []string{"asia-1"}}},
		}, {
			spread: v1.Spread{MaxDomains: 1}, placed: []string{"asia-1", "eu-1"}, regions: []string{eu},
			rejected: []v1.RejectedClusters{{Reason: v1.ReasonSpreadLimit, Clusters: 1, Examples: []string{"us-1"}}},
		}, {
			spread: v1.Spread{MinDomains: 3}, placed: []string{"asia-1", "eu-1", "us-1"}, regions: []string{eu, us},
			unmet: "spread by region: minDomains is 3, and the chosen clusters have 2",
		},
	} {
		step.spread.Topology = v1.TopologyRegion
		if i == 0 {
			app.Spec.Placement.Spread = []v1.Spread{step.spread}
			s.Create(t, app)
		} else {
			framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) { a.Spec.Placement.Spread = []v1.Spread{step.spread} })
		}
		s.awaitPlaced(t, app, step.placed...)
		want := metav1.Condition{Type: v1.ConditionPlaced, Status: metav1.ConditionTrue, Reason: v1.ReasonPlaced}
		if step.unmet != "" {
			want.Status, want.Reason = metav1.ConditionFalse, v1.ReasonSpreadNotMet
		}
		if got := framework.AwaitCondition(t, s.Hub, app, want); !strings.Contains(got.Message, step.unmet) {
			t.Errorf("Placed says %q, want %q in it", got.Message, step.unmet)
		}
		s.AwaitRunning(t, app, step.regions...)
		if diff := cmp.Diff(step.rejected, app.Status.Placement.Rejected); diff != "" {
			t.Errorf("%+v: rejected clusters (-want +got):\n%s", step.spread, diff)
		}
	}
	s.Delete(t, app)
}

// setRegion sets the region of a member, and blocks until it counts.
func (s *suite) setRegion(t *testing.T, name, region string) {
	t.Helper()
	member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	framework.Edit(t, s.Hub, member, func(m *v1.MemberCluster) { m.Spec.Region = region })
	framework.Await(t, s.Hub, member, name+" to be in "+region, func(m *v1.MemberCluster) error {
		if m.Status.Region != region {
			return fmt.Errorf("%w: %s is in %s", errElsewhere, name, m.Status.Region)
		}
		return nil
	})
}
