package rollout

import (
	"fmt"
	"slices"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/schedule"
)

// advance begins with the clusters whose turn it is.
func (p *planner) advance() {
	p.status.State, p.status.Message, p.status.Region = v1.RolloutProgressing, "", ""
	for _, c := range p.clusters {
		if c.next != p.status.Revision && p.unguarded(c) {
			p.start(c)
		}
	}
	for _, region := range p.regions() {
		pending, updating := p.progressOf(region)
		if len(pending)+len(updating) == 0 {
			continue
		}
		if p.Spec.Strategy != v1.RolloutAll {
			p.status.Region = region
		}
		if len(pending) > 0 && p.mayBegin(region) {
			p.startSome(pending)
		}
		if p.Spec.Strategy != v1.RolloutAll || p.status.State != v1.RolloutProgressing {
			break // The regions after it wait too.
		}
	}
	if failure := p.failure(); failure != "" {
		p.waitFor(v1.RolloutFailed, failure)
	}
	if p.status.State == v1.RolloutProgressing {
		p.finish(p.pending())
	}
}

// pending returns the names of the clusters that the rollout waits for.
func (p *planner) pending() []string {
	var pending []string
	for _, c := range p.clusters {
		// What was ready once may not be any more.
		unhealthy := p.status.CompletionTime == nil && !c.Ready
		if !c.SetAside && (c.update != nil || c.next != p.status.Revision || unhealthy) {
			pending = append(pending, c.Name)
		}
	}
	return pending
}

// finish ends the rollout when no cluster is pending. Those that are set aside follow later. Without any
// cluster that responds, nothing becomes known of the revision.
func (p *planner) finish(pending []string) {
	switch {
	case len(pending) > 0 && p.status.Message == "":
		p.status.Message = "waiting for " + v1.FirstOf(pending)
	case len(pending) == 0 && (p.responds() || p.status.CompletionTime != nil):
		p.status.State, p.status.Region = v1.RolloutComplete, ""
		if p.status.CompletionTime == nil {
			p.status.CompletionTime = p.now()
		}
	}
}

// responds reports whether any cluster does.
func (p *planner) responds() bool {
	return slices.ContainsFunc(p.clusters, func(c *progress) bool { return !c.SetAside })
}

// regions returns the regions in the order of the rollout.
func (p *planner) regions() []string {
	var regions []string
	for _, c := range p.clusters {
		if len(regions) == 0 || regions[len(regions)-1] != c.Region {
			regions = append(regions, c.Region)
		}
	}
	return regions
}

// progressOf returns the clusters of a region that have yet to begin, and those that are being updated,
// without those that are set aside.
func (p *planner) progressOf(region string) (pending, updating []*progress) {
	for _, c := range p.clusters {
		switch {
		case c.Region != region || c.SetAside:
		case c.next != p.status.Revision:
			pending = append(pending, c)
		case c.update != nil:
			updating = append(updating, c)
		}
	}
	return pending, updating
}

// mayBegin reports whether clusters of a region may begin, and sets the state if not.
func (p *planner) mayBegin(region string) bool {
	switch {
	case p.Paused:
		p.waitFor(v1.RolloutPaused, "paused by the annotation "+v1.RolloutPausedAnnotation)
	case p.failure() != "":
		return false
	case p.Approved != region && p.needsApproval(region):
		p.waitFor(v1.RolloutWaitingForApproval, "waiting for approval of "+region)
		p.status.Region = region
	default:
		open, changes := openUntil(p.windows, p.Now)
		if !open {
			p.waitFor(v1.RolloutWaitingForWindow, "waiting for the next window of spec.rollout.windows")
		}
		if !changes.IsZero() {
			p.wake(changes)
		}
		return open
	}
	return false
}

// needsApproval reports whether a region waits for a user: it has not begun and is not the first. Earlier
// ones that are set aside, and have not begun either, do not count.
func (p *planner) needsApproval(region string) bool {
	if p.Spec.Approval != v1.ApprovalBetweenRegions || p.status.CompletionTime != nil {
		return false
	}
	reached, earlier := false, false
	for _, c := range p.clusters {
		begun := c.next == p.status.Revision
		switch {
		case c.Region == region && begun:
			return false
		case c.Region == region:
			reached = true
		case !reached:
			earlier = earlier || begun || !c.SetAside
		}
	}
	return earlier
}

// waitFor sets a state in which no cluster begins.
func (p *planner) waitFor(state v1.RolloutState, message string) {
	p.status.State, p.status.Message = state, message
}

