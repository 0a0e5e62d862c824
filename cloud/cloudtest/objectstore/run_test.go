package objectstore

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestCases(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for i, c := range cases() {
		if c.Number != 51+i || c.Name == "" || c.Run == nil || names[c.Name] || strings.Contains(c.Name, "/") {
			t.Errorf("case %d is number %d, %q", 51+i, c.Number, c.Name)
		}
		names[c.Name] = true
	}
}

// TestTheReadmeHasEveryCase checks that cloud/cloudtest/README.md contains the table that make
// cloud-contract prints.
func TestTheReadmeHasEveryCase(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(raw), "\nBuckets:\n")
	if !ok {
		t.Fatal("cloud/cloudtest/README.md has no line \"Buckets:\" with the table below")
	}
	for _, c := range cases() {
		row := fmt.Sprintf("| %d %s |", c.Number, c.Name)
		if !strings.Contains(table, row) {
			t.Errorf("cloud/cloudtest/README.md has no row %q: replace the tables by the output of make cloud-contract", row)
		}
	}
}
