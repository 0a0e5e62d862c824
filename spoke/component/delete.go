package component

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// DeletePlan decides what may be deleted now of an application that goes: the
// objects of components that nothing left depends on. Each component waits until
// those that depend on it have no objects any more. What the application does
// not control, such as claims and credentials, is kept. Without states nothing
// is left.
//
// Components may be nil when they cannot be rendered; everything then goes at once.
func DeletePlan(components []Component, live Live, owner types.UID) Decision {
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
	ordered = append(ordered, strangers(left, ordered)...)
	slices.Reverse(ordered)
	var decision Decision
	for _, c := range ordered {
		objects := left[c.Name]
		if len(objects) == 0 {
			continue
		}
		state := State{Name: c.Name, Phase: v1.PhaseDeleting, Reason: v1.ReasonDeleting,
			Message: "waiting for " + describe(objects[0]) + " to be gone"}
		if holder := holding(c.Name, ordered, left); holder != "" {
			state.Message = "waiting for " + holder + " to be gone"
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

// strangers returns components for objects whose component is not known, by name.
func strangers(left map[string][]Resource, known []Component) []Component {
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

// holding returns a component that has objects and depends on the named one,
// directly or through others; empty when there is none.
func holding(name string, components []Component, left map[string][]Resource) string {
	for _, c := range components {
		if !slices.Contains(c.DependsOn, name) {
			continue
		}
		if len(left[c.Name]) > 0 {
			return c.Name
		}
		if through := holding(c.Name, components, left); through != "" {
			return through
		}
	}
	return ""
}
