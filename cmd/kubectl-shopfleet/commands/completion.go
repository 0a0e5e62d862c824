package commands

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/join"
)

// completionTimeout bounds how long the shell waits for the hub.
const completionTimeout = 3 * time.Second

const completionHelp = `
For the completion of "kubectl shopfleet", kubectl runs a program named
kubectl_complete-shopfleet. Link it to this one:

  ln -s "$(command -v kubectl-shopfleet)" "$(dirname "$(command -v kubectl-shopfleet)")/kubectl_complete-shopfleet"
`

// completeFlags registers the completion of the values of all flags.
func (p *Program) completeFlags(root *cobra.Command) {
	known := p.flagValues()
	register := func(cmd *cobra.Command, flag *pflag.Flag) {
		_, done := cmd.GetFlagCompletionFunc(flag.Name)
		complete, is := known[flag.Name]
		if done || !is {
			return
		}
		if err := cmd.RegisterFlagCompletionFunc(flag.Name, complete); err != nil {
			panic(err) // The flag is one of this command.
		}
	}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.PersistentFlags().VisitAll(func(f *pflag.Flag) { register(cmd, f) })
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { register(cmd, f) })
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
}

// flagValues returns the completion of flags by name. The values of the last ones are free.
func (p *Program) flagValues() map[string]cobra.CompletionFunc {
	fixed := func(values ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)
	}
	files := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	namespaces := p.names(func() client.ObjectList { return &corev1.NamespaceList{} })
	values := map[string]cobra.CompletionFunc{
		"namespace": namespaces, "hub-namespace": namespaces,
		"member":        listed(p.names(func() client.ObjectList { return &v1.MemberClusterList{} })),
		"cloud-account": p.names(func() client.ObjectList { return &v1.CloudAccountList{} }),
		"region":        p.ofMembers(func(m *v1.MemberCluster) []string { return []string{m.Status.Region} }),
		"zone":          p.ofMembers(func(m *v1.MemberCluster) []string { return m.Status.Zones }),
		"provider":      fixed(join.Providers()...),
		"mode":          fixed("agent", "agentless"),
		"dry-run":       fixed("none", "client", "server"),
		"replicas":      fixed("1", "2"),
		"kubeconfig":    files, "member-kubeconfig": files, "template": files, "archive": files, "filename": files,
		"certificate-authority": files, "client-certificate": files, "client-key": files,
		"cache-dir": cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs),
		"context":   p.ofKubeconfig(func(c *clientcmdapi.Config) []string { return slices.Collect(maps.Keys(c.Contexts)) }),
		"cluster":   p.ofKubeconfig(func(c *clientcmdapi.Config) []string { return slices.Collect(maps.Keys(c.Clusters)) }),
		"user":      p.ofKubeconfig(func(c *clientcmdapi.Config) []string { return slices.Collect(maps.Keys(c.AuthInfos)) }),
		// The contexts of another kubeconfig.
		"member-context": completeMemberContexts,
	}
	for _, name := range []string{
		"selector", "labels", "image", "mirror", "field-manager", "spoke-image", "image-pull-secret", "runbook-url", "member-server", "token-ttl", "timeout", "of-hub",
		"as", "as-group", "as-uid", "as-user-extra", "server", "tls-server-name", "token", "request-timeout", "to-revision",
		"sort-by", "label-columns", "field-selector", "v",
	} {
		values[name] = cobra.NoFileCompletions
	}
	return values
}

// first completes the first argument only.
func first(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, begun)
	}
}

// listed completes the last value of a list with commas.
func listed(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		names, directive := complete(cmd, args, begun)
		before := begun[:strings.LastIndex(begun, ",")+1]
		given := strings.Split(before, ",")
		names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(given, name) })
		for i := range names {
			names[i] = before + names[i]
		}
		return names, directive
	}
}

// completeClusters completes the names of members that are not among the arguments yet.
func (p *Program) completeClusters(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	return p.others(&v1.MemberClusterList{})(cmd, args, begun)
}

// completeAccounts completes the names of CloudAccounts that are not among the arguments yet.
func (p *Program) completeAccounts(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	return p.others(&v1.CloudAccountList{})(cmd, args, begun)
}

func (p *Program) others(kind client.ObjectList) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		names, directive := p.complete(cmd.Context(), kind)
		return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) }), directive
	}
}

func (p *Program) completeApps(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	return first(p.inNamespace(&v1.EcommerceAppList{}))(cmd, args, begun)
}

func (p *Program) completeBackups(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	return first(p.inNamespace(&v1.BackupList{}))(cmd, args, begun)
}

// completeOrphans completes the names of the orphans in the namespace.
func (o *orphans) completeOrphans(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	namespace, err := o.namespaceFlag()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	hub, err := o.hubForShell()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completionTimeout)
	defer cancel()
	found, err := o.find(ctx, hub, func(object *v1.EcommerceApp) bool { return object.Namespace == namespace })
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for i := range found {
		names = append(names, found[i].Name)
	}
	return unique(names), cobra.ShellCompDirectiveNoFileComp
}

// inNamespace completes the names of objects in the namespace of the user.
func (p *Program) inNamespace(kind client.ObjectList) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		namespace, err := p.namespaceFlag()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return p.complete(cmd.Context(), kind, client.InNamespace(namespace))
	}
}

// names completes the names of objects that have no namespace.
func (p *Program) names(kind func() client.ObjectList) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return p.complete(cmd.Context(), kind())
	}
}

// complete returns the names of objects. An error completes nothing.
func (p *Program) complete(ctx context.Context, kind client.ObjectList, options ...client.ListOption) ([]string, cobra.ShellCompDirective) {
	objects, directive := p.objects(ctx, kind, options...)
	names := make([]string, 0, len(objects))
	for _, o := range objects {
		names = append(names, o.GetName())
	}
	return names, directive
}

// ofMembers completes values of the members.
func (p *Program) ofMembers(values func(*v1.MemberCluster) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		objects, directive := p.objects(cmd.Context(), &v1.MemberClusterList{})
		all := make([]string, 0, len(objects))
		for _, m := range itemsOf[v1.MemberCluster](objects) {
			all = append(all, values(&m)...)
		}
		return unique(all), directive
	}
}

// hubForShell connects to the hub with the deadline of a completion, also for the discovery
// of its kinds.
func (p *Program) hubForShell() (*cluster, error) {
	timeout := completionTimeout.String()
	p.flags.Timeout = &timeout
	return p.hub()
}

// objects lists objects within the time that the shell waits.
func (p *Program) objects(ctx context.Context, kind client.ObjectList, options ...client.ListOption) ([]client.Object, cobra.ShellCompDirective) {
	hub, err := p.hubForShell()
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
	return objects, cobra.ShellCompDirectiveNoFileComp
}

// ofKubeconfig completes names of the user's kubeconfig.
func (p *Program) ofKubeconfig(names func(*clientcmdapi.Config) []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		kubeconfig, err := p.flags.ToRawKubeConfigLoader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return unique(names(&kubeconfig)), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeMemberContexts completes the contexts in the file of --member-kubeconfig.
func completeMemberContexts(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	path, err := cmd.Flags().GetString("member-kubeconfig")
	if err != nil || path == "" {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	kubeconfig, err := clientcmd.LoadFromFile(path)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return unique(slices.Collect(maps.Keys(kubeconfig.Contexts))), cobra.ShellCompDirectiveNoFileComp
}

// unique returns the values that are not empty, sorted, each once.
func unique(values []string) []string {
	slices.Sort(values)
	return slices.DeleteFunc(slices.Compact(values), func(value string) bool { return value == "" })
}
