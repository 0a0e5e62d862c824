package kind

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommandsOfASection(t *testing.T) {
	const text = "# Title\n\n## One\n\n    a\n    b --c\n\nProse\n\n    d\n\n## Two\n\n    e\n"
	if diff := cmp.Diff([]string{"a", "b --c", "d"}, commandsOf(text, "One")); diff != "" {
		t.Error(diff)
	}
	if got := commandsOf(text, "Three"); len(got) > 0 {
		t.Errorf("commands of no section: %v", got)
	}
}

// TestEveryCommandIsFollowed holds hub/README.md to what the story runs.
func TestEveryCommandIsFollowed(t *testing.T) {
	raw, err := os.ReadFile("../../hub/README.md")
	if err != nil {
		t.Fatal(err)
	}
	followed := []string{"Install", "Join", "Observe", "Rotate", "Switch", "Switch back", "Upgrade", "Uninstall"}
	for _, section := range sectionsOf(string(raw)) {
		if has := len(commandsOf(string(raw), section)) > 0; has != slices.Contains(followed, section) {
			t.Errorf("section %q: commands %t, followed %t", section, has, !has)
		}
	}
}
