package binaries

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// versionTimeout bounds the question for a program's version.
const versionTimeout = 10 * time.Second

// usable reports whether the programs in the folder work together with pinned ones: a
// control plane has an API server of the same minor version as its other components.
func (p Provider) usable(ctx context.Context, assets Dir, pins pins) bool {
	if !assets.has(APIServer) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, assets.Path(APIServer), "--version").CombinedOutput()
	want := minor(pins.versions[kubernetesModule])
	got := strings.TrimPrefix(strings.TrimSpace(string(out)), "Kubernetes ")
	if err == nil && minor(got) == want {
		return true
	}
	_, _ = fmt.Fprintf(p.Progress, "%s=%s is not used: its kube-apiserver must be of Kubernetes %s to run with other components, and is of %q\n",
		AssetsVariable, assets, want, got)
	return false
}

// minor returns "v1.36" for "v1.36.3".
func minor(version string) string {
	if parts := strings.SplitN(version, ".", 3); len(parts) > 1 {
		return parts[0] + "." + parts[1]
	}
	return version
}

// beside returns the folder for the programs of another one, completed with pinned ones.
func (d Dir) beside(assets Dir) (Dir, error) {
	absolute, err := filepath.Abs(string(assets))
	if err != nil {
		return "", fmt.Errorf("resolving the folder of programs: %w", err)
	}
	return Dir(string(d) + "-" + shortHash(absolute)), nil
}

// link links to the programs of the sources; earlier sources take precedence.
func (d Dir) link(sources ...Dir) error {
	for _, p := range controlPlane().programs {
		for _, source := range sources {
			if !source.has(p.name) {
				continue
			}
			target, err := filepath.Abs(source.Path(p.name))
			if err != nil {
				return fmt.Errorf("resolving %q: %w", source.Path(p.name), err)
			}
			if err := replaceLink(target, d.Path(p.name)); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

func replaceLink(target, name string) error {
	if current, err := os.Readlink(name); err == nil && current == target {
		return nil
	}
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replacing a link: %w", err)
	}
	if err := os.Symlink(target, name); err != nil {
		return fmt.Errorf("linking %q: %w", target, err)
	}
	return nil
}
