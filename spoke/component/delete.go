package component

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

const (
	// maxFinalizers is the number of finalizers that a message names.
	maxFinalizers = 3
	// heldAfter is the time after which an object that is held waits for a user.
	heldAfter = 5 * time.Minute
)

// DecideDeletion returns the objects of a deleted application that may be deleted now. The
// objects of a component are deleted after the objects of all components that depend on it.
// Retained objects, such as claims and credentials, are kept. Without states, nothing is
// left to delete.
//
// If components is nil because they cannot be rendered, everything is deleted at once.
func DecideDeletion(components []Component, live Live, owner types.UID) Decision {
	left := make(map[string][]Resource)
	for _, key := range sortedKeys(live) {
		if exists := live[key]; ControlledBy(exists, owner) {
			name := exists.GetLabels()[v1.ComponentLabel]
			left[name] = append(left[name], exists)
		}
	}
	ordered, err := Order(components)
	if err != nil {
		ordered = nil
	}
	ordered = append(ordered, unknownComponents(left, ordered)...)
	slices.Reverse(ordered)
	var decision Decision
	for _, c := range ordered {
		objects := left[c.Name]
		if len(objects) == 0 {
			continue
		}
		state := State{Name: c.Name, Phase: v1.PhaseDeleting, Reason: v1.ReasonDeleting,
			Message: "waiting for " + describe(objects[0]) + " to be deleted"}
		state.holdBy(objects)
		if holder := remainingDependent(c.Name, ordered, left); holder != "" {
			state.Message = "waiting for " + holder + " to be deleted"
			decision.States = append(decision.States, state)
			continue
		}
		decision.States = append(decision.States, state)
		for _, exists := range objects {
			if exists.GetDeletionTimestamp() == nil {
				decision.Steps = append(decision.Steps, deletion(c.Name, exists))
			}
		}
	}
	return decision
}

// holdBy names the first object that is being deleted and that finalizers of others hold.
func (s *State) holdBy(objects []Resource) {
	for _, exists := range objects {
		if held := heldBy(exists); held != "" {
			s.Message, s.HeldSince = "waiting for "+describe(exists)+" to be deleted"+held, exists.GetDeletionTimestamp().Time
			return
		}
	}
}

// heldBy completes the message about an object that is being deleted: it names the finalizers that hold it,
// except the ones of the garbage collector. It returns "" without such finalizers.
func heldBy(exists Resource) string {
	if exists.GetDeletionTimestamp() == nil {
		return ""
	}
	return HeldBy(exists.GetFinalizers(), metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents)
}

// HeldBy completes a message about an object that is being deleted: it names the finalizers other than the
// expected ones. It is empty if there are none.
func HeldBy(finalizers []string, expected ...string) string {
	others := slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return slices.Contains(expected, f) })
	switch n := len(others); n {
	case 0:
		return ""
	case 1:
		return ", which finalizer " + others[0] + " holds until its controller removes it"
	default:
		slices.Sort(others)
		return ", which finalizers " + strings.Join(others[:min(n, maxFinalizers)], ", ") + " hold until their controllers remove them"
	}
}

// Deleted returns the objects that are deleted with an application, sorted by key.
func Deleted(live Live, owner types.UID) []Resource {
	var all []Resource
	for _, key := range sortedKeys(live) {
		if exists := live[key]; ControlledBy(exists, owner) && exists.GetDeletionTimestamp() == nil {
			all = append(all, exists)
		}
	}
	return all
}

// unknownComponents returns components for objects whose component is unknown, sorted by
// name.
func unknownComponents(left map[string][]Resource, known []Component) []Component {
	var names []string
	for name := range left {
		if !slices.ContainsFunc(known, func(c Component) bool { return c.Name == name }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	unknown := make([]Component, 0, len(names))
	for _, name := range names {
		unknown = append(unknown, Component{Name: name})
	}
	return unknown
}

// remainingDependent returns a component that has objects and depends, directly or
// indirectly, on the named one; empty if there is none.
func remainingDependent(name string, components []Component, left map[string][]Resource) string {
	for _, c := range components {
		if !slices.Contains(c.DependsOn, name) {
			continue
		}
		if len(left[c.Name]) > 0 {
			return c.Name
		}
		if through := remainingDependent(c.Name, components, left); through != "" {
			return through
		}
	}
	return ""
}
