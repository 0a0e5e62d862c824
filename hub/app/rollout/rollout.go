package rollout

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// maxSetbacks is the number of times that a cluster ceases to be healthy while it soaks before it fails.
const maxSetbacks = 3

// maxMessage is the number of bytes that a message may have.
const maxMessage = 1024

// Request is everything that decides about a rollout. Next does not change it.
type Request struct {
	// Spec is the spec's rollout.
	Spec v1.Rollout
	// Revision is the number of the revision in the spec, and Hash its hash.
	Revision int64
	Hash     string
	// Healthy is the revision that was last healthy according to what is stored, or 0. It counts while
	// there is no last state, and some cluster has a revision: otherwise it is that of a rollout that was removed.
	Healthy int64
	// Last is the state that is stored, or nil.
	Last *v1.RolloutStatus
	// Clusters lists the clusters that are to run the application, in any order.
	Clusters []Cluster
	// RollbackTo is a revision that was healthy and that the user asks for, or 0.
	RollbackTo int64
	// Paused is true while the user pauses the rollout: no cluster begins, and no failure causes a rollback. The user may
	// ask for one.
	Paused bool
	// InTurn means that clusters that do not serve customers have their turn, also if no revision has been healthy yet.
	InTurn bool
	// Approved is the region that the user approved for the revision, or empty.
	Approved string
	// Now is in whole seconds.
	Now time.Time
}

// Decision is the next state of a rollout.
type Decision struct {
	Status v1.RolloutStatus
	// Revisions are the revisions that the clusters are to have, by name.
	Revisions map[string]int64
	// Refused says why clusters do not get the revision, by name: their databases cannot follow the server of it.
	Refused map[string]string
	// Until is when the decision is due again without any event; zero if it is not.
	Until time.Time
}

// Next returns the next state of a rollout. The same request always has the same result. The error is
// about the windows in the spec.
func Next(r Request) (Decision, error) {
	p := begin(r)
	if r.Last != nil && slices.ContainsFunc(r.Clusters, func(c Cluster) bool { return c.Connecting }) {
		return p.unchanged(), nil
	}
	p.observe()
	if failure := p.failure(); failure != "" && p.mayRollBack() {
		p.status.State, p.status.Message = v1.RolloutRollingBack, failure
	}
	if p.status.State == v1.RolloutRollingBack || p.status.State == v1.RolloutRolledBack {
		p.rollBack()
		return p.decision(), nil
	}
	var err error
	if p.windows, err = parseWindows(r.Spec.Windows); err != nil {
		return Decision{}, err
	}
	p.advance()
	return p.decision(), nil
}

// planner makes one decision.
type planner struct {
	Request
	status  v1.RolloutStatus
	windows []window
	// requested is true if a rollback begins that the user asks for.
	requested bool
	// clusters are sorted by region, in the order of the rollout, and by name. Those without replicas
	// are the last of their region.
	clusters []*progress
	until    time.Time
	// superseded has what clusters were like before an update that did not end, by name, until they begin anew.
	superseded map[string]v1.ClusterBefore
}

// begin returns a planner with the last state, or that of a rollout that begins.
func begin(r Request) *planner {
	p := &planner{Request: r}
	p.superseded = p.carriedOver()
	switch {
	case r.Last == nil:
		p.status = v1.RolloutStatus{Revision: r.Revision, SpecHash: r.Hash, State: v1.RolloutProgressing}
		hasNumber := func(c Cluster) bool { return c.Revision != 0 }
		if r.Healthy != r.Revision && slices.ContainsFunc(r.Clusters, hasNumber) {
			p.status.PreviousRevision = r.Healthy
		}
	case r.Last.Revision != r.Revision:
		p.status = v1.RolloutStatus{Revision: r.Revision, SpecHash: r.Hash, State: v1.RolloutProgressing, PreviousRevision: healthy(r.Last)}
	default:
		p.status = *r.Last.DeepCopy()
		p.status.SpecHash = r.Hash
	}
	switch {
	case r.RollbackTo == 0 || r.RollbackTo == p.status.Target():
	case r.RollbackTo == r.Revision: // Another attempt, which proves the revision again.
		p.status.State, p.status.Message, p.status.Updating = v1.RolloutProgressing, "", nil
		p.status.CompletionTime = nil
	default:
		p.status.State, p.status.PreviousRevision, p.status.Updating = v1.RolloutRollingBack, r.RollbackTo, nil
		p.status.Message, p.requested = "requested by the annotation "+v1.RollbackToAnnotation, true
	}
	p.addClusters()
	return p
}

// carriedOver returns what clusters were like before updates that did not end: those that were superseded before, and
// those in the last state, which may be superseded now. What was bad before them is as bad now, or better.
func (p *planner) carriedOver() map[string]v1.ClusterBefore {
	carried := map[string]v1.ClusterBefore{}
	if p.Last == nil {
		return carried
	}
	for _, s := range p.Last.Superseded {
		carried[s.Name] = s.Before
	}
	for i := range p.Last.Updating {
		if u := &p.Last.Updating[i]; u.Before != nil && !wasDown(u) {
			carried[u.Name] = *u.Before
		}
	}
	return carried
}

