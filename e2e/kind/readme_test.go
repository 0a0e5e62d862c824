package kind

import (
	"os"
	"slices"
	"strings"
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

// simulated returns the sections of hub/README.md whose commands have names and values to fill in, or move what the
// steps here need. What they do is tested on simulated nodes.
func simulated() []string {
	return []string{
		"See the fleet in a browser", "Troubleshoot", "Place", "Roll out", "Plan", "Drain a cluster", "Delete", "Orphans", "Two hubs", "Propagate", "Restore the hub",
	}
}

// TestPageNamesSections checks that the page says which of its commands do not run on real clusters.
func TestPageNamesSections(t *testing.T) {
	raw, err := os.ReadFile("../../hub/README.md")
	if err != nil {
		t.Fatal(err)
	}
	all := simulated()
	last := len(all) - 1
	want := "except those of the sections " + strings.Join(all[:last], ", ") + " and " + all[last] + ":"
	if !strings.Contains(strings.Join(strings.Fields(string(raw)), " "), want) {
		t.Errorf("hub/README.md does not say %q", want)
	}
	for _, section := range all {
		if len(commandsOf(string(raw), section)) == 0 {
			t.Errorf("section %q has no commands", section)
		}
	}
}

// testEveryCommand compares hub/README.md with the commands that were run.
func (e *environment) testEveryCommand(t *testing.T) {
	t.Helper()
	raw, err := os.ReadFile("../../hub/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range sectionsOf(string(raw)) {
		if len(commandsOf(string(raw), section)) > 0 && !e.followed[section] && !slices.Contains(simulated(), section) {
			t.Errorf("the commands of section %q were not run", section)
		}
	}
}
