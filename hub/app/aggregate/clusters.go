package aggregate

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Bounds that keep a status below 256 KiB; see TestFiveHundredClustersFit.
const (
	maxClusters = 500
	maxDetailed = 200
	maxMessage  = v1.MaxClusterMessage
	// maxRolloutMessage is enough for the cluster that fails, and its message. There are few of them.
	maxRolloutMessage = 512

	// maxAddressBytes bounds the addresses of a cluster, fewAddressBytes those of each of more than
	// maxDetailed clusters.
	maxAddressBytes = 256
	fewAddressBytes = 128
)

const frontend = "frontend"

// clusterEntries returns one entry for each cluster where a copy may exist, sorted by
// name and without timestamps.
func clusterEntries(in Input) []v1.ClusterStatus {
	previous := byName(in.Previous.Clusters)
	members := membersByName(in.Clusters)
	var entries []v1.ClusterStatus
	wanted := make(map[string]bool, len(in.Chosen))
	add := func(name string) {
		c, known := members[name]
		if !known || c.Connection == Detached {
			return
		}
		old := previous[name]
		old.Name = name
		if e, keep := clusterEntry(in, c, old, wanted[name]); keep {
			e.Share = nil
			if share, has := in.Shares[name]; has && wanted[name] {
				e.Share = share.DeepCopy()
			}
			entries = append(entries, e)
		}
	}
	if !in.Deleting {
		wanted = setOf(in.Chosen)
	}
	for _, e := range in.Previous.Clusters {
		if slices.Contains(in.Unrecorded, e.Name) {
			entries = append(entries, unrecorded(e, in, members[e.Name]))
			continue
		}
		add(e.Name)
	}
	// New entries are added last: at the limit they wait until an old one is removed.
	for _, name := range in.Chosen {
		if _, existed := previous[name]; !existed && wanted[name] && len(entries) < maxClusters {
			add(name)
		}
	}
	sortClusters(entries)
	return entries
}

// unrecorded returns the entry of a cluster that the application cannot leave, because what stays
// behind there cannot be recorded.
func unrecorded(old v1.ClusterStatus, in Input, c Cluster) v1.ClusterStatus {
	e := *old.DeepCopy()
	failure := &Failure{Reason: v1.ReasonResidueFull, Message: "the record of what stays behind in the cluster is full"}
	if in.UnrecordedBy != "" {
		failure = &Failure{Reason: v1.ReasonApplyFailed, Message: "what stays behind in the cluster cannot be recorded: " + in.UnrecordedBy}
	}
	leaving(&e, in, Cluster{Failure: failure})
	e.Stale = c.Connection == Lost
	return e
}

// clusterEntry returns the entry of one cluster, and whether to keep it.
func clusterEntry(in Input, c Cluster, old v1.ClusterStatus, wanted bool) (v1.ClusterStatus, bool) {
	e := *old.DeepCopy()
	if c.Region != "" {
		e.Region = c.Region
	}
	if c.Provider != "" {
		e.Provider = c.Provider
	}
	if c.Connection == Connected || c.Unknown != "" {
		e.UnknownOrigin = c.Unknown
	}
	paused := c.Paused || in.Paused && !in.Deleting
	switch {
	case paused && c.Connection == Connected:
		e.PendingChangeCount = pendingIn(c)
	case !paused || c.Connection != Connecting: // A hub that starts keeps what was known.
		e.PendingChangeCount = 0
	}
	e.Revision = in.Revisions[c.Name]
	e.RenderingVersion = cmp.Or(in.Renderings[c.Name], e.RenderingVersion)
	if !wanted {
		leaving(&e, in, c)
		return e, !c.Gone && !c.Abandoned
	}
	if old.Phase == v1.PhaseDeleting {
		e.AppliedGeneration = 0 // The application comes back. Its former copy is not expected to exist.
	}
	switch c.Connection {
	case Connected:
		e = v1.ClusterStatus{
			Name: e.Name, Region: e.Region, Provider: e.Provider,
			AppliedGeneration: e.AppliedGeneration, LastObservedTime: e.LastObservedTime,
			UnknownOrigin: e.UnknownOrigin, PendingChangeCount: e.PendingChangeCount, Revision: e.Revision,
			DatabaseCreated: e.DatabaseCreated, RenderingVersion: e.RenderingVersion, HeldTemplates: e.HeldTemplates,
		}
		observed(&e, in.Generation, c)
		if in.Paused || c.Paused {
			pause(&e, in, c)
		}
	case Lost:
		e.Phase, e.Ready, e.Stale = v1.PhaseUnknown, false, true
		e.Available, e.Stalled, e.DegradedReason = false, false, ""
		e.Reason, e.Message = v1.ReasonClusterUnreachable, lostMessage(c)
	case Connecting, Detached:
		if paused && c.Connection == Connecting && e.Phase == v1.PhasePaused {
			break // Nothing is written, so the copy need not be of the current generation.
		}
		connecting(&e, in.Generation)
		e.Stalled = e.Stalled && in.Previous.ObservedGeneration == in.Generation
	}
	return e, true
}

