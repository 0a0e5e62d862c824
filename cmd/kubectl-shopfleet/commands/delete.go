package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
)

// deleteTimeout is the default of --timeout for deletions.
const deleteTimeout = 10 * time.Minute

// deletion is the command that deletes EcommerceApps.
type deletion struct {
	*Program
	output         *output
	chosen         selection
	skip           bool
	confirmation   confirmation
	ignoreNotFound bool
	wait           waitFlags
	dryRun         dryRun
}

func (p *Program) deleteCommand() *cobra.Command {
	c := &deletion{Program: p}
	cmd := &cobra.Command{
		Use:   "delete APP...",
		Short: "Delete EcommerceApps in all their clusters, and show the progress",
		Long: `Delete EcommerceApps in all their clusters, and show the progress.

Each cluster removes the workloads in order. Volumes and Backups are kept, unless spec.deletion says otherwise.

The deletion waits for clusters that cannot be reached, unless you skip them with
--skip-unreachable: the hub records what runs there, and deletes it when the cluster
returns. You can add the flag to a deletion that waits already.

The hub does the work: if you interrupt the command, the deletion continues. To follow it,
run the command again.`,
		Example: `  kubectl shopfleet delete shop -n production
  kubectl shopfleet delete shop cart -n production --skip-unreachable
  kubectl shopfleet delete -l tier=test -n staging --wait=false
  kubectl shopfleet delete shop -n production --dry-run=server`,
		Args:              usage(cobra.ArbitraryArgs),
		ValidArgsFunction: p.inNamespace(&v1.EcommerceAppList{}),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.output = newOutput(cmd)
	c.chosen.add(cmd)
	cmd.Flags().BoolVar(&c.skip, "skip-unreachable", false, "Do not wait for clusters that cannot be reached; the hub cleans up when they return")
	c.confirmation.add(cmd, "")
	cmd.Flags().BoolVar(&c.ignoreNotFound, "ignore-not-found", false, "Succeed if an EcommerceApp that you name does not exist")
	c.wait.add(cmd, deleteTimeout, "the EcommerceApps are deleted everywhere")
	c.dryRun.add(cmd)
	return cmd
}

func (d *deletion) run(ctx context.Context, names []string) error {
	if err := errors.Join(d.output.check(), d.wait.check(), d.chosen.check(names)); err != nil {
		return err
	}
	hub, err := d.hub()
	if err != nil {
		return err
	}
	apps, err := d.find(ctx, hub, names)
	if err != nil || len(apps) == 0 {
		return err
	}
	if confirmed, err := d.confirmation.confirm(ctx, d.Program, question{"deletion", deletionOf(apps), true, d.dryRun}); err != nil || !confirmed {
		return err
	}
	requested, err := d.requestAll(ctx, hub, apps)
	if ctx.Err() == nil && d.wait.enabled && d.dryRun == dryRunNone && len(requested) > 0 {
		err = errors.Join(err, d.await(ctx, hub, requested))
	}
	return err
}

// find returns the applications that the user named or selected.
func (d *deletion) find(ctx context.Context, hub *cluster, given []string) ([]*v1.EcommerceApp, error) {
	namespace, err := d.namespaceFlag()
	if err != nil {
		return nil, err
	}
	names, err := d.chosen.names(ctx, &list{
		Program: d.Program, hub: hub, kind: &v1.EcommerceAppList{}, options: []client.ListOption{client.InNamespace(namespace)},
	}, given)
	if err != nil {
		return nil, err
	}
	var apps []*v1.EcommerceApp
	for _, name := range unique(slices.Clone(names)) {
		app := &v1.EcommerceApp{}
		err := hub.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, app)
		switch {
		case err == nil:
			apps = append(apps, app)
		case !apierrors.IsNotFound(err) || len(given) > 0 && !d.ignoreNotFound:
			return nil, hint.IfNotFound(fmt.Errorf("getting EcommerceApp %q: %w", name, err), "List all: kubectl shopfleet status -A")
		}
	}
	return apps, nil
}

// deletionOf describes what the command is about to do.
func deletionOf(apps []*v1.EcommerceApp) string {
	if len(apps) > 1 {
		return fmt.Sprintf("delete %d EcommerceApps of namespace %s in all their clusters: %s", len(apps), apps[0].Namespace, namesOf(apps))
	}
	app := apps[0]
	return fmt.Sprintf("delete EcommerceApp %s/%s in %d clusters: %s", app.Namespace, app.Name, len(app.Status.Clusters), strings.Join(clustersIn(app), ", "))
}

// requestAll requests the deletion of applications, and returns those of which it is requested. One that cannot be deleted
// does not keep the others from it.
func (d *deletion) requestAll(ctx context.Context, hub *cluster, apps []*v1.EcommerceApp) (requested []*v1.EcommerceApp, failed error) {
	for _, app := range apps {
		err := d.request(ctx, hub, app)
		switch {
		case err != nil:
		case d.dryRun != dryRunNone:
			err = d.output.printDone(d.Program, app, hub.scheme, "deleted"+d.dryRun.suffix())
		case !d.wait.enabled:
			err = d.output.printDone(d.Program, app, hub.scheme, "deletion requested")
		}
		if failed = errors.Join(failed, err); err == nil {
			requested = append(requested, app)
		}
	}
	if ctx.Err() != nil {
		d.say("The deletion may have been requested. To go on, run the command again.")
	}
	return requested, failed
}

