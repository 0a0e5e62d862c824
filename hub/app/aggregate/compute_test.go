package aggregate

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// scene is a situation; what follows from it stands in testdata/compute.golden.
type scene struct {
	name string
	in   Input
}

func everywhere() Input {
	return input(member("a", running), member("b", running))
}

// placedScenes returns scenes about where an application is placed.
func placedScenes() []scene {
	return []scene{
		{"a new application takes its inventory first", input(member("a"), member("b"))},
		{"an empty fleet", input()},
		{"no cluster that matches is ready", Input{Generation: 1, Now: at(0), Rejected: []v1.RejectedClusters{
			{Reason: v1.ReasonClusterNotReady, Clusters: 1, Examples: []string{"b"}}, {Reason: v1.ReasonNotSelected, Clusters: 1, Examples: []string{"a"}},
		}}},
		{"no cluster matches", Input{Key: shop(), Generation: 1, Now: at(0), Rejected: []v1.RejectedClusters{{Reason: v1.ReasonNotSelected, Clusters: 1, Examples: []string{"a"}}}}},
		{"one of two is ready for the first time", after(input(member("a", running), member("b", reporting(v1.PhaseCreating))), 1)},
		{"everything runs", everywhere()},
		{"a placement that cannot be read changes nothing in the clusters", invalid(after(everywhere(), 1))},
	}
}

// lifeScenes returns scenes about an application in its clusters.
func lifeScenes() []scene {
	return []scene{
		{"an edit makes every copy old", edited(after(everywhere(), 1))},
		{"an edit is not done while the hub is not connected", edited(after(everywhere(), 1), connectingNow)},
		{"a copy that did not act on its own generation is not current", with(after(everywhere(), 1), "b", func(c *Cluster) { c.Copy.Generation = 2 })},
		{"a lost cluster", with(after(everywhere(), 1), "b", lost)},
		{"a failed cluster is worse than a lost one", with(with(after(everywhere(), 1), "b", lost), "a", reporting(v1.PhaseFailed))},
		{"a conflict is a failure before there is a copy", input(member("a", failing(v1.ReasonConflict)), member("b", running))},
		{"an error that passes is progress", edited(with(after(everywhere(), 1), "a", failing(v1.ReasonApplyFailed)))},
		{"an error that passes does not disturb a current copy", with(after(everywhere(), 1), "a", failing(v1.ReasonApplyFailed))},
		{"a replica that is seeded", with(after(everywhere(), 1), "a", reporting(v1.PhaseUpdating), says(v1.ConditionAvailable, v1.ReasonAvailable))},
		{"an outage beside a lost cluster", with(with(after(everywhere(), 1), "b", lost), "a", reporting(v1.PhaseUpdating))},
		{"a copy that its cluster rejects", with(after(everywhere(), 1), "a", reporting(v1.PhaseFailed), says(v1.ConditionStalled, v1.ReasonForbidden))},
		{"a copy that was rejected, after an edit", edited(with(after(everywhere(), 1), "a", reporting(v1.PhaseFailed), says(v1.ConditionStalled, v1.ReasonForbidden)))},
		{"a copy that was rejected, after an edit before the hub is connected",
			edited(after(with(everywhere(), "a", reporting(v1.PhaseFailed), says(v1.ConditionStalled, v1.ReasonForbidden)), 1), connectingNow)},
		{"a copy whose workloads do not become ready", with(after(everywhere(), 1), "a", reporting(v1.PhaseFailed), says(v1.ConditionStalled, v1.ReasonDeadlineExceeded))},
		{"a copy of an agent that does not know the condition", with(after(everywhere(), 1), "a", func(c *Cluster) {
			c.Copy.Status.Conditions = c.Copy.Status.Conditions[:1]
		})},
		{"scaling alone", with(after(everywhere(), 1), "a", reporting(v1.PhaseScaling))},
	}
}

// leavingScenes returns scenes about clusters that it leaves.
func leavingScenes() []scene {
	return []scene{
		{"a copy deleted by hand is not an instruction to delete it", with(after(everywhere(), 1), "a", func(c *Cluster) { c.Copy.Deleting, c.Copy.Status.Phase = true, v1.PhaseDeleting })},
		{"a cluster that is no longer chosen has to be left", unchosen(after(everywhere(), 1))},
		{"a cluster that was left is forgotten", with(after(unchosen(after(everywhere(), 1)), 2), "b", gone)},
		{"a cluster that is chosen again is not expected to have the copy", chosenAgain(with(unchosen(after(everywhere(), 1)), "b", func(c *Cluster) { c.Copy.Deleting = true }))},
		{"a cluster that is chosen again while its copy may be about to be deleted", chosenAgain(with(unchosen(after(everywhere(), 1)), "b", func(c *Cluster) { c.Unconfirmed = true }))},
		{"a cluster out of reach that is chosen again is not expected to have the copy", chosenAgain(with(unchosen(after(everywhere(), 1)), "b", lost))},
		{"a cluster that cannot be left is visible", with(unchosen(after(everywhere(), 1)), "b", lost)},
		{"a detached cluster is gone from the application", unchosen(with(after(everywhere(), 1), "b", detached))},
		{"deleted and protected", protected(after(everywhere(), 1))},
		{"deleting without waiting for a cluster out of reach", deleting(with(with(after(everywhere(), 1), "b", lost, abandoned), "a", failing(v1.ReasonForbidden)))},
		{"deleting while the record for a cluster out of reach is full", unrecordedIn(deleting(with(after(everywhere(), 1), "b", lost, abandoned)), "b")},
		{"deleting with a cluster out of reach", deleting(with(with(after(everywhere(), 1), "b", lost), "a", gone))},
	}
}

