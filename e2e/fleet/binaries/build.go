package binaries

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// reportInterval is how often a running build shows that it lives.
	reportInterval = 10 * time.Second
	// cancelDelay is how long a cancelled build may take to end.
	cancelDelay = 5 * time.Second
)

type program struct {
	name    string
	module  string
	source  string
	flagged bool
}

func programs() []program {
	const kubernetes = "k8s.io/kubernetes/cmd/"
	return []program{
		{name: Etcd, module: controlPlaneModule, source: "go.etcd.io/etcd/server/v3", flagged: true},
		{name: APIServer, module: controlPlaneModule, source: kubernetes + APIServer, flagged: true},
		{name: ControllerManager, module: controlPlaneModule, source: kubernetes + ControllerManager, flagged: true},
		{name: Scheduler, module: controlPlaneModule, source: kubernetes + Scheduler, flagged: true},
		{name: Kubectl, module: controlPlaneModule, source: kubernetes + Kubectl, flagged: true},
		{name: Kwok, module: kwokModule, source: "sigs.k8s.io/kwok/cmd/kwok"},
	}
}

// linkerFlags tells the programs their version, as a release build does: clients
// compare it, and a server without one refuses to serve some features.
func linkerFlags(version string) string {
	number := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(number) < 2 {
		return "-s -w"
	}
	const base = "k8s.io/component-base/version."
	return fmt.Sprintf("-s -w -X %[1]sgitVersion=%[2]s -X %[1]sgitMajor=%[3]s -X %[1]sgitMinor=%[4]s -X k8s.io/client-go/pkg/version.gitVersion=%[2]s",
		base, version, number[0], number[1])
}

func kubernetesVersion(root string) (string, error) {
	file := filepath.Join(root, controlPlaneModule, "go.mod")
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("reading the pinned version: %w", err)
	}
	for line := range strings.Lines(string(raw)) {
		fields := strings.Fields(line)
		if len(fields) >= 2 && fields[0] == "k8s.io/kubernetes" {
			return fields[1], nil
		}
	}
	return "", fmt.Errorf("%q pins no k8s.io/kubernetes", file)
}

// build is called with the lock held. It looks again what is missing: another
// process may have built it while this one waited.
func build(ctx context.Context, root string, dir Dir, progress io.Writer) error {
	version, err := kubernetesVersion(root)
	if err != nil {
		return err
	}
	lacking := dir.missing()
	if len(lacking) == 0 {
		return nil
	}
	_, _ = fmt.Fprintf(progress, "building %d programs of a control plane into %s: once, some minutes\n", len(lacking), dir)
	for i, p := range lacking {
		flags := "-s -w"
		if p.flagged {
			flags = linkerFlags(version)
		}
		step := fmt.Sprintf("%s (%d of %d)", p.name, i+1, len(lacking))
		if err := buildOne(ctx, order{program: p, root: root, dir: dir, flags: flags, step: step}, progress); err != nil {
			return err
		}
	}
	return nil
}

type order struct {
	program program
	root    string
	dir     Dir
	flags   string
	step    string
}

func buildOne(ctx context.Context, o order, progress io.Writer) error {
	partial := o.dir.Path("." + o.program.name + ".partial")
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", o.flags, "-o", partial, o.program.source)
	cmd.Dir = filepath.Join(o.root, o.program.module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	cmd.Stdout, cmd.Stderr = &output, &output
	// The compilers run as children of the go command: end them with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = cancelDelay

	finish := report(progress, "building "+o.step)
	err := cmd.Run()
	finish()
	if err != nil {
		err = errors.Join(fmt.Errorf("building %q: %w", o.program.name, err), ctx.Err())
		_ = os.Remove(partial)
		return fmt.Errorf("%w\n%s", err, bytes.TrimSpace(output.Bytes()))
	}
	if err := os.Rename(partial, o.dir.Path(o.program.name)); err != nil {
		return fmt.Errorf("putting %q in place: %w", o.program.name, err)
	}
	return nil
}

// report writes a line now and then until the returned function is called, which
// writes how long it took.
func report(progress io.Writer, what string) func() {
	start := time.Now()
	elapsed := func() time.Duration { return time.Since(start).Round(time.Second) }
	done, ended := make(chan struct{}), make(chan struct{})
	_, _ = fmt.Fprintln(progress, what)
	go func() {
		defer close(ended)
		ticker := time.NewTicker(reportInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				_, _ = fmt.Fprintf(progress, "%s: took %s\n", what, elapsed())
				return
			case <-ticker.C:
				_, _ = fmt.Fprintf(progress, "%s: %s so far\n", what, elapsed())
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}
