package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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
	output *output
	listFlags

	name string
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
  ManagedByAnotherHub  another hub manages the member: take it over, if that hub is gone

-l selects EcommerceApps and MemberClusters by their labels. An orphan has one label,
ecommerce.io/cluster, with the name of its cluster.`,
		Example: `  kubectl shopfleet recover list -A
  kubectl shopfleet recover list -A -w
  kubectl shopfleet recover list shop -n production -o wide`,
		Args:              usage(cobra.MaximumNArgs(1)),
		ValidArgsFunction: p.completeApps,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.name = strings.Join(args, "")
			return c.run(cmd.Context())
		},
	}
	c.output = newListOutput(cmd)
	c.addSelection(cmd)
	cmd.Flags().BoolVarP(&c.allNamespaces, "all-namespaces", "A", false, "Show the EcommerceApps of all namespaces")
	return cmd
}

// decisions holds what waits for a decision of the user.
type decisions struct {
	apps    []v1.EcommerceApp
	orphans []v1.EcommerceApp
	members []v1.MemberCluster
}

// objects returns all objects.
func (d *decisions) objects() []client.Object {
	all := make([]client.Object, 0, len(d.apps)+len(d.orphans)+len(d.members))
	for i := range d.apps {
		all = append(all, &d.apps[i])
	}
	for i := range d.orphans {
		all = append(all, &d.orphans[i])
	}
	for i := range d.members {
		all = append(all, &d.members[i])
	}
	return all
}

// add adds other decisions.
func (d *decisions) add(other decisions) {
	d.apps, d.orphans, d.members = append(d.apps, other.apps...), append(d.orphans, other.orphans...), append(d.members, other.members...)
}

// sort sorts the objects, each kind for itself, by the field of --sort-by.
func (d *decisions) sort(by *output) error {
	objects, isOrphan := d.objects(), map[client.Object]bool{}
	for i := range d.orphans {
		isOrphan[&d.orphans[i]] = true
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

// list returns all objects as one.
func (d *decisions) list() *corev1.List {
	all := &corev1.List{}
	for _, o := range d.objects() {
		all.Items = append(all.Items, runtime.RawExtension{Object: o})
	}
	return all
}

// table returns a row for each decision.
func (d *decisions) table(now time.Time) *metav1.Table {
	return printers.Recover(d.apps, d.orphans, d.members, now)
}

func (r *recoverList) run(ctx context.Context) error {
	if err := r.output.check(); err != nil {
		return err
	}
	if r.name != "" && r.allNamespaces {
		return usagef("a name cannot be used with --all-namespaces")
	}
	namespace, options, err := r.options(r.Program)
	if err != nil {
		return err
	}
	hub, err := r.hub()
	if err != nil {
		return err
	}
	lists := r.lists(hub, options)
	found, err := r.waiting(ctx, hub, lists, namespace)
	if err == nil {
		err = found.sort(r.output)
	}
	if err != nil {
		return err
	}
	none := len(found.objects()) == 0
	switch {
	case none && r.output.text() && namespace == "":
		r.say("No decision is pending.")
	case none && r.output.text():
		r.say("No decision is pending in namespace %q. List those of all namespaces with -A.", namespace)
	}
	switch {
	case r.watch:
		return r.follow(ctx, lists)
	case !r.output.text():
		return r.output.print(r.Program, found.list(), hub.scheme)
	case none:
		return nil
	default:
		return r.output.printTable(r.Program, found.table(r.clock.Now()), r.allNamespaces)
	}
}

// decisionList lists objects of one kind that wait for the user.
type decisionList struct {
	*list
	as func([]client.Object) decisions
}

// lists returns those of EcommerceApps, of orphans and, unless the user gave a name, of MemberClusters, which have no namespace.
func (r *recoverList) lists(hub *cluster, options []client.ListOption) []decisionList {
	chosen := (&client.ListOptions{}).ApplyOptions(options)
	isChosen := func(orphan *v1.EcommerceApp) bool {
		return (chosen.Namespace == "" || orphan.Namespace == chosen.Namespace) && (r.name == "" || orphan.Name == r.name) &&
			chosen.LabelSelector.Matches(labels.Set(orphan.Labels))
	}
	apps := r.listOf(hub, func(objects []client.Object) decisions { return decisions{apps: itemsOf[v1.EcommerceApp](objects)} })
	apps.kind, apps.options, apps.keep = &v1.EcommerceAppList{}, options, waits
	orphans := r.listOf(hub, func(objects []client.Object) decisions { return decisions{orphans: itemsOf[v1.EcommerceApp](objects)} })
	orphans.kind, orphans.options, orphans.expand = &corev1.ConfigMapList{}, recordsOf(r.namespace), func(records []client.Object) []client.Object {
		found := decisions{orphans: orphansIn(itemsOf[corev1.ConfigMap](records), isChosen)}
		return found.objects()
	}
	if r.name != "" {
		apps.options = append(apps.options, client.MatchingFields{"metadata.name": r.name})
		return []decisionList{apps, orphans}
	}
	members := r.listOf(hub, func(objects []client.Object) decisions { return decisions{members: itemsOf[v1.MemberCluster](objects)} })
	members.kind, members.options, members.keep = &v1.MemberClusterList{}, []client.ListOption{client.MatchingLabelsSelector{Selector: chosen.LabelSelector}}, waits
	return []decisionList{apps, orphans, members}
}

// listOf returns a list that shows its objects as decisions.
func (r *recoverList) listOf(hub *cluster, as func([]client.Object) decisions) decisionList {
	return decisionList{as: as, list: &list{
		Program: r.Program, hub: hub, output: r.output, allNamespaces: r.allNamespaces,
		render: func(objects []client.Object, now time.Time) *metav1.Table {
			found := as(objects)
			return found.table(now)
		},
	}}
}

// waits reports whether something about an EcommerceApp or a MemberCluster waits for the user.
func waits(object client.Object) bool {
	switch o := object.(type) {
	case *v1.EcommerceApp:
		return slices.ContainsFunc(o.Status.Clusters, func(entry v1.ClusterStatus) bool { return printers.Waits(&entry) })
	case *v1.MemberCluster:
		return o.Status.OtherHub != ""
	default:
		return false
	}
}

// waiting returns what waits for the user. The error is a hint if there is no EcommerceApp of the name that the user gave.
func (r *recoverList) waiting(ctx context.Context, hub *cluster, lists []decisionList, namespace string) (decisions, error) {
	var found decisions
	err := r.during("waiting for the hub at "+hub.config.Host, func() error {
		for _, l := range lists {
			objects, err := l.get(ctx)
			if err != nil {
				return err
			}
			found.add(l.as(objects))
		}
		if r.name == "" || len(found.objects()) > 0 {
			return nil
		}
		if err := hub.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: r.name}, &v1.EcommerceApp{}); err != nil {
			return hint.IfNotFound(fmt.Errorf("getting EcommerceApp %q: %w", r.name, err), listHint)
		}
		return nil
	})
	return found, err
}

// follow prints what waits, and then what is new of it or changes, until the user interrupts.
func (r *recoverList) follow(ctx context.Context, lists []decisionList) error {
	if r.output.sortBy() != "" {
		r.say(sortIgnored)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var printing sync.Mutex // The lists share one table.
	ended := make(chan error, len(lists))
	for _, l := range lists {
		query, err := l.query()
		if err != nil {
			return err
		}
		versions := map[string]string{}
		go func() {
			ended <- query.Run(ctx, func(all []client.Object) (bool, error) {
				printing.Lock()
				defer printing.Unlock()
				return false, l.printChanged(l.filter(all), versions)
			})
		}()
	}
	first := <-ended
	stop(first)
	for range len(lists) - 1 {
		if err := <-ended; first == nil && !errors.Is(err, context.Canceled) {
			first = err
		}
	}
	return first
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
