package commands

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	"k8s.io/kubectl/pkg/cmd/options"
	"k8s.io/kubectl/pkg/util/templates"
	"k8s.io/utils/clock"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/config"
)

var errUnknownCommand = errors.New("unknown command")

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
	// Registry is the folder of a registry that has the images of the version; empty if a build is of no release.
	Registry string
	// Version is the version of the program.
	Version string
	Streams genericiooptions.IOStreams
	// Terminal is set if a user can answer questions.
	Terminal bool
}

// Program is one run of the program: what its commands share.
type Program struct {
	streams genericiooptions.IOStreams
	// images is the folder of a registry with a slash at its end, or empty.
	images, version string
	flags           *genericclioptions.ConfigFlags
	clock           clock.WithTicker
	// terminal is set if a user can answer questions.
	terminal bool
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
		images:    folder(i.Registry),
		version:   i.Version,
		flags:     genericclioptions.NewConfigFlags(true),
		clock:     clock.RealClock{},
		terminal:  i.Terminal,
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

// folder returns a registry's folder with a slash at its end, or an empty string for none.
func folder(registry string) string {
	if registry == "" {
		return ""
	}
	return registry + "/"
}

// Run runs the command and returns the exit code. The end of the context is an
// interruption by the user.
func (p *Program) Run(ctx context.Context) int {
	cmd, err := p.root.ExecuteContextC(ctx)
	return p.exit(ctx, cmd, err)
}

// group completes a command that only prints its help and has others below it. An unknown one is an error that names
// those with a similar name.
func group(cmd *cobra.Command, below ...*cobra.Command) *cobra.Command {
	cmd.SuggestionsMinimumDistance = 2
	cmd.Args = usage(func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		err := fmt.Errorf("%w %q for %q", errUnknownCommand, args[0], cmd.CommandPath())
		if similar := cmd.SuggestionsFor(args[0]); len(similar) > 0 {
			return hint.With(err, "Did you mean "+strings.Join(similar, " or ")+"?")
		}
		return err
	})
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	cmd.AddCommand(below...)
	return cmd
}

// commandGroups returns the commands as the help and the page list them.
func (p *Program) commandGroups() templates.CommandGroups {
	return templates.CommandGroups{
		{Message: "Fleet:", Commands: []*cobra.Command{
			p.installCommand(), p.uninstallCommand(), p.imagesCommand(), p.joinCommand(), p.unjoinCommand(), p.renewCommand(),
			p.pauseCommand(), p.unpauseCommand(), p.cordonCommand(), p.uncordonCommand(), p.drainCommand(),
		}},
		{Message: "EcommerceApps:", Commands: []*cobra.Command{
			p.statusCommand(), p.whyCommand(), p.planCommand(), p.diffCommand(), p.renderCommand(), p.rolloutCommand(), p.deleteCommand(),
		}},
		{Message: "Data:", Commands: []*cobra.Command{p.backupCommand(), p.restoreCommand(), p.recoverCommand()}},
		{Message: "Problems:", Commands: []*cobra.Command{p.uiCommand(), p.doctorCommand(), p.explainCommand(), p.versionCommand()}},
	}
}

func (p *Program) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:         program,
		Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl shopfleet"},
		Short:       "Manage a fleet of clusters and the EcommerceApps on it",
		Long: `Manage a fleet of clusters and the EcommerceApps on it.

The commands talk to the hub: the cluster of your current context, or the one that
you choose with --kubeconfig and --context.

Exit codes:
  ` + strings.Join(exitMeanings(), "\n  "),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	p.flags.AddFlags(root.PersistentFlags())
	verbosity := flag.NewFlagSet(program, flag.ContinueOnError)
	klog.InitFlags(verbosity)
	root.PersistentFlags().AddGoFlag(verbosity.Lookup("v"))
	root.PersistentFlags().StringVar(&p.namespace, "hub-namespace", p.namespace,
		"Namespace of the hub and its registration Secrets, or of a spoke; the same as --namespace of these programs")
	groups := p.commandGroups()
	group(root)
	groups.Add(root)
	root.AddCommand(options.NewCmdOptions(p.streams.Out))
	templates.ActsAsRootCommand(root, []string{"options"}, groups...)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	p.completeFlags(root)
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" {
			cmd.Long += completionHelp
		}
	}
	return root
}
