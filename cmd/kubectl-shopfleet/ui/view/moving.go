package view

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/doctor"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/hubstate"
	"github.com/shopfleet/shopfleet/hub/app/placement"
)

// Moving is the answer to: what is moving?
type Moving struct {
	Notices    []Notice
	Rollouts   []Rollout
	Departures []Departure
	Operations []Operation
	// RolloutsKnown, DeparturesKnown and OperationsKnown are set if what is not listed there is known not to move.
	RolloutsKnown, DeparturesKnown, OperationsKnown bool
	// MoreRollouts, MoreDepartures and MoreOperations are how many are not listed.
	MoreRollouts, MoreDepartures, MoreOperations int
}

// Rollout shows how a revision, or a version of the pod templates, reaches clusters.
type Rollout struct {
	App, What, State, Message string
	Updated, Total            int32
	Waves                     []Wave
	// Remedy is a command if IsCommand is set, else a sentence; empty if the rollout goes on by itself.
	Remedy    string
	IsCommand bool
}

// Wave is the clusters of one region in a rollout.
type Wave struct {
	Region string
	// Current is set for the region that is being updated, or is next.
	Current  bool
	Clusters []Turn
}

// Turn shows one cluster in a rollout.
type Turn struct {
	Cluster string
	// State is updated, updating, waiting or not seen.
	State    string
	Revision int64
	// Note says how far it is.
	Note string
}

// Departure is an application that is to leave a cluster.
type Departure struct {
	App, Cluster, Cause string
	// State is leaving or stays.
	State, Reason, Message string
}

// Operation is a Backup or a Restore under way.
type Operation struct{ Kind, Name, App, Cluster, Phase, Message, Age string }

const (
	// maxMoving bounds each list.
	maxMoving = 100
	// shownAfter is how long a rollout is shown after its end.
	shownAfter = 10 * time.Minute
)

// MovingOf returns what is moving.
func MovingOf(s *hubstate.Snapshot, now time.Time) Moving {
	m := Moving{
		Notices:       NoticesOf(s, now, hubstate.Apps, hubstate.Members, hubstate.Backups, hubstate.Restores),
		RolloutsKnown: s.Knows(hubstate.Apps), DeparturesKnown: s.Knows(hubstate.Apps, hubstate.Members),
		OperationsKnown: s.Knows(hubstate.Backups, hubstate.Restores),
	}
	for i := range s.Apps {
		m.Rollouts = append(m.Rollouts, rolloutsOf(&s.Apps[i], now)...)
	}
	m.Departures, m.MoreDepartures = departures(s, now)
	m.Operations = operations(s, now)
	m.MoreRollouts = max(0, len(m.Rollouts)-maxMoving)
	m.Rollouts = m.Rollouts[:len(m.Rollouts)-m.MoreRollouts]
	m.MoreOperations = max(0, len(m.Operations)-maxMoving)
	m.Operations = m.Operations[:len(m.Operations)-m.MoreOperations]
	return m
}

// rolloutsOf returns the rollouts of an application that have not ended, or ended a moment ago.
func rolloutsOf(app *v1.EcommerceApp, now time.Time) []Rollout {
	var all []Rollout
	if r := app.Status.Rollout; r != nil && isMoving(r, now) {
		what := fmt.Sprintf("revision %d", r.Revision)
		if r.Target() != r.Revision {
			what = fmt.Sprintf("back from revision %d to %d", r.Revision, r.Target())
		}
		next := Rollout{App: nameOf(app), What: what, State: string(r.State), Message: r.Message, Updated: r.Updated, Total: r.Total, Waves: waves(app, r, now)}
		next.Remedy = remedyFor(app, reasonOf(r.State))
		next.IsCommand = doctor.IsCommand(next.Remedy)
		all = append(all, next)
	}
	if r := app.Status.Rendering; r != nil && isMoving(r, now) {
		all = append(all, Rollout{App: nameOf(app), What: fmt.Sprintf("version %d of the pod templates", r.Revision), State: string(r.State),
			Message: r.Message, Updated: r.Updated, Total: r.Total})
	}
	return all
}