// startSome begins with as many of the pending clusters of a region as may be updated at a time.
func (p *planner) startSome(pending []*progress) {
	limit, done := p.limit(), false
	updating, busy := 0, map[string]bool{}
	for _, c := range p.clusters {
		switch {
		case c.SetAside:
			continue
		case c.update != nil:
			updating++
			busy[c.Name] = true
		case c.next == p.status.Revision:
			done = done || !c.NoReplicas
		}
		if !c.Serving || p.isSuperseded(c) {
			busy[c.Name] = true
		}
	}
	if !done && p.Spec.Strategy != v1.RolloutAll {
		limit = 1 // The first cluster with replicas comes alone.
	}
	var blocked bool
	var waiting []string
	for _, c := range pending {
		free := len(busy) < limit || busy[c.Name]
		switch {
		case c.Waiting: // Others of the region need not wait for its backup.
			waiting = append(waiting, c.Name)
		case updating >= limit || !free:
			blocked = blocked || updating < limit
		default:
			p.start(c)
			updating++
			busy[c.Name] = true
		}
	}
	p.status.Message = "" // With All another region may have been blocked before.
	switch {
	case updating > 0:
	case blocked && !p.startDown():
		p.status.Message = p.blockedBy()
	case !blocked && len(waiting) > 0:
		p.status.Message = "waiting for backups before the upgrade of the database: " + v1.FirstOf(waiting)
	}
}

// isSuperseded reports whether a cluster is being updated to a revision of an earlier rollout.
func (p *planner) isSuperseded(c *progress) bool {
	earlier := c.next != p.status.Revision && c.next != p.status.PreviousRevision
	return earlier && !c.SetAside && !c.Ready && c.Failure == ""
}

// startDown begins with a cluster of a later region that does not serve customers, so that those before
// it need not wait for what only the revision may repair. It returns false if there is none.
func (p *planner) startDown() bool {
	for _, c := range p.clusters {
		if c.next == p.status.Revision || c.SetAside || c.Serving {
			continue
		}
		if p.mayBegin(c.Region) {
			p.start(c)
		}
		return true
	}
	return false
}

// limit returns how many clusters may be updated at a time.
func (p *planner) limit() int {
	switch {
	case p.Spec.MaxConcurrentClusters > 0:
		return int(p.Spec.MaxConcurrentClusters)
	case p.Spec.Strategy == v1.RolloutAll:
		return len(p.clusters)
	default:
		return 1
	}
}

// start begins to update a cluster.
func (p *planner) start(c *progress) {
	c.next = p.status.Revision
	c.update = &v1.ClusterUpdate{Name: c.Name}
	if !c.SetAside {
		c.update.StartTime = p.now()
		p.wake(p.Now.Add(p.progressDeadline()))
	}
}

// blockedBy returns the message of a rollout that waits for clusters that it does not update.
func (p *planner) blockedBy() string {
	var down, superseded []string
	for _, c := range p.clusters {
		switch {
		case c.SetAside:
		case !c.Serving:
			down = append(down, c.Name)
		case p.isSuperseded(c):
			superseded = append(superseded, c.Name)
		}
	}
	if len(down) == 0 {
		return "waiting for updates that were superseded: " + v1.FirstOf(superseded)
	}
	return "waiting for clusters that do not serve customers: " + v1.FirstOf(down)
}

// window is a recurring period.
type window struct {
	schedule schedule.Schedule
	duration time.Duration
}

func parseWindows(specs []v1.RolloutWindow) ([]window, error) {
	windows := make([]window, 0, len(specs))
	for i, spec := range specs {
		s, err := schedule.Parse(string(spec.Schedule), string(spec.TimeZone))
		if err != nil {
			return nil, fmt.Errorf("spec.rollout.windows[%d]: %w", i, err)
		}
		windows = append(windows, window{schedule: s, duration: spec.Duration.Duration})
	}
	return windows, nil
}

// openUntil reports whether a time is in a window, or there are none, and returns when that may change;
// zero if it does not.
func openUntil(windows []window, now time.Time) (open bool, changes time.Time) {
	var opens, closes time.Time
	for _, w := range windows {
		// A period that contains the time began later than its duration ago.
		begins := w.schedule.Next(now.Add(-w.duration))
		ends := begins.Add(w.duration)
		switch {
		case begins.IsZero():
		case !begins.After(now):
			if ends.After(closes) {
				closes = ends
			}
		case opens.IsZero() || begins.Before(opens):
			opens = begins
		}
	}
	if len(windows) == 0 || !closes.IsZero() {
		return true, closes
	}
	return false, opens
}