// connecting keeps what was known of a cluster as far as it still applies.
func connecting(e *v1.ClusterStatus, generation int64) {
	switch {
	case e.Phase == "" || e.Phase == v1.PhaseDeleting:
		e.Phase, e.Reason, e.Message = v1.PhasePending, v1.ReasonProgressing, "waiting for the connection to the cluster"
	case e.Ready && e.AppliedGeneration != generation:
		e.Phase, e.Ready = v1.PhaseUpdating, false
		e.Reason, e.Message = v1.ReasonProgressing, waitingFor(generation)
	}
}

// heldAfter is the time after which a copy that finalizers of others hold waits for a user.
const heldAfter = 5 * time.Minute

// leaving sets the entry of a cluster whose copy must be deleted.
func leaving(e *v1.ClusterStatus, in Input, c Cluster) {
	e.Phase, e.Ready, e.Components, e.ReplicationLagSeconds = v1.PhaseDeleting, false, nil, nil
	e.Replicas, e.ReadyReplicas, e.Available, e.Addresses, e.DegradedReason = 0, 0, false, nil, ""
	stalled := e.Stalled
	e.Stalled, e.SelfSigned, e.DatabaseLost = false, false, false
	switch {
	case c.Connection == Lost:
		e.Stale = true
		e.Reason, e.Message = v1.ReasonClusterUnreachable, lostMessage(c)
		if c.Paused {
			e.Message += "; " + heldDeletion(in, c)
		}
	case c.Paused:
		e.Stale = false
		e.Reason, e.Message = v1.ReasonPaused, heldDeletion(in, c)
	case c.Connection == Connecting && e.Reason != "":
		e.Stalled = stalled // As the reason.
	case c.Failure != nil:
		e.Stale, e.Stalled = false, c.Failure.NeedsIntervention()
		e.Reason, e.Message = c.Failure.Reason, v1.Excerpt(c.Failure.Message, maxMessage)
	default:
		e.Stale = false
		e.Reason, e.Message = v1.ReasonDeleting, "waiting for the copy to be deleted"
		switch {
		case c.Copy == nil || !c.Copy.Deleting:
		case c.Copy.Held != "": // Its reconciler no longer writes its status.
			e.Message = v1.Excerpt(e.Message+c.Copy.Held, maxMessage)
			if in.Now.Sub(c.Copy.HeldSince) >= heldAfter {
				e.Reason, e.Stalled = v1.ReasonSomeFinalizersRemain, true
			}
		case c.Copy.Status.Message != "":
			e.Message = v1.Excerpt(c.Copy.Status.Message, maxMessage)
			if stalled := c.Copy.Says(v1.ConditionStalled); stalled != nil {
				e.Reason, e.Stalled = stalled.Reason, true
			}
		}
	}
}

// longestLag returns the longest lag of the replicas that follow; nil if none does.
func longestLag(replicas []v1.DatabaseReplica) *int64 {
	var longest *int64
	for _, r := range replicas {
		if r.LagSeconds != nil && (longest == nil || *r.LagSeconds > *longest) {
			longest = r.LagSeconds
		}
	}
	return longest
}

// observed sets the entry of a connected cluster from its copy.
func observed(e *v1.ClusterStatus, generation int64, c Cluster) {
	if c.Copy == nil {
		e.Phase, e.Reason, e.Message = v1.PhasePending, v1.ReasonProgressing, "the copy has not been created yet"
		e.AppliedGeneration = 0
		setFailures(e, c.failures())
		return
	}
	status, settled := c.Copy.Status, c.Settled(e.AppliedGeneration)
	setFacts(e, status)
	if settled && !c.Copy.Deleting {
		e.AppliedGeneration = c.Copy.HubGeneration
	}
	current := settled && c.Copy.HubGeneration == generation && c.Copy.Revision == e.Revision
	e.Phase, e.Available = status.Phase, IsAvailable(status)
	// It waits for a user with what the hub wants.
	e.Stalled = c.Copy.Says(v1.ConditionStalled) != nil && !c.Copy.Deleting && c.Copy.HubGeneration == generation && c.Copy.Revision == e.Revision
	setState(e, generation, c.Copy, current)
	switch failures := c.failures(); {
	case !current || len(failures) > 0 && failures[0].NeedsIntervention():
		setFailures(e, failures)
	case c.Failure.Contended():
		// The copy works: another client changes a field of it that the hub repairs seldom.
		e.Reason, e.Message = c.Failure.Reason, v1.Excerpt(c.Failure.Message, maxMessage)
	}
	e.Stalled = e.Stalled || c.Failure.Contended()
}

