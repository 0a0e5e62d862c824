package rollout

import (
	"cmp"
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
		switch {
		case c.refuses(p.status.Revision):
			c.behind = v1.Excerpt(c.Name+": "+v1.ReasonUpgradeRefused+": "+c.Refused, maxMessage)
		case c.next != p.status.Revision && p.unguarded(c):
			p.start(c)
		}
	}
	p.startDown() // First: one that served customers before an update that was superseded is waited for.
	ofDown := p.status
	p.status.State, p.status.Message, p.status.Region = v1.RolloutProgressing, "", ""
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
	if p.status.Region == "" && p.status.State == v1.RolloutProgressing { // No others are waited for.
		p.status.State, p.status.Message, p.status.Region = ofDown.State, cmp.Or(p.status.Message, ofDown.Message), ofDown.Region
	}
	if failure := p.failure(); failure != "" {
		p.waitFor(v1.RolloutFailed, failure)
	}
	if p.status.State == v1.RolloutProgressing {
		p.finish()
	}
	p.nameDown()
}

// finish ends the rollout when no cluster is waited for. Those that are set aside, or left behind, follow later.
// Unless one is healthy, nothing is known of the revision.
func (p *planner) finish() {
	var waiting []string
	behind, isProven := "", false
	for _, c := range p.clusters {
		switch {
		case c.SetAside:
		case c.behind != "":
			behind = cmp.Or(behind, c.behind)
		case p.status.CompletionTime != nil && c.update != nil && wasDown(c.update): // It follows.
		case c.update != nil || c.next != p.status.Revision:
			waiting = append(waiting, c.Name)
		default:
			isProven = isProven || !c.NoReplicas
		}
	}
	switch {
	case len(waiting) > 0:
		if p.status.Message == "" {
			p.status.Message = "waiting for " + v1.FirstOf(waiting)
		}
	case p.status.CompletionTime == nil && !isProven && behind != "":
		p.waitFor(v1.RolloutFailed, behind)
	case p.responds() || p.status.CompletionTime != nil:
		p.status.State, p.status.Region = v1.RolloutComplete, ""
		if p.status.CompletionTime == nil {
			p.status.CompletionTime = p.now()
		}
	}
}

// nameDown adds to the message of which clusters something was bad before: nothing waits for that.
func (p *planner) nameDown() {
	var down, behind, unready []string
	for _, c := range p.clusters {
		switch {
		case c.behind != "":
			behind = append(behind, c.Name)
		case c.isDown() && (c.next != p.status.Revision || c.update != nil && wasDown(c.update)):
			down = append(down, c.Name)
		case !c.SetAside && p.status.CompletionTime == nil && isNotable(p.wasBefore(c)):
			unready = append(unready, c.Name)
		}
	}
	message := &p.status.Message
	*message = withNames(*message, "not ready before", unready)
	*message = withNames(*message, "not serving customers before", down)
	*message = withNames(*message, "left behind", behind)
}

// wasBefore returns what a cluster was like before its update, or is like before it.
func (p *planner) wasBefore(c *progress) *v1.ClusterBefore {
	switch {
	case c.update != nil:
		return c.update.Before
	case c.succeeded != nil:
		return c.succeeded.Before
	case c.next != p.status.Revision:
		return c.before()
	default:
		return nil
	}
}

