package view

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
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

// Departure is an application that is to leave a cluster.
type Departure struct {
	App, Cluster, Cause string
	// State is leaving or stays.
	State, Reason, Message string
}

// Operation is a Backup or a Restore under way.
type Operation struct{ Kind, Name, App, Cluster, Phase, Step, Message, Age string }

// maxMoving bounds each list.
const maxMoving = 100

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
			string(r.Status.Phase), printers.Step(r.Status.Steps), r.Status.Message, started(r.Status.StartTime, r.CreationTimestamp)})
	}
	for i := range s.Backups {
		b := &s.Backups[i]
		if b.Status.Phase.IsFinal() {
			continue
		}
		all = append(all, Operation{"Backup", nameOf(b), b.Spec.AppRef.Name, b.Spec.ClusterRef.Name,
			string(b.Status.Phase), printers.Step(b.Status.Steps), b.Status.Message, started(b.Status.StartTime, b.CreationTimestamp)})
	}
	return all
}