// pausedScenes returns scenes about pauses.
func pausedScenes() []scene {
	pending := func(c *Cluster) {
		c.Pending = []v1.PendingChange{{Kind: "EcommerceApp", Name: "shop", Action: v1.PendingUpdate, Fields: []string{"spec.image: a -> b"}}}
	}
	paused := func(c *Cluster) { c.Paused = true }
	pausedApp := func(in Input) Input {
		in.Paused = true
		return in
	}
	return []scene{
		{"a paused application that was edited", pausedApp(edited(with(after(everywhere(), 1), "a", pending)))},
		{"a paused application with a cluster out of reach", pausedApp(with(after(everywhere(), 1), "b", lost))},
		{"a paused member beside another", edited(with(after(everywhere(), 1), "a", paused, pending))},
		{"a paused member that failed before", with(after(everywhere(), 1), "a", paused, reporting(v1.PhaseFailed))},
		{"a paused member out of reach", with(after(everywhere(), 1), "a", paused, lost)},
		{"deleting while a member is paused", deleting(with(after(everywhere(), 1), "a", paused, pending))},
		{"deleting a paused application", deleting(pausedApp(after(everywhere(), 1)))},
	}
}

// TestPendingChanges bounds the changes of all clusters together.
func TestPendingChanges(t *testing.T) {
	t.Parallel()
	long := v1.PendingChange{Kind: "Deployment", Name: "shop", Action: v1.PendingUpdate, Fields: slices.Repeat([]string{strings.Repeat("f", 256)}, 10)}
	in := with(with(everywhere(), "a", func(c *Cluster) { c.Pending = slices.Repeat([]v1.PendingChange{long}, 30) }), "b", func(c *Cluster) {
		c.Copy.Status.PendingChanges, c.Copy.Status.PendingChangeCount = slices.Repeat([]v1.PendingChange{long}, 100), 140
	})
	in.Paused = true
	got := Compute(in)
	size := 0
	for _, change := range got.PendingChanges {
		if change.Cluster != "a" && change.Cluster != "b" {
			t.Errorf("a change of no cluster: %+v", change)
		}
		for _, field := range change.Fields {
			size += len(field)
		}
	}
	if len(got.PendingChanges) != v1.MaxPendingChanges || got.PendingChangeCount != 170 || size > maxPendingBytes {
		t.Errorf("%d changes of %d, with %d bytes", len(got.PendingChanges), got.PendingChangeCount, size)
	}
	if got.Clusters[0].PendingChangeCount != 30 || got.Clusters[1].PendingChangeCount != 140 {
		t.Errorf("counts %d and %d", got.Clusters[0].PendingChangeCount, got.Clusters[1].PendingChangeCount)
	}
}

func TestCompute(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, s := range slices.Concat(placedScenes(), lifeScenes(), leavingScenes(), pausedScenes()) {
		got := Compute(s.in)
		all.WriteString("## " + s.name + "\n" + summaryOf(got) + "\n")
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			checkSettled(t, s.in, got)
		})
	}
	apitest.Golden(t, "compute.golden", all.String())
}

// TestComputeUnanswered checks that no generation is observed, the reason is shown, and nothing is written twice while
// the placement cannot be decided.
func TestComputeUnanswered(t *testing.T) {
	t.Parallel()
	in := input(member("a", lost), member("b", lost))
	in.Unanswered = []string{"a", "b", "c", "d"}
	in = after(in, 5)
	got := in.Previous
	if !(&v1.EcommerceApp{Status: got}).InventoryLost() || len(got.Clusters) > 0 {
		t.Errorf("the inventory counts as recovered: generation %d, clusters %v", got.ObservedGeneration, got.Clusters)
	}
	const message = "the status was lost; waiting for clusters that may run the application: a, b, c, and 1 more; connect them, or delete the MemberClusters of those that are gone"
	want := "Unknown  \"" + message + "\"\nReady=False/ClusterUnreachable\n"
	if diff := cmp.Diff(want, summaryOf(got)); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(got, Compute(in)); diff != "" {
		t.Errorf("computing again changes something (-first +second):\n%s", diff)
	}
}
