package faults_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

const (
	// casesVariable is the environment variable that selects cases of TestFaults: empty for every
	// third one, all, or the name of one.
	casesVariable = "SHOPFLEET_FAULTS"
	everything    = "all"
	// seedVariable is the environment variable with the seed of the sample, and of what cases
	// inject by chance. Cases alternate with it, so that each runs at least every third day.
	seedVariable = "SHOPFLEET_FAULTS_SEED"
)

// faultCase is a subtest of TestFaults.
type faultCase struct {
	name string
	test func(*testing.T)
}

// choice selects cases.
type choice struct {
	// variable is the value of casesVariable.
	variable string
	seed     uint64
}

// String returns the command that makes the same choice, and injects the same.
func (c choice) String() string {
	selection := fmt.Sprintf("%s=%d", seedVariable, c.seed)
	if c.variable != "" {
		selection += fmt.Sprintf(" %s='%s'", casesVariable, c.variable)
	}
	return selection + " go test -count=1 -run TestFaults ./e2e/faults"
}

// errCase is returned for a selection that cannot be made.
var errCase = errors.New("want all, or the name of a case")

// days is how many days it takes until a sample had all cases.
const days = 3

// take returns the chosen cases, in their order.
func (c choice) take(all []faultCase) ([]faultCase, error) {
	var chosen []faultCase
	for i, each := range all {
		if c.variable == everything || c.variable == each.name || c.variable == "" && uint64(i)%days == c.seed%days {
			chosen = append(chosen, each)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("%s=%q: %w", casesVariable, c.variable, errCase)
	}
	return chosen, nil
}

// TestChoice checks that three days run all cases, and none twice.
func TestChoice(t *testing.T) {
	t.Parallel()
	all := []faultCase{{name: "a"}, {name: "b"}, {name: "c"}, {name: "d"}}
	for _, test := range []struct {
		choice choice
		want   []string
	}{
		{choice{seed: 21}, []string{"a", "d"}},
		{choice{seed: 22}, []string{"b"}},
		{choice{seed: 23}, []string{"c"}},
		{choice{variable: everything, seed: 21}, []string{"a", "b", "c", "d"}},
		{choice{variable: "c", seed: 21}, []string{"c"}},
		{choice{variable: "e"}, nil},
	} {
		chosen, err := test.choice.take(all)
		var got []string
		for _, each := range chosen {
			got = append(got, each.name)
		}
		if !slices.Equal(got, test.want) || errors.Is(err, errCase) != (test.want == nil) {
			t.Errorf("%s: %q, %v, want %q", test.choice, got, err, test.want)
		}
	}
}
