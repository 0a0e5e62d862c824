package invariants

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
)

// Convergence is how long the hub has to report about a change.
const Convergence = 30 * time.Second

// End is the state of a fleet after the hub ended.
type End struct {
	// Since and Until bound the time in which the last hub ran.
	Since, Until time.Time
	// Hub is the name of the hub's cluster, Apps are the applications there.
	Hub  string
	Apps []v1.EcommerceApp
	// Members are the members that respond, by name.
	Members map[string]Member
}

// Member is the state of a member.
type Member struct {
	// Copies are its applications, Owners the UIDs of all objects that own children.
	Copies []v1.EcommerceApp
	Owners []types.UID
	// Children are the objects with the label of an owner.
	Children []metav1.PartialObjectMetadata
}

// settled reports whether the hub ran long enough after the last write that is accepted to have
// reported it.
func (e *End) settled(l Logs, cluster string, accept func(audit.Event) bool) bool {
	last := e.Since
	for _, w := range l[cluster].Where(func(w audit.Event) bool { return w.Write() && w.Succeeded() && accept(w) }) {
		if w.Received.After(last) {
			last = w.Received
		}
	}
	return !e.Since.IsZero() && e.Until.Sub(last) >= Convergence
}

// about returns a filter for the writes to one application and, unless status is true, not
// to its status.
func about(app *v1.EcommerceApp, status bool) func(audit.Event) bool {
	return func(e audit.Event) bool {
		return e.Resource == "ecommerceapps" && e.Namespace == app.Namespace && e.Name == app.Name && (status || e.Subresource == "")
	}
}

// LostIntents returns a line for each application whose current generation the API server
// accepted long ago, and which neither has an effect nor is reported about.
func LostIntents(l Logs, e *End) []string {
	var found []string
	for i := range e.Apps {
		app := &e.Apps[i]
		if !e.settled(l, e.Hub, about(app, false)) {
			continue
		}
		mentioned := app.Status.ObservedGeneration == app.Generation ||
			slices.ContainsFunc(app.Status.Conditions, func(c metav1.Condition) bool { return c.ObservedGeneration == app.Generation })
		if !mentioned {
			found = append(found, fmt.Sprintf("%s/%s: generation %d, status of %d", app.Namespace, app.Name, app.Generation, app.Status.ObservedGeneration))
		}
		for _, c := range app.Status.Clusters {
			if c.AppliedGeneration != app.Generation && c.Reason == "" {
				found = append(found, fmt.Sprintf("%s/%s: generation %d, %s has %d without a reason", app.Namespace, app.Name, app.Generation, c.Name, c.AppliedGeneration))
			}
		}
	}
	return found
}

// FalseReady returns a line for each cluster that the hub reports as ready although the copy
// there has not been ready for long.
func FalseReady(l Logs, e *End) []string {
	var found []string
	for i := range e.Apps {
		app := &e.Apps[i]
		for _, c := range app.Status.Clusters {
			member, responds := e.Members[c.Name]
			if !c.Ready || !responds || !e.settled(l, c.Name, about(app, true)) {
				continue
			}
			at := slices.IndexFunc(member.Copies, func(o v1.EcommerceApp) bool { return o.Namespace == app.Namespace && o.Name == app.Name })
			switch {
			case at < 0:
				found = append(found, fmt.Sprintf("%s/%s: ready in %s, where there is no copy", app.Namespace, app.Name, c.Name))
			case member.Copies[at].Status.Phase != v1.PhaseRunning:
				found = append(found, fmt.Sprintf("%s/%s: ready in %s, where it is %s", app.Namespace, app.Name, c.Name, member.Copies[at].Status.Phase))
			}
		}
	}
	return found
}

// Leftovers returns a line for each child in a member whose owner is gone. Volume claims
// stay by policy, and their credentials with them.
func Leftovers(e *End) []string {
	var found []string
	for name, member := range e.Members {
		for i := range member.Children {
			child := &member.Children[i]
			owner := types.UID(child.Labels[v1.OwnerUIDLabel])
			if child.DeletionTimestamp == nil && !slices.Contains(member.Owners, owner) {
				found = append(found, fmt.Sprintf("%s: %s %s/%s of %s", name, child.Kind, child.Namespace, child.Name, owner))
			}
		}
	}
	slices.Sort(found)
	return found
}
