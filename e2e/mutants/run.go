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
	"strings"
)

// ErrSurvivors is returned if the tests did not notice a mutant.
var ErrSurvivors = errors.New("at least one mutant was not noticed, see above")

var (
	errNotOnce   = errors.New("the text to replace must be in the file exactly once")
	errSurvived  = errors.New("the test passes with the mutant")
	errNotTested = errors.New("the mutant does not compile, or no test ran")
)

// Mutant is one change of the product that a test must notice.
type Mutant struct {
	// ID is unique, Mistake the change in words.
	ID, Mistake string
	// File is the path of the file from the module's root, in which Old is replaced by New.
	File, Old, New string
	// Package is the package of the test, from the module's root, and Test the pattern for
	// go test -run.
	Package, Test string
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

// Run runs the test of a mutant in the module at root, with temporary files in dir. It
// returns nil if the test fails, and otherwise an error.
func (m *Mutant) Run(ctx context.Context, root, dir string) error {
	overlay, err := m.overlay(root, dir)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", "test", "-vet=off", "-count=1", "-timeout=5m",
		"-overlay="+overlay, "-run="+m.Test, "./"+m.Package)
	command.Dir = root
	// The sample of a day may lack the case of TestFaults.
	command.Env = append(os.Environ(), "SHOPFLEET_FAULTS=all")
	output, err := command.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil && bytes.Contains(output, []byte("[no tests to run]")):
		return fmt.Errorf("mutant %q: %w:\n%s", m.ID, errNotTested, output)
	case err == nil:
		return fmt.Errorf("mutant %q: %w", m.ID, errSurvived)
	case !strings.Contains(string(output), "--- FAIL: "):
		return fmt.Errorf("mutant %q: %w:\n%s", m.ID, errNotTested, output)
	}
	return nil
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
