package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"time"
)

const pollInterval = 5 * time.Millisecond

// Command describes one process to run.
type Command struct {
	// Path is the binary, Args its arguments without the binary's name.
	Path string
	Args []string
	// Env holds variables in addition to those of the calling process, of which it replaces some.
	Env []string
	// Dir is the working folder.
	Dir string
	// Log is the file that receives standard output and standard error. It is
	// appended to, and created with mode 0600.
	Log string
	// Tied ends the process when the calling process ends. Otherwise it lives on
	// in a session of its own.
	Tied bool
}

// ID names one process for good: the number alone is given to others in time.
type ID struct {
	PID     int    `json:"pid"`
	Started string `json:"started"`
}

// State represents the state of a process as the system reports it.
type State int

// The states that matter to a fleet. A process that has ended and waits to be
// collected by its parent is Gone.
const (
	Gone State = iota
	Running
	Stopped
)

// Start runs the command and returns as soon as it exists.
func Start(command Command) (ID, error) {
	log, err := os.OpenFile(command.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return ID{}, fmt.Errorf("opening the log: %w", err)
	}
	// A cancelled context must not end the process, hence no CommandContext.
	cmd := &exec.Cmd{
		Path:        command.Path,
		Args:        append([]string{command.Path}, command.Args...),
		Env:         append(os.Environ(), command.Env...),
		Dir:         command.Dir,
		Stdout:      log,
		Stderr:      log,
		SysProcAttr: attributes(command.Tied),
	}
	type result struct {
		id  ID
		err error
	}
	started := make(chan result)
	go func() {
		// A tied child dies with its starting thread, so that thread has to stay
		// until the child has ended. Not unlocking ends the thread with the goroutine.
		runtime.LockOSThread()
		err := cmd.Start()
		if err != nil {
			started <- result{err: err}
			return
		}
		// Before Wait: until then its number is not given to another.
		stat, err := inspect(cmd.Process.Pid)
		started <- result{id: ID{PID: cmd.Process.Pid, Started: stat.started}, err: err}
		_ = cmd.Wait()
	}()
	made := <-started
	if err := errors.Join(made.err, log.Close()); err != nil {
		return ID{}, fmt.Errorf("starting %q: %w", command.Path, err)
	}
	return made.id, nil
}

// State returns the current state of the process.
func (i ID) State() State {
	if i.PID <= 0 {
		return Gone
	}
	stat, err := inspect(i.PID)
	if err != nil || stat.started != i.Started {
		return Gone
	}
	return stat.state
}

// Signal sends the signal, unless the process is gone: that is no error.
func (i ID) Signal(signal syscall.Signal) error {
	if i.PID <= 0 {
		return nil
	}
	// Found first and inspected second: the handle stays with the process that
	// had the number at the time, so that the signal cannot reach another one.
	found, err := os.FindProcess(i.PID)
	if err != nil {
		return fmt.Errorf("finding process %d: %w", i.PID, err)
	}
	defer func() { _ = found.Release() }()
	if i.State() == Gone {
		return nil
	}
	if err := found.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signalling process %d: %w", i.PID, err)
	}
	return nil
}

// Kill ends the process at once and waits until it is gone, or until the context
// ends.
func (i ID) Kill(ctx context.Context) error {
	if err := i.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	return i.Await(ctx, Gone)
}

// Await waits until the process has one of the states, or the context ends.
func (i ID) Await(ctx context.Context, states ...State) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		if slices.Contains(states, i.State()) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for process %d: %w", i.PID, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}