// healthy returns the revision that was healthy last, before another one, or 0.
func healthy(last *v1.RolloutStatus) int64 {
	if last.CompletionTime != nil && last.Target() == last.Revision {
		return last.Revision
	}
	return last.PreviousRevision
}

// addClusters adds the clusters in the order of the rollout. One that is new does not run ahead of a
// rollout in progress: it begins with what the others have.
func (p *planner) addClusters() {
	for _, c := range p.Clusters {
		next := &progress{Cluster: c, next: c.Revision}
		if next.withdrawsOrder() {
			next.next = c.Copied
			p.forgetUpdate(c.Name)
		}
		if next.next == 0 {
			next.Has, next.Settled = false, false // A copy without a number is of no revision.
			next.next = p.status.Target()
			if p.status.CompletionTime == nil && p.status.PreviousRevision != 0 {
				next.next = p.status.PreviousRevision
			}
		}
		if p.unproven(c) && next.next == p.status.Revision {
			p.start(next)
		}
		p.clusters = append(p.clusters, next)
	}
	rank := map[string]int{}
	for i, region := range p.Spec.Order {
		rank[region] = i - len(p.Spec.Order)
	}
	last := map[bool]int{true: 1}
	slices.SortFunc(p.clusters, func(a, b *progress) int {
		return cmp.Or(rank[a.Region]-rank[b.Region], strings.Compare(a.Region, b.Region),
			last[a.NoReplicas]-last[b.NoReplicas], strings.Compare(a.Name, b.Name))
	})
}

// unproven reports whether a cluster that has the revision of the spec is not known to be healthy with it:
// it is new, or got the revision from a rollout that is not the one in the last state.
func (p *planner) unproven(c Cluster) bool {
	begins := p.Last == nil || p.Last.Revision != p.status.Revision
	return p.status.CompletionTime == nil && (c.Revision == 0 || begins && !p.returns())
}

// returns reports whether the spec returns to the revision that was healthy last.
func (p *planner) returns() bool { return p.status.PreviousRevision == p.status.Revision }

// unguarded reports whether a cluster is updated out of turn: the spec returns to the revision that was
// healthy last, or no revision has been healthy yet and the cluster does not serve customers.
func (p *planner) unguarded(c *progress) bool {
	if p.Paused {
		return false
	}
	return p.returns() || !p.InTurn && p.status.PreviousRevision == 0 && c.isDown()
}

// observe updates the updates in progress, and drops those that succeeded. Until all have, the update of a
// cluster that is not healthy any more begins again: the revision may still be at fault.
func (p *planner) observe() {
	updates := p.updates()
	for _, c := range p.clusters {
		if c.next != p.status.Target() {
			continue
		}
		if u, is := updates[c.Name]; is {
			c.update = &u
		}
		if c.update == nil && p.status.CompletionTime == nil && !c.SetAside && !c.isHealthy(wasHealthy()) {
			c.update = &v1.ClusterUpdate{Name: c.Name, Before: &v1.ClusterBefore{Serving: true}}
			if !c.copies() {
				c.update.Setbacks = 1
			}
		}
		if c.update != nil {
			p.observeUpdate(c)
		}
	}
}

// updates returns the updates in the last state, by cluster.
func (p *planner) updates() map[string]v1.ClusterUpdate {
	updates := map[string]v1.ClusterUpdate{}
	for _, u := range p.status.Updating {
		updates[u.Name] = u
	}
	return updates
}

// failure returns the first failure of a cluster, or an empty string.
func (p *planner) failure() string {
	for _, c := range p.clusters {
		if c.failure != "" {
			return c.failure
		}
	}
	return ""
}

// mayRollBack reports whether a failure causes a rollback: another revision was healthy, and that of the spec has not
// been healthy everywhere yet. Otherwise it stops the clusters that have not begun.
func (p *planner) mayRollBack() bool {
	return !p.Paused && p.Spec.OnFailure != v1.FailurePause && p.status.CompletionTime == nil &&
		p.status.PreviousRevision != 0 && p.status.Target() == p.status.Revision && !p.returns()
}

// rollBack gives all clusters the target, and waits until those that respond, change and served before have it and serve
// again. One that fails with it needs a user, as any cluster does. What follows a rollback is not part of it.
func (p *planner) rollBack() {
	updates, target, pending := p.updates(), p.status.Target(), false
	for _, c := range p.clusters {
		u, changes := updates[c.Name]
		if c.Revision != target {
			u, changes = v1.ClusterUpdate{Name: c.Name, Before: u.Before}, true
		}
		c.next, c.update = target, nil
		if changes {
			c.update = &u
			pending = p.bringBack(c, target) || pending
		}
	}
	p.status.Region, p.until = "", time.Time{} // Nothing has an order, or a deadline.
	if p.status.State != v1.RolloutRolledBack && (pending || !p.responds()) {
		return
	}
	p.status.State = v1.RolloutRolledBack
	for _, c := range p.clusters {
		c.update = nil
	}
}

