package app

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
)

// member makes a MemberCluster with a Ready condition.
func member(name string, ready metav1.ConditionStatus, reason string) v1.MemberCluster {
	return v1.MemberCluster{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: v1.MemberClusterStatus{
			Region:     "r",
			Conditions: []metav1.Condition{{Type: v1.ConditionReady, Status: ready, Reason: reason}},
		},
	}
}

// placedBy returns an application with a placement.
func placedBy(p v1.Placement) *v1.EcommerceApp {
	return &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Placement: p}}
}

// BenchmarkDecide decides where one shop runs among 1,000 members: in three, and divided among as many as
// it may run in.
func BenchmarkDecide(b *testing.B) {
	var members []v1.MemberCluster
	for i := range 1000 {
		members = append(members, member(fmt.Sprintf("member-%03d", i), metav1.ConditionTrue, v1.ReasonConnected))
	}
	for name, p := range map[string]v1.Placement{
		"three":   {MaxClusters: 3},
		"divided": {Replicas: v1.PlacementReplicas{Mode: v1.ReplicasDivided, By: v1.DivideByFreeCapacity}},
	} {
		b.Run(name, func(b *testing.B) {
			app := placedBy(p)
			app.Spec.Replicas = new(int32(1000))
			in := observation{}
			(&Reconciler{}).decide(&in, app, members)
			for _, chosen := range in.Chosen {
				in.Previous.Clusters = append(in.Previous.Clusters, v1.ClusterStatus{Name: chosen, Available: true})
			}
			b.ReportAllocs()
			for b.Loop() {
				(&Reconciler{}).decide(&in, app, members)
				if len(in.Chosen) != len(in.Previous.Clusters) || len(in.Chosen) == 0 {
					b.Fatal(in.Chosen)
				}
			}
		})
	}
}

// TestDecideWhatServes checks that observed readiness counts, and the last known one where nothing is observed.
func TestDecideWhatServes(t *testing.T) {
	t.Parallel()
	drained := member("a", metav1.ConditionTrue, v1.ReasonConnected)
	drained.Spec.Scheduling = v1.SchedulingDrained
	available := &aggregate.Copy{Status: v1.EcommerceAppStatus{Conditions: []metav1.Condition{{Type: v1.ConditionAvailable, Status: metav1.ConditionTrue}}}}
	down := &aggregate.Copy{Status: v1.EcommerceAppStatus{Conditions: []metav1.Condition{{Type: v1.ConditionAvailable, Status: metav1.ConditionFalse}}}}
	for name, tt := range map[string]struct {
		clusters []aggregate.Cluster
		want     []string
	}{
		"the other one serves":              {[]aggregate.Cluster{{Name: "a", Copy: available}, {Name: "b", Copy: available}}, []string{"b"}},
		"the other one does not":            {[]aggregate.Cluster{{Name: "a", Copy: available}, {Name: "b", Copy: &aggregate.Copy{}}}, []string{"a", "b"}},
		"the other one connects":            {[]aggregate.Cluster{{Name: "a", Copy: available}, {Name: "b", Connection: aggregate.Connecting}}, []string{"a", "b"}},
		"the one to leave connects":         {[]aggregate.Cluster{{Name: "a", Connection: aggregate.Connecting}, {Name: "b", Copy: &aggregate.Copy{}}}, []string{"a", "b"}},
		"the one to leave does not respond": {[]aggregate.Cluster{{Name: "a", Connection: aggregate.Lost}, {Name: "b", Copy: &aggregate.Copy{}}}, []string{"a", "b"}},
		"the one to leave has failed":       {[]aggregate.Cluster{{Name: "a", Copy: down}, {Name: "b", Copy: &aggregate.Copy{}}}, []string{"b"}},
		"the one to leave has no status":    {[]aggregate.Cluster{{Name: "a", Copy: &aggregate.Copy{}}, {Name: "b", Copy: &aggregate.Copy{}}}, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := observation{Input: aggregate.Input{Clusters: tt.clusters}}
			in.Previous.Clusters = []v1.ClusterStatus{{Name: "a", Available: true}, {Name: "b"}}
			(&Reconciler{}).decide(&in, placedBy(v1.Placement{}), []v1.MemberCluster{drained, member("b", metav1.ConditionTrue, v1.ReasonConnected)})
			if diff := cmp.Diff(tt.want, in.Chosen); diff != "" {
				t.Errorf("chosen (-want +got):\n%s", diff)
			}
			pending := len(tt.want) > 1
			if (in.PlacementHash == "") != pending || (in.StayReason != "") != pending {
				t.Errorf("hash %q and reason %q while the application is to leave: %t", in.PlacementHash, in.StayReason, pending)
			}
		})
	}
}

