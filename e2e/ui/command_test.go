package ui

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/commands"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// served is a run of kubectl shopfleet ui.
type served struct {
	url  string
	stop func() int
}

// firstLine sends the first line that is written to it.
type firstLine struct {
	mu   sync.Mutex
	text strings.Builder
	line chan string
}

// Write implements io.Writer.
func (f *firstLine) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.text.Write(p)
	if line, _, complete := strings.Cut(f.text.String(), "\n"); complete && f.line != nil {
		f.line <- line
		f.line = nil
	}
	return n, err
}

// serve runs the command until the test ends, and returns when it has printed the address of the page.
func serve(t testing.TB, c *fleet.Cluster, args ...string) *served {
	t.Helper()
	line, code := make(chan string, 1), make(chan int, 1)
	out, errOut := &firstLine{line: line}, &firstLine{}
	program := commands.New(commands.Invocation{
		Args:    append([]string{"kubectl-shopfleet", "--kubeconfig", c.AdminKubeconfig(), "ui"}, args...),
		Version: framework.CLIVersion,
		Streams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: errOut},
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { code <- program.Run(ctx) }()
	s := &served{stop: sync.OnceValue(func() int {
		cancel()
		return <-code
	})}
	t.Cleanup(func() { s.stop() })
	select {
	case s.url = <-line:
	case <-time.After(time.Minute):
		errOut.mu.Lock()
		defer errOut.mu.Unlock()
		t.Fatalf("the command printed no address: %s", errOut.text.String())
	}
	return s
}
