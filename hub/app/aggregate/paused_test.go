package aggregate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestPausedMessages checks that a user reads what waits, in which member, and which field ends that.
func TestPausedMessages(t *testing.T) {
	t.Parallel()
	paused := func(c *Cluster) { c.Paused = true }
	base := func() Input { return edited(with(after(everywhere(), 1), "a", paused)) }
	changed := func(change func(*Input)) Input {
		in := base()
		change(&in)
		return in
	}
	for name, tt := range map[string]struct {
		in        Input
		condition string
		// want is the message of the condition, and entry that of cluster a.
		want, entry string
	}{
		"member": {
			base(), v1.ConditionApplied,
			"0 of 2 clusters are up to date; changes are held back by spec.paused of MemberCluster a",
			"changes are held back by spec.paused of MemberCluster a",
		},
		"member, which does not stall it": {
			base(), v1.ConditionStalled,
			"changes are held back by spec.paused of MemberCluster a",
			"changes are held back by spec.paused of MemberCluster a",
		},
		"application": {
			changed(func(in *Input) { in.Paused, in.Clusters[0].Paused = true, false }), v1.ConditionProgressing,
			"changes are held back by spec.paused of the EcommerceApp",
			"changes are held back by spec.paused of the EcommerceApp",
		},
		"both": {
			changed(func(in *Input) { in.Paused = true }), v1.ConditionReady,
			"changes are held back by spec.paused of the EcommerceApp; 2 of 2 clusters are ready",
			"changes are held back by spec.paused of MemberCluster a",
		},
		"safe mode": {
			changed(func(in *Input) { in.SafeMode = true }), v1.ConditionApplied,
			"0 of 2 clusters are up to date; changes are held back by the hub's safe mode (--safe-mode)",
			"changes are held back by the hub's safe mode (--safe-mode)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Compute(tt.in)
			c := meta.FindStatusCondition(got.Conditions, tt.condition)
			if diff := cmp.Diff([]string{tt.want, tt.entry}, []string{c.Message, got.Clusters[0].Message}); diff != "" {
				t.Errorf("condition and entry (-want +got):\n%s", diff)
			}
			checkSettled(t, tt.in, got)
		})
	}
}

// TestPausedDeletion checks that a user reads which pause a deletion waits for, also in the message of the status,
// and if a member does not respond as well.
func TestPausedDeletion(t *testing.T) {
	t.Parallel()
	paused := func(c *Cluster) { c.Paused = true }
	member := with(after(everywhere(), 1), "a", paused)
	safe := with(member, "b", paused)
	safe.SafeMode = true
	app := after(everywhere(), 1)
	app.Paused = true
	const byMember, safeMode, skip = "spec.paused of MemberCluster a", "the hub's safe mode (--safe-mode)", ": kubectl shopfleet delete shop -n shops --skip-unreachable"
	type text struct{ Status, Deleting, Entry string }
	for name, tt := range map[string]struct {
		in   Input
		want text
	}{
		"member": {member, text{
			"waiting for the application to be deleted; a: Paused: the deletion of the copy is held back by " + byMember,
			"the deletion in a is held back by " + byMember + "; to leave the copies behind" + skip,
			"the deletion of the copy is held back by " + byMember,
		}},
		"safe mode": {safe, text{
			"waiting for the application to be deleted; a: Paused: the deletion of the copy is held back by " + safeMode +
				"; b: Paused: the deletion of the copy is held back by " + safeMode,
			"the deletion in a, b is held back by " + safeMode + "; to leave the copies behind" + skip,
			"the deletion of the copy is held back by " + safeMode,
		}},
		"member that does not respond": {with(member, "a", lost), text{
			"waiting for the application to be deleted; a: ClusterUnreachable: the cluster is unreachable: ProbeFailed; " +
				"the deletion of the copy is held back by " + byMember,
			"waiting for a to respond; the deletion in a is held back by " + byMember + "; to leave the copies behind" + skip,
			"the cluster is unreachable: ProbeFailed; the deletion of the copy is held back by " + byMember,
		}},
		"member beside one that does not respond": {with(member, "b", lost), text{
			"waiting for the application to be deleted; b: ClusterUnreachable: the cluster is unreachable: ProbeFailed; " +
				"a: Paused: the deletion of the copy is held back by " + byMember,
			"waiting for b to respond; the deletion in a is held back by " + byMember + "; to leave the copies behind" + skip,
			"the deletion of the copy is held back by " + byMember,
		}},
		// Of a cluster that is not connected yet, the last state is kept.
		"hub that starts after the end of a pause": {with(after(deleting(member), 2), "a", connectingNow, func(c *Cluster) { c.Paused = false }), text{
			"waiting for the application to be deleted; a: Paused: the deletion of the copy is held back by " + byMember,
			"the deletion in a is held back by " + byMember + "; to leave the copies behind" + skip,
			"the deletion of the copy is held back by " + byMember,
		}},
		"application, which holds nothing back": {app, text{
			"waiting for the application to be deleted in a, b", "waiting for the application to be deleted in a, b", "waiting for the copy to be deleted",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := deleting(tt.in)
			got := Compute(in)
			c := meta.FindStatusCondition(got.Conditions, v1.ConditionDeleting)
			if diff := cmp.Diff(tt.want, text{got.Message, c.Message, got.Clusters[0].Message}); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			checkSettled(t, in, got)
		})
	}
}

