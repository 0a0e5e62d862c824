package component

import (
	"fmt"
	"slices"
	"strings"
)

// OrderError tells that components cannot be put in order: they wait for each
// other, or two bear one name.
type OrderError struct {
	// Names are the components concerned, in order.
	Names []string
	// Duplicate tells that one name is borne twice; otherwise it is a cycle.
	Duplicate bool
}

// Error says which components cannot be put in order.
func (e *OrderError) Error() string {
	if e.Duplicate {
		return fmt.Sprintf("components bear the same name: %s", strings.Join(e.Names, ", "))
	}
	return fmt.Sprintf("components wait for each other: %s", strings.Join(e.Names, ", "))
}

// Order returns components such that each comes after those that it depends on,
// and otherwise as they were given. Names that no component bears are left out of
// account. A cycle or a name that is borne twice is an *OrderError.
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
