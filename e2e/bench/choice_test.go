package bench_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"testing"
)

// figure is a part of a benchmark, measured on an environment.
type figure[E any] struct {
	name    string
	measure func(E, *testing.B)
	// undo ends a fault, with which measure begins; nil for other figures.
	undo func(E, *testing.B)
}

// errFigure is returned for a selection that selects nothing.
var errFigure = errors.New("no figure has such a name")

// take returns the figures whose whole names match a regular expression, and all for an empty one.
func take[E any](all []figure[E], expression string) ([]figure[E], error) {
	if expression == "" {
		return all, nil
	}
	pattern, err := regexp.Compile("^(?:" + expression + ")$")
	if err != nil {
		return nil, fmt.Errorf("reading the selection: %w", err)
	}
	var chosen []figure[E]
	for _, each := range all {
		if pattern.MatchString(each.name) {
			chosen = append(chosen, each)
		}
	}
	if len(chosen) == 0 {
		return nil, errFigure
	}
	return chosen, nil
}

// choose returns the figures that an environment variable selects. It fails before a fleet is started.
func choose[E any](b *testing.B, variable string, all []figure[E]) []figure[E] {
	b.Helper()
	chosen, err := take(all, os.Getenv(variable))
	if err != nil {
		b.Fatalf("%s=%q: %v", variable, os.Getenv(variable), err)
	}
	return chosen
}

func TestTake(t *testing.T) {
	t.Parallel()
	all := []figure[int]{{name: "create"}, {name: "edit"}, {name: "latency-5s"}}
	for expression, want := range map[string]int{"": 3, ".": 0, ".*": 3, "create|edit": 2, "latency-5s": 1, "nosuch": 0, "creat": 0} {
		chosen, err := take(all, expression)
		if len(chosen) != want || errors.Is(err, errFigure) != (want == 0) {
			t.Errorf("%q selects %d figures, error %v, want %d", expression, len(chosen), err, want)
		}
	}
	if _, err := take(all, "("); err == nil {
		t.Error("an expression that cannot be read selects figures")
	}
}
