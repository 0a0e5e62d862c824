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

// completionTimeout is how long somebody waits who pressed the tabulator.
const completionTimeout = 3 * time.Second

// completeFlags registers what completes the values of flags.
func (s *session) completeFlags(root *cobra.Command) {
	register := func(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
		if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err) // A flag of ours was renamed and this list was not.
		}
	}
	namespaces := func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return s.names(cmd.Context(), &corev1.NamespaceList{})
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

func (s *session) completeClusters(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return s.names(cmd.Context(), &v1.MemberClusterList{})
}

func (s *session) completeApps(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	namespace, _, err := s.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return s.names(cmd.Context(), &v1.EcommerceAppList{}, client.InNamespace(namespace))
}

// names lists the names of objects; completion that fails completes nothing.
func (s *session) names(ctx context.Context, kind client.ObjectList, options ...client.ListOption) ([]string, cobra.ShellCompDirective) {
	hub, err := s.hub()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	l := &list{session: s, hub: hub, kind: kind, options: options, keep: named(nil)}
	objects, err := l.once(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names := make([]string, 0, len(objects))
	for _, o := range objects {
		names = append(names, o.GetName())
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
