package commands

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/installer"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/join"
)

// The exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	// exitDiffers and exitDiffFailed are the exit codes of kubectl diff.
	exitDiffers    = 1
	exitDiffFailed = 2
	// exitChanges is the exit code of a plan with changes.
	exitChanges     = 2
	exitNotReady    = 3
	exitInterrupted = 130
)

// Why a command fails.
var (
	errNotFound = errors.New("not found")
	errFailed   = errors.New("failed")
	// errTimeout ends a wait: --timeout is over.
	errTimeout = errors.New("timed out")
)

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

// exit prints an error with its hint, and returns the exit code.
func (p *Program) exit(ctx context.Context, err error) int {
	if err == nil {
		return exitDone
	}
	if ctx.Err() != nil {
		return exitInterrupted
	}
	if errors.Is(err, errDiffers) {
		return exitDiffers
	}
	if errors.Is(err, errChanges) {
		return exitChanges
	}
	p.say("error: %v", err)
	if text := hint.For(err); text != "" {
		p.say("%s", text)
	}
	var wrong *usageError
	var compared *diffError
	var planning *planError
	switch {
	case errors.As(err, &planning):
		return exitFailed
	case errors.As(err, &wrong):
		p.say("See: kubectl shopfleet --help")
		return exitUsage
	case errors.Is(err, errTimeout), errors.Is(err, join.ErrNotReady), errors.Is(err, join.ErrNotGone),
		errors.Is(err, installer.ErrNotRolledOut), errors.Is(err, installer.ErrNotStopped):
		return exitNotReady
	case errors.As(err, &compared):
		return exitDiffFailed
	}
	return exitFailed
}
