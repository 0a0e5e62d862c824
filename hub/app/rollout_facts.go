package app

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
)

// maxAhead is how far ahead of this hub's clock that of a member may be.
const maxAhead = time.Minute

// clustersOf returns the chosen clusters as a rollout sees them: with the revisions that were decided last, and what
// their copies say.
func (r *Reconciler) clustersOf(app *v1.EcommerceApp, in *aggregate.Input) []rollout.Cluster {
	entries := map[string]*v1.ClusterStatus{}
	for i := range in.Previous.Clusters {
		entries[in.Previous.Clusters[i].Name] = &in.Previous.Clusters[i]
	}
	var clusters []rollout.Cluster
	for i := range in.Clusters {
		member := &in.Clusters[i]
		if member.Connection == aggregate.Detached || !slices.Contains(in.Chosen, member.Name) {
			continue
		}
		entry := cmp.Or(entries[member.Name], &v1.ClusterStatus{})
		c := clusterOf(entry, member)
		if share, divided := in.Shares[c.Name]; divided {
			c.NoReplicas = share.NoReplicas()
		}
		c.Since, c.Until = r.observedSince(member), lastObserved(member, in.Now.Time)
		switch ahead := c.DownSince.Sub(in.Now.Time); {
		case ahead > maxAhead:
			c.DownSince = time.Time{} // The clock of the member is wrong.
		case ahead > 0:
			c.DownSince = in.Now.Time
		}
		// One with an earlier revision is not upgraded yet, and as healthy as before.
		c.Waiting = c.Waiting || awaitsBackup(app, member)
		clusters = append(clusters, c)
	}
	return clusters
}

// observedSince returns since when this hub is known to observe a member without a break, in whole seconds: not before
// it leads, and not before the last change of a connection that is not lost. A time ahead of its clock says nothing.
func (r *Reconciler) observedSince(member *aggregate.Cluster) time.Time {
	since := r.state.Leads()
	if member.Connection != aggregate.Lost && member.ConnectionSince.After(since) && !member.ConnectionSince.After(r.clock.Now()) {
		since = member.ConnectionSince.Time
	}
	return since.Truncate(time.Second)
}

// lastObserved returns when a member was last observed, as far as is known: while it is not lost, its status says so
// when it changes. It is zero if that is not known.
func lastObserved(member *aggregate.Cluster, now time.Time) time.Time {
	switch {
	case member.Connection == aggregate.Connected:
		return now
	case member.LastObserved != nil && !member.LastObserved.After(now):
		return member.LastObserved.Time
	default:
		return time.Time{}
	}
}

// clusterOf returns what is known of the application in a member, where it had an entry or an empty one.
func clusterOf(entry *v1.ClusterStatus, member *aggregate.Cluster) rollout.Cluster {
	c := rollout.Cluster{
		Name: member.Name, Region: cmp.Or(member.Region, entry.Region, aggregate.RegionUnknown), Revision: entry.Revision,
		SetAside: member.Connection != aggregate.Connected || member.Paused,
		// A cluster that never had a copy is not waited for.
		Connecting: member.Connection == aggregate.Connecting && !member.Paused && (entry.AppliedGeneration > 0 || member.Copy != nil),
	}
	if c.Revision == 0 && member.Copy != nil {
		c.Revision = member.Copy.Revision // The status was lost.
	}
	if member.Connection == aggregate.Connected {
		addCopy(&c, entry, member)
	}
	return c
}

// failureOf returns why the copy in a member could not be written, or nil. A server that is refused until another one has
// started is waited for.
func failureOf(member *aggregate.Cluster) *aggregate.Failure {
	failure, starting := member.Failure, member.Copy != nil && member.Copy.Starting
	if failure != nil && failure.Reason == v1.ReasonUpgradeRefused && starting {
		return nil
	}
	return failure
}

// addCopy adds what the copy says, and why it could not be written.
func addCopy(c *rollout.Cluster, entry *v1.ClusterStatus, member *aggregate.Cluster) {
	failure, applied, copied := failureOf(member), entry.AppliedGeneration, member.Copy
	if entry.Phase == v1.PhaseDeleting {
		applied = 0 // The application comes back.
	}
	c.Has = copied != nil && !copied.Deleting && copied.Revision == c.Revision
	if copied != nil {
		c.Serving = !copied.Deleting && aggregate.IsAvailable(copied.Status)
		if available := meta.FindStatusCondition(copied.Status.Conditions, v1.ConditionAvailable); !c.Serving && available != nil {
			c.DownSince = available.LastTransitionTime.Time
		}
		c.Unready = rollout.ComponentsOf(&copied.Status)
		c.Copied, c.Waiting, c.Refused = copied.Revision, copied.Starting, copied.UpgradeRefused
	}
	c.Settled = c.Has && member.Settled(applied)
	if c.Has && !isReady(copied) {
		addCause(c, copied)
	}
	if failure.NeedsIntervention() || failure != nil && !c.Settled || failure.Contended() && c.Cause != "" {
		c.Cause = failure.Reason + ": " + failure.Message
	}
	if failure.NeedsIntervention() || failure.Contended() && c.Cause != "" {
		c.Stalled, c.Failure = failure.Reason, c.Cause
	}
	if c.Waiting && c.Failure != "" { // A server that does not start without a user is not waited for.
		c.Waiting, c.Refused = false, "its present server has not started: "+c.Failure
	}
}

// isReady reports whether a copy is ready for its present spec.
func isReady(c *aggregate.Copy) bool {
	return c.Status.ObservedGeneration == c.Generation && meta.IsStatusConditionTrue(c.Status.Conditions, v1.ConditionReady)
}

// addCause adds why a copy is not ready, and whether it needs a user.
func addCause(c *rollout.Cluster, copied *aggregate.Copy) {
	reason := v1.ReasonProgressing
	if ready := meta.FindStatusCondition(copied.Status.Conditions, v1.ConditionReady); ready != nil {
		reason = cmp.Or(ready.Reason, reason)
	}
	c.Cause = reason
	if copied.Status.Message != "" {
		c.Cause += ": " + copied.Status.Message
	}
	if stalled := copied.Says(v1.ConditionStalled); stalled != nil && !rollout.OnlyGrowthFails(&copied.Status) {
		c.Stalled, c.Failure = stalled.Reason, c.Cause
	}
}

// awaitsBackup reports whether an upgrade of the database in a cluster waits for a backup.
func awaitsBackup(app *v1.EcommerceApp, in *aggregate.Cluster) bool {
	if app.Spec.Database == nil || in.Database == nil {
		return false
	}
	wanted, copied := in.Database.Server(), v1.CopiedServer{}
	if in.Copy != nil {
		copied = in.Copy.Database
	}
	return app.DatabaseServer(in.Name, wanted, copied) != wanted
}
