package binaries_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/e2e/fleet/binaries"
)

func all() []string {
	return []string{
		binaries.Etcd, binaries.APIServer, binaries.ControllerManager, binaries.Scheduler, binaries.Kubectl, binaries.Kwok,
	}
}

// fakeGo puts a go command first in the path that runs the script, with the output
// file as $out, and empties the cache. It returns the file that the script counts in.
func fakeGo(t *testing.T, script string) (count string) {
	t.Helper()
	bin := t.TempDir()
	count = filepath.Join(bin, "count")
	text := "#!/bin/sh\n" + `while [ "$1" != -o ]; do shift; done; out=$2` + "\necho x >>" + count + "\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(bin, "go"), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv(binaries.AssetsVariable, "")
	return count
}

func lines(t *testing.T, file string) int {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(raw), "\n")
}

const succeed = `echo '#!/bin/sh' >"$out"; chmod +x "$out"`

func TestEnsureBuildsOnce(t *testing.T) {
	count := fakeGo(t, succeed)
	dirs := make([]binaries.Dir, 4)
	var group sync.WaitGroup
	for i := range dirs {
		group.Go(func() {
			var err error
			if dirs[i], err = binaries.Ensure(t.Context(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if diff := cmp.Diff(len(all()), lines(t, count)); diff != "" {
		t.Errorf("builds: %s", diff)
	}
	for _, name := range all() {
		if info, err := os.Stat(dirs[0].Path(name)); err != nil || info.Mode()&0o100 == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if dirs[0] != dirs[3] || !strings.HasPrefix(filepath.Base(string(dirs[0])), "v1.") {
		t.Errorf("folders %q", dirs)
	}
}

func TestEnsureShowsWhatFails(t *testing.T) {
	count := fakeGo(t, "echo the compiler has a reason; exit 1")
	var progress strings.Builder
	_, err := binaries.Ensure(t.Context(), &progress)
	if err == nil || !strings.Contains(err.Error(), "the compiler has a reason") {
		t.Errorf("got %v, want the compiler's reason", err)
	}
	if lines(t, count) != 1 {
		t.Error("it went on after a failure")
	}
	if !strings.Contains(progress.String(), "etcd (1 of 6)") {
		t.Errorf("no progress: %q", progress.String())
	}
}

func TestEnsureIsCancelled(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	// The sleep is a child of the command, as a compiler is.
	fakeGo(t, `: >"$out"; : >`+started+`; sleep 600`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(started); err == nil {
				cancel()
			}
			<-time.After(time.Millisecond)
		}
	}()
	if _, err := binaries.Ensure(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the cancellation", err)
	}
	left, err := filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "shopfleet", "*", "*etcd*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestEnsureTakesWhatIsGiven(t *testing.T) {
	count := fakeGo(t, succeed)
	assets := t.TempDir()
	t.Setenv(binaries.AssetsVariable, assets)
	for _, name := range all()[1:] {
		if err := os.WriteFile(filepath.Join(assets, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	var progress strings.Builder
	dir, err := binaries.Ensure(t.Context(), &progress)
	if err != nil {
		t.Fatal(err)
	}
	if string(dir) == assets || !strings.Contains(progress.String(), "has no etcd") {
		t.Errorf("an incomplete folder: got %q, progress %q", dir, progress.String())
	}
	built := lines(t, count)
	if err := os.WriteFile(filepath.Join(assets, binaries.Etcd), nil, 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err = binaries.Ensure(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if string(dir) != assets || lines(t, count) != built {
		t.Errorf("a complete folder: got %q", dir)
	}
}

func TestEnsureNeedsTheRepository(t *testing.T) {
	t.Setenv(binaries.AssetsVariable, "")
	t.Chdir(t.TempDir())
	if _, err := binaries.Ensure(t.Context(), nil); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), binaries.AssetsVariable) {
		t.Errorf("got %v, want advice", err)
	}
}
