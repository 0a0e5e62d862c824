package commands

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
)

// deleteTimeout is the default of --timeout for deletions.
const deleteTimeout = 10 * time.Minute

// deletion is the command that deletes an EcommerceApp.
type deletion struct {
	*Program
	output         *output
	orphan         bool
	interactive    interactive
	ignoreNotFound bool
	wait           waitFlags
	dryRun         dryRun
}

func (p *Program) deleteCommand() *cobra.Command {
	c := &deletion{Program: p}
	cmd := &cobra.Command{
		Use:   "delete APP",
		Short: "Delete an EcommerceApp in all its clusters, and show the progress",
		Long: `Delete an EcommerceApp in all its clusters, and show the progress.

Each cluster removes the workloads in order. Volumes and Backups are kept.

The deletion waits for clusters that cannot be reached, unless you allow with --orphan to
leave behind what runs there: the hub records it, and deletes it when the cluster returns.
You can add --orphan to a deletion that waits already.

The hub does the work: if you interrupt the command, the deletion continues. To follow it,
run the command again.`,
		Example: `  kubectl shopfleet delete shop -n production
  kubectl shopfleet delete shop -n production --orphan
  kubectl shopfleet delete shop -n production --wait=false
  kubectl shopfleet delete shop -n production --dry-run=server`,
		Args:              usage(cobra.ExactArgs(1)),
		ValidArgsFunction: p.completeApps,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.output = newOutput(cmd)
	cmd.Flags().BoolVar(&c.orphan, "orphan", false, "Do not wait for clusters that cannot be reached; the hub cleans up when they return")
	c.interactive.add(cmd)
	cmd.Flags().BoolVar(&c.ignoreNotFound, "ignore-not-found", false, "Succeed if there is no such EcommerceApp")
	c.wait.add(cmd, deleteTimeout, "the EcommerceApp is deleted everywhere")
	c.dryRun.add(cmd)
	return cmd
}

// check rejects wrong flags.
func (d *deletion) check() error {
	return errors.Join(d.output.check(), d.wait.check(), d.dryRun.check())
}

func (d *deletion) run(ctx context.Context, name string) error {
	if err := d.check(); err != nil {
		return err
	}
	namespace, err := d.namespaceFlag()
	if err != nil {
		return err
	}
	hub, err := d.hub()
	if err != nil {
		return err
	}
	app := &v1.EcommerceApp{}
	if err := hub.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, app); err != nil {
		if d.ignoreNotFound && apierrors.IsNotFound(err) {
			return nil
		}
		return hint.IfNotFound(fmt.Errorf("getting EcommerceApp %q: %w", name, err), "List all: kubectl shopfleet status -A")
	}
	if confirmed, err := d.confirm(ctx, app); err != nil || !confirmed {
		return err
	}
	return d.delete(ctx, hub, app)
}

// delete deletes the application, and waits until it is gone.
func (d *deletion) delete(ctx context.Context, hub *cluster, app *v1.EcommerceApp) error {
	if err := d.request(ctx, hub, app); err != nil {
		if ctx.Err() != nil {
			d.say("The deletion may have been requested. To go on, run the command again.")
		}
		return err
	}
	if d.dryRun != dryRunNone {
		return d.output.printDone(d.Program, app, hub.scheme, "deleted"+d.dryRun.suffix())
	}
	if !d.wait.enabled {
		return d.output.printDone(d.Program, app, hub.scheme, "deletion requested")
	}
	if err := d.await(ctx, hub, app); err != nil {
		return err
	}
	return d.output.printDone(d.Program, app, hub.scheme, "deleted")
}

