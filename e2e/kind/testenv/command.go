package testenv

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// stopTimeout is how long an interrupted program may take to end.
const stopTimeout = 30 * time.Second

// Path returns a path in the folder of the environment.
func (e *Environment) Path(names ...string) string {
	return filepath.Join(append([]string{e.Dir}, names...)...)
}

// Command returns a program that runs in the repository against the hub, with the
// programs of the environment first in its path. An interruption is passed on.
func (e *Environment) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	path := e.Path("bin") + string(filepath.ListSeparator) + os.Getenv("PATH")
	// Look up the program in the PATH that it will run with.
	if found, err := exec.LookPath(filepath.Join(e.Path("bin"), program)); err == nil {
		program = found
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = e.Root
	cmd.Env = append(os.Environ(), "PATH="+path, "KUBECONFIG="+e.Hub.Kubeconfig)
	cmd.Env = append(cmd.Env, e.variables()...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopTimeout
	return cmd
}

// Tool returns the path of a program in a pinned version, which make builds once: a target of the Makefile that prints it.
func (e *Environment) Tool(ctx context.Context, target string) (string, error) {
	out, err := Run(e.Command(ctx, "make", "--silent", "--no-print-directory", target))
	lines := strings.Split(strings.TrimSpace(out), "\n")
	return lines[len(lines)-1], err
}

// variables returns the variables that the commands of hub/README.md use.
func (e *Environment) variables() []string {
	eu, us := e.Members[0], e.Members[1]
	return []string{
		"HUB_IMAGE=" + e.Images.Hub, "SPOKE_IMAGE=" + e.Images.Spoke,
		"EU_KUBECONFIG=" + eu.Kubeconfig, "EU_SERVER=" + eu.InternalServer,
		"US_KUBECONFIG=" + us.Kubeconfig, "US_SERVER=" + us.InternalServer,
	}
}

// Run runs a command and returns its standard output; the error contains its standard
// error.
func Run(cmd *exec.Cmd) (string, error) {
	var out, all bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, &all), &all
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("running %v: %w\n%s", cmd.Args, err, bytes.TrimSpace(all.Bytes()))
	}
	return out.String(), nil
}

func (e *Environment) say(format string, args ...any) {
	_, _ = fmt.Fprintf(e.Progress, format+"\n", args...)
}

// named returns a writer of whole lines that begin with a cluster's name.
func (e *Environment) named(name string) io.Writer {
	return &lines{prefix: name + ": ", out: e.Progress}
}

// lines writes whole lines, each with a prefix.
type lines struct {
	mu     sync.Mutex
	prefix string
	out    io.Writer
	rest   []byte
}

// Write never fails: progress is no reason to stop.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, p...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		l.rest = rest
		_, _ = fmt.Fprintf(l.out, "%s%s\n", l.prefix, line)
	}
}
