package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
)

// errNothingWaits means that there is nothing to settle.
var errNothingWaits = errors.New("no decision is pending")

// recoverList is the command that lists what waits for a decision of the user.
type recoverList struct {
	*Program
	output        *output
	allNamespaces bool
}

func (p *Program) recoverCommand() *cobra.Command {
	return group(
		&cobra.Command{Use: "recover", Short: "List copies and members that wait for a decision, and settle them"},
		p.recoverListCommand(), p.recoverAdoptCommand(), p.recoverDeleteCommand(), p.recoverImportCommand(), p.recoverOverwriteCommand(), p.recoverTakeOverCommand(),
	)
}

func (p *Program) recoverListCommand() *cobra.Command {
	c := &recoverList{Program: p}
	cmd := &cobra.Command{
		Use:   "list [APP]",
		Short: "List what in the members waits for a decision",
		Long: `List what in the members waits for a decision.

A hub that was restored from an older backup does not know what happened since. It changes
nothing of that until you decide, and never an orphan. REASON is

  NewerInMember        the cluster has a later generation of the EcommerceApp, or one that was
                       made from another EcommerceApp of this name: import or overwrite it
  DeletedInMember      the cluster has recorded that the EcommerceApp was deleted: delete it with
                       "kubectl shopfleet delete", or create it again with overwrite
  NewerElsewhere       the EcommerceApp is not created in the cluster, because it has left it, or
                       another one has a later generation: settle that, or correct the placement
  Orphan               no EcommerceApp on the hub owns the copy, whose workloads keep running:
                       adopt or delete it. Of a cluster that does not respond, it is the last list
  ManagedByAnotherHub  another hub manages the member: take it over, if that hub is gone`,
		Example: `  kubectl shopfleet recover list -A
  kubectl shopfleet recover list shop -n production -o wide`,
		Args:              usage(cobra.MaximumNArgs(1)),
		ValidArgsFunction: p.completeApps,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), strings.Join(args, "")) },
	}
	c.output = newListOutput(cmd)
	cmd.Flags().BoolVarP(&c.allNamespaces, "all-namespaces", "A", false, "Show the EcommerceApps of all namespaces")
	return cmd
}

// decisions holds what waits for a decision of the user.
type decisions struct {
	apps    []v1.EcommerceApp
	orphans []v1.EcommerceApp
	members []v1.MemberCluster
}

// sort sorts the objects, each kind for itself, by the field of --sort-by.
func (d *decisions) sort(by *output) error {
	objects := make([]client.Object, 0, len(d.apps)+len(d.orphans)+len(d.members))
	isOrphan := map[client.Object]bool{}
	for i := range d.apps {
		objects = append(objects, &d.apps[i])
	}
	for i := range d.orphans {
		objects = append(objects, &d.orphans[i])
		isOrphan[&d.orphans[i]] = true
	}
	for i := range d.members {
		objects = append(objects, &d.members[i])
	}
	if err := by.sort(objects); err != nil {
		return err
	}
	*d = decisions{
		apps:    itemsOf[v1.EcommerceApp](slices.DeleteFunc(slices.Clone(objects), func(o client.Object) bool { return isOrphan[o] })),
		orphans: itemsOf[v1.EcommerceApp](slices.DeleteFunc(slices.Clone(objects), func(o client.Object) bool { return !isOrphan[o] })),
		members: itemsOf[v1.MemberCluster](objects),
	}
	return nil
}

// list returns all objects.
func (d *decisions) list() *corev1.List {
	all := &corev1.List{}
	for i := range d.apps {
		all.Items = append(all.Items, runtime.RawExtension{Object: &d.apps[i]})
	}
	for i := range d.orphans {
		all.Items = append(all.Items, runtime.RawExtension{Object: &d.orphans[i]})
	}
	for i := range d.members {
		all.Items = append(all.Items, runtime.RawExtension{Object: &d.members[i]})
	}
	return all
}

func (r *recoverList) run(ctx context.Context, name string) error {
	if err := r.output.check(); err != nil {
		return err
	}
	if name != "" && r.allNamespaces {
		return usagef("a name cannot be used with --all-namespaces")
	}
	namespace := ""
	var err error
	if !r.allNamespaces {
		if namespace, err = r.namespaceFlag(); err != nil {
			return err
		}
	}
	hub, err := r.hub()
	if err != nil {
		return err
	}
	found, err := r.waiting(ctx, hub, client.ObjectKey{Namespace: namespace, Name: name})
	if err == nil {
		err = found.sort(r.output)
	}
	switch {
	case err != nil:
		return err
	case !r.output.text():
		return r.output.print(r.Program, found.list(), hub.scheme)
	case len(found.list().Items) > 0:
		return r.output.printTable(r.Program, printers.Recover(found.apps, found.orphans, found.members, r.clock.Now()), r.allNamespaces)
	case namespace == "":
		r.say("No decision is pending.")
	default:
		r.say("No decision is pending in namespace %q. List those of all namespaces with -A.", namespace)
	}
	return nil
}

