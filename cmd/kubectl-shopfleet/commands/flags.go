package commands

import (
	"bufio"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// waitFlags are the flags --wait and --timeout, as kubectl delete has them.
type waitFlags struct {
	enabled bool
	// timeout is at least 0, which is no limit.
	timeout time.Duration
}

// add adds the flags to a command that waits until something is the case.
func (w *waitFlags) add(cmd *cobra.Command, timeout time.Duration, until string) {
	cmd.Flags().BoolVar(&w.enabled, "wait", true, "Wait until "+until)
	cmd.Flags().DurationVar(&w.timeout, "timeout", timeout, "How long to wait before the command fails, for example 90s; 0 waits without a limit")
}

func (w *waitFlags) check() error {
	if w.timeout < 0 {
		return usagef("--timeout %s: must not be negative", w.timeout)
	}
	return nil
}

// limit returns a context that ends with a cause after the timeout. A nil cause is
// context.DeadlineExceeded.
func (w *waitFlags) limit(ctx context.Context, cause error) (context.Context, context.CancelFunc) {
	if w.timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, w.timeout, cause)
}

// pullSecrets is the flag --image-pull-secret.
type pullSecrets []string

// add adds the flag to a command that installs the pods of a program.
func (s *pullSecrets) add(cmd *cobra.Command, more string) {
	cmd.Flags().StringArrayVar((*[]string)(s), "image-pull-secret", nil, "`NAME` of a Secret in the namespace of the pods with which nodes pull their image; repeat it for more"+more)
}

func (s *pullSecrets) check() error {
	for n, name := range *s {
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
			return usagef("--image-pull-secret %q: %s", name, problems[0])
		}
		if slices.Contains((*s)[:n], name) {
			return usagef("--image-pull-secret %q: is given twice", name)
		}
	}
	return nil
}

// runbookURL is the flag --runbook-url.
type runbookURL string

// add adds the flag to a command that installs what renders alerts.
func (u *runbookURL) add(cmd *cobra.Command, more string) {
	cmd.Flags().StringVar((*string)(u), "runbook-url", "", "`URL` of the page that alerts of EcommerceApps link to, each with # and its name"+more)
}

// check rejects what the charts reject for prometheusRule.runbookURL.
func (u *runbookURL) check() error {
	if *u != "" && !regexp.MustCompile(`^https?://[^ #]+$`).MatchString(string(*u)) {
		return usagef("--runbook-url %q: must begin with http:// or https://, and have neither spaces nor a #", string(*u))
	}
	return nil
}

// dryRun is the flag --dry-run of kubectl.
type dryRun cmdutil.DryRunStrategy

const (
	dryRunNone   = dryRun(cmdutil.DryRunNone)
	dryRunClient = dryRun(cmdutil.DryRunClient)
	dryRunServer = dryRun(cmdutil.DryRunServer)
)

// add adds the flag to a command, and reads it before the command runs.
func (d *dryRun) add(cmd *cobra.Command) {
	cmdutil.AddDryRunFlag(cmd)
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		strategy, err := cmdutil.GetDryRunStrategy(cmd)
		if err != nil {
			return &usageError{err}
		}
		*d = dryRun(strategy)
		return nil
	}
}

// suffix returns what kubectl adds to what it has done.
func (d *dryRun) suffix() string {
	switch *d {
	case dryRunClient:
		return " (dry run)"
	case dryRunServer:
		return " (server dry run)"
	default:
		return ""
	}
}

// client returns a client whose writes the server does not persist in a dry run. In a client
// dry run the caller sends none.
func (d *dryRun) client(c client.Client) client.Client {
	if *d == dryRunServer {
		return client.NewDryRunClient(c)
	}
	return c
}

// confirmation is the flag --yes. A command asks before it loses, or hands over, what no command brings back: data, an
// EcommerceApp, a registration, the definitions.
type confirmation bool

// add adds the flag to a command that asks, always or with a flag.
func (c *confirmation) add(cmd *cobra.Command, when string) {
	cmd.Flags().BoolVarP((*bool)(c), "yes", "y", false, "Do not ask for a confirmation"+when+", which is required without a terminal")
}

// question holds the action that a user confirms.
type question struct {
	// what is the name of the action, and action describes it after a verb such as would.
	what, action string
	// needed is unset if the flags of the command lose nothing.
	needed bool
	dryRun dryRun
}

// confirm asks the user, unless that is not needed or was answered by --yes.
func (c *confirmation) confirm(ctx context.Context, p *Program, q question) (bool, error) {
	switch {
	case !q.needed || bool(*c) || q.dryRun != dryRunNone:
		return true, nil
	case !p.terminal:
		return false, usagef("this would %s. Without a terminal, confirm it with --yes", q.action)
	}
	return p.ask(ctx, q.what, q.action)
}

// ask asks the user as kubectl does. What is the name of the action, which is
// cancelled without a yes or by an interruption.
func (p *Program) ask(ctx context.Context, what, action string) (bool, error) {
	p.say("You are about to %s", action)
	_, _ = fmt.Fprint(p.streams.ErrOut, "Do you want to continue? (y/N): ")
	answered := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(p.streams.In).ReadString('\n') // Without an answer it is no.
		answered <- answer
	}()
	select {
	case answer := <-answered:
		if strings.EqualFold(strings.TrimSpace(answer), "y") {
			return true, nil
		}
		p.say("%s is cancelled", what)
		return false, nil
	case <-ctx.Done():
		p.say("\n%s is cancelled", what)
		return false, fmt.Errorf("waiting for the answer: %w", ctx.Err())
	}
}