// isMoving reports whether a rollout is under way, waits, or has just been completed.
func isMoving(r *v1.RolloutStatus, now time.Time) bool {
	return r.State != v1.RolloutComplete || r.CompletionTime != nil && now.Sub(r.CompletionTime.Time) < shownAfter
}

// reasonOf returns the reason of the runbook for a state that does not end by itself; empty for others.
func reasonOf(state v1.RolloutState) string {
	switch state {
	case v1.RolloutWaitingForApproval:
		return v1.ReasonWaitingForApproval
	case v1.RolloutPaused:
		return v1.ReasonRolloutPaused
	case v1.RolloutFailed:
		return v1.ReasonRolloutFailed
	case v1.RolloutRolledBack:
		return v1.ReasonRolledBack
	default:
		return ""
	}
}

// waves returns the clusters of a rollout by region, in the order of the spec.
func waves(app *v1.EcommerceApp, r *v1.RolloutStatus, now time.Time) []Wave {
	var order []string
	if app.Spec.Rollout != nil {
		order = app.Spec.Rollout.Order
	}
	rank := func(region string) int {
		if i := slices.Index(order, region); i >= 0 {
			return i
		}
		return len(order)
	}
	var all []Wave
	for i := range app.Status.Clusters {
		c := &app.Status.Clusters[i]
		at := slices.IndexFunc(all, func(w Wave) bool { return w.Region == regionOf(c.Region) })
		if at < 0 {
			all = append(all, Wave{Region: regionOf(c.Region), Current: c.Region == r.Region && r.State != v1.RolloutComplete})
			at = len(all) - 1
		}
		all[at].Clusters = append(all[at].Clusters, turnOf(app, r, c, now))
	}
	slices.SortStableFunc(all, func(a, b Wave) int {
		return cmp.Or(cmp.Compare(rank(a.Region), rank(b.Region)), cmp.Compare(a.Region, b.Region))
	})
	return all
}

// turnOf returns how far a rollout is in a cluster.
func turnOf(app *v1.EcommerceApp, r *v1.RolloutStatus, c *v1.ClusterStatus, now time.Time) Turn {
	turn := Turn{Cluster: c.Name, Revision: c.Revision, State: "waiting"}
	i := slices.IndexFunc(r.Updating, func(u v1.ClusterUpdate) bool { return u.Name == c.Name })
	switch {
	case c.Stale:
		turn.State, turn.Note = "not seen", "for "+cmp.Or(ageAt(now, c.LastObservedTime), "an unknown time")
	case i >= 0 && r.State != v1.RolloutComplete:
		turn.State, turn.Note = "updating", progressOf(app, &r.Updating[i], now)
	case c.Revision == r.Target():
		turn.State = "updated"
	}
	return turn
}

// progressOf says how far the update of a cluster is, of the time that it may take or has to prove healthy.
func progressOf(app *v1.EcommerceApp, u *v1.ClusterUpdate, now time.Time) string {
	soak, deadline := v1.DefaultSoak, v1.DefaultProgressDeadline
	if spec := app.Spec.Rollout; spec != nil {
		if spec.Soak != nil {
			soak = spec.Soak.Duration
		}
		if spec.ProgressDeadline != nil {
			deadline = spec.ProgressDeadline.Duration
		}
	}
	spent := func(since *metav1.Time, seconds int64) time.Duration {
		return max(0, now.Sub(since.Time)) + time.Duration(seconds)*time.Second
	}
	switch {
	case u.ReadyTime != nil:
		return fmt.Sprintf("healthy for %s of %s", duration.HumanDuration(min(soak, spent(u.ReadyTime, u.ReadySeconds))), duration.HumanDuration(soak))
	case u.StartTime != nil:
		return fmt.Sprintf("not healthy yet, for %s of %s", duration.HumanDuration(spent(u.StartTime, u.ProgressingSeconds)), duration.HumanDuration(deadline))
	default:
		return "its time does not count at the moment"
	}
}

