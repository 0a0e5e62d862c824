package commands

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
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

// dryRun is the flag --dry-run, with the values of kubectl.
type dryRun string

const (
	dryRunNone   dryRun = "none"
	dryRunClient dryRun = "client"
	dryRunServer dryRun = "server"
)

func dryRuns() []string {
	return []string{string(dryRunNone), string(dryRunClient), string(dryRunServer)}
}

// add adds the flag to a command.
func (d *dryRun) add(cmd *cobra.Command) {
	cmd.Flags().StringVar((*string)(d), "dry-run", string(dryRunNone),
		"none, client or server: client only prints what would be done, server sends the requests without persisting the objects")
}

// check rejects other values.
func (d *dryRun) check() error {
	if slices.Contains(dryRuns(), string(*d)) {
		return nil
	}
	return usagef("--dry-run %q: must be one of %s", string(*d), strings.Join(dryRuns(), ", "))
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

// interactive is the flag --interactive of kubectl delete.
type interactive bool

// add adds the flag to a command.
func (i *interactive) add(cmd *cobra.Command) {
	cmd.Flags().BoolVarP((*bool)(i), "interactive", "i", false, "Ask for a confirmation")
}

// confirm asks the user, if that is wanted. What is the name of the action.
func (i *interactive) confirm(ctx context.Context, p *Program, what, action string) (bool, error) {
	if !*i {
		return true, nil
	}
	return p.ask(ctx, what, action)
}

// ask asks the user as kubectl delete --interactive does. What is the name of the action, which is
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

// isTerminal reports whether a user can answer questions on an input.
func isTerminal(in io.Reader) bool {
	file, ok := in.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}
