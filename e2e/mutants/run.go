package mutants

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
)

// ErrSurvivors is returned if a mutant is not known to be noticed.
var ErrSurvivors = errors.New("at least one mutant was not noticed, see above")

var (
	errUnknown   = errors.New("no mutant has the ID")
	errNotOnce   = errors.New("the text to replace must be in the file exactly once")
	errSurvived  = errors.New("the test passes with the mutant")
	errUnmutated = errors.New("the test is not there, or fails without a mutant")
	errNotTested = errors.New("the mutant does not compile, or something other than the test fails")
)

// Mutant is one change of the product that a test must notice.
type Mutant struct {
	// ID is unique, Mistake the change in words.
	ID, Mistake string
	// File is the path of the file from the module's root, in which Old is replaced by New.
	File, Old, New string
	// Package is the package of the test, from the module's root, and Test the test's full name,
	// with the output of the subtest if there is one.
	Package, Test string
}

// Select returns the mutants with the IDs, in their own order; all of them without an ID. It fails
// if no mutant has one of the IDs.
func Select(all []Mutant, ids ...string) ([]Mutant, error) {
	if len(ids) == 0 {
		return all, nil
	}
	for _, id := range ids {
		if !slices.ContainsFunc(all, func(m Mutant) bool { return m.ID == id }) {
			return nil, fmt.Errorf("selecting mutants: %w %q", errUnknown, id)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(m Mutant) bool { return !slices.Contains(ids, m.ID) }), nil
}

// Header returns the head of the table, with a newline.
func Header() string {
	return "| mistake | file | noticed by |\n|---|---|---|\n"
}

// Row returns the row of a mutant in the table.
func (m *Mutant) Row() string {
	return fmt.Sprintf("| %s | `%s` | `%s` in `%s` |", m.Mistake, m.File, m.Test, m.Package)
}

// Apply returns the content of a file with the mutant. It fails unless the text to replace
// is in the file exactly once.
func (m *Mutant) Apply(content []byte) ([]byte, error) {
	if n := bytes.Count(content, []byte(m.Old)); n != 1 {
		return nil, fmt.Errorf("mutant %q in %s: %w, found %d times", m.ID, m.File, errNotOnce, n)
	}
	return bytes.Replace(content, []byte(m.Old), []byte(m.New), 1), nil
}

// Runner runs tests with and without mutants. It is not safe for concurrent use.
type Runner struct {
	root, dir string
	// unmutated has the result of each test that ran without a mutant.
	unmutated map[selection]result
}

// selection is a test of a package.
type selection struct{ pkg, test string }

// result holds the error of a test, and how long it took with its build.
type result struct {
	err  error
	took time.Duration
}

// patienceBeyond is the time that a test with a mutant gets beyond that of one without.
const patienceBeyond = 30 * time.Second

// patience returns how long the test with a mutant waits for what the mutant may keep from happening: longer than all of it
// took without one.
func (r result) patience() time.Duration { return min(patienceBeyond+r.took, fleettest.Timeout) }

// NewRunner returns a Runner for the module at root, with temporary files in dir.
func NewRunner(root, dir string) *Runner {
	return &Runner{root: root, dir: dir, unmutated: map[selection]result{}}
}

// Run runs the test of a mutant. It returns nil if that test fails, and passes without the
// mutant, for which it runs once for all mutants that it notices. Otherwise it returns an error.
func (r *Runner) Run(ctx context.Context, m *Mutant) error {
	chosen := selection{m.Package, m.Test}
	if _, known := r.unmutated[chosen]; !known {
		began := time.Now()
		err := r.runUnmutated(ctx, chosen)
		r.unmutated[chosen] = result{err, time.Since(began)}
	}
	without := r.unmutated[chosen]
	if without.err != nil {
		return fmt.Errorf("mutant %q: %w", m.ID, without.err)
	}
	overlay, err := m.overlay(r.root, r.dir)
	if err != nil {
		return err
	}
	output, err := r.test(ctx, chosen, "-overlay="+overlay, fleettest.TimeoutVariable+"="+without.patience().String())
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil:
		return fmt.Errorf("mutant %q: %w", m.ID, errSurvived)
	case !bytes.Contains(output, []byte("--- FAIL: "+m.Test+" (")):
		return fmt.Errorf("mutant %q: %w:\n%s", m.ID, errNotTested, output)
	}
	return nil
}

// runUnmutated returns an error unless a test is there and passes.
func (r *Runner) runUnmutated(ctx context.Context, chosen selection) error {
	output, err := r.test(ctx, chosen, "-v")
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil, !bytes.Contains(output, []byte("--- PASS: "+chosen.test+" (")):
		return fmt.Errorf("%s in %s: %w:\n%s", chosen.test, chosen.pkg, errUnmutated, output)
	}
	return nil
}

// test runs a test with a flag and environment variables, and returns its output. It fails if the test fails.
func (r *Runner) test(ctx context.Context, chosen selection, flag string, env ...string) ([]byte, error) {
	// go test matches each part of a name with a pattern of its own.
	pattern := "^" + strings.ReplaceAll(chosen.test, "/", "$/^") + "$"
	command := exec.CommandContext(ctx, "go", "test", "-vet=off", "-count=1", "-timeout=10m", flag, "-run="+pattern, "./"+chosen.pkg)
	command.Dir = r.root
	// The sample of a day may lack what notices the mutant.
	command.Env = append(os.Environ(), "SHOPFLEET_FAULTS=all", "SHOPFLEET_CRASHPOINTS=all")
	command.Env = append(command.Env, env...)
	return command.CombinedOutput()
}

// overlay writes the mutated file and the overlay that go reads, and returns its path.
func (m *Mutant) overlay(root, dir string) (string, error) {
	original := filepath.Join(root, m.File)
	content, err := os.ReadFile(original)
	if err != nil {
		return "", fmt.Errorf("reading the file of mutant %q: %w", m.ID, err)
	}
	mutated, err := m.Apply(content)
	if err != nil {
		return "", err
	}
	replacement := filepath.Join(dir, m.ID+".go")
	raw, err := json.Marshal(map[string]any{"Replace": map[string]string{original: replacement}})
	if err != nil {
		return "", fmt.Errorf("encoding the overlay of mutant %q: %w", m.ID, err)
	}
	path := filepath.Join(dir, m.ID+".json")
	for name, data := range map[string][]byte{replacement: mutated, path: raw} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			return "", fmt.Errorf("writing mutant %q: %w", m.ID, err)
		}
	}
	return path, nil
}
