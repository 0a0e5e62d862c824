package framework

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/commands"
	"github.com/shopfleet/shopfleet/e2e/fleet"
)

// The exit codes of kubectl-shopfleet.
const (
	Done     = 0
	Failed   = 1
	Misused  = 2
	NotReady = 3
)

// CLIVersion is the version of kubectl-shopfleet in tests.
const CLIVersion = "v1.2.3"

// Outcome is the result of one run of kubectl-shopfleet.
type Outcome struct {
	Code        int
	Out, ErrOut string
}

// CLI runs kubectl-shopfleet in the test's process as an administrator of a cluster.
func CLI(t testing.TB, c *fleet.Cluster, args ...string) Outcome {
	t.Helper()
	var out, errOut bytes.Buffer
	code := commands.New(commands.Invocation{
		Args:    append([]string{"kubectl-shopfleet", "--kubeconfig", c.AdminKubeconfig()}, args...),
		Version: CLIVersion,
		Streams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut},
	}).Run(t.Context())
	o := Outcome{code, out.String(), errOut.String()}
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
