package component

import (
	"fmt"
	"slices"
	"strings"
)

// OrderError is returned if components cannot be ordered: they depend on each other, or
// two have the same name.
type OrderError struct {
	// Names are the affected components, sorted.
	Names []string
	// Duplicate is true if a name is used twice; otherwise there is a cycle.
	Duplicate bool
}

// Error names the affected components.
func (e *OrderError) Error() string {
	if e.Duplicate {
		return fmt.Sprintf("components have the same name: %s", strings.Join(e.Names, ", "))
	}
	return fmt.Sprintf("components depend on each other: %s", strings.Join(e.Names, ", "))
}

// Order returns the components such that each follows its dependencies, and otherwise in
// the given order. Unknown dependencies are ignored. A cycle or a duplicate name is an
// *OrderError.
func Order(components []Component) ([]Component, error) {
	known := make(map[string]bool, len(components))
	for _, c := range components {
		if known[c.Name] {
			return nil, &OrderError{Names: []string{c.Name}, Duplicate: true}
		}
		known[c.Name] = true
	}
	ordered := make([]Component, 0, len(components))
	placed := make(map[string]bool, len(components))
	for len(ordered) < len(components) {
		next := slices.IndexFunc(components, func(c Component) bool {
			return !placed[c.Name] && !slices.ContainsFunc(c.DependsOn, func(name string) bool {
				return known[name] && !placed[name]
			})
		})
		if next < 0 {
			return nil, &OrderError{Names: unplaced(components, placed)}
		}
		ordered = append(ordered, components[next])
		placed[components[next].Name] = true
	}
	return ordered, nil
}

func unplaced(components []Component, placed map[string]bool) []string {
	var names []string
	for _, c := range components {
		if !placed[c.Name] {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}