// bringBack continues the update by which a cluster returns to a revision, and reports whether the rollback waits
// for it: not if it refuses the revision, which it has missed.
func (p *planner) bringBack(c *progress, target int64) bool {
	u := c.update
	if u.Before == nil {
		u.Before = &v1.ClusterBefore{Serving: true}
		// One that never had the revision that failed is as it was.
		if _, carried := p.superseded[c.Name]; p.requested || carried || c.Revision != p.status.Revision {
			u.Before = p.before(c)
		}
	}
	switch {
	case c.SetAside:
		u.StartTime = nil
	case u.StartTime == nil:
		u.StartTime = p.now()
	}
	switch {
	case c.SetAside || c.Revision == target && c.isRefused():
		return false
	case u.Before.Unknown:
		return c.Revision != target || !c.Has
	default:
		return u.Before.Serving && (c.Revision != target || !c.Serving || c.isChanging())
	}
}

func (p *planner) now() *metav1.Time { return new(metav1.NewTime(p.Now)) }

func (p *planner) wake(at time.Time) {
	if p.until.IsZero() || at.Before(p.until) {
		p.until = at
	}
}

func (p *planner) soak() time.Duration {
	if p.Spec.Soak != nil {
		return p.Spec.Soak.Duration
	}
	return v1.DefaultSoak
}

func (p *planner) progressDeadline() time.Duration {
	if p.Spec.ProgressDeadline != nil {
		return p.Spec.ProgressDeadline.Duration
	}
	return v1.DefaultProgressDeadline
}

// Unchanged returns the last state while none can be decided: the clusters keep what they have, and those that cannot follow
// stay refused.
func Unchanged(last *v1.RolloutStatus, clusters []Cluster) Decision {
	return begin(Request{Last: last, Revision: last.Revision, Hash: last.SpecHash, Clusters: clusters}).unchanged()
}

// unchanged returns the last state. The time of clusters that are not observed stands still. That of one that is about
// to be observed goes on: when it was observed last is known as soon as it is lost, or back.
func (p *planner) unchanged() Decision {
	d := Decision{Status: *p.Last.DeepCopy(), Revisions: make(map[string]int64, len(p.clusters)), Refused: p.refused()}
	for _, c := range p.clusters {
		d.Revisions[c.Name] = c.next
		if c.SetAside && !c.Connecting {
			c.stopIn(&d.Status)
		}
	}
	return d
}

// refused returns why clusters do not get the revision of the spec, by name; none while they return to another one.
func (p *planner) refused() map[string]string {
	refused := map[string]string{}
	for _, c := range p.clusters {
		if p.status.Target() == p.status.Revision && c.refuses(p.status.Revision) {
			refused[c.Name] = c.Refused
		}
	}
	return refused
}

// Suspend returns a state while nothing is written to any cluster: the time of all updates stands still. It is nil
// if there is none yet.
func Suspend(last *v1.RolloutStatus, clusters []Cluster) *v1.RolloutStatus {
	if last == nil {
		return nil
	}
	next := last.DeepCopy()
	for _, c := range clusters {
		(&progress{Cluster: c}).stopIn(next)
	}
	return next
}

// decision returns what was decided.
func (p *planner) decision() Decision {
	d := Decision{Status: p.status, Revisions: make(map[string]int64, len(p.clusters)), Refused: p.refused(), Until: p.until}
	s := &d.Status
	left := s.LeftBehind
	s.Total, s.Updated, s.Updating, s.Superseded, s.LeftBehind = 0, 0, nil, nil, nil
	for _, c := range p.clusters {
		s.Total++
		if before, carried := p.superseded[c.Name]; carried && (c.next != s.Target() || c.update != nil && c.update.Before == nil) {
			s.Superseded = append(s.Superseded, v1.SupersededUpdate{Name: c.Name, Before: before})
		}
		d.Revisions[c.Name] = c.next
		// One that is not observed for a time has not had its turn meanwhile.
		stays := c.SetAside && c.next == c.Revision && slices.Contains(left, c.Name)
		if (c.behind != "" || stays) && s.Target() == s.Revision {
			s.LeftBehind = append(s.LeftBehind, c.Name)
		}
		switch {
		case c.update != nil:
			s.Updating = append(s.Updating, *c.update)
		case c.next == s.Revision && s.Target() == s.Revision:
			s.Updated++
			if u := c.succeeded; u != nil && (u.Setbacks > 0 || isNotable(u.Before)) && s.CompletionTime == nil {
				s.Updating = append(s.Updating, *u)
			}
		}
	}
	slices.SortFunc(s.Updating, func(a, b v1.ClusterUpdate) int { return strings.Compare(a.Name, b.Name) })
	slices.Sort(s.LeftBehind)
	slices.SortFunc(s.Superseded, func(a, b v1.SupersededUpdate) int { return strings.Compare(a.Name, b.Name) })
	return d
}
