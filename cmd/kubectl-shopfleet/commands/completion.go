package commands

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/join"
)

// completionTimeout is how long the shell waits for the hub.
const completionTimeout = 3 * time.Second

const completionHelp = `
For the completion of "kubectl shopfleet", kubectl runs a program named
kubectl_complete-shopfleet. Link it to this one:

  ln -s "$(command -v kubectl-shopfleet)" "$(dirname "$(command -v kubectl-shopfleet)")/kubectl_complete-shopfleet"
`

// completeFlags registers the completion of the values of flags.
func (p *Program) completeFlags(root *cobra.Command) {
	register := func(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
		if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err) // There is no such flag.
		}
	}
	namespaces := func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return p.complete(cmd.Context(), &corev1.NamespaceList{})
	}
	register(root, "namespace", namespaces)
	register(root, "hub-namespace", namespaces)
	for _, cmd := range root.Commands() {
		if cmd.Flags().Lookup("provider") != nil {
			register(cmd, "provider", cobra.FixedCompletions(join.Providers(), cobra.ShellCompDirectiveNoFileComp))
			register(cmd, "mode", cobra.FixedCompletions([]string{"agent", "agentless"}, cobra.ShellCompDirectiveNoFileComp))
		}
	}
}

func (p *Program) completeClusters(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return p.complete(cmd.Context(), &v1.MemberClusterList{})
}

// completeClusterFlag completes the flag --cluster of a command.
func (p *Program) completeClusterFlag(cmd *cobra.Command) {
	if err := cmd.RegisterFlagCompletionFunc("cluster", p.completeClusters); err != nil {
		panic(err) // There is no such flag.
	}
}

func (p *Program) completeApps(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return p.completeNamespaced(cmd, args, &v1.EcommerceAppList{})
}

func (p *Program) completeBackups(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return p.completeNamespaced(cmd, args, &v1.BackupList{})
}

// completeNamespaced completes one argument by the objects of a namespace.
func (p *Program) completeNamespaced(cmd *cobra.Command, args []string, kind client.ObjectList) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	namespace, err := p.namespaceFlag()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return p.complete(cmd.Context(), kind, client.InNamespace(namespace))
}

// complete returns the names of objects. An error completes nothing.
func (p *Program) complete(ctx context.Context, kind client.ObjectList, options ...client.ListOption) ([]string, cobra.ShellCompDirective) {
	hub, err := p.hub()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	l := &list{Program: p, hub: hub, kind: kind, options: options}
	objects, err := l.get(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names := make([]string, 0, len(objects))
	for _, o := range objects {
		names = append(names, o.GetName())
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
