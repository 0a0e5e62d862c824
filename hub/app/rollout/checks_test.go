package rollout

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// checkQuiet fails if the status changes although nothing was observed and no time was due.
func (f *fleet) checkQuiet(r Request, d Decision) {
	f.t.Helper()
	if f.before == nil || !f.before.Until.IsZero() && !r.Now.Before(f.before.Until) {
		return
	}
	was, is := f.before.request, r
	was.Now, was.Last, is.Last = is.Now, nil, nil
	was.Clusters, is.Clusters = byName(was.Clusters), byName(is.Clusters)
	if !reflect.DeepEqual(was, is) {
		return
	}
	if diff := difference(f.before.Decision, d); diff != "" {
		f.fatal("a decision changes without a reason (-before +now): %s", diff)
	}
}

// byName returns clusters by name.
func byName(clusters []Cluster) []Cluster {
	return slices.SortedFunc(slices.Values(clusters), func(a, b Cluster) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
}

// begun has the clusters that begin in a step, and what limits them.
type begun struct {
	clusters []Cluster
	// updating counts the clusters whose updates count, and busy has those with the superseded ones.
	updating int
	busy     map[string]bool
	// proven means that a cluster is healthy with the revision, and could that one could become so.
	proven, could bool
}

// begunIn returns what begins in a step. It fails if a cluster gets a revision that is neither of the two.
func (f *fleet) begunIn(r Request, d Decision) begun {
	f.t.Helper()
	s := d.Status
	b := begun{busy: map[string]bool{}, proven: r.Spec.Strategy == v1.RolloutAll || s.CompletionTime != nil}
	for _, c := range r.Clusters {
		next, pending := d.Revisions[c.Name], isUpdating(r, s, c.Name)
		guarded := pending && !c.SetAside && updateOf(s, c.Name).Before.Serving && !isLeftBehind(r, updateOf(s, c.Name)) && !isRefused(c)
		switch {
		case next != c.Revision && next != s.Revision && next != s.PreviousRevision:
			f.fatal("%s gets revision %d", c.Name, next)
		case c.SetAside, !c.Serving && next != c.Revision: // Outside of the limits.
		case guarded:
			b.updating++
			b.busy[c.Name] = true
		case inFlight(s, c):
			b.busy[c.Name] = true
		case !pending && c.Revision == s.Revision && !c.NoReplicas && c.Serving:
			b.proven = true
		}
		// One that does not serve customers could prove it only after this step.
		b.could = b.could || !c.SetAside && !c.NoReplicas && (guarded && (c.Serving || next == c.Revision) || c.Serving && next != s.Revision)
		if next != c.Revision && (c.Revision != 0 || next == s.Revision && s.PreviousRevision != 0) {
			b.clusters = append(b.clusters, c)
		}
	}
	return b
}

// checkBegun fails if a cluster gets a revision that it must not get now.
func (f *fleet) checkBegun(r Request, d Decision) {
	f.t.Helper()
	s, down := d.Status, 0
	b := f.begunIn(r, d)
	if len(b.clusters) == 0 || s.Target() != s.Revision || s.PreviousRevision == s.Revision {
		return
	}
	for _, c := range b.clusters {
		down += map[bool]int{true: 1}[!c.Serving]
		switch limit := limitOf(r); {
		case s.CompletionTime != nil && c.Revision == 0: // It joins after the rollout.
		case c.Refused != "" && c.Revision != 0:
			f.fatal("%s begins, whose database cannot follow", c.Name)
		case r.Paused:
			f.fatal("%s begins while the rollout is paused", c.Name)
		case c.SetAside:
			f.fatal("%s begins, which is set aside", c.Name)
		case !c.Serving && s.PreviousRevision == 0: // Nothing to protect, and nothing to return to.
		case !c.Serving && !b.proven && (b.could || down > 1):
			f.fatal("%s does not serve customers, and begins before the revision is proven", c.Name)
		case !c.Serving:
		case b.updating > limit:
			f.fatal("%s begins as one of %d", c.Name, b.updating)
		case !inFlight(s, c) && len(b.busy) > limit:
			f.fatal("%s begins while others are updated: %v", c.Name, slices.Sorted(maps.Keys(b.busy)))
		}
	}
}

// updateOf returns the update of a cluster; an empty one of a cluster that served if it has none. What was before may
// be that of an update that was superseded.
func updateOf(s v1.RolloutStatus, name string) v1.ClusterUpdate {
	for _, u := range s.Updating {
		if u.Name == name {
			if u.Before == nil {
				u.Before = &v1.ClusterBefore{}
				for _, superseded := range s.Superseded {
					if superseded.Name == name {
						u.Before = superseded.Before.DeepCopy()
					}
				}
			}
			return u
		}
	}
	return v1.ClusterUpdate{Name: name, Before: &v1.ClusterBefore{Serving: true}}
}

// isLeftBehind reports whether an update has reached the deadline of a cluster of which something was bad before.
func isLeftBehind(r Request, u v1.ClusterUpdate) bool {
	spent := time.Duration(u.ProgressingSeconds) * time.Second
	if u.StartTime != nil {
		spent += r.Now.Sub(u.StartTime.Time)
	}
	p := &planner{Request: r}
	return isNotable(u.Before) && u.ReadyTime == nil && spent >= p.progressDeadline()
}

// isRefused reports whether the copy of a cluster stays, because its data is of too early a server.
func isRefused(c Cluster) bool { return c.Stalled == v1.ReasonUpgradeRefused || c.Refused != "" }

// wasUnready reports whether components of a cluster were not ready before its update.
func wasUnready(s v1.RolloutStatus, name string) bool {
	return len(updateOf(s, name).Before.Unready) > 0
}

// inFlight reports whether a cluster is being updated to a revision that was superseded.
func inFlight(s v1.RolloutStatus, c Cluster) bool {
	changing := !c.Settled || slices.ContainsFunc(c.Unready, func(k Component) bool { return k.Changing })
	return c.Revision != s.Revision && c.Revision != s.PreviousRevision && c.Serving && changing && c.Failure == ""
}

// isUpdating reports whether a cluster has yet to prove healthy. Of one that has, the setbacks are kept.
func isUpdating(r Request, s v1.RolloutStatus, name string) bool {
	soak := v1.DefaultSoak
	if r.Spec.Soak != nil {
		soak = r.Spec.Soak.Duration
	}
	return slices.ContainsFunc(s.Updating, func(u v1.ClusterUpdate) bool {
		healthy := time.Duration(u.ReadySeconds) * time.Second
		if u.ReadyTime != nil {
			healthy += r.Now.Sub(u.ReadyTime.Time)
		}
		return u.Name == name && (u.Setbacks == 0 && !isNotable(u.Before) || u.ReadyTime == nil || healthy < soak)
	})
}

// returns reports whether a cluster changes in a rollback.
func returns(last *v1.RolloutStatus, name string) bool {
	return last.State == v1.RolloutRollingBack && slices.ContainsFunc(last.Updating, func(u v1.ClusterUpdate) bool { return u.Name == name })
}

// limitOf returns how many clusters may be updated at a time.
func limitOf(r Request) int {
	switch {
	case r.Spec.MaxConcurrentClusters > 0:
		return int(r.Spec.MaxConcurrentClusters)
	case r.Spec.Strategy == v1.RolloutAll:
		return len(r.Clusters)
	default:
		return 1
	}
}

// checkStatus fails if a status claims what was not observed, or cannot be stored.
func (f *fleet) checkStatus(r Request, d Decision) {
	f.t.Helper()
	s := d.Status
	if slices.ContainsFunc(r.Clusters, func(c Cluster) bool { return c.Connecting }) {
		for _, c := range r.Clusters {
			if c.Revision != 0 && d.Revisions[c.Name] != c.Revision || r.Last != nil && r.Last.State != s.State {
				f.fatal("%s gets revision %d while one is about to be observed", c.Name, d.Revisions[c.Name])
			}
		}
		f.checkTimes(r, s)
		return
	}
	updating, entries := 0, 0
	for _, c := range r.Clusters {
		if isUpdating(r, s, c.Name) {
			updating++
		}
		if slices.ContainsFunc(s.Updating, func(u v1.ClusterUpdate) bool { return u.Name == c.Name }) {
			entries++
		}
		f.checkCluster(r, d, c)
	}
	f.checkFailure(r, s)
	f.checkTimes(r, s)
	switch {
	case len(s.Updating) != entries:
		f.fatal("clusters that do not exist are updated: %v", s.Updating)
	case s.Updated+int32(updating) > s.Total || int(s.Total) != len(r.Clusters) || len(d.Revisions) != len(r.Clusters):
		f.fatal("counts do not fit: %+v", s)
	case len(s.Message) > 1024:
		f.fatal("a message of %d bytes cannot be stored", len(s.Message))
	case !d.Until.IsZero() && !d.Until.After(r.Now):
		f.fatal("due at %s, now is %s", d.Until, r.Now)
	case r.Last != nil && r.Last.Revision == s.Revision && r.RollbackTo != s.Revision && !r.Last.CompletionTime.IsZero() && !r.Last.CompletionTime.Equal(s.CompletionTime):
		f.fatal("the completion is lost")
	}
}

// checkCluster fails if a rollout is said to be over for a cluster in which it is not.
func (f *fleet) checkCluster(r Request, d Decision, c Cluster) {
	f.t.Helper()
	s := d.Status
	downBefore := !updateOf(s, c.Name).Before.Serving || r.Last != nil && !updateOf(*r.Last, c.Name).Before.Serving
	// It is observed in this step, and so is one that joins a rollback, or missed the revision that failed.
	downBefore = downBefore || (r.RollbackTo != 0 || c.Revision != s.Revision && c.Revision != s.Target()) && !c.Serving
	switch {
	case c.SetAside || isHealthyIn(r, s, c) || isRefused(c):
	case s.CompletionTime == nil && s.Target() == s.Revision && d.Revisions[c.Name] == s.Revision && !isUpdating(r, s, c.Name):
		f.fatal("%s is not ready, and has no deadline", c.Name)
	case downBefore:
	case s.State == v1.RolloutComplete && (r.Last.CompletionTime == nil || r.Last.Revision != s.Revision):
		f.fatal("complete, and %s is not ready", c.Name)
	case s.State == v1.RolloutRolledBack && r.Last.State != v1.RolloutRolledBack && (c.Revision != s.Target() || returns(r.Last, c.Name) && !c.Serving):
		f.fatal("rolled back, and %s is not ready", c.Name)
	}
}

// isHealthyIn reports whether a cluster has the target, and nothing is bad in it that was not before.
func isHealthyIn(r Request, s v1.RolloutStatus, c Cluster) bool {
	excused := wasUnready(s, c.Name) || r.Last != nil && wasUnready(*r.Last, c.Name)
	return c.Serving && c.Settled && c.Revision == s.Target() && (excused || c.Failure == "" &&
		!slices.ContainsFunc(c.Unready, func(k Component) bool { return k.Name == "frontend" }))
}

// checkFailure fails if a revision is taken back because of a cluster of which nothing got worse.
func (f *fleet) checkFailure(r Request, s v1.RolloutStatus) {
	f.t.Helper()
	began := s.State == v1.RolloutRollingBack && r.RollbackTo == 0 && (r.Last.State != v1.RolloutRollingBack || r.Last.Revision != s.Revision)
	if name, _, _ := strings.Cut(s.Message, ":"); began && !updateOf(*r.Last, name).Before.Serving {
		f.fatal("%s takes the revision back, and did not serve customers before", name)
	}
}

// checkTimes fails if more time counts for an update than its cluster was observed.
func (f *fleet) checkTimes(r Request, s v1.RolloutStatus) {
	f.t.Helper()
	for _, u := range s.Updating {
		c := f.named(u.Name)
		if c == nil || c.unnoticed && f.connecting {
			continue // Nothing is decided by it.
		}
		spent := time.Duration(u.ProgressingSeconds+u.ReadySeconds) * time.Second
		for _, at := range []*metav1.Time{u.StartTime, u.ReadyTime} {
			if at != nil {
				spent += r.Now.Sub(at.Time)
			}
		}
		if seen := c.watched; s.State != v1.RolloutRollingBack && spent > seen {
			f.fatal("%s of %s count, which was observed for %s", spent, u.Name, seen)
		}
	}
}
