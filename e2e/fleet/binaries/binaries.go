package binaries

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/shopfleet/shopfleet/e2e/fleet/internal/filelock"
)

// AssetsVariable is the environment variable that may name a folder with all
// programs. Nothing is built then.
const AssetsVariable = "SHOPFLEET_ASSETS"

// The programs of a fleet.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kubectl           = "kubectl"
	Kwok              = "kwok"
)

const (
	controlPlaneModule = "e2e/fleet/controlplane"
	kwokModule         = "e2e/fleet/kwok"
	// hashLength is how many hex digits tell two versions of the pins apart.
	hashLength = 12
)

// Dir is a folder with all programs in it.
type Dir string

// Path returns the file of the program.
func (d Dir) Path(program string) string { return filepath.Join(string(d), program) }

// missing lists the programs that the folder lacks.
func (d Dir) missing() []program {
	var lacking []program
	for _, p := range programs() {
		info, err := os.Stat(d.Path(p.name))
		if err != nil || !info.Mode().IsRegular() || info.Mode()&0o100 == 0 {
			lacking = append(lacking, p)
		}
	}
	return lacking
}

// Ensure returns a folder with all programs. The first call for a version builds
// them, which takes minutes, and reports to progress; it may be nil. Processes
// that call at the same time build once. A cancelled context ends the build
// without leaving partial files.
//
// The working folder must lie inside the repository, unless SHOPFLEET_ASSETS
// names a complete folder.
func Ensure(ctx context.Context, progress io.Writer) (Dir, error) {
	if progress == nil {
		progress = io.Discard
	}
	if assets := os.Getenv(AssetsVariable); assets != "" {
		dir := Dir(assets)
		lacking := dir.missing()
		if len(lacking) == 0 {
			return dir, nil
		}
		_, _ = fmt.Fprintf(progress, "%s=%s has no %s: building instead\n", AssetsVariable, assets, lacking[0].name)
	}
	root, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	dir, err := cacheDir(root)
	if err != nil {
		return "", err
	}
	if len(dir.missing()) == 0 {
		return dir, nil
	}
	if err := os.MkdirAll(string(dir), 0o700); err != nil {
		return "", fmt.Errorf("creating the folder of binaries: %w", err)
	}
	lock, err := filelock.Acquire(ctx, dir.Path(".lock"), func() {
		_, _ = fmt.Fprintln(progress, "waiting for another process that builds the same programs")
	})
	if err != nil {
		return "", err
	}
	return dir, errors.Join(build(ctx, root, dir, progress), lock.Release())
}

// repositoryRoot walks up from the working folder: tests run in their package's.
func repositoryRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the working folder: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, controlPlaneModule, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("finding %q in a folder above %q: run inside the repository, or set %s: %w",
				controlPlaneModule, start, AssetsVariable, os.ErrNotExist)
		}
	}
}

// cacheDir names the folder after everything that decides what is in it.
func cacheDir(root string) (Dir, error) {
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("finding the cache folder: %w", err)
		}
		cache = filepath.Join(home, ".cache")
	}
	sum := sha256.New()
	_, _ = fmt.Fprintln(sum, runtime.GOOS, runtime.GOARCH, linkerFlags("VERSION"))
	for _, module := range []string{controlPlaneModule, kwokModule} {
		for _, name := range []string{"go.mod", "go.sum"} {
			raw, err := os.ReadFile(filepath.Join(root, module, name))
			if err != nil {
				return "", fmt.Errorf("reading the pins: %w", err)
			}
			_, _ = sum.Write(raw)
		}
	}
	version, err := kubernetesVersion(root)
	if err != nil {
		return "", err
	}
	key := hex.EncodeToString(sum.Sum(nil))[:hashLength]
	return Dir(filepath.Join(cache, "shopfleet", version+"-"+key)), nil
}
