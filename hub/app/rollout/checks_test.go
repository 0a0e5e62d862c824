package rollout

import (
	"maps"
	"slices"

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
	if difference(was, is) != "" {
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

// checkBegun fails if a cluster gets a revision that it must not get now.
func (f *fleet) checkBegun(r Request, d Decision) {
	f.t.Helper()
	s := d.Status
	updating, busy := map[string]bool{}, map[string]bool{}
	var begun []Cluster
	for _, c := range r.Clusters {
		next := d.Revisions[c.Name]
		switch {
		case next != c.Revision && next != s.Revision && next != s.PreviousRevision:
			f.fatal("%s gets revision %d", c.Name, next)
		case c.SetAside:
		case isUpdating(r, s, c.Name):
			updating[c.Name], busy[c.Name] = true, true
		case !c.Serving || inFlight(s, c):
			busy[c.Name] = true
		}
		if c.Revision != 0 && next != c.Revision {
			begun = append(begun, c)
		}
	}
	if len(begun) == 0 || s.Target() != s.Revision || s.PreviousRevision == s.Revision {
		return
	}
	if r.Paused {
		f.fatal("%s begins while the rollout is paused", begun[0].Name)
	}
	for _, c := range begun {
		switch limit := limitOf(r); {
		case c.SetAside:
			f.fatal("%s begins, which is set aside", c.Name)
		case s.PreviousRevision == 0 && !c.Serving: // Nothing to protect, and nothing to return to.
		case len(updating) > limit:
			f.fatal("%s begins as one of %d", c.Name, len(updating))
		case c.Serving && !inFlight(s, c) && len(busy) > limit:
			f.fatal("%s begins while others do not serve: %v", c.Name, slices.Sorted(maps.Keys(busy)))
		}
	}
}

// inFlight reports whether a cluster is being updated to a revision that was superseded.
func inFlight(s v1.RolloutStatus, c Cluster) bool {
	return c.Revision != s.Revision && c.Revision != s.PreviousRevision && !c.Ready && c.Failure == ""
}

// isUpdating reports whether a cluster has yet to prove healthy. Of one that has, the setbacks are kept.
func isUpdating(r Request, s v1.RolloutStatus, name string) bool {
	soak := v1.DefaultSoak
	if r.Spec.Soak != nil {
		soak = r.Spec.Soak.Duration
	}
	return slices.ContainsFunc(s.Updating, func(u v1.ClusterUpdate) bool {
		return u.Name == name && (u.Setbacks == 0 || u.ReadyTime == nil || r.Now.Before(u.ReadyTime.Add(soak)))
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
	updating, entries := 0, 0
	for _, c := range r.Clusters {
		if isUpdating(r, s, c.Name) {
			updating++
		}
		if slices.ContainsFunc(s.Updating, func(u v1.ClusterUpdate) bool { return u.Name == c.Name }) {
			entries++
		}
		had := c.Ready && c.Revision == s.Target()
		switch {
		case c.SetAside || had:
		case s.CompletionTime == nil && s.Target() == s.Revision && d.Revisions[c.Name] == s.Revision && !isUpdating(r, s, c.Name):
			f.fatal("%s is not ready, and has no deadline", c.Name)
		case s.State == v1.RolloutComplete && (r.Last.CompletionTime == nil || r.Last.Revision != s.Revision):
			f.fatal("complete, and %s is not ready", c.Name)
		case s.State == v1.RolloutRolledBack && r.Last.State != v1.RolloutRolledBack && (c.Revision != s.Target() || returns(r.Last, c.Name)):
			f.fatal("rolled back, and %s is not ready", c.Name)
		}
	}
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
