package dbtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// unprivileged is the ID of the user and group that servers run as when the test is root.
const unprivileged = 65534

// Command is a program to run, with nothing but these variables.
type Command struct {
	Path        string
	Args        []string
	Environment []string
	Folder      string
	// Unprivileged runs it without privileges when the test is root.
	Unprivileged bool
}

func (c Command) make(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Dir = c.Folder
	// MariaDB deletes what others have left in the folder for temporary files.
	cmd.Env = slices.Concat(c.Environment, []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + c.Folder, "TMPDIR=" + c.Folder, "LC_ALL=C.UTF-8",
	})
	cmd.SysProcAttr = attributes()
	if c.Unprivileged && os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: unprivileged, Gid: unprivileged}
	}
	return cmd
}

// Run runs a command to its end and returns what it wrote.
func (c Command) Run(ctx context.Context) (string, error) {
	output, err := c.make(ctx).CombinedOutput()
	if err != nil {
		return string(output), fmt.Errorf("running %s: %w", c.Path, err)
	}
	return string(output), nil
}

// Process is a program that runs beside the test, and ends with it.
type Process struct {
	cmd    *exec.Cmd
	ended  chan struct{}
	err    error
	output lockedBuffer
}

// StartProcess runs a command until it ends or the test does.
func StartProcess(t testing.TB, c Command) (*Process, error) {
	t.Helper()
	p := &Process{cmd: c.make(context.WithoutCancel(t.Context())), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	started := make(chan error)
	go func() {
		// The kernel ends the child with the thread that started it.
		runtime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.ended)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.Path, err)
	}
	t.Cleanup(func() {
		if !p.Ended() {
			p.Signal(syscall.SIGKILL)
			<-p.ended
		}
	})
	return p, nil
}

// Signal sends a signal; to a process that has ended, none.
func (p *Process) Signal(s syscall.Signal) {
	if !p.Ended() {
		_ = p.cmd.Process.Signal(s) // It may end at this moment.
	}
}

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// Wait waits for the end and returns how the process ended.
func (p *Process) Wait(t testing.TB, within time.Duration) error {
	t.Helper()
	select {
	case <-p.ended:
		return p.err
	case <-time.After(within):
		t.Fatalf("%s did not end within %v:\n%s", p.cmd.Path, within, p.Output())
		return nil
	}
}

// Output returns all that the process has written.
func (p *Process) Output() string { return p.output.String() }

type lockedBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

// Write appends.
func (b *lockedBuffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.Write(data)
}

// String returns what was written.
func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buffer.String()
}
