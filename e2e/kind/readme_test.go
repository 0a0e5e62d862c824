package kind

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommandsOfASection(t *testing.T) {
	const text = "# Title\n\n## One\n\n    a\n    b --c\n\nProse\n\n    d\n\n```yaml\n    c: 1\n```\n\n## Two\n\n    e\n"
	if diff := cmp.Diff([]string{"a", "b --c", "d"}, commandsOf(text, "One")); diff != "" {
		t.Error(diff)
	}
	if got := commandsOf(text, "Three"); len(got) > 0 {
		t.Errorf("commands of no section: %v", got)
	}
}

// testEveryCommand compares hub/README.md with the commands that were run.
func (w *environment) testEveryCommand(t *testing.T) {
	t.Helper()
	raw, err := os.ReadFile("../../hub/README.md")
	if err != nil {
		t.Fatal(err)
	}
	// Their commands have names and values to fill in, or move what the steps here need, and are tested
	// on simulated nodes.
	elsewhere := []string{"Place", "Roll out", "Plan", "Drain a cluster", "Delete", "Orphans", "Two hubs", "Propagate", "Restore the hub", "Troubleshoot"}
	for _, section := range sectionsOf(string(raw)) {
		if len(commandsOf(string(raw), section)) > 0 && !w.followed[section] && !slices.Contains(elsewhere, section) {
			t.Errorf("the commands of section %q were not run", section)
		}
	}
}
