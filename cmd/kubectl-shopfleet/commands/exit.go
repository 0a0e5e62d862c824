package commands

import (
	"context"
	"errors"
	"fmt"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/backups"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/join"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/manifests"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/processes"
)

// The exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotReady    = 3
	exitInterrupted = 130
)

// errNotReadyInTime tells that --until-ready ran out of --timeout.
var errNotReadyInTime = errors.New("not ready in the given time")

// exit reports an error, with what to do about it, and returns the exit code.
func (s *session) exit(ctx context.Context, err error) int {
	if err == nil {
		return exitDone
	}
	if ctx.Err() != nil {
		return exitInterrupted
	}
	_, _ = fmt.Fprintf(s.streams.ErrOut, "error: %v\n", err)
	if todo := hint.For(err); todo != "" {
		_, _ = fmt.Fprintln(s.streams.ErrOut, todo)
	}
	var wrong *usageError
	var misused *processes.UsageError
	switch {
	case errors.As(err, &wrong), errors.As(err, &misused):
		_, _ = fmt.Fprintln(s.streams.ErrOut, "See: kubectl shopfleet --help")
		return exitUsage
	case errors.Is(err, errNotReadyInTime), errors.Is(err, join.ErrNotReady), errors.Is(err, join.ErrNotGone),
		errors.Is(err, backups.ErrNotInTime), errors.Is(err, manifests.ErrNotRolledOut), errors.Is(err, manifests.ErrNotStopped):
		return exitNotReady
	}
	return exitFailed
}