// departures returns the applications that are to leave a cluster, as placements decide, and how many more there are, about
// which nothing was decided.
func departures(s *hubstate.Snapshot, now time.Time) (all []Departure, more int) {
	left := map[string]string{}
	clusters := make([]placement.Cluster, 0, len(s.Members))
	for i := range s.Members {
		m := &s.Members[i]
		clusters = append(clusters, placement.ClusterOf(m, now))
		if cause := causeOf(m); cause != "" {
			left[m.Name] = cause
		}
	}
	for i := range s.Apps {
		app := &s.Apps[i]
		leaving := func(c v1.ClusterStatus) bool { return left[c.Name] != "" || c.Phase == v1.PhaseDeleting }
		if !slices.ContainsFunc(app.Status.Clusters, leaving) {
			continue
		}
		if len(all) >= maxMoving {
			more++
			continue
		}
		decided := decisions(app, clusters, now)
		for _, c := range app.Status.Clusters {
			if !leaving(c) {
				continue
			}
			next := Departure{App: nameOf(app), Cluster: c.Name, Cause: cmp.Or(left[c.Name], "Not placed there"), State: "leaving", Reason: c.Reason, Message: c.Message}
			r := decided[c.Name]
			switch {
			case c.Phase == v1.PhaseDeleting:
			case r.Decision == placement.Chosen:
				continue // The application tolerates the taint.
			case r.Decision == placement.Stays:
				next.State, next.Reason, next.Message = "stays", r.Reason, r.Message
			}
			all = append(all, next)
		}
	}
	return all, more
}

// causeOf returns why applications leave a member, or an empty string.
func causeOf(m *v1.MemberCluster) string {
	if m.Spec.Scheduling == v1.SchedulingDrained {
		return v1.ReasonDrained
	}
	if i := slices.IndexFunc(m.Spec.Taints, func(t v1.Taint) bool { return t.Effect == v1.TaintNoExecute }); i >= 0 {
		return "Taint " + m.Spec.Taints[i].Key
	}
	return ""
}

// decisions returns what the placement of an application decides about each cluster.
func decisions(app *v1.EcommerceApp, clusters []placement.Cluster, now time.Time) map[string]placement.Result {
	request := placement.RequestOf(app, clusters, now)
	decision, err := placement.Decide(request)
	if err != nil {
		return map[string]placement.Result{} // Its spec is invalid, and the application says so.
	}
	all := map[string]placement.Result{}
	for _, r := range decision.Results(request) {
		all[r.Cluster] = r
	}
	return all
}

// operations returns the Restores and Backups that have not ended.
func operations(s *hubstate.Snapshot, now time.Time) []Operation {
	var all []Operation
	started := func(begun *metav1.Time, created metav1.Time) string {
		if begun == nil {
			begun = &created
		}
		return ageAt(now, begun)
	}
	for i := range s.Restores {
		r := &s.Restores[i]
		if r.Status.Phase == v1.RestoreCompleted || r.Status.Phase == v1.RestoreFailed {
			continue
		}
		kind := "Restore"
		if r.Spec.Verify {
			kind = "Verification"
		}
		all = append(all, Operation{kind, nameOf(r), r.Spec.BackupRef.Name, cmp.Or(r.Spec.ClusterRef.Name, "where it was backed up"),
			string(r.Status.Phase), r.Status.Message, started(r.Status.StartTime, r.CreationTimestamp)})
	}
	for i := range s.Backups {
		b := &s.Backups[i]
		if b.Status.Phase.IsFinal() {
			continue
		}
		all = append(all, Operation{"Backup", nameOf(b), b.Spec.AppRef.Name, b.Spec.ClusterRef.Name,
			string(b.Status.Phase), b.Status.Message, started(b.Status.StartTime, b.CreationTimestamp)})
	}
	return all
}
