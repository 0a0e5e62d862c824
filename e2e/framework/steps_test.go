package framework

import (
	"slices"
	"testing"
)

// TestStepsRunOnce runs a step alone whose needs have needs in common, and then another.
func TestStepsRunOnce(t *testing.T) {
	t.Parallel()
	var ran []string
	var s Steps
	add := func(name string, needs ...string) {
		s.Add(name, func(*testing.T) { ran = append(ran, name) }, needs...)
	}
	add("a")
	add("b", "a")
	add("c", "a")
	add("d", "b", "c")
	add("e")
	s.ensure(t, "d")
	s.ensure(t, "c")
	if want := []string{"a", "b", "c", "d"}; !slices.Equal(ran, want) {
		t.Errorf("ran %q, want %q", ran, want)
	}
}
