package aggregate

import (
	"fmt"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestDeletionInAnyState deletes an application in each state of a copy and of its member: the
// entry, which holds the finalizer, goes when the copy is known to be gone, when the
// application no longer waits for the member, or when that left the fleet, and not before.
func TestDeletionInAnyState(t *testing.T) {
	t.Parallel()
	copies := map[string]func(*Cluster){
		"none": func(*Cluster) {}, "running": running, "gone": gone,
		"conflict": failing(v1.ReasonConflict), "newer": failing(v1.ReasonNewerInMember), "denied": failing(v1.ReasonForbidden),
		"failing": failing(v1.ReasonApplyFailed), "ending": func(c *Cluster) {
			running(c)
			c.Copy.Deleting = true
		},
	}
	for _, phase := range []v1.Phase{v1.PhasePending, v1.PhaseCreating, v1.PhaseUpdating, v1.PhaseScaling, v1.PhaseFailed, v1.PhaseDeleting} {
		copies[string(phase)] = reporting(phase)
	}
	members := map[string]func(*Cluster){
		"connected": func(*Cluster) {}, "connecting": func(c *Cluster) { c.Connection = Connecting }, "lost": lost, "detached": detached,
		"lost and given up": func(c *Cluster) {
			lost(c)
			abandoned(c)
		},
	}
	for copied, ofCopy := range copies {
		for connection, ofMember := range members {
			for _, before := range []v1.Phase{"", v1.PhaseRunning, v1.PhaseUnknown, v1.PhaseDeleting} {
				t.Run(fmt.Sprintf("%s, %s, was %q", copied, connection, before), func(t *testing.T) {
					t.Parallel()
					checkDeletion(t, member("a", ofCopy, ofMember), before)
				})
			}
		}
	}
}

// checkDeletion deletes an application whose entry for a cluster has a phase.
func checkDeletion(t *testing.T, c Cluster, before v1.Phase) {
	t.Helper()
	in := Input{Generation: 1, Deleting: true, Chosen: []string{"a"}, Clusters: []Cluster{c}, Now: at(9)}
	in.Previous.Clusters = []v1.ClusterStatus{{Name: "a", Phase: before, Ready: before == v1.PhaseRunning}}
	next := Compute(in)
	if released := c.Gone || c.Abandoned || c.Connection == Detached; released != (len(next.Clusters) == 0) {
		t.Fatalf("entries %+v, want none: %t", next.Clusters, released)
	}
	if next.Phase != v1.PhaseDeleting {
		t.Errorf("the application is %s", next.Phase)
	}
	for _, e := range next.Clusters {
		stale := c.Connection == Lost
		if e.Phase != v1.PhaseDeleting || e.Ready || e.Stale != stale {
			t.Errorf("the entry is %s, ready %t, stale %t", e.Phase, e.Ready, e.Stale)
		}
	}
}

// TestUnrecorded checks the reason of a deletion that waits because what it leaves behind in a member is not recorded yet:
// another one if the record of the member is full.
func TestUnrecorded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		in   Input
		want string
	}{
		"a full record": {Input{Unrecorded: []string{"a"}}, v1.ReasonResidueFull},
		"not written":   {Input{Unrecorded: []string{"a"}, UnrecordedBy: "forbidden"}, v1.ReasonApplyFailed},
		"not needed":    {Input{UnrecordedBy: "forbidden"}, v1.ReasonDeleting},
	} {
		if got := (summary{in: test.in}).deletingFact(); got.reason != test.want {
			t.Errorf("%s: %s: %s", name, got.reason, got.message)
		}
	}
	if got := (summary{}).deletingFact().message; got != "the application is deleted in all clusters" {
		t.Errorf("nothing is left: %s", got)
	}
}