// TestPendingWhileLost checks that the changes that wait in a paused member are kept while the hub connects to it,
// and dropped once it is lost.
func TestPendingWhileLost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*Cluster)
		want   int32
	}{
		"connecting": {func(c *Cluster) { c.Paused = true; connectingNow(c) }, 2},
		"lost":       {func(c *Cluster) { c.Paused = true; lost(c) }, 0},
		"resumed":    {func(c *Cluster) { connectingNow(c) }, 0},
	} {
		c := member("a", running)
		test.change(&c)
		old := v1.ClusterStatus{Name: "a", Phase: v1.PhaseRunning, PendingChangeCount: 2}
		if e, _ := clusterEntry(input(c), c, old, true); e.PendingChangeCount != test.want {
			t.Errorf("%s: %d changes wait, want %d", name, e.PendingChangeCount, test.want)
		}
	}
}

// TestPendingFields checks that changes are listed without their fields when the fields exceed the limit of bytes.
func TestPendingFields(t *testing.T) {
	t.Parallel()
	c := member("a", running)
	c.Pending = []v1.PendingChange{{Fields: []string{strings.Repeat("f", maxPendingBytes-1), "f"}}, {Fields: []string{"f"}}}
	in := input(c, member("c", connectingNow))
	got, _ := pendingChanges(in, []v1.ClusterStatus{{Name: "b"}, {Name: "c", PendingChangeCount: 1}, {Name: "a", PendingChangeCount: 2}})
	if len(got) != 2 || len(got[0].Fields) != 2 || len(got[1].Fields) != 0 {
		t.Errorf("%d changes", len(got))
	}
}

// TestAfterPause checks that a hub that starts keeps the entry of a paused cluster, and of other clusters no more
// than usual.
func TestAfterPause(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*Cluster)
		old    v1.ClusterStatus
		want   v1.Phase
	}{
		"paused":         {func(c *Cluster) { c.Paused = true }, v1.ClusterStatus{Phase: v1.PhasePaused, Ready: true}, v1.PhasePaused},
		"no longer":      {func(*Cluster) {}, v1.ClusterStatus{Phase: v1.PhasePaused, Ready: true}, v1.PhaseUpdating},
		"paused by then": {func(c *Cluster) { c.Paused = true }, v1.ClusterStatus{Phase: v1.PhaseRunning, Ready: true}, v1.PhaseUpdating},
	} {
		c := member("a", connectingNow, test.change)
		test.old.Name = "a"
		if e, _ := clusterEntry(input(c), c, test.old, true); e.Phase != test.want {
			t.Errorf("%s: %s, want %s", name, e.Phase, test.want)
		}
	}
}

// TestLocationIsKept checks that a region and a provider that are not known any more stay in the entry.
func TestLocationIsKept(t *testing.T) {
	t.Parallel()
	c := member("a")
	old := v1.ClusterStatus{Name: "a", Region: "old", Provider: v1.ProviderGCP}
	if e, _ := clusterEntry(input(c), c, old, true); e.Region != c.Region || e.Provider != c.Provider {
		t.Errorf("%s, %s", e.Region, e.Provider)
	}
	c.Region, c.Provider = "", ""
	if e, _ := clusterEntry(input(c), c, old, true); e.Region != old.Region || e.Provider != old.Provider {
		t.Errorf("%s, %s", e.Region, e.Provider)
	}
}

// TestUnknownOrigin checks that the report of a connected cluster replaces the known origin, and that the origin
// stays without a report.
func TestUnknownOrigin(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*Cluster)
		want   string
	}{
		"connected":             {func(*Cluster) {}, ""},
		"connected, and it is":  {func(c *Cluster) { c.Unknown = "new" }, "new"},
		"connecting":            {connectingNow, "old"},
		"connecting, and it is": {func(c *Cluster) { connectingNow(c); c.Unknown = "new" }, "new"},
	} {
		c := member("a", test.change)
		if e, _ := clusterEntry(input(c), c, v1.ClusterStatus{Name: "a", UnknownOrigin: "old"}, true); e.UnknownOrigin != test.want {
			t.Errorf("%s: %q", name, e.UnknownOrigin)
		}
	}
}

// TestConnectingEntry checks that a cluster that is not connected yet keeps its phase, unless that is of another
// generation.
func TestConnectingEntry(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		entry v1.ClusterStatus
		want  v1.Phase
	}{
		"new":           {v1.ClusterStatus{}, v1.PhasePending},
		"being deleted": {v1.ClusterStatus{Phase: v1.PhaseDeleting, Ready: true}, v1.PhasePending},
		"ready":         {v1.ClusterStatus{Phase: v1.PhaseRunning, Ready: true, AppliedGeneration: 2}, v1.PhaseRunning},
		"edited":        {v1.ClusterStatus{Phase: v1.PhaseRunning, Ready: true, AppliedGeneration: 1}, v1.PhaseUpdating},
		"not ready":     {v1.ClusterStatus{Phase: v1.PhaseFailed, AppliedGeneration: 1}, v1.PhaseFailed},
	} {
		if connecting(&test.entry, 2); test.entry.Phase != test.want {
			t.Errorf("%s: %s, want %s", name, test.entry.Phase, test.want)
		}
	}
}

// TestLostDeletion: a deletion that waits for a cluster alone names no pause.
func TestLostDeletion(t *testing.T) {
	t.Parallel()
	got := meta.FindStatusCondition(Compute(deleting(with(after(everywhere(), 1), "b", lost))).Conditions, v1.ConditionDeleting)
	if want := "waiting for b to respond; to leave what cannot be reached behind: kubectl shopfleet delete shop -n shops --skip-unreachable"; got.Message != want {
		t.Errorf("%q, want %q", got.Message, want)
	}
}
