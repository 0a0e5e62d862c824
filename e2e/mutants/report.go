package mutants

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
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

// Site is a place in the source that can be changed, in one way or several.
type Site struct {
	File         string
	Line, Column int
}

// Sample returns n sites, or all if there are fewer, that a seed selects.
func (r Report) Sample(n int, seed uint64) []Site {
	var all []Site
	seen := map[Site]bool{}
	for _, file := range r.Files {
		for _, c := range file.Mutations {
			if site := (Site{file.Name, c.Line, c.Column}); !seen[site] {
				seen[site] = true
				all = append(all, site)
			}
		}
	}
	slices.SortFunc(all, func(a, b Site) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	rand.New(rand.NewPCG(seed, seed)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(n, len(all))]
}

// Only returns the part of the report that is about a sample.
func (r Report) Only(sample []Site) Report {
	part := Report{Files: slices.Clone(r.Files)}
	for i, file := range part.Files {
		part.Files[i].Mutations = slices.DeleteFunc(slices.Clone(file.Mutations), func(c change) bool {
			return !slices.Contains(sample, Site{file.Name, c.Line, c.Column})
		})
	}
	return part
}

// count returns how many changes were noticed, how many of these because a test did not end, and how many there were.
func (r Report) count() (noticed, timedOut, all int) {
	for _, file := range r.Files {
		for _, c := range file.Mutations {
			if c.noticed() {
				noticed++
			}
			if c.Status == "TIMED OUT" {
				timedOut++
			}
			if c.counts() {
				all++
			}
		}
	}
	return noticed, timedOut, all
}

// String returns the share of changes that were noticed.
func (r Report) String() string {
	noticed, timedOut, all := r.count()
	return fmt.Sprintf("%d of %d changes noticed, %.1f %%; %d because a test did not end",
		noticed, all, 100*float64(noticed)/float64(max(all, 1)), timedOut)
}

// Check returns an error if nothing could be changed, or if a smaller percentage than the mark was noticed.
func (r Report) Check(mark float64) error {
	noticed, _, all := r.count()
	switch {
	case all == 0:
		return errNoSites
	case 100*float64(noticed) < mark*float64(all):
		return fmt.Errorf("%w of %.0f %%: %s", errBelowMark, mark, r)
	}
	return nil
}
