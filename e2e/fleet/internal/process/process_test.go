package process_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/e2e/fleet/internal/process"
)

func startShell(t *testing.T, script string, tied bool) (id process.ID, log string) {
	t.Helper()
	dir := t.TempDir()
	log = filepath.Join(dir, "log")
	id, err := process.Start(process.Command{Path: "/bin/sh", Args: []string{"-c", script}, Dir: dir, Log: log, Tied: tied})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = id.Signal(syscall.SIGKILL) })
	return id, log
}

func TestLifeOfAProcess(t *testing.T) {
	for name, tied := range map[string]bool{"tied": true, "free": false} {
		t.Run(name, func(t *testing.T) {
			id, _ := startShell(t, "exec sleep 600", tied)
			if diff := cmp.Diff(process.Running, id.State()); diff != "" {
				t.Error(diff)
			}
			send(t, id, syscall.SIGSTOP, process.Stopped)
			send(t, id, syscall.SIGCONT, process.Running)
			for range 2 {
				if err := id.Kill(t.Context()); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(process.Gone, id.State()); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func send(t *testing.T, id process.ID, signal syscall.Signal, want process.State) {
	t.Helper()
	if err := id.Signal(signal); err != nil {
		t.Fatal(err)
	}
	if err := id.Await(t.Context(), want); err != nil {
		t.Fatal(err)
	}
}

func TestOutputGoesToTheLog(t *testing.T) {
	id, log := startShell(t, "echo out; echo err >&2", true)
	if err := id.Await(t.Context(), process.Gone); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("out\nerr\n", string(raw)); diff != "" {
		t.Error(diff)
	}
}

func TestVariablesReplaceThoseOfTheCaller(t *testing.T) {
	t.Setenv("KUBECONFIG", "of-the-user")
	log := filepath.Join(t.TempDir(), "log")
	id, err := process.Start(process.Command{
		Path: "/bin/sh", Args: []string{"-c", "echo $KUBECONFIG ${PATH:+path}"}, Env: []string{"KUBECONFIG=of-the-fleet"}, Log: log, Tied: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := id.Await(t.Context(), process.Gone); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("of-the-fleet path\n", string(raw)); diff != "" {
		t.Error(diff)
	}
}

func TestAnotherProcessWithTheNumberIsLeftAlone(t *testing.T) {
	id, _ := startShell(t, "exec sleep 600", true)
	earlier := process.ID{PID: id.PID, Started: "1"}
	if err := earlier.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(process.Running, id.State()); diff != "" {
		t.Error(diff)
	}
	// Number zero would stand for the caller's whole group.
	if err := (process.ID{}).Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	id, _ := startShell(t, "exec sleep 600", true)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := id.Await(ctx, process.Gone); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline", err)
	}
}

func TestStartNamesWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	_, err := process.Start(process.Command{Path: filepath.Join(dir, "missing"), Log: filepath.Join(dir, "log")})
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "missing") {
		t.Errorf("got %v, want what does not exist", err)
	}
}

func TestGuardRemovesTheFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "with 'quotes' and spaces")
	if err := os.MkdirAll(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	guard, err := process.NewGuard(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := guard.Release(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
}