// setFacts sets what the status of a copy says, whatever its generation.
func setFacts(e *v1.ClusterStatus, status v1.EcommerceAppStatus) {
	e.ReplicationLagSeconds = longestLag(status.DatabaseReplicas)
	e.Addresses = withinBytes(v1.ValidAddresses(status.Addresses), maxAddressBytes)
	e.SelfSigned = meta.IsStatusConditionFalse(status.Conditions, v1.ConditionCertificateTrusted)
	// The mark in the cluster may be lost with the copy; what was known stays.
	e.DatabaseCreated = e.DatabaseCreated || status.DatabaseCreated
	e.HeldTemplates = len(status.HeldTemplates) > 0
	e.DatabaseLost = meta.IsStatusConditionTrue(status.Conditions, v1.ConditionDatabaseLost)
	for _, component := range status.Components {
		e.Components = append(e.Components, v1.ClusterComponentStatus{
			Name: component.Name, Phase: component.Phase, Ready: component.Ready,
		})
		if component.Name == frontend {
			e.Replicas, e.ReadyReplicas = component.Replicas, component.ReadyReplicas
		}
	}
}

// setState sets the phase of an entry and its cause. A copy is current if it has reconciled what the hub wants.
func setState(e *v1.ClusterStatus, generation int64, copied *Copy, current bool) {
	status := copied.Status
	condition := meta.FindStatusCondition(status.Conditions, v1.ConditionReady)
	ready := condition != nil && condition.Status == "True"
	degraded := copied.Says(v1.ConditionDegraded)
	if degraded != nil && !copied.Deleting {
		e.DegradedReason = degraded.Reason
	}
	switch {
	case copied.Deleting:
		e.Phase, e.Reason, e.Message = v1.PhaseUpdating, v1.ReasonDeleting, "the copy was deleted in the cluster; the hub creates it again after the deletion"
	case !current && status.Phase != v1.PhaseFailed:
		e.Phase, e.Reason = progressPhase(status), v1.ReasonProgressing
		e.Message = waitingFor(generation)
		explain(e, degraded)
	case ready && current:
		// What runs may still be of no use, as a shop that no user can log in to, or wait for a user.
		e.Phase, e.Ready = v1.PhaseRunning, true
		if degraded == nil && e.Stalled {
			degraded = meta.FindStatusCondition(status.Conditions, v1.ConditionStalled)
		}
		explain(e, degraded)
	default:
		if status.Phase != v1.PhaseFailed {
			e.Phase = progressPhase(status)
		}
		e.Reason, e.Message = v1.ReasonProgressing, v1.Excerpt(status.Message, maxMessage)
		if condition != nil {
			e.Reason = condition.Reason
		}
	}
}

// IsAvailable reports whether customers are served by a copy, whatever its generation. An agent
// of an earlier release only reports whether it is ready.
func IsAvailable(status v1.EcommerceAppStatus) bool {
	if meta.FindStatusCondition(status.Conditions, v1.ConditionAvailable) == nil {
		return meta.IsStatusConditionTrue(status.Conditions, v1.ConditionReady)
	}
	return meta.IsStatusConditionTrue(status.Conditions, v1.ConditionAvailable)
}

// isRejected reports whether a copy cannot reconcile its spec: it stalled before its workloads
// were given the time to become ready. Those of a volume that cannot grow, or with a field that another
// client keeps changing, or whose claim is being deleted, are ready, or become it, and what is lost with a database is no part of its spec.
func isRejected(status v1.EcommerceAppStatus) bool {
	stalled := meta.FindStatusCondition(status.Conditions, v1.ConditionStalled)
	return stalled != nil && stalled.Status == "True" && !slices.Contains([]string{
		v1.ReasonDeadlineExceeded, v1.ReasonStorageNotExpandable, v1.ReasonFieldManagerConflict, v1.ReasonDatabaseLost, v1.ReasonClaimBeingDeleted,
	}, stalled.Reason)
}

// explain copies the reason and message of a condition, if there is one, into an entry.
func explain(e *v1.ClusterStatus, cause *metav1.Condition) {
	if cause != nil {
		e.Reason, e.Message = cause.Reason, v1.Excerpt(cause.Message, maxMessage)
	}
}

// progressPhase returns the phase of a copy that has not settled: the reported phase, or
// Updating if that is about an earlier generation.
func progressPhase(status v1.EcommerceAppStatus) v1.Phase {
	switch status.Phase {
	case v1.PhasePending, v1.PhaseCreating, v1.PhaseScaling:
		return status.Phase
	case "":
		return v1.PhasePending
	default:
		return v1.PhaseUpdating
	}
}

func waitingFor(generation int64) string {
	return fmt.Sprintf("waiting for the cluster to reconcile generation %d", generation)
}

func lostMessage(c Cluster) string {
	if c.Cause == "" {
		return "the cluster does not answer"
	}
	return "the cluster is unreachable: " + c.Cause
}

// withinBytes returns the first addresses that fit, each with a separator.
func withinBytes(addresses []string, limit int) []string {
	for i, address := range addresses {
		if limit -= len(address) + 1; limit < 0 {
			return addresses[:i]
		}
	}
	return addresses
}

// shorten omits components, messages and long addresses if there are more than maxDetailed clusters.
func shorten(entries []v1.ClusterStatus) []v1.ClusterStatus {
	if len(entries) <= maxDetailed {
		return entries
	}
	for i := range entries {
		entries[i].Components = nil
		entries[i].Message = ""
		entries[i].Addresses = withinBytes(entries[i].Addresses, fewAddressBytes)
	}
	return entries
}
