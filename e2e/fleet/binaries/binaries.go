package binaries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/shopfleet/shopfleet/e2e/fleet/internal/filelock"
)

const (
	// AssetsVariable is the environment variable with a folder of programs that exist
	// already. Other tools that test against a control plane read it as well.
	AssetsVariable = "KUBEBUILDER_ASSETS"
	// NoDownloadVariable is the environment variable that disables downloads of
	// released programs, whatever its value.
	NoDownloadVariable = "SHOPFLEET_NO_DOWNLOAD"
)

// The programs of a fleet.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kubectl           = "kubectl"
	Kwok              = "kwok"
)

// The controllers that work for a storage driver in a cluster, and the suite that tests drivers.
const (
	SnapshotController = "snapshot-controller"
	Snapshotter        = "csi-snapshotter"
	Provisioner        = "csi-provisioner"
	Sanity             = "csi-sanity"
)

// Dir is a folder with all programs in it.
type Dir string

// Path returns the file of the program.
func (d Dir) Path(program string) string { return filepath.Join(string(d), program) }

// has reports whether the folder contains the program.
func (d Dir) has(program string) bool {
	info, err := os.Stat(d.Path(program))
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o100 != 0
}

// missing returns those of the programs that the folder lacks.
func (d Dir) missing(programs []program) []program {
	var lacking []program
	for _, p := range programs {
		if !d.has(p.name) {
			lacking = append(lacking, p)
		}
	}
	return lacking
}

// Provider returns folders with all programs. The zero value builds them.
type Provider struct {
	// Assets is a folder with some or all of the programs; empty means none.
	Assets string
	// Releases names the servers to download released programs from; nil disables
	// downloads.
	Releases *Releases
	// BuildAfter delays a build until it is closed, unless it is nil: builds that run at
	// the same time both compile what they have in common.
	BuildAfter <-chan struct{}
	// Progress receives a line now and then; nil discards them.
	Progress io.Writer
}

// FromEnvironment returns the Provider that the environment variables describe.
func FromEnvironment(progress io.Writer) Provider {
	p := Provider{Assets: os.Getenv(AssetsVariable), Progress: progress}
	if os.Getenv(NoDownloadVariable) == "" {
		p.Releases = PublicReleases()
	}
	return p
}

// Ensure returns a folder with all programs, taken from where the environment
// variables say.
func Ensure(ctx context.Context, progress io.Writer) (Dir, error) {
	return FromEnvironment(progress).Ensure(ctx)
}

// Ensure returns a folder with all programs. The first call for a set of pins
// downloads or builds them, which may take minutes. Processes that call at the same
// time do it once. A cancelled context ends it without leaving partial files.
//
// The working folder must lie inside the repository, unless Assets is complete.
func (p Provider) Ensure(ctx context.Context) (Dir, error) {
	if p.Progress == nil {
		p.Progress = io.Discard
	}
	assets := Dir(p.Assets)
	if p.Assets != "" && len(assets.missing(controlPlane().programs)) == 0 {
		return assets, nil
	}
	pins, err := readPins(controlPlane())
	if err != nil {
		return "", fmt.Errorf("providing the programs that are not in the folder of %s: %w", AssetsVariable, err)
	}
	cache, err := pins.cacheDir()
	if err != nil {
		return "", err
	}
	if p.Assets == "" || !p.usable(ctx, assets, pins) {
		return cache, p.complete(ctx, pins, cache)
	}
	dir, err := cache.beside(assets)
	if err != nil {
		return "", err
	}
	return dir, p.locked(ctx, dir, func() error {
		if err := dir.link(assets, cache); err != nil {
			return err
		}
		return p.provide(ctx, pins, dir)
	})
}

// EnsureCSI returns a folder with the controllers that work for a storage driver, and with the suite that tests drivers. They
// are always built, because their projects release images alone. Otherwise it is like Ensure.
func EnsureCSI(ctx context.Context, progress io.Writer) (Dir, error) {
	if progress == nil {
		progress = io.Discard
	}
	pins, err := readPins(csiTools())
	if err != nil {
		return "", err
	}
	cache, err := pins.cacheDir()
	if err != nil {
		return "", err
	}
	return cache, Provider{Progress: progress}.complete(ctx, pins, cache)
}

// complete provides the programs that the cache lacks.
func (p Provider) complete(ctx context.Context, pins pins, cache Dir) error {
	if len(cache.missing(pins.programs)) == 0 {
		return nil
	}
	return p.locked(ctx, cache, func() error { return p.provide(ctx, pins, cache) })
}

// locked creates the folder and runs do while no other process changes it.
func (p Provider) locked(ctx context.Context, dir Dir, do func() error) error {
	if err := os.MkdirAll(string(dir), 0o700); err != nil {
		return fmt.Errorf("creating the folder of binaries: %w", err)
	}
	lock, err := filelock.Acquire(ctx, dir.Path(".lock"), func() {
		_, _ = fmt.Fprintln(p.Progress, "waiting for another process that provides the same programs")
	})
	if err != nil {
		return err
	}
	return errors.Join(do(), lock.Release())
}

// provide downloads or builds the programs that the folder lacks. The caller holds the
// lock; another process may have provided them while this one waited for it.
func (p Provider) provide(ctx context.Context, pins pins, dir Dir) error {
	if lacking := dir.missing(pins.programs); p.Releases != nil && len(lacking) > 0 {
		t := transfer{Releases: *p.Releases, pins: pins, dir: dir, progress: p.Progress}
		if err := t.download(ctx, lacking); err != nil {
			return err
		}
	}
	lacking := dir.missing(pins.programs)
	if len(lacking) == 0 {
		return nil
	}
	if p.BuildAfter != nil {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for another build: %w", context.Cause(ctx))
		case <-p.BuildAfter:
		}
	}
	return build(ctx, order{programs: lacking, pins: pins, dir: dir, progress: p.Progress})
}
