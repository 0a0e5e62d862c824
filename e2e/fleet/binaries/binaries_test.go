package binaries_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
// folder as $out and the packages as arguments, and empties the cache. It returns the
// file with a line for each package that was to be built.
func fakeGo(t *testing.T, script string) (built string) {
	t.Helper()
	bin := t.TempDir()
	built = filepath.Join(bin, "built")
	text := "#!/bin/sh\n" + `while [ "$1" != -o ]; do shift; done; out=$2; shift 2; printf '%s\n' "$@" >>` + built + "\n" + script + "\n"
	write(t, filepath.Join(bin, "go"), text)
	write(t, built, "")
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	return built
}

// succeed creates programs under the names that the go command gives them.
const succeed = `for p; do
  case $p in */server/v3) p=server;; esac
  echo '#!/bin/sh' >"$out${p##*/}"; chmod +x "$out${p##*/}"
done`

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// leftBehind lists the files in the cache that are not programs.
func leftBehind(t *testing.T) []string {
	t.Helper()
	var left []string
	err := filepath.WalkDir(os.Getenv("XDG_CACHE_HOME"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".lock" {
			left = append(left, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return left
}

func TestEnsureBuildsOnce(t *testing.T) {
	built := fakeGo(t, succeed)
	dirs := make([]binaries.Dir, 4)
	var group sync.WaitGroup
	for i := range dirs {
		group.Go(func() {
			var err error
			if dirs[i], err = (binaries.Provider{}).Ensure(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	want := `go.etcd.io/etcd/server/v3
k8s.io/kubernetes/cmd/kube-apiserver
k8s.io/kubernetes/cmd/kube-controller-manager
k8s.io/kubernetes/cmd/kube-scheduler
k8s.io/kubernetes/cmd/kubectl
sigs.k8s.io/kwok/cmd/kwok
`
	if diff := cmp.Diff(want, read(t, built)); diff != "" {
		t.Errorf("built (-want +got):\n%s", diff)
	}
	for _, name := range all() {
		if info, err := os.Stat(dirs[0].Path(name)); err != nil || info.Mode()&0o100 == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if dirs[0] != dirs[3] || !strings.HasPrefix(filepath.Base(string(dirs[0])), "v1.") {
		t.Errorf("folders %q", dirs)
	}
	if left := leftBehind(t); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestEnsureCSIBuildsOnce(t *testing.T) {
	built := fakeGo(t, succeed)
	t.Setenv(binaries.AssetsVariable, t.TempDir()) // It is for control planes.
	var dirs [2]binaries.Dir
	var group sync.WaitGroup
	for i := range dirs {
		group.Go(func() {
			var err error
			if dirs[i], err = binaries.EnsureCSI(t.Context(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	want := `github.com/kubernetes-csi/external-snapshotter/v8/cmd/snapshot-controller
github.com/kubernetes-csi/external-snapshotter/v8/cmd/csi-snapshotter
github.com/kubernetes-csi/external-provisioner/v6/cmd/csi-provisioner
github.com/kubernetes-csi/csi-test/v5/cmd/csi-sanity
`
	if diff := cmp.Diff(want, read(t, built)); diff != "" {
		t.Errorf("built (-want +got):\n%s", diff)
	}
	if info, err := os.Stat(dirs[0].Path(binaries.Provisioner)); err != nil || info.Mode()&0o100 == 0 || dirs[0] != dirs[1] {
		t.Errorf("folders %q, error %v", dirs, err)
	}
}

func TestEnsureShowsWhatFails(t *testing.T) {
	fakeGo(t, `echo some/package; echo "go: downloading some/module v1.0.0"; echo the compiler has a reason; exit 1`)
	var progress strings.Builder
	_, err := binaries.Provider{Progress: &progress}.Ensure(t.Context())
	if err == nil || !strings.HasSuffix(err.Error(), "\nthe compiler has a reason") {
		t.Errorf("got %v, want the compiler's reason", err)
	}
	const want = "building etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl, kwok: 1 packages compiled"
	if !strings.Contains(progress.String(), want) {
		t.Errorf("progress %q does not contain %q", progress.String(), want)
	}
	if left := leftBehind(t); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestEnsureIsCancelled(t *testing.T) {
	started := filepath.Join(t.TempDir(), "started")
	// The sleep is a child of the command, as a compiler is.
	fakeGo(t, `: >"$out"etcd; : >`+started+`; sleep 600`)
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
	if _, err := (binaries.Provider{}).Ensure(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the cancellation", err)
	}
	if left := leftBehind(t); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestEnsureBuildsAfterAnotherBuild(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	fakeGo(t, "[ -e "+other+" ] || exit 1\n"+succeed)
	after := make(chan struct{})
	go func() {
		if err := os.WriteFile(other, nil, 0o600); err != nil {
			t.Error(err)
		}
		close(after)
	}()
	if _, err := (binaries.Provider{BuildAfter: after}).Ensure(t.Context()); err != nil {
		t.Error(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if _, err := (binaries.Provider{BuildAfter: make(chan struct{})}).Ensure(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the cancellation", err)
	}
}

// assetsTest is a folder with programs of some version, and what is built besides.
type assetsTest struct {
	name, version string
	given, built  []string
	progress      string
}

func TestEnsureUsesAssets(t *testing.T) {
	pinned := pin(t, "k8s.io/kubernetes")
	for _, test := range []assetsTest{
		{name: "complete", version: "v1.2.3", given: all()},
		{
			name: "kubebuilder's", version: pinned, given: []string{binaries.Etcd, binaries.APIServer, binaries.Kubectl},
			built: []string{binaries.ControllerManager, binaries.Scheduler, binaries.Kwok},
		},
		{
			name: "without an API server", given: []string{binaries.Kubectl},
			built: []string{binaries.Etcd, binaries.APIServer, binaries.ControllerManager, binaries.Scheduler, binaries.Kwok},
		},
		{name: "empty", built: all()},
		{
			name: "another version", version: "v1.2.3", given: []string{binaries.Etcd, binaries.APIServer, binaries.Kubectl}, built: all(),
			progress: `is not used: its kube-apiserver must be of Kubernetes ` + pinned[:strings.LastIndex(pinned, ".")] + ` to run with other components, and is of "v1.2.3"`,
		},
	} {
		t.Run(test.name, test.run)
	}
}

func (a assetsTest) run(t *testing.T) {
	built := fakeGo(t, succeed)
	assets := t.TempDir()
	for _, name := range a.given {
		write(t, filepath.Join(assets, name), "#!/bin/sh\necho Kubernetes "+a.version+"\n")
	}
	var progress strings.Builder
	var dir binaries.Dir
	for range 2 { // The second time, everything is there.
		var err error
		if dir, err = (binaries.Provider{Assets: assets, Progress: &progress}).Ensure(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(strings.Fields(read(t, built))); got != len(a.built) {
		t.Errorf("built %s, want %q", read(t, built), a.built)
	}
	for _, name := range all() {
		file, err := filepath.EvalSymlinks(dir.Path(name))
		if err != nil {
			t.Fatal(err)
		}
		own := !strings.HasPrefix(file, assets)
		if own != slices.Contains(a.built, name) {
			t.Errorf("%s is %s", name, file)
		}
	}
	if !strings.Contains(progress.String(), a.progress) {
		t.Errorf("progress %q does not contain %q", progress.String(), a.progress)
	}
}

// TestEnsureSharesPinnedPrograms expects that programs of the cache complete a folder.
func TestEnsureSharesPinnedPrograms(t *testing.T) {
	built := fakeGo(t, succeed)
	if _, err := (binaries.Provider{}).Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	assets := t.TempDir()
	write(t, filepath.Join(assets, binaries.Kubectl), "")
	before := read(t, built)
	if _, err := (binaries.Provider{Assets: assets}).Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, read(t, built)); diff != "" {
		t.Errorf("built again (-before +after):\n%s", diff)
	}
}

func TestEnsureReadsTheEnvironment(t *testing.T) {
	fakeGo(t, succeed)
	assets := t.TempDir()
	write(t, filepath.Join(assets, binaries.Kubectl), "")
	t.Setenv(binaries.AssetsVariable, assets)
	t.Setenv(binaries.NoDownloadVariable, "1")
	var progress strings.Builder
	dir, err := binaries.Ensure(t.Context(), &progress)
	if err != nil {
		t.Fatal(err)
	}
	if target, err := os.Readlink(dir.Path(binaries.Kubectl)); err != nil || target != filepath.Join(assets, binaries.Kubectl) {
		t.Errorf("kubectl is %q, %v", target, err)
	}
	if strings.Contains(progress.String(), "download") {
		t.Errorf("progress %q speaks of downloads", progress.String())
	}
}

func TestEnsureNeedsTheRepository(t *testing.T) {
	t.Chdir(t.TempDir())
	if _, err := (binaries.Provider{}).Ensure(t.Context()); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), binaries.AssetsVariable) {
		t.Errorf("got %v, want advice", err)
	}
}
