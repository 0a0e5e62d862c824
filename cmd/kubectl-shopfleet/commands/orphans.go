package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
	"github.com/shopfleet/shopfleet/hub/app/recovery/store"
)

// errSpecsDiffer means that the orphans of a name cannot become one EcommerceApp.
var errSpecsDiffer = errors.New("their specs, or the times at which their pods were restarted, differ")

// orphans is a command about copies that no EcommerceApp on the hub owns.
type orphans struct {
	*Program
	output       *output
	members      []string
	wait         waitFlags
	dryRun       dryRun
	confirmation confirmation
}

func (p *Program) recoverAdoptCommand() *cobra.Command {
	c := &orphans{Program: p}
	cmd := c.command("adopt NAME", "Create an EcommerceApp on the hub that takes an orphan over",
		`Create an EcommerceApp on the hub that takes an orphan over.

The EcommerceApp has the spec of the copy, and a placement with its clusters: what runs
there is not changed.`, "  kubectl shopfleet recover adopt shop -n production")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.adopt(cmd.Context(), args[0]) }
	c.output = newOutput(cmd)
	c.dryRun.add(cmd)
	return cmd
}

func (p *Program) recoverDeleteCommand() *cobra.Command {
	c := &orphans{Program: p}
	cmd := c.command("delete NAME", "Delete an orphan in its cluster",
		`Delete an orphan in its cluster.

The hub deletes the copy, and the cluster removes the workloads in order. Volumes and
Backups are kept. If the cluster cannot be reached, the hub does so when it returns.`,
		"  kubectl shopfleet recover delete shop -n production --member eu-1")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.delete(cmd.Context(), args[0]) }
	c.output = newOutput(cmd)
	c.wait.add(cmd, deleteTimeout, "the orphan is deleted")
	c.dryRun.add(cmd)
	c.confirmation.add(cmd, "")
	return cmd
}

// command returns a command with the flags that all of them have.
func (o *orphans) command(use, short, long, example string) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Example: example,
		Args: usage(cobra.ExactArgs(1)), ValidArgsFunction: o.completeOrphans,
	}
	cmd.Flags().StringSliceVar(&o.members, "member", nil, "Only the orphans in this `MEMBER`; repeat it for more; default: all members")
	return cmd
}

// find returns the orphans of the clusters that the user chose, with the name of each
// one's cluster as a label.
func (o *orphans) find(ctx context.Context, hub *cluster, keep func(*v1.EcommerceApp) bool) ([]v1.EcommerceApp, error) {
	records := &corev1.ConfigMapList{}
	err := o.during("waiting for the hub at "+hub.config.Host, func() error {
		return hub.client.List(ctx, records, recordsOf(o.namespace)...)
	})
	if err != nil {
		return nil, fmt.Errorf("listing orphans from the hub: %w", err)
	}
	return orphansIn(records.Items, func(orphan *v1.EcommerceApp) bool {
		return (len(o.members) == 0 || slices.Contains(o.members, orphan.Labels[v1.ClusterLabel])) && keep(orphan)
	}), nil
}

// orphansIn returns the orphans that records of the hub list, with the name of each one's cluster as a label.
func orphansIn(records []corev1.ConfigMap, keep func(*v1.EcommerceApp) bool) []v1.EcommerceApp {
	var found []v1.EcommerceApp
	for i := range records {
		member := records[i].Labels[v1.MemberRecordLabel]
		if records[i].Name != recovery.OrphansName(member) {
			continue
		}
		for _, orphan := range recovery.DecodeOrphans(records[i].Data).Orphans {
			orphan.Labels = map[string]string{v1.ClusterLabel: member}
			if keep(&orphan) {
				found = append(found, orphan)
			}
		}
	}
	return found
}

// recordsOf selects the records that the hub has in its namespace.
func recordsOf(namespace string) []client.ListOption {
	return []client.ListOption{client.InNamespace(namespace), client.HasLabels{v1.MemberRecordLabel}}
}