// TestDecideLostFacts checks that a member whose status was lost is at the location that the application has
// recorded, while another member is known already and serves.
func TestDecideLostFacts(t *testing.T) {
	t.Parallel()
	available := &aggregate.Copy{Status: v1.EcommerceAppStatus{Conditions: []metav1.Condition{{Type: v1.ConditionAvailable, Status: metav1.ConditionTrue}}}}
	lost, other := member("a", metav1.ConditionUnknown, v1.ReasonConnecting), member("b", metav1.ConditionTrue, v1.ReasonConnected)
	lost.Status, other.Status.Provider = v1.MemberClusterStatus{}, v1.ProviderAWS
	for name, by := range map[string]v1.ClusterCriteria{
		"regions":   {Regions: []string{"r"}},
		"providers": {Providers: []v1.Provider{v1.ProviderAWS}},
		"selector":  {ClusterSelector: &v1.ClusterLabelSelector{MatchLabels: map[string]string{v1.ProviderLabel: "aws", "topology.kubernetes.io/region": "r"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := placedBy(v1.Placement{ClusterCriteria: by})
			app.Status.Clusters = []v1.ClusterStatus{
				{Name: "a", Region: "r", Provider: v1.ProviderAWS, Available: true}, {Name: "b", Region: "r", Provider: v1.ProviderAWS, Available: true},
			}
			in := observation{Input: aggregate.Input{Previous: app.Status, Clusters: []aggregate.Cluster{{Name: "a", Connection: aggregate.Lost}, {Name: "b", Copy: available}}}}
			(&Reconciler{}).decide(&in, app, []v1.MemberCluster{lost, other})
			if want := []string{"a", "b"}; !cmp.Equal(want, in.Chosen) || in.StayReason != "" {
				t.Errorf("chosen %v, stays by %q", in.Chosen, in.StayReason)
			}
		})
	}
}

// TestDecideWaitsForShares checks that the pods of each component that are observed ready count.
func TestDecideWaitsForShares(t *testing.T) {
	t.Parallel()
	drained := member("a", metav1.ConditionTrue, v1.ReasonConnected)
	drained.Spec.Scheduling = v1.SchedulingDrained
	app := placedBy(v1.Placement{Replicas: v1.PlacementReplicas{Mode: v1.ReplicasDivided}})
	app.Spec.Replicas, app.Spec.Backend = new(int32(4)), v1.Workload{Image: "b:1", Replicas: new(int32(2))}
	app.Status.Clusters = []v1.ClusterStatus{
		{Name: "a", Available: true, Share: &v1.ReplicaShare{Frontend: new(int32(2)), Backend: new(int32(1))}},
		{Name: "b", Available: true, Share: &v1.ReplicaShare{Frontend: new(int32(2)), Backend: new(int32(1))}, ReadyReplicas: 4},
	}
	for name, tt := range map[string]struct {
		frontends, backends int32
		want                []string
	}{
		"some frontends": {3, 2, []string{"a", "b"}}, "some backends": {4, 1, []string{"a", "b"}}, "all": {4, 2, []string{"b"}},
	} {
		copied := &aggregate.Copy{Status: v1.EcommerceAppStatus{
			Conditions: []metav1.Condition{{Type: v1.ConditionAvailable, Status: metav1.ConditionTrue}},
			Components: []v1.ComponentStatus{{Name: "backend", ReadyReplicas: tt.backends}, {Name: "frontend", ReadyReplicas: tt.frontends}},
		}}
		in := observation{Input: aggregate.Input{Previous: app.Status, Clusters: []aggregate.Cluster{{Name: "a", Copy: copied}, {Name: "b", Copy: copied}}}}
		(&Reconciler{}).decide(&in, app, []v1.MemberCluster{drained, member("b", metav1.ConditionTrue, v1.ReasonConnected)})
		if diff := cmp.Diff(tt.want, in.Chosen); diff != "" || *in.Shares["b"].Frontend != 4 {
			t.Errorf("%s: shares %v, chosen (-want +got):\n%s", name, in.Shares, diff)
		}
	}
}

func TestDecideStaysWherePlacementCannotBeRead(t *testing.T) {
	t.Parallel()
	in := observation{}
	in.Previous.Clusters = []v1.ClusterStatus{{Name: "a"}, {Name: "b", Phase: v1.PhaseDeleting}}
	spec := v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterSelector: &v1.ClusterLabelSelector{
		MatchExpressions: []v1.ClusterRequirement{{Key: "k", Operator: "Near"}},
	}}}
	(&Reconciler{}).decide(&in, placedBy(spec), []v1.MemberCluster{member("c", metav1.ConditionTrue, v1.ReasonConnected)})
	if in.Invalid == "" || !cmp.Equal(in.Chosen, []string{"a"}) {
		t.Errorf("invalid %q, chosen %v; want the cluster that it is on and not leaving", in.Invalid, in.Chosen)
	}
}

