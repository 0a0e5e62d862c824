package commands

import (
	"context"
	"path/filepath"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/shopfleet/shopfleet/config"
)

const (
	// program is what kubectl looks for when it is asked for shopfleet.
	program = "kubectl-shopfleet"
	// completer is what kubectl's own completion looks for. It is this program
	// under another name.
	completer = "kubectl_complete-shopfleet"
)

// Invocation is how the program is run.
type Invocation struct {
	// Args are the name that the program was called by and its arguments.
	Args []string
	// Version is what `version` reports for this program.
	Version string
	Streams genericiooptions.IOStreams
}

// Program is one run of the program.
type Program struct {
	session *session
	root    *cobra.Command
}

// New prepares a run.
func New(i Invocation) *Program {
	// What the client libraries have to say is returned as errors.
	ctrllog.SetLogger(logr.Discard())
	s := &session{
		streams:   i.Streams,
		version:   i.Version,
		flags:     genericclioptions.NewConfigFlags(true),
		clock:     clock.RealClock{},
		namespace: config.Namespace,
	}
	root := s.root()
	args := i.Args[1:]
	if filepath.Base(i.Args[0]) == completer {
		args = append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	root.SetArgs(args)
	root.SetIn(i.Streams.In)
	root.SetOut(i.Streams.Out)
	root.SetErr(i.Streams.ErrOut)
	return &Program{session: s, root: root}
}

// Run runs the command and returns the exit code. The end of the context is an
// interruption by the user.
func (p *Program) Run(ctx context.Context) int {
	return p.session.exit(ctx, p.root.ExecuteContext(ctx))
}

func (s *session) root() *cobra.Command {
	root := &cobra.Command{
		Use:         program,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl shopfleet"},
		Short:       "Run one shop in many clusters, regions and clouds",
		Long: `Run one shop in many clusters, regions and clouds.

The commands talk to the hub: the cluster of your current context, or the one that
--kubeconfig and --context choose.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not ready in the given time,
130 interrupted.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          usage(cobra.NoArgs),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	s.flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().StringVar(&s.namespace, "hub-namespace", s.namespace,
		"Namespace on the hub with the registration Secrets, as cmd/hub was told by its --namespace")
	root.AddCommand(s.clustersCommand(), s.statusCommand(), s.joinCommand(), s.unjoinCommand(), s.versionCommand())
	root.AddCommand(s.processes().Commands()...)
	root.AddCommand(s.backups().Commands()...)
	s.completeFlags(root)
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Long += completionHint
		}
	}
	return root
}

const completionHint = `
For completion of "kubectl shopfleet" itself, kubectl looks for a program named
kubectl_complete-shopfleet. It is this one under another name:

  ln -s "$(command -v kubectl-shopfleet)" "$(dirname "$(command -v kubectl-shopfleet)")/kubectl_complete-shopfleet"
`

// usageError tells that the command line is wrong.
type usageError struct{ error }

func (u *usageError) Unwrap() error { return u.error }

// usage makes the failure of an argument check a wrong usage.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &usageError{err}
		}
		return nil
	}
}
