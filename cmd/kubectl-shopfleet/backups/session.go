package backups

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/watch"
)

// ErrNotInTime tells that what was waited for did not come to an end.
var ErrNotInTime = errors.New("not done in the given time")

// errFailed tells that what was asked for has failed.
var errFailed = errors.New("failed")

// Target is the hub that the caller chose.
type Target struct {
	Host string
	// Client has a deadline for each request.
	Client client.Client
	// Query follows objects of the hub; what to list is filled in.
	Query watch.Query
}

// Session is what the program shares with its commands.
type Session struct {
	Streams genericiooptions.IOStreams
	Flags   *genericclioptions.ConfigFlags
	Clock   clock.PassiveClock
	// Connect connects to the hub that the flags choose.
	Connect func() (Target, error)
	// During runs a step, and says what it is when it takes long.
	During func(what string, step func() error) error
	// Usage makes the failure of an argument check a wrong usage.
	Usage func(cobra.PositionalArgs) cobra.PositionalArgs
	// CompleteApps completes the names of applications.
	CompleteApps cobra.CompletionFunc
}

// Commands are backup, backups and restore.
func (s Session) Commands() []*cobra.Command {
	return []*cobra.Command{s.backup(), s.backups(), s.restore()}
}

// say writes a line for people.
func (s Session) say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.Streams.ErrOut, format+"\n", args...)
}

// place is the namespace that the flags choose.
func (s Session) place() (string, error) {
	namespace, _, err := s.Flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("choosing the namespace: %w", err)
	}
	return namespace, nil
}

// state is how far what is followed is.
type state struct {
	text         string
	done, failed bool
}

// following is what is followed until it is done.
type following struct {
	query watch.Query
	list  client.ObjectList
	// names are those to follow, in one namespace.
	namespace string
	names     map[string]bool
	state     func(client.Object) state
	wait      time.Duration
}

// follow reports each change of state until all are done. The error says what failed.
func (s Session) follow(ctx context.Context, f following) error {
	ctx, cancel := context.WithTimeoutCause(ctx, f.wait, ErrNotInTime)
	defer cancel()
	f.query.List, f.query.Options = f.list, []client.ListOption{client.InNamespace(f.namespace)}
	last, failed := map[string]string{}, 0
	return f.query.Run(ctx, func(objects []client.Object) (bool, error) {
		open := len(f.names)
		failed = 0
		for _, o := range objects {
			if !f.names[o.GetName()] {
				continue
			}
			now := f.state(o)
			if now.text != last[o.GetName()] {
				last[o.GetName()] = now.text
				s.say("%s: %s", o.GetName(), now.text)
			}
			if now.done {
				open--
			}
			if now.failed {
				failed++
			}
		}
		if open == 0 && failed > 0 {
			return false, fmt.Errorf("%d of %d: %w", failed, len(f.names), errFailed)
		}
		return open == 0, nil
	})
}