func TestDecideStaysWhereNothingMatches(t *testing.T) {
	t.Parallel()
	in := observation{}
	in.Previous.Clusters = []v1.ClusterStatus{{Name: "a"}}
	(&Reconciler{}).decide(&in, placedBy(v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterNames: []string{"typo"}}}), []v1.MemberCluster{member("a", metav1.ConditionTrue, v1.ReasonConnected)})
	if in.Invalid == "" || !cmp.Equal(in.Chosen, []string{"a"}) {
		t.Errorf("invalid %q, chosen %v; want the cluster that it is on", in.Invalid, in.Chosen)
	}
}

func TestDecideKnowsMembersByTheirStatus(t *testing.T) {
	t.Parallel()
	deleting := member("deleting", metav1.ConditionTrue, v1.ReasonConnected)
	deleting.DeletionTimestamp = &metav1.Time{}
	members := []v1.MemberCluster{
		member("ready", metav1.ConditionTrue, v1.ReasonConnected),
		member("lost", metav1.ConditionFalse, v1.ReasonProbeFailed),
		member("placed", metav1.ConditionFalse, v1.ReasonProbeFailed),
		member("detached", metav1.ConditionFalse, v1.ReasonSecretNotFound),
		{ObjectMeta: metav1.ObjectMeta{Name: "new"}},
		deleting,
	}
	in := observation{}
	for _, name := range []string{"placed", "detached", "deleting", "forgotten"} {
		in.Previous.Clusters = append(in.Previous.Clusters, v1.ClusterStatus{Name: name})
	}
	(&Reconciler{}).decide(&in, placedBy(v1.Placement{}), members)
	rejected := in.decision.Rejected
	if diff := cmp.Diff([]string{"placed", "ready"}, in.Chosen); diff != "" {
		t.Errorf("chosen (-want +got):\n%s", diff)
	}
	got := map[string]string{}
	for _, r := range rejected {
		got[r.Name] = r.Reason
	}
	want := map[string]string{
		"lost": v1.ReasonClusterNotReady, "new": v1.ReasonClusterNotReady,
		"detached": v1.ReasonClusterDetached, "deleting": v1.ReasonClusterDetached,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rejected (-want +got):\n%s", diff)
	}
}

