package aggregate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestPausedMessages: a user reads what waits, in which member, and which field ends that.
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

// TestPausedDeletion: a user reads which pause a deletion waits for, also in the message of the
// status, and if a member does not respond as well.
func TestPausedDeletion(t *testing.T) {
	t.Parallel()
	paused := func(c *Cluster) { c.Paused = true }
	member := with(after(everywhere(), 1), "a", paused)
	safe := with(member, "b", paused)
	safe.SafeMode = true
	app := after(everywhere(), 1)
	app.Paused = true
	const byMember, safeMode, orphan = "spec.paused of MemberCluster a", "the hub's safe mode (--safe-mode)", ", set the annotation ecommerce.io/orphan to true"
	type text struct{ Status, Deleting, Entry string }
	for name, tt := range map[string]struct {
		in   Input
		want text
	}{
		"member": {member, text{
			"waiting for the application to be deleted; a: Paused: the deletion of the copy is held back by " + byMember,
			"the deletion in a is held back by " + byMember + "; to leave the copies behind" + orphan,
			"the deletion of the copy is held back by " + byMember,
		}},
		"safe mode": {safe, text{
			"waiting for the application to be deleted; a: Paused: the deletion of the copy is held back by " + safeMode +
				"; b: Paused: the deletion of the copy is held back by " + safeMode,
			"the deletion in a, b is held back by " + safeMode + "; to leave the copies behind" + orphan,
			"the deletion of the copy is held back by " + safeMode,
		}},
		"member that does not respond": {with(member, "a", lost), text{
			"waiting for the application to be deleted; a: ClusterUnreachable: the cluster is unreachable: ProbeFailed; " +
				"the deletion of the copy is held back by " + byMember,
			"waiting for a to respond; the deletion in a is held back by " + byMember + "; to leave the copies behind" + orphan,
			"the cluster is unreachable: ProbeFailed; the deletion of the copy is held back by " + byMember,
		}},
		"member beside one that does not respond": {with(member, "b", lost), text{
			"waiting for the application to be deleted; b: ClusterUnreachable: the cluster is unreachable: ProbeFailed; " +
				"a: Paused: the deletion of the copy is held back by " + byMember,
			"waiting for b to respond; the deletion in a is held back by " + byMember + "; to leave the copies behind" + orphan,
			"the deletion of the copy is held back by " + byMember,
		}},
		// Of a cluster that is not connected yet, the last state is kept.
		"hub that starts after the end of a pause": {with(after(deleting(member), 2), "a", connectingNow, func(c *Cluster) { c.Paused = false }), text{
			"waiting for the application to be deleted; a: Paused: the deletion of the copy is held back by " + byMember,
			"the deletion in a is held back by " + byMember + "; to leave the copies behind" + orphan,
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

// TestPendingWhileLost: the changes that wait in a paused member are kept while the hub connects to it, and
// dropped once it is lost.
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
