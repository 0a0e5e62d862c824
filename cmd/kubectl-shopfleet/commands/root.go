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
	// program is the name under which kubectl finds the plugin.
	program = "kubectl-shopfleet"
	// completer is the name under which kubectl's completion finds the same binary.
	completer = "kubectl_complete-shopfleet"
)

// Invocation is the input of one run.
type Invocation struct {
	// Args are the name of the program and its arguments.
	Args []string
	// Version is the version of the program.
	Version string
	Streams genericiooptions.IOStreams
}

// Program is one run of the program: what its commands share.
type Program struct {
	streams genericiooptions.IOStreams
	version string
	flags   *genericclioptions.ConfigFlags
	clock   clock.WithTicker
	// terminal reports whether a user can answer questions.
	terminal func() bool
	// namespace is the one of the hub.
	namespace string
	root      *cobra.Command
}

// New returns a program that is ready to run.
func New(i Invocation) *Program {
	// What the client libraries log is also returned as errors.
	ctrllog.SetLogger(logr.Discard())
	p := &Program{
		streams:   i.Streams,
		version:   i.Version,
		flags:     genericclioptions.NewConfigFlags(true),
		clock:     clock.RealClock{},
		terminal:  func() bool { return isTerminal(i.Streams.In) },
		namespace: config.Namespace,
	}
	p.root = p.rootCommand()
	args := i.Args[1:]
	if filepath.Base(i.Args[0]) == completer {
		args = append([]string{cobra.ShellCompRequestCmd}, args...)
	}
	p.root.SetArgs(args)
	p.root.SetIn(i.Streams.In)
	p.root.SetOut(i.Streams.Out)
	p.root.SetErr(i.Streams.ErrOut)
	return p
}

// Run runs the command and returns the exit code. The end of the context is an
// interruption by the user.
func (p *Program) Run(ctx context.Context) int {
	return p.exit(ctx, p.root.ExecuteContext(ctx))
}

func (p *Program) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:         program,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl shopfleet"},
		Short:       "Manage a fleet of clusters and the EcommerceApps on it",
		Long: `Manage a fleet of clusters and the EcommerceApps on it.

The commands talk to the hub: the cluster of your current context, or the one that
you choose with --kubeconfig and --context.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not ready in time, 130 interrupted.
Those of diff are 0 no differences, 1 differences, 2 failed, and those of plan 0 no
changes, 1 failed, 2 changes.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          usage(cobra.NoArgs),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	p.flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().StringVar(&p.namespace, "hub-namespace", p.namespace,
		"Namespace of the hub and its registration Secrets; the same as --namespace of the hub")
	root.AddCommand(
		p.clustersCommand(), p.statusCommand(), p.joinCommand(), p.unjoinCommand(), p.versionCommand(),
		p.installCommand(), p.uninstallCommand(), p.backupCommand(), p.backupsCommand(), p.restoreCommand(),
		p.tokenCommand(), p.deleteCommand(), p.orphansCommand(), p.recoverCommand(),
		p.doctorCommand(), p.diffCommand(), p.reportCommand(), p.renderCommand(), p.whyCommand(), p.planCommand(),
		p.cordonCommand(), p.uncordonCommand(), p.drainCommand(),
		p.rollbackCommand(), p.pauseCommand(), p.resumeCommand(), p.approveCommand(), p.historyCommand(), p.renderNowCommand(),
	)
	p.completeFlags(root)
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Long += completionHelp
		}
	}
	return root
}