func TestMemberChanged(t *testing.T) {
	t.Parallel()
	ready := func(change func(*v1.MemberCluster)) *v1.MemberCluster {
		m := member("a", metav1.ConditionTrue, v1.ReasonConnected)
		change(&m)
		return &m
	}
	lost := func(change func(*v1.MemberCluster)) *v1.MemberCluster {
		m := member("a", metav1.ConditionFalse, v1.ReasonProbeFailed)
		change(&m)
		return &m
	}
	nothing := func(*v1.MemberCluster) {}
	ofAWS := func(m *v1.MemberCluster) { m.Status.Provider = v1.ProviderAWS }
	observed := func(m *v1.MemberCluster) { m.Status.LastObservedTime = &metav1.Time{} }
	tests := map[string]struct {
		before, after *v1.MemberCluster
		want          bool
	}{
		"nothing":                  {ready(nothing), ready(nothing), false},
		"capacity":                 {ready(nothing), ready(func(m *v1.MemberCluster) { m.Status.Nodes = 5; m.Status.Apps = 7 }), false},
		"observed while ready":     {ready(nothing), ready(observed), false},
		"observed last while lost": {lost(nothing), lost(observed), true},
		"lost":                     {ready(nothing), lost(nothing), true},
		"another reason":           {lost(nothing), new(member("a", metav1.ConditionFalse, v1.ReasonSecretNotFound)), true},
		"labels":                   {ready(nothing), ready(func(m *v1.MemberCluster) { m.Labels = map[string]string{"k": "v"} }), true},
		"region":                   {ready(nothing), ready(func(m *v1.MemberCluster) { m.Status.Region = "s" }), true},
		"deleted":                  {ready(nothing), ready(func(m *v1.MemberCluster) { m.DeletionTimestamp = &metav1.Time{} }), true},
		"account":                  {ready(ofAWS), ready(func(m *v1.MemberCluster) { ofAWS(m); m.Spec.CloudAccountRef = &v1.ObjectReference{Name: "prod"} }), true},
		"zones":                    {ready(nothing), ready(func(m *v1.MemberCluster) { m.Status.Zones = []string{"z"} }), true},
		"cordoned":                 {ready(nothing), ready(func(m *v1.MemberCluster) { m.Spec.Scheduling = v1.SchedulingCordoned }), true},
		"taint":                    {ready(nothing), ready(func(m *v1.MemberCluster) { m.Spec.Taints = []v1.Taint{{Key: "k"}} }), true},
		"time of a taint":          {ready(nothing), ready(func(m *v1.MemberCluster) { m.Status.Taints = []v1.TaintStatus{{Key: "k"}} }), true},
		"provider":                 {ready(nothing), ready(func(m *v1.MemberCluster) { m.Status.Provider = v1.ProviderAWS }), true},
		"driver":                   {ready(nothing), ready(func(m *v1.MemberCluster) { m.Status.Capabilities = []string{"d"} }), true},
		"permissions": {ready(nothing), ready(func(m *v1.MemberCluster) {
			m.Status.Conditions = append(m.Status.Conditions, metav1.Condition{Type: v1.ConditionAuthorized, Status: metav1.ConditionTrue})
		}), true},
		"message of the same problem": {lost(nothing), lost(func(m *v1.MemberCluster) { m.Status.Conditions[0].Message = "x" }), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := memberChanged(tt.before, tt.after); got != tt.want {
				t.Errorf("changed: %t, want %t", got, tt.want)
			}
		})
	}
}

// TestMemberChange checks that a member that flaps affects the applications that would be placed there, and those
// that are not placed.
func TestMemberChange(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		app  func(*v1.EcommerceApp)
		want bool
	}{
		"elsewhere, by name":   {func(app *v1.EcommerceApp) { app.Spec.Placement.ClusterNames = []string{"b"} }, false},
		"elsewhere, by region": {func(app *v1.EcommerceApp) { app.Spec.Placement.Regions = []string{"s"} }, false},
		"elsewhere, by choice": {func(*v1.EcommerceApp) {}, true},
		"anywhere": {func(app *v1.EcommerceApp) {
			app.Spec.Placement.Regions, app.Status = []string{"s"}, v1.EcommerceAppStatus{}
		}, true},
		"nowhere": {func(app *v1.EcommerceApp) {
			app.Spec.Placement.Regions, app.Status.Clusters, app.Status.ClusterCount = []string{"s"}, nil, 0
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := shop(1, "b")
			tt.app(app)
			before, after := member("a", metav1.ConditionTrue, v1.ReasonConnected), member("a", metav1.ConditionFalse, v1.ReasonProbeFailed)
			for change, c := range map[string]memberChange{
				"lost":    {before: candidate(&before), after: candidate(&after)},
				"joined":  {before: absent(&before), after: candidate(&before)},
				"deleted": {before: candidate(&before), after: absent(&before)},
			} {
				if got := c.affects(app); got != tt.want {
					t.Errorf("%s: affected: %t, want %t", change, got, tt.want)
				}
			}
			none := memberChange{before: absent(&before), after: candidate(&after)}
			if got, want := none.affects(app), tt.want && name != "elsewhere, by choice"; got != want {
				t.Errorf("joined and not ready: affected: %t, want %t", got, want)
			}
		})
	}
}
