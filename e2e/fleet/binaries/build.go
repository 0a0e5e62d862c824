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
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// buildInterval is the time between two lines about a build.
	buildInterval = 10 * time.Second
	// cancelDelay is how long a cancelled build may take to end.
	cancelDelay = 5 * time.Second
)

type program struct {
	name   string
	source string
	// output is the name that the go command gives the program; empty means its name.
	output string
}

// linkerFlags sets the version of the programs, as a release build does: clients compare
// it, and a server without one refuses to serve some features.
func linkerFlags(version string) string {
	number := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(number) < 2 {
		return "-s -w"
	}
	const base = "k8s.io/component-base/version."
	return fmt.Sprintf("-s -w -X %[1]sgitVersion=%[2]s -X %[1]sgitMajor=%[3]s -X %[1]sgitMinor=%[4]s -X k8s.io/client-go/pkg/version.gitVersion=%[2]s",
		base, version, number[0], number[1])
}

// order is a build of programs into a folder.
type order struct {
	programs []program
	pins     pins
	dir      Dir
	progress io.Writer
}

// build compiles all programs in one run of the go command, which compiles what they
// share once and links one program while it compiles another.
func build(ctx context.Context, o order) error {
	partial, err := os.MkdirTemp(string(o.dir), ".build-")
	if err != nil {
		return fmt.Errorf("creating the folder of a build: %w", err)
	}
	defer func() { _ = os.RemoveAll(partial) }()
	var output buildOutput
	t := task{what: "building " + names(o.programs), every: buildInterval, detail: func() string {
		return fmt.Sprintf("%d packages compiled", output.compiled.Load())
	}}
	finish := t.report(o.progress)
	err = o.command(ctx, partial, &output).Run()
	finish()
	if err != nil {
		return fmt.Errorf("building %s: %w\n%s", names(o.programs), errors.Join(err, ctx.Err()), bytes.TrimSpace(output.text.Bytes()))
	}
	for _, p := range o.programs {
		output := p.output
		if output == "" {
			output = p.name
		}
		if err := os.Rename(filepath.Join(partial, output), o.dir.Path(p.name)); err != nil {
			return fmt.Errorf("putting %q in place: %w", p.name, err)
		}
	}
	return nil
}

func (o order) command(ctx context.Context, folder string, output io.Writer) *exec.Cmd {
	// With the same -trimpath and CGO_ENABLED, the build shares its cache with go run, go test and go build.
	flags := []string{"build", "-v", "-ldflags", o.pins.linkerFlags(), "-o", folder + string(filepath.Separator)}
	sources := make([]string, 0, len(o.programs))
	for _, p := range o.programs {
		sources = append(sources, p.source)
	}
	cmd := exec.CommandContext(ctx, "go", slices.Concat(flags, sources)...)
	cmd.Dir = o.pins.folder
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS="+sharedFlags(os.Getenv("GOFLAGS")))
	cmd.Stdout, cmd.Stderr = output, output
	// The compilers run as children of the go command: end them with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = cancelDelay
	return cmd
}

// sharedFlags returns what decides about the cache of flags for all builds.
func sharedFlags(all string) string {
	const trimPath = "-trimpath"
	if slices.Contains(strings.Fields(all), trimPath) {
		return trimPath
	}
	return ""
}

// buildOutput counts the packages that go build -v names, and keeps the other lines.
type buildOutput struct {
	compiled atomic.Int64
	text     bytes.Buffer
	rest     []byte
}

func (b *buildOutput) Write(p []byte) (int, error) {
	b.rest = append(b.rest, p...)
	for {
		line, rest, whole := bytes.Cut(b.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		b.rest = rest
		switch {
		case bytes.HasPrefix(line, []byte("go: downloading ")):
		case len(line) > 0 && !bytes.ContainsAny(line, " \t"):
			b.compiled.Add(1)
		default:
			b.text.Write(append(line, '\n'))
		}
	}
}
