package mutants

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

var (
	errNoSites   = errors.New("there is no operator to change")
	errBelowMark = errors.New("tests notice less than the mark")
)

// Report represents what gremlins reports of changes of single operators.
type Report struct {
	Files []struct {
		Name      string   `json:"file_name"`
		Mutations []change `json:"mutations"`
	} `json:"files"`
}

// change is one change of an operator.
type change struct {
	Type, Status string
	Line, Column int
}

// noticed reports whether a test failed, or did not end.
func (c change) noticed() bool { return c.Status == "KILLED" || c.Status == "TIMED OUT" }

// counts reports whether the change was tested, or no test runs its line.
func (c change) counts() bool {
	return c.noticed() || c.Status == "LIVED" || c.Status == "NOT COVERED"
}

// ReadReport reads a report of gremlins.
func ReadReport(r io.Reader) (Report, error) {
	var report Report
	if err := json.NewDecoder(r).Decode(&report); err != nil {
		return Report{}, fmt.Errorf("reading a report of gremlins: %w", err)
	}
	return report, nil
}

// Survivors returns the changes that no test noticed, as file, line, column, kind and why.
func (r Report) Survivors() []string {
	var all []string
	for _, file := range r.Files {
		for _, c := range file.Mutations {
			if c.counts() && !c.noticed() {
				all = append(all, fmt.Sprintf("%s:%d:%d: %s %s", file.Name, c.Line, c.Column, c.Type, c.Status))
			}
		}
	}
	return all
}

// count returns how many changes were noticed, and how many there were.
func (r Report) count() (noticed, all int) {
	for _, file := range r.Files {
		for _, c := range file.Mutations {
			if c.noticed() {
				noticed++
			}
			if c.counts() {
				all++
			}
		}
	}
	return noticed, all
}

// String returns the share of changes that were noticed.
func (r Report) String() string {
	noticed, all := r.count()
	return fmt.Sprintf("%d of %d changes noticed, %.1f %%", noticed, all, 100*float64(noticed)/float64(max(all, 1)))
}

// Check returns an error if nothing could be changed, or if a smaller percentage than the mark was noticed.
func (r Report) Check(mark float64) error {
	noticed, all := r.count()
	switch {
	case all == 0:
		return errNoSites
	case 100*float64(noticed) < mark*float64(all):
		return fmt.Errorf("%w of %.0f %%: %s", errBelowMark, mark, r)
	}
	return nil
}
