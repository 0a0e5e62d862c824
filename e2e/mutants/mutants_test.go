package mutants

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the module's root, seen from this folder.
const root = "../.."

// TestAllApply applies each mutant to the tree: a change of the product must not leave one
// behind that changes nothing.
func TestAllApply(t *testing.T) {
	t.Parallel()
	for i, m := range All() {
		t.Run(m.ID, func(t *testing.T) {
			t.Parallel()
			if slices.ContainsFunc(All()[:i], func(other Mutant) bool { return other.ID == m.ID }) {
				t.Error("another mutant has the same ID")
			}
			content, err := os.ReadFile(filepath.Join(root, m.File))
			if err != nil {
				t.Fatal(err)
			}
			mutated, err := m.Apply(content)
			if err != nil {
				t.Fatal(err)
			}
			if string(mutated) == string(content) {
				t.Error("the mutant changes nothing")
			}
		})
	}
}

// TestReadme compares the table of e2e/README.md with the mutants.
func TestReadme(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(root, "e2e/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range All() {
		if !strings.Contains(string(page), "\n"+m.Row()+"\n") {
			t.Errorf("e2e/README.md lacks the row:\n%s", m.Row())
		}
	}
}

func TestApplyOnce(t *testing.T) {
	t.Parallel()
	m := Mutant{ID: "a", Old: "x", New: "y"}
	for content, want := range map[string]error{"x": nil, "": errNotOnce, "xx": errNotOnce} {
		if _, err := m.Apply([]byte(content)); !errors.Is(err, want) {
			t.Errorf("%q: error %v, want %v", content, err, want)
		}
	}
}
