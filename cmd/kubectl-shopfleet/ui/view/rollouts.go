package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/doctor"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
	"github.com/shopfleet/shopfleet/hub/runbook"
)

// shownAfter is how long a rollout is shown after its end.
const shownAfter = 10 * time.Minute

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
	// State is updated, updating, waiting, unaffected or not seen.
	State string
	// Has names the revision, or the version of the pod templates, that the cluster has or may have; empty for none.
	Has string
	// Note says how far it is.
	Note string
}

// rolloutsOf returns the rollouts of an application that have not ended, or ended a moment ago.
func rolloutsOf(app *v1.EcommerceApp, now time.Time) []Rollout {
	var all []Rollout
	if r := app.Status.Rollout; r != nil && isMoving(r, now) {
		what := fmt.Sprintf("revision %d", r.Revision)
		if r.Target() != r.Revision {
			what = fmt.Sprintf("back from revision %d to %d", r.Revision, r.Target())
		}
		var spec v1.Rollout
		if app.Spec.Rollout != nil {
			spec = *app.Spec.Rollout
		}
		all = append(all, shown(app, r, what, runbook.Remedy(reasonOf(r.State)), func(c *v1.ClusterStatus) Turn { return revisionTurn(spec, r, c, now) }))
	}
	if r := app.Status.Rendering; r != nil && isMoving(r, now) {
		what, spec := fmt.Sprintf("version %d of the pod templates", r.Revision), rollout.TemplatesSpec(app.Spec.Rollout)
		remedy := runbook.TemplatesRemedy(r.State, rollout.IsPaused(app))
		all = append(all, shown(app, r, what, remedy, func(c *v1.ClusterStatus) Turn { return templatesTurn(spec, r, c, now) }))
	}
	return all
}

// shown returns a rollout with the turns of its clusters. In an application that is paused nothing else is of use.
func shown(app *v1.EcommerceApp, r *v1.RolloutStatus, what, remedy string, turn func(*v1.ClusterStatus) Turn) Rollout {
	next := Rollout{App: nameOf(app), What: what, State: string(r.State), Message: r.Message, Updated: r.Updated, Total: r.Total, Waves: waves(app, r, turn)}
	if app.Spec.Paused && r.State != v1.RolloutComplete {
		remedy = runbook.Remedy(v1.ReasonPaused)
	}
	next.Remedy = forApp(app, remedy)
	next.IsCommand = doctor.IsCommand(next.Remedy)
	return next
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
func waves(app *v1.EcommerceApp, r *v1.RolloutStatus, turn func(*v1.ClusterStatus) Turn) []Wave {
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
		all[at].Clusters = append(all[at].Clusters, turn(c))
	}
	slices.SortStableFunc(all, func(a, b Wave) int {
		return cmp.Or(cmp.Compare(rank(a.Region), rank(b.Region)), cmp.Compare(a.Region, b.Region))
	})
	return all
}

// revisionTurn returns how far the rollout of a revision is in a cluster.
func revisionTurn(spec v1.Rollout, r *v1.RolloutStatus, c *v1.ClusterStatus, now time.Time) Turn {
	turn := Turn{Cluster: c.Name, State: "waiting"}
	if c.Revision != 0 {
		turn.Has = fmt.Sprintf("revision %d", c.Revision)
	}
	if turn.isObserved(spec, r, c, now) && c.Revision == r.Target() {
		turn.State = "updated"
	}
	return turn
}

// templatesTurn returns how far the rollout of a version of the pod templates is in a cluster: one without pods of an
// earlier version, or whose agent renders another one, is no part of it.
func templatesTurn(spec v1.Rollout, r *v1.RolloutStatus, c *v1.ClusterStatus, now time.Time) Turn {
	turn := Turn{Cluster: c.Name, State: "unaffected", Note: "none of its pods waits for the version"}
	if c.RenderingVersion != "" {
		turn.Has = "version " + c.RenderingVersion
	}
	hasTurn := c.RenderingVersion == strconv.FormatInt(r.Revision, 10)
	switch {
	case !turn.isObserved(spec, r, c, now):
	case hasTurn && c.HeldTemplates:
		turn.State, turn.Note = "updating", "and not waited for"
	case hasTurn:
		turn.State, turn.Note = "updated", ""
	case c.HeldTemplates && c.Phase == v1.PhasePaused:
		turn.State, turn.Note = "waiting", "paused, with pods of an earlier version"
	case c.HeldTemplates:
		turn.State, turn.Note = "waiting", "with pods of an earlier version"
	}
	return turn
}

// isObserved reports whether a cluster responds and is not being updated. Otherwise it says so in the turn.
func (t *Turn) isObserved(spec v1.Rollout, r *v1.RolloutStatus, c *v1.ClusterStatus, now time.Time) bool {
	i := slices.IndexFunc(r.Updating, func(u v1.ClusterUpdate) bool { return u.Name == c.Name })
	switch {
	case c.Stale:
		t.State, t.Note = "not seen", "for "+cmp.Or(ageAt(now, c.LastObservedTime), "an unknown time")
	case i >= 0 && r.State != v1.RolloutComplete:
		t.State, t.Note = "updating", progressOf(spec, &r.Updating[i], now)
	default:
		return true
	}
	return false
}

// progressOf says how far the update of a cluster is, of the time that it may take or has to prove healthy.
func progressOf(spec v1.Rollout, u *v1.ClusterUpdate, now time.Time) string {
	soak, deadline := v1.DefaultSoak, v1.DefaultProgressDeadline
	if spec.Soak != nil {
		soak = spec.Soak.Duration
	}
	if spec.ProgressDeadline != nil {
		deadline = spec.ProgressDeadline.Duration
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
