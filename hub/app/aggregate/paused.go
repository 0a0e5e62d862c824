package aggregate

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// maxPendingBytes bounds the fields of the changes in a status. Later ones have none.
const maxPendingBytes = 64 << 10

// pausedBy returns what a user has to end for changes to be written: of the application, or in
// members, which it names.
func pausedBy(in Input, members string) string {
	switch {
	case in.SafeMode:
		return "the hub's safe mode (--safe-mode)"
	case members == "":
		return "spec.paused of the EcommerceApp"
	default:
		return "spec.paused of MemberCluster " + members
	}
}

// pause sets the entry of a connected cluster in which nothing is written: it is as ready as it is
// observed to be, also if the copy is not of the current generation.
func pause(e *v1.ClusterStatus, in Input, c Cluster) {
	if e.Phase == v1.PhaseFailed {
		return // A user has to act on it.
	}
	member := c.Name
	if !c.Paused {
		member = ""
	}
	e.Phase, e.Reason, e.Message = v1.PhasePaused, v1.ReasonPaused, "changes are held back by "+pausedBy(in, member)
	e.Ready = c.Copy != nil && !c.Copy.Deleting && meta.IsStatusConditionTrue(c.Copy.Status.Conditions, v1.ConditionReady)
}

// heldDeletion describes a deletion that waits for the end of a pause.
func heldDeletion(in Input, c Cluster) string {
	return "the deletion of the copy is held back by " + pausedBy(in, c.Name)
}

// pendingIn returns the number of writes that are held back in a cluster.
func pendingIn(c Cluster) int32 {
	n := int32(min(len(c.Pending), v1.MaxPendingChanges))
	if c.Copy != nil {
		n += c.Copy.Status.PendingChangeCount
	}
	return n
}

// pendingChanges returns the changes that are held back in the clusters with an entry, and their number by the counts of
// the entries, which also have those that a copy does not list.
func pendingChanges(in Input, entries []v1.ClusterStatus) (all []v1.PendingChange, number int32) {
	members := membersByName(in.Clusters)
	size := 0
	for _, e := range entries {
		number += e.PendingChangeCount
		if e.PendingChangeCount == 0 {
			continue
		}
		c := members[e.Name]
		if c.Connection != Connected {
			all = append(all, slices.DeleteFunc(slices.Clone(in.Previous.PendingChanges), func(p v1.PendingChange) bool { return p.Cluster != e.Name })...)
			continue
		}
		changes := c.Pending
		if c.Copy != nil {
			changes = append(slices.Clip(changes), c.Copy.Status.PendingChanges...)
		}
		for _, change := range changes {
			change.Cluster = e.Name
			for _, field := range change.Fields {
				size += len(field)
			}
			if size > maxPendingBytes {
				change.Fields = nil
			}
			all = append(all, change)
		}
	}
	return all, number
}