// waiting returns what waits for the user in a namespace, or in all, and has a name, or any. Members have neither: they
// are left out if there is a name.
func (r *recoverList) waiting(ctx context.Context, hub *cluster, key client.ObjectKey) (decisions, error) {
	options := []client.ListOption{client.InNamespace(key.Namespace)}
	if key.Name != "" {
		options = append(options, client.MatchingFields{"metadata.name": key.Name})
	}
	apps, members := &v1.EcommerceAppList{}, &v1.MemberClusterList{}
	err := r.during("waiting for the hub at "+hub.config.Host, func() error {
		if err := hub.client.List(ctx, apps, options...); err != nil || key.Name != "" {
			return err
		}
		return hub.client.List(ctx, members)
	})
	if err != nil {
		return decisions{}, fmt.Errorf("listing from the hub: %w", err)
	}
	found := decisions{}
	found.orphans, err = (&orphans{Program: r.Program}).find(ctx, hub, func(o *v1.EcommerceApp) bool {
		return (key.Namespace == "" || o.Namespace == key.Namespace) && (key.Name == "" || o.Name == key.Name)
	})
	if err != nil {
		return decisions{}, err
	}
	if key.Name != "" && len(apps.Items)+len(found.orphans) == 0 {
		return decisions{}, hint.With(fmt.Errorf("getting EcommerceApp %q: %w", key.Name, errNotFound), listHint)
	}
	found.apps = slices.DeleteFunc(apps.Items, func(app v1.EcommerceApp) bool {
		return !slices.ContainsFunc(app.Status.Clusters, func(entry v1.ClusterStatus) bool { return printers.Waits(&entry) })
	})
	found.members = slices.DeleteFunc(members.Items, func(m v1.MemberCluster) bool { return m.Status.OtherHub == "" })
	return found, nil
}

// settlement holds the flags of the verbs that settle what was found.
type settlement struct {
	*Program
	output       *output
	dryRun       dryRun
	confirmation confirmation
}

// add adds the flags to a verb.
func (s *settlement) add(cmd *cobra.Command) {
	s.output = newOutput(cmd)
	s.dryRun.add(cmd)
	s.confirmation.add(cmd, "")
}

// start checks the flags and connects to the hub.
func (s *settlement) start() (*cluster, error) {
	if err := s.output.check(); err != nil {
		return nil, err
	}
	return s.hub()
}

// app returns an application of the namespace that the user chose.
func (s *settlement) app(ctx context.Context, hub *cluster, name string) (*v1.EcommerceApp, error) {
	namespace, err := s.namespaceFlag()
	if err != nil {
		return nil, err
	}
	app := &v1.EcommerceApp{}
	if err := hub.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, app); err != nil {
		return nil, hint.IfNotFound(fmt.Errorf("getting EcommerceApp %q: %w", name, err), listHint)
	}
	return app, nil
}

// memberCluster returns a MemberCluster.
func (s *settlement) memberCluster(ctx context.Context, hub *cluster, name string) (*v1.MemberCluster, error) {
	member := &v1.MemberCluster{}
	err := hub.client.Get(ctx, client.ObjectKey{Name: name}, member)
	switch {
	case apierrors.IsNotFound(err):
		return nil, hint.With(fmt.Errorf("getting MemberCluster %q: %w", name, err), "List all: kubectl get memberclusters")
	case err != nil:
		return nil, fmt.Errorf("getting MemberCluster %q: %w", name, err)
	default:
		return member, nil
	}
}

// listHint says how to list what waits.
const listHint = "List all: kubectl shopfleet recover list -A"

// confirm asks the user.
func (s *settlement) confirm(ctx context.Context, action string) (bool, error) {
	return s.confirmation.confirm(ctx, s.Program, question{"recovery", action, true, s.dryRun})
}

// done prints what was done to an object.
func (s *settlement) done(hub *cluster, object runtime.Object, operation string) error {
	return s.output.printDone(s.Program, object, hub.scheme, operation+s.dryRun.suffix())
}
