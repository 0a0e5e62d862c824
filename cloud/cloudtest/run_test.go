package cloudtest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestCasesAreTheDesigns(t *testing.T) {
	t.Parallel()
	gone := []int{17, 18, 20} // Of volumes that the hub created. Numbers are in reports, and do not return.
	all := cases()
	if len(all) != 46 {
		t.Fatalf("%d cases, the design has 46", len(all))
	}
	names, last := map[string]bool{}, 0
	for _, c := range all {
		if c.Number <= last || slices.Contains(gone, c.Number) || c.Name == "" || c.Run == nil || names[c.Name] {
			t.Errorf("case number %d after %d, %q", c.Number, last, c.Name)
		}
		names[c.Name], last = true, c.Number
	}
}

// TestTheReadmeHasEveryCase checks that cloud/cloudtest/README.md contains the table that make
// cloud-contract prints.
func TestTheReadmeHasEveryCase(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases() {
		row := fmt.Sprintf("| %d %s |", c.Number, c.Name)
		if !strings.Contains(string(raw), row) {
			t.Errorf("cloud/cloudtest/README.md has no row %q: replace the tables by the output of make cloud-contract", row)
		}
	}
	if strings.Contains(string(raw), "\u2717") {
		t.Error("cloud/cloudtest/README.md shows a case that fails")
	}
}
