package rollout

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Cluster represents what was observed of the application in one cluster.
type Cluster struct {
	Name, Region string
	// Revision is the one that was decided last, or 0 for a cluster that is new.
	Revision int64
	// NoReplicas means that the cluster has no pods: it proves nothing about a revision.
	NoReplicas bool
	// SetAside means that the cluster is skipped, because it does not respond or is paused. It has its turn when it is back.
	SetAside bool
	// Connecting means that the hub, or the cluster, has just started: it is about to be observed, and
	// nothing is decided until then.
	Connecting bool
	// Since is the time from which on this hub is known to have observed the cluster without a break, and Until
	// when it did last; zero if that is not known. Both are in whole seconds.
	Since, Until time.Time
	// Waiting means that an upgrade of the database waits for its backup, or for the server before it to start. The
	// cluster does not begin before, unless it is updated out of turn: then it is not healthy, and its time does not count.
	Waiting bool
	// Replacing means that pods of an earlier version of the pod templates are being replaced: see
	// RenderingCluster.IsReplacing.
	Replacing bool
	// Refused says why the database of the cluster cannot get the server of the revision in the spec; empty if it can.
	// The cluster is left behind, and has its turn when it can.
	Refused string
	// Copied is the revision that the copy has, or 0. Has means that it is the one that was decided, and Settled that its
	// status is about it, too.
	Copied       int64
	Has, Settled bool
	// Serving means that customers are served, whatever the revision.
	Serving bool
	// DownSince is when it ceased to serve customers, or began; zero if it serves them, or that is not known.
	DownSince time.Time
	// Unready are the components that are not ready.
	Unready []Component
	// Stalled is the reason why the cluster needs a user, and Failure explains it; empty if it does not.
	Stalled, Failure string
	// Cause says what keeps the copy from being ready; empty if nothing does, or the copy does not say.
	Cause string
}

// Component is a component that is not ready.
type Component struct {
	Name, Reason string
	// Changing means that the component does not have its present spec yet.
	Changing bool
	// Copying means that a pod copies data. The time of an update does not count meanwhile.
	Copying bool
	// Growing means that it serves as before, and pods or volumes are being added.
	Growing bool
	// Scaling means that a number of replicas was changed, which is no setback of a cluster that was healthy.
	Scaling bool
}

// minUntilStored and maxUntilStored bound the time after which it is stored how long an update was observed.
const (
	minUntilStored = 10 * time.Minute
	maxUntilStored = time.Hour
)

// Failures returns the reasons of a component that mean that its new pods fail. They are not excused by the
// growth of a component, or by what kept it from being ready before.
func Failures() []string {
	return []string{v1.ReasonCrashLoopBackOff, v1.ReasonImagePullBackOff, v1.ReasonCreateContainerConfigError}
}

// isFailing reports whether a reason means that pods fail.
func isFailing(reason string) bool { return slices.Contains(Failures(), reason) }

// progress is a cluster with the revision that it is to have.
type progress struct {
	Cluster
	next int64
	// update is the update that has yet to succeed, or nil. It has what was before unless the cluster is set aside.
	update *v1.ClusterUpdate
	// succeeded is the update that did, or nil. It is kept while its setbacks, or what was before, may still count.
	succeeded *v1.ClusterUpdate
	// failure says why the cluster failed with the revision, and behind why it is left behind with it; empty if
	// it did not, or is not.
	failure, behind string
}

// isDown reports whether a cluster responds and does not serve customers.
func (p *progress) isDown() bool { return !p.SetAside && !p.Serving }

// isPending reports whether a cluster that serves has yet to get a revision, and can.
func (p *progress) isPending(revision int64) bool {
	return !p.SetAside && p.Serving && p.next != revision && p.Refused == ""
}

// refuses reports whether a cluster keeps the revision that it has, because its database cannot follow that of the spec.
// It has its turn when that changes.
func (p *progress) refuses(revision int64) bool {
	return !p.SetAside && p.next != revision && p.Refused != ""
}

// isGuarded reports whether a cluster is being updated that served customers before, and is not left behind.
func (p *progress) isGuarded() bool {
	return !p.SetAside && p.update != nil && p.behind == "" && !wasDown(p.update)
}

// wasDown reports whether it is known that customers were not served when an update began.
func wasDown(u *v1.ClusterUpdate) bool { return !u.Before.Serving && !u.Before.Unknown }

// isNotable reports whether it is known that something was bad before an update.
func isNotable(b *v1.ClusterBefore) bool {
	return b != nil && !b.Unknown && (!b.Serving || b.Stalled != "" || len(b.Unready) > 0)
}

// before returns what a cluster is like, for an update that begins. What is being changed or grows is not bad.
func (p *progress) before() *v1.ClusterBefore {
	b := &v1.ClusterBefore{Serving: p.Serving, Stalled: p.Stalled}
	for _, k := range p.Unready {
		if !k.Growing && !k.Changing {
			b.Unready = append(b.Unready, v1.UnreadyComponent{Name: k.Name, Reason: k.Reason})
		}
	}
	slices.SortFunc(b.Unready, func(a, b v1.UnreadyComponent) int { return strings.Compare(a.Name, b.Name) })
	return b
}

