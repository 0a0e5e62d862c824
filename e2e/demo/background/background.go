package background

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// startTimeout and stopTimeout bound a process's start and its orderly end.
	startTimeout = time.Minute
	stopTimeout  = 20 * time.Second
	interval     = 50 * time.Millisecond
	// shown is the number of lines of a log to show.
	shown = 20
)

// Process represents a process that goes on when this one ends.
type Process struct {
	// What it is to people.
	What string
	// Program is the path of its program, and Dir the folder that it runs in.
	Program, Dir string
	// State and Log are the paths of its files.
	State, Log string
}

// Running is a process as its state file has it.
type Running struct {
	PID int `json:"pid"`
	// Made is a hash of the program and its inputs: a different hash requires a new
	// process.
	Made string `json:"made"`
	// Health is the address on this machine that answers GET /readyz.
	Health string `json:"health"`
}

// Ensure starts the process unless one with the same program and files is running. The
// function arguments returns its arguments, and is called only if it starts.
func (p Process) Ensure(ctx context.Context, files []string, arguments func(ctx context.Context, health string) ([]string, error)) error {
	made, err := p.fingerprint(files)
	if err != nil {
		return err
	}
	if r, err := p.Load(); err != nil || r != nil && r.Made == made && p.Runs(ctx, r) {
		return err
	}
	if err := p.Stop(ctx); err != nil {
		return err
	}
	r := &Running{Made: made}
	if r.Health, err = FreeAddress(ctx); err != nil {
		return err
	}
	args, err := arguments(ctx, r.Health)
	if err != nil {
		return err
	}
	return p.start(ctx, r, args)
}

// fingerprint hashes the program and the files of the process.
func (p Process) fingerprint(files []string) (string, error) {
	sum := sha256.New()
	for _, path := range append([]string{p.Program}, files...) {
		raw, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("reading what %s is made from: %w", p.What, err)
		}
		_, _ = sum.Write(raw)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// start starts the process in a session of its own, so that it outlives this one and its
// terminal, and waits until it is ready.
func (p Process) start(ctx context.Context, r *Running, args []string) error {
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the log of %s: %w", p.What, err)
	}
	defer func() { _ = log.Close() }()
	// The end of this run must not end it, hence no context.
	cmd := &exec.Cmd{
		Path: p.Program, Args: append([]string{p.Program}, args...),
		Dir: p.Dir, Stdout: log, Stderr: log, SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", p.What, err)
	}
	r.PID = cmd.Process.Pid
	if err := p.save(r); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			return fmt.Errorf("%s ended at once (%w); its log ends with:\n%s", p.What, errors.Join(err), p.LogTail())
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s to be ready: %w; its log ends with:\n%s", p.What, context.Cause(ctx), p.LogTail())
		case <-ticker.C:
			if healthy(ctx, r.Health) {
				return nil
			}
		}
	}
}

// Runs reports whether the process runs and is ready; it returns false for nil.
func (p Process) Runs(ctx context.Context, r *Running) bool {
	return r != nil && p.alive(ctx, r.PID) && healthy(ctx, r.Health)
}

// healthy asks a process whether it is ready.
func healthy(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", http.NoBody)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// FreeAddress returns a free address on this machine.
func FreeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

// Stop ends the process if it is running.
func (p Process) Stop(ctx context.Context) error {
	r, err := p.Load()
	if err != nil || r == nil {
		return err
	}
	asked := false
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for p.alive(ctx, r.PID) {
		process, err := os.FindProcess(r.PID)
		if err == nil && !asked {
			err = process.Signal(syscall.SIGTERM)
		}
		if err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("stopping %s: %w", p.What, err)
		}
		asked = true
		select {
		case <-ctx.Done():
			// Still the process that was asked to end: its number cannot have been given away.
			if err := process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return fmt.Errorf("killing %s: %w", p.What, err)
			}
			return os.Remove(p.State)
		case <-ticker.C:
		}
	}
	return os.Remove(p.State)
}

// alive reports whether the PID still belongs to our process, and not to a later one: it
// compares the path of the program.
func (p Process) alive(ctx context.Context, pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if errors.Is(err, fs.ErrNotExist) {
		// Not Linux, or gone: ps knows.
		raw, err = exec.CommandContext(ctx, "ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	}
	return err == nil && strings.HasPrefix(string(raw), p.Program)
}

// Load reads the state file; without one there is nothing.
func (p Process) Load() (*Running, error) {
	raw, err := os.ReadFile(p.State)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	r := &Running{}
	if err == nil {
		err = json.Unmarshal(raw, r)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state of %s: %w", p.What, err)
	}
	return r, nil
}

func (p Process) save(r *Running) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.WriteFile(p.State, raw, 0o600)
	}
	if err != nil {
		return fmt.Errorf("saving the state of %s: %w", p.What, err)
	}
	return nil
}

// LogTail returns the end of its log.
func (p Process) LogTail() string {
	raw, err := os.ReadFile(p.Log)
	if err != nil {
		return "  " + err.Error()
	}
	return Tail(string(raw))
}

// Tail returns the last lines of a text, indented.
func Tail(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return "  " + strings.Join(lines[max(0, len(lines)-shown):], "\n  ")
}
