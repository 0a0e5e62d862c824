package framework

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/commands"
	"github.com/shopfleet/shopfleet/e2e/fleet"
)

// The exit codes of kubectl-shopfleet.
const (
	Done     = 0
	Found    = 1
	Failed   = 2
	NotReady = 3
	Misused  = 4
	Stopped  = 130
)

// CLIVersion is the version of kubectl-shopfleet in tests.
const CLIVersion = "v1.2.3"

// Outcome is the result of one run of kubectl-shopfleet.
type Outcome struct {
	Code        int
	Out, ErrOut string
}

// Session is a run of kubectl-shopfleet that a user takes part in.
type Session struct {
	// In returns the input of the user at a terminal. By default there is none.
	In io.Reader
	// StopAt is the message at which the user presses Ctrl-C. By default there is none.
	StopAt string
}

// messages collects messages, and calls stop at one of them. It is safe for concurrent use.
type messages struct {
	mu     sync.Mutex
	text   strings.Builder
	stopAt string
	stop   func()
}

// Write implements io.Writer.
func (m *messages) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.text.Write(p)
	if m.stopAt != "" && strings.Contains(m.text.String(), m.stopAt) {
		m.stop()
	}
	return n, err
}

// CLI runs kubectl-shopfleet in the test's process as an administrator of a cluster.
func CLI(t testing.TB, c *fleet.Cluster, args ...string) Outcome {
	t.Helper()
	return Session{}.CLI(t, c, args...)
}

// CLI runs kubectl-shopfleet in the test's process as an administrator of a cluster.
func (s Session) CLI(t testing.TB, c *fleet.Cluster, args ...string) Outcome {
	t.Helper()
	terminal := s.In != nil
	if !terminal {
		s.In = &bytes.Buffer{}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out bytes.Buffer
	errOut := &messages{stopAt: s.StopAt, stop: stop}
	code := commands.New(commands.Invocation{
		Args:    append([]string{"kubectl-shopfleet", "--kubeconfig", c.AdminKubeconfig()}, args...),
		Version: CLIVersion,
		Streams: genericiooptions.IOStreams{In: s.In, Out: &out, ErrOut: errOut}, Terminal: terminal,
	}).Run(ctx)
	o := Outcome{code, out.String(), errOut.text.String()}
	t.Logf("%s: exit code %d\n%s%s", strings.Join(args, " "), o.Code, o.Out, o.ErrOut)
	if strings.Contains(o.Out+o.ErrOut, "eyJ") {
		t.Error("a token is shown")
	}
	return o
}

// Want checks the exit code and parts of both streams.
func (o Outcome) Want(t testing.TB, code int, parts ...string) Outcome {
	t.Helper()
	if o.Code != code {
		t.Errorf("exit code %d, want %d", o.Code, code)
	}
	for _, part := range parts {
		if !strings.Contains(o.Out+o.ErrOut, part) {
			t.Errorf("output without %q", part)
		}
	}
	return o
}
