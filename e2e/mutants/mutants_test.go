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

func TestSelect(t *testing.T) {
	t.Parallel()
	all := []Mutant{{ID: "a"}, {ID: "b"}, {ID: "c"}}
	for _, test := range []struct {
		ids  []string
		want string
		err  error
	}{
		{nil, "a b c", nil},
		{[]string{"c", "a"}, "a c", nil},
		{[]string{"nosuch"}, "", errUnknown},
		{[]string{"a", "nosuch"}, "", errUnknown},
		{[]string{""}, "", errUnknown},
	} {
		chosen, err := Select(all, test.ids...)
		var ids []string
		for _, m := range chosen {
			ids = append(ids, m.ID)
		}
		if got := strings.Join(ids, " "); got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%q: %q, error %v, want %q, error %v", test.ids, got, err, test.want, test.err)
		}
	}
}

// TestRunner runs the tests of a small module: a mutant is noticed only if the named test
// fails because of it.
func TestRunner(t *testing.T) {
	t.Parallel()
	module, overlays := t.TempDir(), t.TempDir()
	for name, content := range map[string]string{
		"go.mod": "module example.com/shop\n\ngo 1.24\n",
		"shop.go": "package shop\n\n" +
			"func price() int { return 1 }\n",
		"shop_test.go": "package shop\n\nimport \"testing\"\n\n" +
			"func TestPrice(t *testing.T) {\n\tt.Run(\"one\", func(t *testing.T) {\n\t\tif price() != 1 {\n\t\t\tt.Fail()\n\t\t}\n\t})\n}\n\n" +
			"func TestPriceIsLow(*testing.T) {}\n\n" +
			"func TestSetup(t *testing.T) {\n\tif price() != 1 {\n\t\tt.Fatal()\n\t}\n\tt.Run(\"part\", func(*testing.T) {})\n}\n\n" +
			"func TestBroken(t *testing.T) { t.Fail() }\n",
	} {
		if err := os.WriteFile(filepath.Join(module, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := NewRunner(module, overlays)
	for _, tt := range []struct {
		id, test, replacement string
		want                  error
	}{
		{"noticed", "TestPrice/one", "return 2", nil},
		{"survives", "TestPriceIsLow", "return 2", errSurvived},
		{"not compiled", "TestPrice/one", "return x", errNotTested},
		{"fails before the test", "TestSetup/part", "return 2", errNotTested},
		{"test fails anyway", "TestBroken", "return 2", errUnmutated},
		{"no such test", "TestP", "return 2", errUnmutated},
		{"no such subtest", "TestPrice/on", "return 2", errUnmutated},
	} {
		m := &Mutant{ID: tt.id, File: "shop.go", Old: "return 1", New: tt.replacement, Package: ".", Test: tt.test}
		if err := r.Run(t.Context(), m); !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", tt.id, err, tt.want)
		}
	}
}
