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
	"github.com/shopfleet/shopfleet/hub/app/copies"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
	"github.com/shopfleet/shopfleet/hub/app/state"
)

// TestUnanswered recovers inventories from what members say, and decides about them.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	const lost, none, held, ending = recovery.Uncertain, recovery.Absent, recovery.Present, recovery.Terminating
	for name, tt := range map[string]struct {
		found           map[string]recovery.Presence
		maxClusters     int32
		chosen, waiting []string
	}{
		"no member has a copy":                {found: map[string]recovery.Presence{"a": none, "b": none}, maxClusters: 1, chosen: []string{"a"}},
		"a copy stays":                        {found: map[string]recovery.Presence{"a": none, "b": held}, maxClusters: 1, chosen: []string{"b"}},
		"a copy that ends does not":           {found: map[string]recovery.Presence{"a": none, "b": ending}, maxClusters: 1, chosen: []string{"a"}},
		"who may hold one stays":              {found: map[string]recovery.Presence{"a": none, "b": lost}, maxClusters: 1, chosen: []string{"b"}},
		"maxClusters permits all":             {found: map[string]recovery.Presence{"a": held, "b": lost}, chosen: []string{"a", "b"}},
		"who holds one stays first":           {found: map[string]recovery.Presence{"a": lost, "b": held}, maxClusters: 1, chosen: []string{"b"}},
		"maxClusters permits one of two":      {found: map[string]recovery.Presence{"a": lost, "b": lost}, maxClusters: 1, waiting: []string{"a", "b"}},
		"maxClusters permits one of two more": {found: map[string]recovery.Presence{"a": lost, "b": lost, "c": held}, maxClusters: 2, waiting: []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := recovery.InventoryOf(&v1.EcommerceApp{})
			var members []v1.MemberCluster
			for _, name := range []string{"a", "b", "c"} {
				presence, known := tt.found[name]
				if !known {
					continue
				}
				i.Add(name, presence)
				if presence == lost {
					members = append(members, member(name, metav1.ConditionFalse, v1.ReasonProbeFailed))
				} else {
					members = append(members, member(name, metav1.ConditionTrue, v1.ReasonConnected))
				}
			}
			in := observation{}
			in.Previous.Clusters = i.Entries
			spec := v1.Placement{MaxClusters: tt.maxClusters}
			(&Reconciler{}).decide(&in, placedBy(spec), members)
			waiting := i.Unanswered(spec, in.Chosen, excess(in.decision.Rejected))
			if diff := cmp.Diff(tt.waiting, waiting, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("waits for (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.chosen, in.Chosen); len(waiting) == 0 && diff != "" {
				t.Errorf("chosen (-want +got):\n%s", diff)
			}
		})
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
			for _, entry := range found.Entries {
				got = append(got, entry.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || found.Pending != tt.pending {
				t.Errorf("pending %t, want %t; entries (-want +got):\n%s", found.Pending, tt.pending, diff)
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