// request deletes the application, and then releases it: in this order nothing changes for
// an application that is not being deleted.
func (d *deletion) request(ctx context.Context, hub *cluster, app *v1.EcommerceApp) error {
	if d.dryRun == dryRunClient {
		return nil
	}
	if app.DeletionTimestamp == nil {
		options := []client.DeleteOption{client.Preconditions{UID: &app.UID}}
		if d.dryRun == dryRunServer {
			options = append(options, client.DryRunAll)
		}
		err := hub.client.Delete(ctx, app, options...)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting EcommerceApp %q: %w", app.Name, err)
		}
	}
	if !d.skip || d.dryRun != dryRunNone || app.Annotations[v1.SkipUnreachableAnnotation] == "true" {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": app.UID, "annotations": map[string]string{v1.SkipUnreachableAnnotation: "true"},
	}})
	if err != nil {
		return fmt.Errorf("encoding the annotation: %w", err)
	}
	released := app.DeepCopy()
	err = hub.client.Patch(ctx, released, client.RawPatch(types.MergePatchType, patch))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("releasing EcommerceApp %q: %w", app.Name, err)
	}
	return nil
}

// await reports the progress of each cluster until the applications are gone.
func (d *deletion) await(ctx context.Context, hub *cluster, apps []*v1.EcommerceApp) error {
	waiting, cancel := d.wait.limit(ctx, errTimeout)
	defer cancel()
	query, err := hub.query(d.retrying)
	if err != nil {
		return err
	}
	query.List, query.Options = &v1.EcommerceAppList{}, []client.ListOption{client.InNamespace(apps[0].Namespace)}
	if len(apps) == 1 {
		query.Options = append(query.Options, client.MatchingFields{"metadata.name": apps[0].Name})
	}
	open := newDeletionProgress(apps)
	err = d.during("deleting EcommerceApp "+namesOf(apps), func() error {
		return query.Run(waiting, func(objects []client.Object) (enough bool, err error) {
			open, err = d.report(waiting, hub, open, objects)
			return len(open) == 0, err
		})
	})
	switch {
	case len(open) == 0:
		return nil
	case errors.Is(err, errTimeout):
		return hint.With(fmt.Errorf("waiting for the deletion of EcommerceApp %s: %w after %s", namesOf(open.apps()), err, d.wait.timeout), open.hint())
	case ctx.Err() != nil:
		d.say("%s The deletion continues on the hub. To follow it, run the command again.", open.open())
	}
	return err
}

// report prints what is new about applications that are being deleted, and returns those that are still there.
func (d *deletion) report(ctx context.Context, hub *cluster, waiting deletionProgress, objects []client.Object) (deletionProgress, error) {
	var open deletionProgress
	for _, p := range waiting {
		current := find(objects, p.app.UID)
		for _, line := range p.update(current, func(cluster string) string { return d.outcome(ctx, hub, p.app, cluster) }) {
			d.say("%s%s", p.prefix, line)
		}
		if current != nil {
			open = append(open, p)
			continue
		}
		if err := d.output.printDone(d.Program, p.app, hub.scheme, "deleted"); err != nil {
			return waiting, err
		}
	}
	return open, nil
}

// outcome returns what has become of the copy of the application in a cluster that the
// application has left: the hub may have recorded it.
func (d *deletion) outcome(ctx context.Context, hub *cluster, app *v1.EcommerceApp, name string) string {
	record := &corev1.ConfigMap{}
	err := hub.client.Get(ctx, client.ObjectKey{Namespace: d.namespace, Name: recovery.Name(name)}, record)
	_, recorded := record.Data[string(app.UID)]
	switch {
	case client.IgnoreNotFound(err) != nil:
		return fmt.Sprintf("deleted, or left behind: %v", err)
	case recorded:
		return "cannot be reached; the hub deletes the copy when it returns"
	default:
		return "deleted"
	}
}

// find returns the application with a UID, or nil.
func find(objects []client.Object, uid types.UID) *v1.EcommerceApp {
	for _, o := range objects {
		if app, ok := o.(*v1.EcommerceApp); ok && app.UID == uid {
			return app
		}
	}
	return nil
}

// namesOf returns the names of applications, separated by commas.
func namesOf(apps []*v1.EcommerceApp) string {
	names := make([]string, 0, len(apps))
	for _, app := range apps {
		names = append(names, app.Name)
	}
	return strings.Join(names, ", ")
}

// clustersIn returns the names of the clusters of an application.
func clustersIn(app *v1.EcommerceApp) []string {
	names := make([]string, 0, len(app.Status.Clusters))
	for i := range app.Status.Clusters {
		names = append(names, app.Status.Clusters[i].Name)
	}
	return names
}
