package cloudtest

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestCasesAreTheDesigns(t *testing.T) {
	t.Parallel()
	all := cases()
	if len(all) != 49 {
		t.Fatalf("%d cases, the design has 49", len(all))
	}
	names := map[string]bool{}
	for i, c := range all {
		if c.Number != i+1 || c.Name == "" || c.Run == nil || names[c.Name] {
			t.Errorf("case %d is number %d, %q", i+1, c.Number, c.Name)
		}
		names[c.Name] = true
	}
}

// TestTheReadmeHasEveryCase checks that cloud/README.md contains the table that make
// cloud-contract prints.
func TestTheReadmeHasEveryCase(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases() {
		row := fmt.Sprintf("| %d %s |", c.Number, c.Name)
		if !strings.Contains(string(raw), row) {
			t.Errorf("cloud/README.md has no row %q: replace the tables by the output of make cloud-contract", row)
		}
	}
	if strings.Contains(string(raw), "\u2717") {
		t.Error("cloud/README.md shows a case that fails")
	}
}