func (d *deletion) confirm(ctx context.Context, app *v1.EcommerceApp) (bool, error) {
	return d.interactive.confirm(ctx, d.Program, "deletion", fmt.Sprintf("delete EcommerceApp %s/%s in %d clusters: %s",
		app.Namespace, app.Name, len(app.Status.Clusters), strings.Join(namesOf(app), ", ")))
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
	if !d.orphan || d.dryRun != dryRunNone || app.Annotations[v1.OrphanAnnotation] == "true" {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": app.UID, "annotations": map[string]string{v1.OrphanAnnotation: "true"},
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

// await reports the progress of each cluster until the application is gone.
func (d *deletion) await(ctx context.Context, hub *cluster, app *v1.EcommerceApp) error {
	waiting, cancel := d.wait.limit(ctx, errTimeout)
	defer cancel()
	query, err := hub.query(d.retrying)
	if err != nil {
		return err
	}
	query.List = &v1.EcommerceAppList{}
	query.Options = []client.ListOption{client.InNamespace(app.Namespace), client.MatchingFields{"metadata.name": app.Name}}
	seen := newClusterProgress(app)
	err = d.during("deleting EcommerceApp "+app.Name, func() error {
		return query.Run(waiting, func(objects []client.Object) (bool, error) {
			current := find(objects, app.UID)
			for _, line := range seen.update(current, func(cluster string) string { return d.outcome(waiting, hub, app, cluster) }) {
				d.say("%s", line)
			}
			return current == nil, nil
		})
	})
	switch {
	case errors.Is(err, errTimeout):
		return hint.With(fmt.Errorf("EcommerceApp %q is not deleted: %w after %s", app.Name, err, d.wait.timeout), seen.hint(app))
	case ctx.Err() != nil:
		d.say("%s The deletion continues on the hub. To follow it, run the command again.", seen.open())
	}
	return err
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

func namesOf(app *v1.EcommerceApp) []string {
	names := make([]string, 0, len(app.Status.Clusters))
	for i := range app.Status.Clusters {
		names = append(names, app.Status.Clusters[i].Name)
	}
	return names
}

// clusterProgress is the last known progress of a deletion, by cluster.
type clusterProgress struct {
	text map[string]string
	// stale are the clusters that did not respond when they were last seen.
	stale map[string]bool
	// held is the message of a deletion that waits for the user.
	held string
}

func newClusterProgress(app *v1.EcommerceApp) *clusterProgress {
	p := &clusterProgress{text: map[string]string{}, stale: map[string]bool{}}
	for _, entry := range app.Status.Clusters {
		p.text[entry.Name], p.stale[entry.Name] = "", entry.Stale
	}
	return p
}

// update returns a line for each change, sorted by cluster. App is nil once it is gone, and
// outcome returns what has become of the copy in a cluster that it has left.
func (p *clusterProgress) update(app *v1.EcommerceApp, outcome func(cluster string) string) []string {
	var lines []string
	open := map[string]bool{}
	if app != nil {
		held := meta.FindStatusCondition(app.Status.Conditions, v1.ConditionDeleting)
		if held != nil && (held.Reason == v1.ReasonProtected || held.Reason == v1.ReasonResidueFull) && held.Message != p.held {
			p.held = held.Message
			lines = append(lines, held.Message)
		}
		for _, entry := range app.Status.Clusters {
			open[entry.Name] = true
			if entry.Phase != v1.PhaseDeleting {
				continue // It is about the time before the deletion.
			}
			p.stale[entry.Name] = entry.Stale
			if text := entry.Reason + ": " + entry.Message; p.text[entry.Name] != text {
				p.text[entry.Name] = text
				lines = append(lines, entry.Name+": "+text)
			}
		}
	}
	for name := range p.text {
		if open[name] {
			continue
		}
		lines = append(lines, name+": "+outcome(name))
		delete(p.text, name)
		delete(p.stale, name)
	}
	slices.Sort(lines)
	return lines
}

// open returns the clusters that the application has not left.
func (p *clusterProgress) open() string {
	if len(p.text) == 0 {
		return "Not deleted yet."
	}
	return "Not deleted yet in " + strings.Join(slices.Sorted(maps.Keys(p.text)), ", ") + "."
}

// hint returns what the user can do about a deletion that takes long.
func (p *clusterProgress) hint(app *v1.EcommerceApp) string {
	for _, stale := range p.stale {
		if stale {
			return fmt.Sprintf("To leave behind what cannot be reached: kubectl shopfleet delete %s -n %s --orphan", app.Name, app.Namespace)
		}
	}
	return fmt.Sprintf("The deletion continues on the hub. See why: kubectl describe ecommerceapp %s -n %s", app.Name, app.Namespace)
}
