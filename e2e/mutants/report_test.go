package mutants

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	t.Parallel()
	report, err := ReadReport(strings.NewReader(`{"files": [{"file_name": "a.go", "mutations": [
		{"type": "CONDITIONALS_NEGATION", "status": "KILLED", "line": 1, "column": 2},
		{"type": "CONDITIONALS_NEGATION", "status": "KILLED", "line": 3, "column": 4},
		{"type": "INVERT_LOOPCTRL", "status": "TIMED OUT", "line": 5, "column": 6},
		{"type": "CONDITIONALS_BOUNDARY", "status": "LIVED", "line": 7, "column": 8},
		{"type": "ARITHMETIC_BASE", "status": "NOT VIABLE", "line": 9, "column": 10},
		{"type": "ARITHMETIC_BASE", "status": "SKIPPED", "line": 9, "column": 12}]},
		{"file_name": "b.go", "mutations": [{"type": "ARITHMETIC_BASE", "status": "NOT COVERED", "line": 1, "column": 1}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a.go:7:8: CONDITIONALS_BOUNDARY LIVED", "b.go:1:1: ARITHMETIC_BASE NOT COVERED"}
	if got := report.Survivors(); !slices.Equal(got, want) {
		t.Errorf("survivors %q, want %q", got, want)
	}
	if got, want := report.String(), "3 of 5 changes noticed, 60.0 %; 1 because a test did not end"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for mark, want := range map[float64]error{0: nil, 60: nil, 61: errBelowMark} {
		if err := report.Check(mark); !errors.Is(err, want) {
			t.Errorf("mark %.0f: error %v, want %v", mark, err, want)
		}
	}
	sample := report.Sample(2, 1)
	if again := report.Sample(2, 1); len(sample) != 2 || sample[0] == sample[1] || !slices.Equal(sample, again) {
		t.Errorf("samples %v and %v of one seed", sample, again)
	}
	if _, _, all := report.Only([]Site{{"a.go", 3, 4}, {"a.go", 7, 8}}).count(); all != 2 {
		t.Errorf("%d changes at two sites", all)
	}
	if n := len(report.Sample(100, 1)); n != 7 {
		t.Errorf("%d of seven sites", n)
	}
	if err := (Report{}).Check(0); !errors.Is(err, errNoSites) {
		t.Errorf("nothing to change: error %v", err)
	}
	if _, err := ReadReport(strings.NewReader("no JSON")); err == nil {
		t.Error("what is no report is read")
	}
}