// withNames adds names to a message, if it is not about a failure that fills it.
func withNames(message, what string, names []string) string {
	if len(names) == 0 {
		return message
	}
	if message != "" {
		message += "; "
	}
	return v1.Excerpt(message+what+": "+v1.FirstOf(names), maxMessage)
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
// without those that are set aside or did not serve customers. Until the revision is proven, one with a component
// that is not ready waits for those that could prove it.
func (p *planner) progressOf(region string) (pending, updating []*progress) {
	guarded := p.Spec.Strategy != v1.RolloutAll && !p.isProven() && p.couldProve()
	for _, c := range p.clusters {
		switch {
		case c.Region != region:
		case c.isPending(p.status.Revision):
			if !guarded || !isNotable(c.before()) {
				pending = append(pending, c)
			}
		case c.isGuarded():
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

// needsApproval reports whether a region waits for a user: it has not begun and is not the first. Clusters of
// earlier ones that are set aside or do not serve customers, and have not begun either, do not count.
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
			earlier = earlier || begun || c.isPending(p.status.Revision)
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
	limit, busy := p.limit(), 0
	var superseded []string
	for _, c := range p.clusters {
		switch {
		case c.isGuarded():
			busy++
		case p.isSuperseded(c):
			superseded = append(superseded, c.Name)
		}
	}
	if !p.isProven() && p.Spec.Strategy != v1.RolloutAll {
		limit = 1 // The first cluster with replicas comes alone.
	}
	updating, blocked := busy, false
	var waiting []string
	for _, c := range pending {
		others := updating + len(superseded)
		if slices.Contains(superseded, c.Name) {
			others-- // It takes the place that it has.
		}
		switch {
		case c.Waiting: // Others of the region need not wait for it.
			waiting = append(waiting, c.Name)
		case others >= limit:
			blocked = true
		default:
			superseded = slices.DeleteFunc(superseded, func(name string) bool { return name == c.Name })
			p.start(c)
			updating++
		}
	}
	p.status.Message = "" // With All another region may have been blocked before.
	switch {
	case updating > 0:
	case blocked:
		p.status.Message = "waiting for updates that began before: " + v1.FirstOf(superseded)
	case len(waiting) > 0:
		p.status.Message = "waiting for a backup, or for a server to start, before the upgrade of the database: " + v1.FirstOf(waiting)
	}
}

// isSuperseded reports whether a cluster is being updated to a revision of an earlier rollout, or to another version of the
// pod templates. It counts as one that is updated until it is ready or fails.
func (p *planner) isSuperseded(c *progress) bool {
	if c.Replacing {
		return true
	}
	earlier := c.next != p.status.Revision && c.next != p.status.PreviousRevision
	return earlier && !c.SetAside && c.Serving && c.isChanging() && c.Failure == ""
}

// isProven reports whether a cluster with replicas is healthy with the revision. One of which something was bad
// before proves it only where no other can.
func (p *planner) isProven() bool {
	could := p.couldProve()
	return p.status.CompletionTime != nil || slices.ContainsFunc(p.clusters, func(c *progress) bool {
		is := !c.SetAside && !c.NoReplicas && c.update == nil && c.next == p.status.Revision
		return is && (!could || c.succeeded == nil || !isNotable(c.succeeded.Before))
	})
}

// couldProve reports whether a cluster with replicas of which nothing was bad before is being updated, or will be.
func (p *planner) couldProve() bool {
	return slices.ContainsFunc(p.clusters, func(c *progress) bool {
		return !c.NoReplicas && (c.isPending(p.status.Revision) && !isNotable(c.before()) || c.isGuarded() && !isNotable(c.update.Before))
	})
}

// anyServes reports whether a cluster with replicas serves customers and is updated before those that do not.
func (p *planner) anyServes() bool {
	return slices.ContainsFunc(p.clusters, func(c *progress) bool {
		return !c.NoReplicas && (c.isPending(p.status.Revision) || c.isGuarded())
	})
}

// startDown begins with the clusters that do not serve customers, outside of the limits: all of them once the
// revision is proven, and one at a time if none that serves could prove it. One that has just ceased to serve them may
// be about to do so again, and then has its turn. At the deadline they are left behind.
func (p *planner) startDown() {
	all := p.Spec.Strategy == v1.RolloutAll || p.isProven()
	if !all && p.anyServes() {
		return
	}
	trying := slices.ContainsFunc(p.clusters, func(c *progress) bool {
		return !c.SetAside && c.update != nil && c.behind == "" && !c.update.Before.Serving
	})
	for _, c := range p.clusters {
		if !c.isDown() || c.next == p.status.Revision || c.behind != "" || !all && trying {
			continue
		}
		if lasts := c.DownSince.Add(p.progressDeadline()); p.Spec.Strategy != v1.RolloutAll && all && p.Now.Before(lasts) {
			p.wake(lasts)
			continue
		}
		if p.mayBegin(c.Region) {
			p.start(c)
			trying = true
		}
	}
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
	if c.SetAside {
		return
	}
	if c.update.Before = p.before(c); !c.Waiting && !c.copies() {
		c.update.StartTime = p.now()
		p.reaches(c.update, p.progressDeadline())
	}
}

// before returns what a cluster is like before its update. Where that supersedes one that has not ended, it is what
// was before that one, as long as anything is bad or changes. It is not known of a cluster that has the revision already:
// others wait for that, and it cannot fail.
func (p *planner) before(c *progress) *v1.ClusterBefore {
	now := c.before()
	if c.Has && c.Revision == p.status.Target() {
		now = &v1.ClusterBefore{Unknown: true}
	}
	carried, is := p.superseded[c.Name]
	if is && (now.Unknown || isNotable(now) || c.isChanging()) {
		return carried.DeepCopy()
	}
	return now
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
