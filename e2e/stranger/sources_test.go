package stranger

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shopfleet/shopfleet/e2e/kind/testenv"
)

// TestCheckSources checks that sources which are not committed are named before anything is built.
func TestCheckSources(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, args := range [][]string{{"init", "--quiet"}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--allow-empty", "--message=a"}} {
		if _, err := testenv.Run(exec.CommandContext(t.Context(), "git", append([]string{"-C", root}, args...)...)); err != nil {
			t.Fatal(err)
		}
	}
	if err := checkSources(t.Context(), root); err != nil {
		t.Errorf("what is committed: %v", err)
	}
	if err := os.WriteFile(filepath.Join(root, "new.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checkSources(t.Context(), root); !errors.Is(err, errUncommitted) || !strings.Contains(err.Error(), "?? new.go") {
		t.Errorf("a new file: %v", err)
	}
	if err := checkSources(t.Context(), t.TempDir()); err == nil || errors.Is(err, errUncommitted) {
		t.Errorf("a folder without a repository: %v", err)
	}
}
