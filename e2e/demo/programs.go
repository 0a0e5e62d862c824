package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/shopfleet/shopfleet/e2e/demo/background"
	"github.com/shopfleet/shopfleet/e2e/fleet/binaries"
)

// stopTimeout is how long a program may take to end after an interruption.
const stopTimeout = 45 * time.Second

// command returns a program that runs in the repository against the hub, with the
// demo's programs first in its path. An interruption is passed on.
func (d *demo) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = d.root
	cmd.Env = append(os.Environ(),
		"PATH="+d.path("bin")+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"KUBECONFIG="+d.path("hub", "kubeconfig"),
	)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopTimeout
	return cmd
}

// quiet runs a program, and prints its output only if it fails.
func quiet(cmd *exec.Cmd) ([]byte, error) {
	var out, all bytes.Buffer
	cmd.Stdout = io.MultiWriter(&out, &all)
	cmd.Stderr = &all
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("running %s: %w\n%s", filepath.Base(cmd.Path), err, background.Tail(all.String()))
	}
	return out.Bytes(), nil
}

// build builds the programs into the demo's folder, while those of the control planes
// are downloaded. The go command does nothing for programs that are up to date.
func (d *demo) build(ctx context.Context, progress io.Writer) error {
	if err := os.MkdirAll(d.path("bin"), 0o700); err != nil {
		return fmt.Errorf("creating the folder: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	built := make(chan struct{})
	provider := binaries.FromEnvironment(progress)
	provider.BuildAfter = built
	var controlPlane binaries.Dir
	var group sync.WaitGroup
	var failed error
	group.Go(func() { controlPlane, failed = provider.Ensure(ctx) })
	// Use the compiler settings of go run and go test, to share their build cache; these
	// programs are not debugged.
	_, err := quiet(d.command(ctx, "go", "build", "-ldflags", "-s -w", "-o", d.path("bin")+string(filepath.Separator),
		"./cmd/hub", "./cmd/kubectl-shopfleet", "./e2e/fleet/cmd/fleet"))
	if err != nil {
		cancel()
	}
	close(built)
	group.Wait()
	if err != nil {
		return err
	}
	if failed != nil {
		return fmt.Errorf("providing the control plane: %w", failed)
	}
	// kubectl is for users without one.
	if err := link(controlPlane.Path(binaries.Kubectl), d.path("bin", binaries.Kubectl)); err != nil {
		return err
	}
	if err := link("kubectl-shopfleet", d.path("bin", "kubectl_complete-shopfleet")); err != nil {
		return err
	}
	return d.keepProgram()
}

// keepProgram copies this program for its background processes: go run deletes it at the
// end of the run.
func (d *demo) keepProgram() error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	raw, err := os.ReadFile(self)
	// Put in its place as a whole: one that runs cannot be written to.
	partial := d.path("bin", ".demo")
	if err == nil {
		err = os.WriteFile(partial, raw, 0o700)
	}
	if err == nil {
		err = os.Rename(partial, d.path("bin", "demo"))
	}
	if err != nil {
		return fmt.Errorf("keeping this program: %w", err)
	}
	return nil
}

// buildCSI builds the controllers that make volumes of claims and of snapshots. They share nothing with the other programs.
func (d *demo) buildCSI(ctx context.Context, progress io.Writer) error {
	_, err := binaries.EnsureCSI(ctx, progress)
	return err
}

// fleet starts the control planes that are not running. Only the member with an account has its volumes in the cloud.
func (d *demo) fleet(ctx context.Context, _ io.Writer) error {
	_, err := quiet(d.command(ctx, d.path("bin", "fleet"), "--dir", d.dir, "up", "--driverless", home))
	return err
}

func link(target, name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replacing a link: %w", err)
	}
	if err := os.Symlink(target, name); err != nil {
		return fmt.Errorf("linking %q: %w", filepath.Base(name), err)
	}
	return nil
}
