package cloudtest

import "testing"

func TestCasesAreTheDesigns(t *testing.T) {
	t.Parallel()
	all := cases()
	if len(all) != 45 {
		t.Fatalf("%d cases, the design has 45", len(all))
	}
	names := map[string]bool{}
	for i, c := range all {
		if c.Number != i+1 || c.Name == "" || c.Run == nil || names[c.Name] {
			t.Errorf("case %d is number %d, %q", i+1, c.Number, c.Name)
		}
		names[c.Name] = true
	}
}
