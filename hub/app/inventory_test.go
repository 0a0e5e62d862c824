package app

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/copies"
	"github.com/shopfleet/shopfleet/hub/app/state"
)

// TestUndecided recovers inventories from what members say, and decides about them.
func TestUndecided(t *testing.T) {
	t.Parallel()
	const lost, none, held, ending = state.Uncertain, state.Absent, state.Present, state.Terminating
	for name, tt := range map[string]struct {
		found           map[string]state.Presence
		maxClusters     int32
		deleting        bool
		chosen, waiting []string
	}{
		"no member has a copy":                {found: map[string]state.Presence{"a": none, "b": none}, maxClusters: 1, chosen: []string{"a"}},
		"a copy stays":                        {found: map[string]state.Presence{"a": none, "b": held}, maxClusters: 1, chosen: []string{"b"}},
		"a copy that ends does not":           {found: map[string]state.Presence{"a": none, "b": ending}, maxClusters: 1, chosen: []string{"a"}},
		"who may hold one stays":              {found: map[string]state.Presence{"a": none, "b": lost}, maxClusters: 1, chosen: []string{"b"}},
		"maxClusters permits all":             {found: map[string]state.Presence{"a": held, "b": lost}, chosen: []string{"a", "b"}},
		"who holds one stays first":           {found: map[string]state.Presence{"a": lost, "b": held}, maxClusters: 1, chosen: []string{"b"}},
		"maxClusters permits one of two":      {found: map[string]state.Presence{"a": lost, "b": lost}, maxClusters: 1, waiting: []string{"a", "b"}},
		"maxClusters permits one of two more": {found: map[string]state.Presence{"a": lost, "b": lost, "c": held}, maxClusters: 2, waiting: []string{"a", "b"}},
		"a deletion does not ask maxClusters": {found: map[string]state.Presence{"a": lost, "b": lost}, maxClusters: 1, deleting: true, chosen: []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := inventory{uncertain: map[string]bool{}}
			var members []v1.MemberCluster
			for _, name := range []string{"a", "b", "c"} {
				presence, known := tt.found[name]
				if !known {
					continue
				}
				i.add(name, presence)
				if presence == lost {
					members = append(members, member(name, metav1.ConditionFalse, v1.ReasonProbeFailed))
				} else {
					members = append(members, member(name, metav1.ConditionTrue, v1.ReasonConnected))
				}
			}
			in := observation{Input: aggregate.Input{Deleting: tt.deleting}}
			in.Previous.Clusters = i.entries
			(&Reconciler{}).decide(&in, placedBy(v1.Placement{MaxClusters: tt.maxClusters}), members)
			rejected := in.decision.Rejected
			waiting := undecided(in.Input, rejected, i.uncertain)
			if diff := cmp.Diff(tt.waiting, waiting, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("waits for (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.chosen, in.Chosen); len(waiting) == 0 && diff != "" {
				t.Errorf("chosen (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnobserved decides about members whose status was lost together with that of the
// application.
func TestUnobserved(t *testing.T) {
	t.Parallel()
	regions := v1.Placement{ClusterCriteria: v1.ClusterCriteria{Regions: []string{"r"}}}
	known := func(m *v1.MemberCluster) { m.Status.ClusterUID, m.Status.Provider = "u", v1.ProviderAWS }
	for name, tt := range map[string]struct {
		spec    v1.Placement
		change  func(*v1.MemberCluster)
		ending  bool
		deleted bool
		want    []string
	}{
		"by region":                      {spec: regions, want: []string{"a", "b"}},
		"by provider":                    {spec: v1.Placement{ClusterCriteria: v1.ClusterCriteria{Providers: []v1.Provider{v1.ProviderAWS}}}, want: []string{"a", "b"}},
		"by labels":                      {spec: v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterSelector: &v1.ClusterLabelSelector{}}}, want: []string{"a", "b"}},
		"anywhere":                       {},
		"by name":                        {spec: v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterNames: []string{"a"}}}},
		"by region and name":             {spec: v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterNames: []string{"b"}, Regions: []string{"r"}}}, want: []string{"b"}},
		"observed":                       {spec: regions, change: known},
		"its nodes are uninitialized":    {spec: regions, change: func(m *v1.MemberCluster) { m.Status.ClusterUID = "u" }, want: []string{"a", "b"}},
		"only the spec says where it is": {spec: regions, change: func(m *v1.MemberCluster) { m.Status.Provider = v1.ProviderAWS }, want: []string{"a", "b"}},
		"detached":                       {spec: regions, change: func(m *v1.MemberCluster) { m.DeletionTimestamp = &metav1.Time{} }},
		"a copy that ends":               {spec: regions, ending: true},
		"an application that is deleted": {spec: regions, deleted: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := aggregate.Input{Deleting: tt.deleted}
			var members []v1.MemberCluster
			for _, name := range []string{"b", "a", "never held one"} {
				m := member(name, metav1.ConditionUnknown, v1.ReasonConnecting)
				if tt.change != nil {
					tt.change(&m)
				}
				members = append(members, m)
			}
			for _, name := range []string{"a", "b"} {
				entry := v1.ClusterStatus{Name: name}
				if tt.ending {
					entry.Phase = v1.PhaseDeleting
				}
				in.Previous.Clusters = append(in.Previous.Clusters, entry)
			}
			if diff := cmp.Diff(tt.want, unobserved(in, tt.spec, members)); diff != "" {
				t.Errorf("waits for (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInventoryWaitsForLookups(t *testing.T) {
	t.Parallel()
	i := inventory{uncertain: map[string]bool{}}
	i.add("a", state.Present)
	if i.pending {
		t.Error("waits although every member answered")
	}
	i.add("b", state.NotLooked)
	if !i.pending || len(i.entries) != 1 {
		t.Errorf("pending %t, entries %v; want to wait for b", i.pending, i.entries)
	}
}

// TestRecoverRecorded looks for copies where the metadata of the application says, and in all
// members if it says nothing.
func TestRecoverRecorded(t *testing.T) {
	t.Parallel()
	members := []v1.MemberCluster{
		member("a", metav1.ConditionFalse, v1.ReasonProbeFailed),
		member("b", metav1.ConditionFalse, v1.ReasonProbeFailed),
		// Those that are about to be engaged may hold a copy also if they are not recorded.
		member("connecting", metav1.ConditionTrue, v1.ReasonConnected),
		member("new", metav1.ConditionUnknown, v1.ReasonConnecting),
	}
	r := &Reconciler{state: state.New(clock.RealClock{}), dispatcher: copies.New(nil, copies.Options{})}
	for name, tt := range map[string]struct {
		recorded *string
		status   []string
		want     []string
		pending  bool
	}{
		"nothing":              {want: []string{"a", "b", "new"}, pending: true},
		"no cluster":           {recorded: new(""), want: []string{"new"}, pending: true},
		"one":                  {recorded: new("b"), want: []string{"b", "new"}, pending: true},
		"one that left":        {recorded: new("b,left"), want: []string{"b", "new"}, pending: true},
		"less than the status": {recorded: new("b"), status: []string{"a"}, want: []string{"a", "b", "new"}, pending: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := shop(0, tt.status...)
			if tt.recorded != nil {
				app.Annotations = map[string]string{v1.ClustersAnnotation: *tt.recorded}
			}
			found := r.recoverInventory(t.Context(), app, members)
			var got []string
			for _, entry := range found.entries {
				got = append(got, entry.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || found.pending != tt.pending {
				t.Errorf("pending %t, want %t; entries (-want +got):\n%s", found.pending, tt.pending, diff)
			}
		})
	}
}

// TestLostInventoryEndsDecision checks that a pass over an application whose status was lost takes its orders back,
// and a dry run does not.
func TestLostInventoryEndsDecision(t *testing.T) {
	t.Parallel()
	c := clocktesting.NewFakeClock(time.Unix(1000, 0))
	hub := &partial{}
	hub.members = []v1.MemberCluster{member("connecting", metav1.ConditionTrue, v1.ReasonConnected)}
	known := state.New(c)
	r := &Reconciler{client: hub, reader: hub, state: known, dispatcher: copies.New(hub, copies.Options{State: known}), clock: c, recorder: events.NewFakeRecorder(10)}
	app := shop(0)
	app.Finalizers = []string{v1.HubFinalizer}
	known.HandOver(&state.Decision{App: app, Orders: map[string]*state.Order{"connecting": {Hash: "1"}}})
	if _, err := (&Controller{reconciler: r}).DryRun(t.Context(), app); !errors.Is(err, errRecovering) || known.Decision(keyOf(app)) == nil {
		t.Errorf("a dry run returns %v and leaves the decision %+v", err, known.Decision(keyOf(app)))
	}
	if _, err := r.reconcile(t.Context(), app); err != nil || known.Decision(keyOf(app)) != nil {
		t.Errorf("a pass returns %v and leaves the decision %+v", err, known.Decision(keyOf(app)))
	}
}
