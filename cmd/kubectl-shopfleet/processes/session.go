package processes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/manifests"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/watch"
	"github.com/shopfleet/shopfleet/config"
)

// Target is the cluster that the caller chose.
type Target struct {
	Host string
	// Client has a deadline for each request.
	Client client.Client
	// Query follows objects of the cluster; what to list is filled in.
	Query watch.Query
}

// Session is what the program shares with its commands.
type Session struct {
	Streams genericiooptions.IOStreams
	Version string
	Flags   *genericclioptions.ConfigFlags
	// Namespace is the hub's, when Flags name none. It is set after the command line is read.
	Namespace *string
	// Connect connects to the cluster that the flags choose.
	Connect func() (Target, error)
	// During runs a step, and says what it is when it takes long.
	During func(what string, step func() error) error
}

// Commands are install and uninstall.
func (s Session) Commands() []*cobra.Command {
	return []*cobra.Command{s.install(), s.uninstall()}
}

// say writes a line for people.
func (s Session) say(format string, args ...any) {
	_, _ = fmt.Fprintf(s.Streams.ErrOut, format+"\n", args...)
}

// report writes what was done to an object.
func (s Session) report(done manifests.Result) { _, _ = fmt.Fprintln(s.Streams.Out, done) }

// UsageError tells that the command line is wrong.
type UsageError struct{ Err error }

func (u *UsageError) Error() string { return u.Err.Error() }

// Unwrap returns the error itself.
func (u *UsageError) Unwrap() error { return u.Err }

func wrong(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// names are the arguments of the commands.
func names() []string { return []string{string(config.Hub), string(config.Spoke)} }

// argument accepts the name of one process.
func argument(cmd *cobra.Command, args []string) error {
	if err := cobra.ExactArgs(1)(cmd, args); err != nil {
		return &UsageError{err}
	}
	if !slices.Contains(names(), args[0]) {
		return wrong("%q: must be one of %s", args[0], strings.Join(names(), ", "))
	}
	return nil
}

// process is one of the programs that are installed in clusters.
type process struct {
	Session
	set config.Set
}

// name is that of the Deployment and of all that is around it.
func (p process) name() string { return "shopfleet-" + string(p.set) }

// place is the namespace of the process: that of --namespace, else that of --hub-namespace.
func (p process) place() string {
	if named := *p.Flags.Namespace; named != "" {
		return named
	}
	return *p.Namespace
}

// follow is a wait for the process's Deployment.
func (p process) follow(at Target) manifests.Rollout {
	return manifests.Rollout{
		Query: at.Query, Namespace: p.place(), Name: p.name(),
		Report: func(progress string) { p.say("%s: %s", p.name(), progress) },
	}
}

// dryRun is the flag --dry-run, in kubectl's words.
type dryRun string

const (
	dryRunNone   dryRun = "none"
	dryRunClient dryRun = "client"
	dryRunServer dryRun = "server"
)

const serverTries = "server: the server says what would be done, and does nothing"

// add adds the flag to a command, with the values that it has there.
func (d *dryRun) add(cmd *cobra.Command, use string) {
	cmd.Flags().StringVar((*string)(d), "dry-run", string(dryRunNone), use)
}

// check refuses what is not among the values.
func (d dryRun) check(values ...dryRun) error {
	if slices.Contains(values, d) {
		return nil
	}
	texts := make([]string, 0, len(values))
	for _, value := range values {
		texts = append(texts, string(value))
	}
	return wrong("--dry-run %q: must be one of %s", string(d), strings.Join(texts, ", "))
}
