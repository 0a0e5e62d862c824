package framework

import (
	"slices"
	"testing"
)

// Steps are subtests of which some need others to have run before, because what those
// make is expensive. A step that is selected alone by -run runs the steps that it needs as
// a part of itself. A failure affects only the steps that need the one that failed. The
// zero value is empty.
type Steps struct {
	all []step
	// passed has the steps that were begun, and whether they passed.
	passed map[string]bool
}

type step struct {
	name  string
	test  func(*testing.T)
	needs []string
}

// Add appends a step. Its needs are the names of earlier ones.
func (s *Steps) Add(name string, test func(*testing.T), needs ...string) {
	s.all = append(s.all, step{name, test, needs})
}

// Run runs the steps as subtests, in the order in which they were added.
func (s *Steps) Run(t *testing.T) {
	t.Helper()
	for _, each := range s.all {
		t.Run(each.name, func(t *testing.T) { s.ensure(t, each.name) })
	}
}

// ensure runs a step and what it needs, unless they ran before.
func (s *Steps) ensure(t *testing.T, name string) {
	t.Helper()
	if passed, begun := s.passed[name]; begun {
		if !passed {
			t.Fatalf("%q failed before", name)
		}
		return
	}
	i := slices.IndexFunc(s.all, func(s step) bool { return s.name == name })
	if i < 0 {
		t.Fatalf("there is no step %q", name)
	}
	for _, need := range s.all[i].needs {
		s.ensure(t, need)
	}
	if s.passed == nil {
		s.passed = map[string]bool{}
	}
	s.passed[name] = false
	s.all[i].test(t)
	s.passed[name] = !t.Failed()
}
