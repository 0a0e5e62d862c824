package app

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
)

// elsewhere returns a controller that knows applications that run in ten members each, and a member
// that has nothing to do with any and is lost.
func elsewhere(apps int) (*Controller, memberChange) {
	c := New(nil, Options{})
	for i := range apps {
		app := shop(1)
		app.Name = fmt.Sprintf("shop-%d", i)
		for m := range 10 {
			app.Spec.Placement.ClusterNames = append(app.Spec.Placement.ClusterNames, fmt.Sprintf("member-%d", m))
		}
		app.Status = shop(1, app.Spec.Placement.ClusterNames...).Status
		c.state.Deliver(nil, app)
	}
	return c, lossOf("new")
}

// lossOf returns the change of a member that is lost.
func lossOf(name string) memberChange {
	before, after := member(name, metav1.ConditionTrue, ""), member(name, metav1.ConditionFalse, "")
	return memberChange{before: candidate(&before), after: candidate(&after)}
}

// BenchmarkAffected looks for the applications that one event of a member affects.
func BenchmarkAffected(b *testing.B) {
	c, change := elsewhere(10_000)
	b.ReportAllocs()
	for b.Loop() {
		if requests := c.affected(change); len(requests) > 0 {
			b.Fatal(requests)
		}
	}
}

// BenchmarkAffectedByLoss looks for the applications that the loss of one of 1,000 members affects: the
// ten of 10,000 that are placed there.
func BenchmarkAffectedByLoss(b *testing.B) {
	c := New(nil, Options{})
	for i := range 10_000 {
		name := fmt.Sprintf("member-%d", i%1000)
		app := shop(1, name)
		app.Name, app.Spec.Placement.ClusterNames = fmt.Sprintf("shop-%d", i), []string{name}
		c.state.Deliver(nil, app)
	}
	change := lossOf("member-7")
	b.ReportAllocs()
	for b.Loop() {
		if requests := c.affected(change); len(requests) != 10 {
			b.Fatal(requests)
		}
	}
}

// TestUnrelatedMemberAllocatesNothing checks that an event of a member that affects no application costs no garbage
// for each.
func TestUnrelatedMemberAllocatesNothing(t *testing.T) {
	const most = 10 // For all applications.
	c, change := elsewhere(1000)
	found := 0
	allocations := testing.AllocsPerRun(10, func() { found += len(c.affected(change)) })
	if allocations > most || found > 0 {
		t.Errorf("%g allocations, at most %d wanted; %d applications are affected", allocations, most, found)
	}
}

// TestFullApplication checks that a member that flaps does not affect an application that runs in as many others as
// it may, if the status that the hub wrote says that nothing is pending there.
func TestFullApplication(t *testing.T) {
	t.Parallel()
	spread := func(s v1.Spread) func(*v1.EcommerceApp, *v1.MemberCluster) {
		s.Topology = v1.TopologyRegion
		return func(app *v1.EcommerceApp, _ *v1.MemberCluster) { app.Spec.Placement.Spread = []v1.Spread{s} }
	}
	for name, tt := range map[string]struct {
		// decided changes what the hub decides about, and since what is there then.
		decided func(*v1.EcommerceApp, *v1.MemberCluster)
		since   func(*v1.EcommerceApp)
		want    bool
	}{
		"nothing is pending": {},
		"a spread is met":    {decided: spread(v1.Spread{MaxDomains: 1})},
		"a spread is not":    {decided: spread(v1.Spread{MinDomains: 2}), want: true},
		"a skew":             {decided: spread(v1.Spread{MaxSkew: 2}), want: true},
		"it may run in more": {decided: func(app *v1.EcommerceApp, _ *v1.MemberCluster) { app.Spec.Placement.MaxClusters = 3 }, want: true},
		"its data stays": {decided: func(app *v1.EcommerceApp, m *v1.MemberCluster) {
			app.Spec.Database, m.Spec.Scheduling = &v1.Database{}, v1.SchedulingDrained
		}, want: true},
		"it was edited":             {since: func(app *v1.EcommerceApp) { app.Generation++ }, want: true},
		"a copy is being deleted":   {since: func(app *v1.EcommerceApp) { app.Status.Clusters[1].Phase = v1.PhaseDeleting }, want: true},
		"it runs in the member":     {since: func(app *v1.EcommerceApp) { app.Status.Clusters[1].Name = "a" }, want: true},
		"it may run in others, too": {since: func(app *v1.EcommerceApp) { app.Status.ClusterCount++ }, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app, b := shop(1, "b", "c"), member("b", metav1.ConditionTrue, v1.ReasonConnected)
			app.Spec.Placement.MaxClusters = 2
			if tt.decided != nil {
				tt.decided(app, &b)
			}
			in := observation{Input: aggregate.Input{Generation: app.Generation, Previous: app.Status, Clusters: []aggregate.Cluster{
				{Name: "b", Copy: &aggregate.Copy{}}, {Name: "c", Copy: &aggregate.Copy{}},
			}}}
			(&Reconciler{}).decide(&in, app, []v1.MemberCluster{b, member("c", metav1.ConditionTrue, v1.ReasonConnected)})
			app.Status = aggregate.Compute(in.Input)
			if tt.since != nil {
				tt.since(app)
			}
			if c := lossOf("a"); c.affects(app) != tt.want {
				t.Errorf("affected: %t, want %t: %+v", !tt.want, tt.want, app.Status)
			}
		})
	}
}
