package aggregate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func at(seconds int) metav1.Time {
	return metav1.NewTime(time.Date(2026, 1, 1, 12, 0, seconds, 0, time.UTC))
}

// member makes a connected member without a copy.
func member(name string, options ...func(*Cluster)) Cluster {
	c := Cluster{Name: name, Region: "r-" + name, Provider: v1.ProviderAWS}
	for _, o := range options {
		o(&c)
	}
	return c
}

func lost(c *Cluster) {
	c.Connection, c.Cause, c.LastObserved = Lost, v1.ReasonProbeFailed, new(at(3))
}
func connectingNow(c *Cluster) { c.Connection, c.Copy = Connecting, nil }
func detached(c *Cluster)      { c.Connection, c.Copy = Detached, nil }
func gone(c *Cluster)          { c.Gone = true }
func abandoned(c *Cluster)     { c.Abandoned = true }
func failing(reason string) func(*Cluster) {
	return func(c *Cluster) { c.Failure = &Failure{Reason: reason, Message: "because"} }
}

// running gives a member a copy that is ready at generation 1 of the hub.
func running(c *Cluster) {
	c.Copy = &Copy{Generation: 1, HubGeneration: 1, Status: copyStatus(v1.PhaseRunning, true)}
}

// reporting gives a member a copy that says phase at generation 1 of the hub.
func reporting(phase v1.Phase) func(*Cluster) {
	return func(c *Cluster) {
		c.Copy = &Copy{Generation: 1, HubGeneration: 1, Status: copyStatus(phase, false)}
	}
}

// says gives a member's copy a condition that is True for its first generation.
func says(kind, reason string) func(*Cluster) {
	return func(c *Cluster) {
		c.Copy.Status.Conditions = append(slices.DeleteFunc(c.Copy.Status.Conditions, func(o metav1.Condition) bool { return o.Type == kind }),
			metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, ObservedGeneration: 1})
	}
}

func copyStatus(phase v1.Phase, ready bool) v1.EcommerceAppStatus {
	s := v1.EcommerceAppStatus{Phase: phase, Message: "says the copy", ObservedGeneration: 1, Selector: "app=x"}
	status := metav1.ConditionFalse
	if ready {
		status = metav1.ConditionTrue
	}
	s.Conditions = []metav1.Condition{
		{Type: v1.ConditionReady, Status: status, Reason: "SaysTheCopy"}, {Type: v1.ConditionAvailable, Status: status},
	}
	for _, name := range []string{"database", "backend", frontend, "ingress"} {
		component := v1.ComponentStatus{Name: name, Phase: phase, Ready: ready}
		if name == frontend {
			component.Replicas = 3
			if ready {
				component.ReadyReplicas = 3
			}
		}
		s.Components = append(s.Components, component)
	}
	s.Components = append(s.Components, v1.ComponentStatus{Name: "monitoring", Phase: v1.PhaseDisabled, Ready: true})
	return s
}

// input returns the input of generation 1, with every member chosen that is not detached.
func input(members ...Cluster) Input {
	in := Input{Key: shop(), Generation: 1, Clusters: members, Now: at(0)}
	for _, m := range members {
		if m.Connection != Detached {
			in.Chosen = append(in.Chosen, m.Name)
		}
	}
	return in
}

// shop returns the name of the application.
func shop() types.NamespacedName { return types.NamespacedName{Namespace: "shops", Name: "shop"} }

// after returns the input that follows a status: the same, seconds later.
func after(in Input, seconds int) Input {
	in.Previous = Compute(in)
	in.Now = at(seconds)
	return in
}

// summaryOf writes a status in one line per fact, for tables.
func summaryOf(s v1.EcommerceAppStatus) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %q\n", s.Phase, s.Ready, s.Message)
	for _, c := range s.Conditions {
		fmt.Fprintf(&b, "%s=%s/%s\n", c.Type, c.Status, c.Reason)
	}
	for _, c := range s.Clusters {
		fmt.Fprintf(&b, "%s %s ready=%t available=%t stalled=%t stale=%t %s gen=%d %d/%d\n",
			c.Name, c.Phase, c.Ready, c.Available, c.Stalled, c.Stale, c.Reason, c.AppliedGeneration, c.ReadyReplicas, c.Replicas)
	}
	return b.String()
}

// checkSettled computes again from the result: nothing may change, nor after a
// restart, when no cluster has been connected yet.
func checkSettled(t *testing.T, in Input, got v1.EcommerceAppStatus) {
	t.Helper()
	in.Previous, in.Now = got, at(50)
	if diff := cmp.Diff(got, Compute(in)); diff != "" {
		t.Errorf("computing again changes something (-first +second):\n%s", diff)
	}
	in.Clusters = append([]Cluster(nil), in.Clusters...)
	for i := range in.Clusters {
		in.Clusters[i].Failure, in.Clusters[i].Gone = nil, false
		if in.Clusters[i].Connection == Connected {
			connectingNow(&in.Clusters[i])
		}
	}
	if diff := cmp.Diff(got, Compute(in)); diff != "" {
		t.Errorf("a restart changes something (-before +after):\n%s", diff)
	}
}

func edited(in Input, options ...func(*Cluster)) Input {
	in.Generation++
	in.Clusters = append([]Cluster(nil), in.Clusters...)
	for i := range in.Clusters {
		for _, o := range options {
			o(&in.Clusters[i])
		}
	}
	return in
}

func deleting(in Input) Input {
	in.Deleting = true
	return in
}

func unrecordedIn(in Input, clusters ...string) Input {
	in.Unrecorded = clusters
	return in
}

func protected(in Input) Input {
	in.ProtectedDeletion = true
	return in
}

func invalid(in Input) Input {
	in.Invalid = "the selector makes no sense"
	return in
}

// unchosen takes b out of what is chosen.
func unchosen(in Input) Input {
	in.Chosen = slices.DeleteFunc(slices.Clone(in.Chosen), func(name string) bool { return name == "b" })
	return in
}

// chosenAgain puts b back.
func chosenAgain(in Input) Input {
	in = after(in, 2)
	in.Chosen = []string{"a", "b"}
	return in
}

// with changes one member of an input, and not that of another test.
func with(in Input, name string, options ...func(*Cluster)) Input {
	in.Clusters = append([]Cluster(nil), in.Clusters...)
	for i := range in.Clusters {
		if in.Clusters[i].Name != name {
			continue
		}
		if c := in.Clusters[i].Copy; c != nil {
			cp := *c
			in.Clusters[i].Copy = &cp
		}
		for _, o := range options {
			o(&in.Clusters[i])
		}
	}
	return in
}