// named returns the orphans of a name; there is at least one.
func (o *orphans) named(ctx context.Context, hub *cluster, name string) ([]v1.EcommerceApp, error) {
	namespace, err := o.namespaceFlag()
	if err != nil {
		return nil, err
	}
	found, err := o.find(ctx, hub, func(object *v1.EcommerceApp) bool { return object.Namespace == namespace && object.Name == name })
	if err == nil && len(found) == 0 {
		err = hint.With(fmt.Errorf("finding orphan %q in namespace %q: %w", name, namespace, errNotFound), "List all: kubectl shopfleet recover list -A")
	}
	return found, err
}

// clustersOf returns the clusters of orphans.
func clustersOf(found []v1.EcommerceApp) []string {
	names := make([]string, 0, len(found))
	for i := range found {
		names = append(names, found[i].Labels[v1.ClusterLabel])
	}
	return names
}

func (o *orphans) adopt(ctx context.Context, name string) error {
	if err := o.output.check(); err != nil {
		return err
	}
	hub, err := o.hub()
	if err != nil {
		return err
	}
	found, err := o.named(ctx, hub, name)
	if err != nil {
		return err
	}
	app, err := ownerOf(found)
	if err != nil {
		return hint.With(fmt.Errorf("adopting orphan %q in %s: %w", name, strings.Join(clustersOf(found), ", "), err),
			"Adopt one with --member, and then add the others to the placement of the EcommerceApp.")
	}
	switch err := o.create(ctx, hub, app); {
	case apierrors.IsAlreadyExists(err):
		return hint.With(fmt.Errorf("adopting orphan %q: %w", name, err),
			"Add the cluster to the placement of the EcommerceApp, which takes the orphan over: "+strings.Join(clustersOf(found), ", "))
	case err != nil:
		return fmt.Errorf("adopting orphan %q: %w", name, err)
	}
	return o.output.printDone(o.Program, app, hub.scheme, "adopted in "+strings.Join(clustersOf(found), ", ")+o.dryRun.suffix())
}

// ownerOf returns the EcommerceApp that owns orphans of a name without changing them: the hub
// compares when the pods were restarted as well.
func ownerOf(found []v1.EcommerceApp) (*v1.EcommerceApp, error) {
	first := &found[0]
	for i := range found {
		if !equality.Semantic.DeepEqual(found[i].Spec, first.Spec) ||
			found[i].Annotations[v1.RestartedAtAnnotation] != first.Annotations[v1.RestartedAtAnnotation] {
			return nil, errSpecsDiffer
		}
	}
	// With the spec on both sides, the EcommerceApp keeps the storage class of the copy.
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: first.Namespace, Name: first.Name}, Spec: first.Spec}
	app = app.WithSpecOf(first)
	app.Spec.Placement.ClusterNames = clustersOf(found)
	return app, nil
}

func (o *orphans) create(ctx context.Context, hub *cluster, app *v1.EcommerceApp) error {
	if o.dryRun == dryRunClient {
		return nil
	}
	return o.dryRun.client(hub.client).Create(ctx, app)
}

func (o *orphans) delete(ctx context.Context, name string) error {
	if err := errors.Join(o.output.check(), o.wait.check()); err != nil {
		return err
	}
	hub, err := o.hub()
	if err != nil {
		return err
	}
	found, err := o.named(ctx, hub, name)
	if err != nil {
		return err
	}
	where := strings.Join(clustersOf(found), ", ")
	if len(found) > 1 && len(o.members) == 0 {
		return usagef("orphan %q is in several members: choose with --member among %s", name, where)
	}
	asked := question{"deletion", fmt.Sprintf("delete orphan %q in %s", name, where), true, o.dryRun}
	if confirmed, err := o.confirmation.confirm(ctx, o.Program, asked); err != nil || !confirmed {
		return err
	}
	for i := range found {
		if o.dryRun == dryRunClient {
			break
		}
		if err := o.request(ctx, hub, &found[i]); err != nil {
			return err
		}
	}
	if o.dryRun != dryRunNone {
		return o.done(hub, found, "deleted", o.dryRun.suffix())
	}
	if !o.wait.enabled {
		return o.done(hub, found, "deletion requested", "")
	}
	if err := o.awaitGone(ctx, hub, found); err != nil {
		return err
	}
	return o.done(hub, found, "deleted", "")
}

