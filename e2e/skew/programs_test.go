package skew

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/demo/background"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/kind/testenv"
)

const (
	// before and now are the versions of the two releases.
	before, now = framework.Before, config.Release
	root        = "../.."
	// endTimeout bounds how long a process takes to end after SIGTERM.
	endTimeout = 30 * time.Second
)

// buildAll builds the programs of both releases, and returns their folders by version.
func buildAll(t *testing.T) map[string]string {
	t.Helper()
	if err := in(t, root, "git", "cat-file", "-e", framework.BeforeCommit+":cmd/Dockerfile"); err != nil {
		t.Skipf("needs commit %s, the release before: clone the repository, or fetch more of its history (git fetch --unshallow): %v", framework.BeforeCommit, err)
	}
	sources, archive := t.TempDir(), filepath.Join(t.TempDir(), "before.tar")
	if err := errors.Join(
		in(t, root, "git", "archive", "--output", archive, framework.BeforeCommit),
		in(t, root, "tar", "--extract", "--file", archive, "--directory", sources),
	); err != nil {
		t.Fatal(err)
	}
	folders := map[string]string{}
	for version, tree := range map[string]string{before: sources, now: root} {
		folders[version] = t.TempDir()
		// Without the paths of the sources, Go's cache has the packages of the release before from the last run.
		err := in(t, tree, "go", "build", "-trimpath", "-ldflags", "-s -w -X main.version="+version, "-o", folders[version],
			"./cmd/hub", "./cmd/spoke", "./cmd/kubectl-shopfleet")
		if err != nil {
			t.Fatal(err)
		}
	}
	return folders
}

// in runs a program in a folder.
func in(t *testing.T, dir, name string, args ...string) error {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	_, err := testenv.Run(cmd)
	return err
}

// start runs a hub or a spoke of a version in a cluster, as its Deployment would, until stop is called. It must end
// without an error, and must not recover a panic.
func (s *suite) start(t *testing.T, process, version string, c *fleet.Cluster) (stop func()) {
	t.Helper()
	accounts := map[string]string{"hub": config.HubServiceAccount, "spoke": config.SpokeServiceAccount}
	args := []string{
		"--kubeconfig", s.KubeconfigFile(t, c, accounts[process]), "--leader-elect",
		"--metrics-bind-address", "0", "--health-probe-bind-address", framework.FreeAddress(t),
	}
	name := process + " " + version
	end := s.Run(name, func(ctx context.Context) error {
		var log bytes.Buffer
		cmd := exec.CommandContext(ctx, filepath.Join(s.programs[version], process), args...)
		cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &log, &log, endTimeout
		cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
		err := cmd.Run()
		if err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("%w; its log ends with:\n%s", err, background.Tail(log.String()))
		}
		if strings.Contains(log.String(), "Observed a panic") {
			return fmt.Errorf("%w:\n%s", errPanic, log.String())
		}
		return err
	})
	return end
}

var errPanic = errors.New("it recovered a panic")

// run runs the plugin of a version on the hub.
func (s *suite) run(t *testing.T, version string, args ...string) framework.Outcome {
	t.Helper()
	return s.runIn(t, version, s.Fleet.Hub(), args...)
}

// runIn runs the plugin of a version on a cluster.
func (s *suite) runIn(t *testing.T, version string, c *fleet.Cluster, args ...string) framework.Outcome {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(t.Context(), filepath.Join(s.programs[version], "kubectl-shopfleet"), append([]string{"--kubeconfig", c.AdminKubeconfig()}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+s.home)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	o := framework.Outcome{Code: cmd.ProcessState.ExitCode(), Out: out.String(), ErrOut: errOut.String()}
	t.Logf("%s %s: exit code %d\n%s%s", version, strings.Join(args, " "), o.Code, o.Out, o.ErrOut)
	if strings.Contains(o.ErrOut, "goroutine ") {
		t.Error("it panicked")
	}
	return o
}