// wasHealthy returns the update of a cluster that was healthy, and of which nothing bad is known.
func wasHealthy() *v1.ClusterUpdate {
	return &v1.ClusterUpdate{Before: &v1.ClusterBefore{Serving: true}, ReadySeconds: 1}
}

// isHealthy reports whether a cluster serves customers with its revision, and nothing is worse than before. A
// cluster that was healthy remains so while its numbers of replicas change, and while a replica copies data.
func (p *progress) isHealthy(u *v1.ClusterUpdate) bool {
	was := u.ReadyTime != nil || u.ReadySeconds > 0
	return p.Serving && (p.Settled || was && p.Has) && !p.needsUser(u) && !slices.ContainsFunc(p.Unready, func(k Component) bool {
		return isWorse(k, u.Before) && (!was || !k.Scaling && !k.Copying || isFailing(k.Reason))
	})
}

// needsUser reports whether a cluster needs a user, and did not for the same reason before.
func (p *progress) needsUser(u *v1.ClusterUpdate) bool {
	return p.Failure != "" && (p.Stalled == "" || p.Stalled != u.Before.Stalled)
}

// isWorse reports whether a component is worse than before: it was ready, or its pods did not fail. One that is being
// changed may become so. Pods and volumes that are added are not worse unless they fail.
func isWorse(k Component, before *v1.ClusterBefore) bool {
	if was, found := unreadyBefore(k, before); found {
		return k.Changing || isFailing(k.Reason) && !isFailing(was.Reason)
	}
	return isFailing(k.Reason) || !k.Growing
}

// unreadyBefore returns what is known of a component that was not ready before, and false for one that was.
func unreadyBefore(k Component, before *v1.ClusterBefore) (v1.UnreadyComponent, bool) {
	i := slices.IndexFunc(before.Unready, func(was v1.UnreadyComponent) bool { return was.Name == k.Name })
	if i < 0 {
		return v1.UnreadyComponent{}, false
	}
	return before.Unready[i], true
}

// isAsBefore reports whether a cluster that is not healthy serves customers, and only what was bad before is. It is
// stalled for the same reason then.
func (p *progress) isAsBefore(u *v1.ClusterUpdate) bool {
	return p.Serving && (p.Settled || p.Stalled != "") && !slices.ContainsFunc(p.Unready, func(k Component) bool {
		k.Changing = false
		return isWorse(k, u.Before)
	})
}

// isChanging reports whether a cluster does not have its revision in all components yet.
func (p *progress) isChanging() bool {
	return !p.Settled || slices.ContainsFunc(p.Unready, func(k Component) bool { return k.Changing })
}

// copies reports whether a component copies data.
func (p *progress) copies() bool {
	return slices.ContainsFunc(p.Unready, func(k Component) bool { return k.Copying })
}

// observeUpdate updates one update.
func (p *planner) observeUpdate(c *progress) {
	u := c.update
	if u.Before == nil && !c.SetAside { // It was not observed, or an earlier release recorded nothing.
		u.Before = p.before(c)
	}
	ready := !c.SetAside && !c.Waiting && c.isHealthy(u)
	if c.SetAside || c.isRefused() || c.Waiting && !wasDown(u) || !ready && c.copies() {
		c.stop(u)
		if !c.SetAside && (c.isRefused() || c.needsUser(u)) {
			c.fail(c.Failure)
		}
		return
	}
	p.resume(c, ready)
	switch {
	case ready:
		if p.reaches(u, p.soak()) {
			c.update, c.succeeded = nil, u
		}
	case c.needsUser(u):
		c.fail(c.Failure)
	case u.Setbacks >= maxSetbacks:
		c.failBecause("it ceased to be ready three times")
	case !p.reaches(u, p.progressDeadline()):
	case c.isAsBefore(u):
		c.behind = v1.Excerpt(c.Name+": it is not ready, as before", maxMessage)
	default:
		c.failBecause("it is not ready within spec.rollout.progressDeadline")
	}
}

// reaches reports whether an update was observed for as long as a limit, and wakes the decision that is due then. What
// was observed is added to its sum when it reaches the limit, so that a hub that restarts decides the same, and now and
// then before.
func (p *planner) reaches(u *v1.ClusterUpdate, limit time.Duration) bool {
	since, sum := &u.StartTime, &u.ProgressingSeconds
	if u.ReadyTime != nil {
		since, sum = &u.ReadyTime, &u.ReadySeconds
	}
	stored, more := time.Duration(*sum)*time.Second, p.Now.Sub((*since).Time)
	rest, due := limit-stored-more, untilStored(limit)-more
	if stored < limit && min(rest, due) <= 0 {
		*sum, *since = *sum+int64(more/time.Second), p.now()
		due = untilStored(limit)
	}
	if rest > 0 {
		p.wake(p.Now.Add(min(rest, due)))
	}
	return rest <= 0
}

