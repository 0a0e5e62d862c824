package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/installer"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/join"
)

// The exit codes of all commands. As those of kubectl diff, an error is greater than 1.
const (
	exitDone = 0
	// exitFound means that a command which compares or checks has found something: differences, changes or failed checks.
	exitFound       = 1
	exitFailed      = 2
	exitNotReady    = 3
	exitUsage       = 4
	exitInterrupted = 130
)

// exitMeanings returns the meaning of each exit code, for the help and the page.
func exitMeanings() []string {
	line := func(code int, meaning string) string { return fmt.Sprintf("%d %s", code, meaning) }
	return []string{
		line(exitDone, "done"), line(exitFound, "found differences, changes or failed checks"), line(exitFailed, "failed"),
		line(exitNotReady, "not ready in time"), line(exitUsage, "wrong usage"), line(exitInterrupted, "interrupted"),
	}
}

// Why a command fails.
var (
	errNotFound = errors.New("not found")
	errFailed   = errors.New("failed")
	// errTimeout ends a wait: --timeout is over.
	errTimeout = errors.New("timed out")
	// errFound means that a command which compares has found and printed differences. It is not printed again.
	errFound = errors.New("there are differences")
	// errChecks means that there are checks which failed.
	errChecks = errors.New("checks failed")
)

// late returns the errors of waits whose time is over.
func late() []error {
	return []error{
		errTimeout, join.ErrNotReady, join.ErrNotGone, join.ErrNotHandedOver,
		installer.ErrNotRolledOut, installer.ErrNotStopped, installer.ErrNotEstablished, installer.ErrTerminating,
	}
}

// usageError is a wrong command line.
type usageError struct{ error }

func (u *usageError) Unwrap() error { return u.error }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// usage turns the error of an argument check into a usageError.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &usageError{err}
		}
		return nil
	}
}

// exit prints the error of a command with its hint, and returns the exit code.
func (p *Program) exit(ctx context.Context, cmd *cobra.Command, err error) int {
	switch {
	case err == nil:
		return exitDone
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.Is(err, errFound):
		return exitFound
	}
	p.say("error: %v", err)
	if text := hint.For(err); text != "" {
		p.say("%s", text)
	}
	var wrong *usageError
	switch {
	case errors.As(err, &wrong):
		p.say("See: %s --help", cmd.CommandPath())
		return exitUsage
	case slices.ContainsFunc(late(), func(cause error) bool { return errors.Is(err, cause) }):
		return exitNotReady
	case errors.Is(err, errChecks):
		return exitFound
	}
	return exitFailed
}