func (o *orphans) done(hub *cluster, found []v1.EcommerceApp, operation, suffix string) error {
	for i := range found {
		text := operation + " in " + found[i].Labels[v1.ClusterLabel] + suffix
		if err := o.output.printDone(o.Program, &found[i], hub.scheme, text); err != nil {
			return err
		}
	}
	return nil
}

// request asks the hub to delete an orphan, by a record of what has to be cleaned up.
func (o *orphans) request(ctx context.Context, hub *cluster, orphan *v1.EcommerceApp) error {
	member := orphan.Labels[v1.ClusterLabel]
	cluster := &v1.MemberCluster{}
	if err := hub.client.Get(ctx, client.ObjectKey{Name: member}, cluster); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("getting MemberCluster %q: %w", member, err)
	}
	_, err := store.New(o.dryRun.client(hub.client), o.namespace).Add(ctx, member, recovery.Residue{
		Namespace: orphan.Namespace, Name: orphan.Name,
		App: types.UID(orphan.Annotations[v1.HubAppUIDAnnotation]), Copy: orphan.UID,
		ClusterUID: cluster.Status.ClusterUID, Recorded: metav1.NewTime(o.clock.Now()),
	})
	if err != nil {
		err = fmt.Errorf("requesting the deletion of orphan %q in %s: %w", orphan.Name, member, err)
	}
	if errors.Is(err, recovery.ErrFull) {
		return hint.With(err, "The records are removed when the cluster is connected. If it never returns, delete the ConfigMap "+
			recovery.Name(member)+" in namespace "+o.namespace+".")
	}
	return err
}

// awaitGone waits until the hub has removed its records, and lists the orphans no more.
func (o *orphans) awaitGone(ctx context.Context, hub *cluster, found []v1.EcommerceApp) error {
	waiting, cancel := o.wait.limit(ctx, errTimeout)
	defer cancel()
	query, err := hub.query(o.retrying)
	if err != nil {
		return err
	}
	query.List = &corev1.ConfigMapList{}
	query.Options = recordsOf(o.namespace)
	err = o.during("waiting for the orphan to be deleted in "+strings.Join(clustersOf(found), ", "), func() error {
		return query.Run(waiting, func(records []client.Object) (bool, error) {
			for i := range found {
				if recorded(records, &found[i]) {
					return false, nil
				}
			}
			return true, nil
		})
	})
	switch {
	case errors.Is(err, errTimeout):
		return hint.With(fmt.Errorf("orphan %q is not deleted in %s: %w after %s", found[0].Name, strings.Join(clustersOf(found), ", "), err, o.wait.timeout),
			"The hub continues when the cluster is connected. See which are: kubectl get memberclusters")
	case ctx.Err() != nil:
		o.say("The deletion continues on the hub. To see what is left: kubectl shopfleet recover list -A")
	}
	return err
}

// recorded reports whether a record of the hub names an orphan.
func recorded(records []client.Object, orphan *v1.EcommerceApp) bool {
	member := orphan.Labels[v1.ClusterLabel]
	return slices.ContainsFunc(records, func(o client.Object) bool {
		record, ok := o.(*corev1.ConfigMap)
		if !ok || record.Labels[v1.MemberRecordLabel] != member {
			return false
		}
		_, names := record.Data[string(orphan.UID)]
		return names
	})
}