// untilStored returns how long an update is observed before that is stored, which a hub that ends without a decision
// loses at most. Writes are rare: none before a limit of ten minutes, and at most four or one an hour before others.
func untilStored(limit time.Duration) time.Duration {
	return min(max(limit/4, minUntilStored), maxUntilStored)
}

// resume lets the time of an update count that is observed. What was not observed since it was last written
// does not, nor does a time that another hub wrote whose clock was ahead. Setbacks lapse after the soak time and the
// deadline in health.
func (p *planner) resume(c *progress, ready bool) {
	u := c.update
	if u.StartTime != nil && !p.isObserved(c, u.StartTime) {
		u.StartTime = nil
	}
	if u.ReadyTime != nil && !p.isObserved(c, u.ReadyTime) {
		u.ReadyTime = nil
	}
	wasReady := u.ReadyTime != nil
	switch {
	case ready:
		u.StartTime, u.ProgressingSeconds = nil, 0
		u.ReadyTime = cmp.Or(u.ReadyTime, p.now())
	case wasReady:
		if p.spent(u) >= p.soak()+p.progressDeadline() {
			u.Setbacks = 0
		}
		u.Setbacks = min(u.Setbacks+1, maxSetbacks)
		u.StartTime, u.ReadyTime, u.ReadySeconds = p.now(), nil, 0
	default: // Nothing is known of why one is not healthy any more that was not observed.
		u.ReadySeconds = 0
		u.StartTime = cmp.Or(u.StartTime, p.now())
	}
}

// isObserved reports whether this hub has observed a cluster since a time.
func (p *planner) isObserved(c *progress, since *metav1.Time) bool {
	return !since.Time.Before(c.Since) && !since.After(p.Now)
}

// spent returns how long an update was observed as it is: healthy, or not yet.
func (p *planner) spent(u *v1.ClusterUpdate) time.Duration {
	if u.ReadyTime != nil {
		return time.Duration(u.ReadySeconds)*time.Second + p.Now.Sub(u.ReadyTime.Time)
	}
	return time.Duration(u.ProgressingSeconds)*time.Second + p.Now.Sub(u.StartTime.Time)
}

// stopIn stops the time of the cluster's update in a state.
func (p *progress) stopIn(s *v1.RolloutStatus) {
	for i := range s.Updating {
		if s.Updating[i].Name == p.Name {
			p.stop(&s.Updating[i])
		}
	}
}

// stop ends the observation of an update, and adds up what is known to have been observed.
func (p *progress) stop(u *v1.ClusterUpdate) {
	switch {
	case u.ReadyTime != nil:
		u.ReadySeconds += p.observedSince(u.ReadyTime.Time)
	case u.StartTime != nil:
		u.ProgressingSeconds += p.observedSince(u.StartTime.Time)
	}
	u.StartTime, u.ReadyTime = nil, nil
}

// observedSince returns the seconds in which the cluster was observed since a time: never too many.
func (p *progress) observedSince(start time.Time) int64 {
	if start.Before(p.Since) || p.Until.Before(start) {
		return 0
	}
	return int64(p.Until.Sub(start) / time.Second)
}

// withdrawsOrder reports whether the hub withdraws the order, as one of an earlier release: the copy refuses the revision,
// and its database cannot follow the spec. Otherwise the cluster would get the revision outside of windows, limits and
// pauses when the database can.
func (p *progress) withdrawsOrder() bool {
	return p.isRefused() && p.Refused != "" && 0 < p.Copied && p.Copied < p.Revision
}

// forgetUpdate drops what a cluster was like before an update that changed nothing in it.
func (p *planner) forgetUpdate(name string) {
	delete(p.superseded, name)
	if p.Last == nil {
		return
	}
	for _, s := range p.Last.Superseded {
		if s.Name == name {
			p.superseded[name] = s.Before
		}
	}
}

// isRefused reports whether the copy does not get the revision that the cluster was given, because its data cannot be of
// the server of that.
func (p *progress) isRefused() bool { return p.Stalled == v1.ReasonUpgradeRefused }

// fail notes that the cluster failed. The cause may be what the cluster says. One that did not serve customers
// before, or serves them as before because its copy stays, is left behind.
func (p *progress) fail(cause string) {
	text := v1.Excerpt(p.Name+": "+cause, maxMessage)
	if p.update.Before.Serving && !p.isRefused() {
		p.failure = text
	} else {
		p.behind = text
	}
}

// failBecause notes that the cluster failed by a rule of the rollout, and why it is not ready.
func (p *progress) failBecause(rule string) {
	if p.Cause != "" {
		rule += ": " + p.Cause
	}
	p.fail(rule)
}
