package replication

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

const (
	// whenFollowing and whenNot are how long an observation is valid whose replicas are all ready and
	// follow, and one with a replica that is not or does not: no watch reports how far a replica is
	// behind.
	whenFollowing = 5 * time.Minute
	whenNot       = time.Minute
	// whenUnobservable is for a database in which commands fail, time and again: one may fail on a node that is busy.
	whenUnobservable = 10 * time.Minute
)

// Pod is a pod of a replica, with what was observed of it.
type Pod struct {
	UID   types.UID
	Ready bool
	// Replica is nil if the server did not answer.
	Replica *Replica
	Status  v1.DatabaseReplica
}

// Observation is the observation of the replicas of a database.
type Observation struct {
	Pods []Pod
	// Primary is false if the primary could not be observed.
	Primary bool
	// Due is when to observe again.
	Due time.Time
}

// ValidFor returns for how long the observation need not be repeated; last is the one before it.
func (o Observation) ValidFor(last Observation) time.Duration {
	switch {
	case o.failed() && last.failed():
		return whenUnobservable
	case o.failed():
		return whenNot
	case slices.ContainsFunc(o.Pods, func(p Pod) bool { return !p.Ready || p.Status.State != v1.ReplicaFollowing }):
		return whenNot
	default:
		return whenFollowing
	}
}

// failed reports whether the primary could not be observed.
func (o Observation) failed() bool { return len(o.Pods) > 0 && !o.Primary }

// Current reports whether the observation is still valid for pods: none was replaced, or became ready
// or unready.
func (o Observation) Current(now time.Time, pods []Pod) bool {
	return now.Before(o.Due) && slices.EqualFunc(o.Pods, pods, func(a, b Pod) bool { return a.UID == b.UID && a.Ready == b.Ready })
}

// Statuses returns the replicas as they are reported.
func (o Observation) Statuses() []v1.DatabaseReplica {
	all := make([]v1.DatabaseReplica, 0, len(o.Pods))
	for _, p := range o.Pods {
		all = append(all, p.Status)
	}
	return all
}

// Last returns what was observed of a pod; nothing of one that has replaced it.
func (o Observation) Last(uid types.UID) Pod {
	if i := slices.IndexFunc(o.Pods, func(p Pod) bool { return p.UID == uid }); i >= 0 {
		return o.Pods[i]
	}
	return Pod{}
}

// Decide sets the status of the replica with an address; last is the observation before this one.
func (p *Pod) Decide(primary Primary, address string, last Pod) {
	var lag time.Duration
	if p.Status.State, lag = primary.Decide(address, p.Replica); p.Status.State != v1.ReplicaFollowing {
		return
	}
	p.Status.LagSeconds = new(coarse(int64(lag.Seconds()), last.Status.LagSeconds))
}

// Rebuild reports whether a replica should copy the primary's data again: it was lost twice in a row,
// and has made no progress in between. One that has just started may still apply what it has.
func (p Pod) Rebuild(last Pod) bool {
	return p.UID == last.UID && p.Status.State == v1.ReplicaLost && last.Status.State == v1.ReplicaLost &&
		p.Replica != nil && last.Replica != nil && p.Replica.history == last.Replica.history
}

// Kept returns the names of the replicas whose data only a user may remove.
func Kept(replicas []v1.DatabaseReplica) []string {
	var names []string
	for _, r := range replicas {
		if r.State == v1.ReplicaPromoted || r.State == v1.ReplicaDiverged {
			names = append(names, r.Name)
		}
	}
	return names
}
