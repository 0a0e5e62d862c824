package commands

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
)

// history is the command that lists the revisions of an EcommerceApp.
type history struct {
	*Program
	output *output
	listFlags
}

func (p *Program) rolloutHistoryCommand() *cobra.Command {
	c := &history{Program: p}
	cmd := &cobra.Command{
		Use:   "history APP",
		Short: "List the revisions of an EcommerceApp with a rollout",
		Long: `List the revisions of an EcommerceApp with a rollout.

The last ten that were healthy in all clusters are kept, and those that clusters still
have. Each is a ControllerRevision in the namespace of the EcommerceApp.`,
		Example: `  kubectl shopfleet rollout history shop -n production
  kubectl shopfleet rollout history shop -n production -w
  kubectl shopfleet rollout history shop -n production -o yaml`,
		Args:              usage(cobra.ExactArgs(1)),
		ValidArgsFunction: p.completeApps,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.output = newListOutput(cmd)
	c.addSelection(cmd)
	return cmd
}

func (h *history) run(ctx context.Context, name string) error {
	if err := h.output.check(); err != nil {
		return err
	}
	namespace, options, err := h.options(h.Program)
	if err != nil {
		return err
	}
	hub, err := h.hub()
	if err != nil {
		return err
	}
	app := &v1.EcommerceApp{}
	if err := hub.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, app); err != nil {
		return hint.IfNotFound(fmt.Errorf("getting EcommerceApp %q: %w", name, err), "List all: kubectl shopfleet status -A")
	}
	return (&list{
		Program: h.Program, hub: hub, output: h.output, watch: h.watch, kind: &appsv1.ControllerRevisionList{},
		options: append(options, revisionsOf(namespace, name)...), // Labels narrow the selector before them.
		keep:    func(o client.Object) bool { return metav1.IsControlledBy(o, app) },
		empty:   "EcommerceApp " + name + " has no revisions: define spec.rollout to keep some.",
		render: func(objects []client.Object, now time.Time) *metav1.Table {
			found := itemsOf[appsv1.ControllerRevision](objects)
			if h.output.sortBy() == "" {
				slices.SortFunc(found, func(a, b appsv1.ControllerRevision) int { return cmp.Compare(b.Revision, a.Revision) })
			}
			if current := (&v1.EcommerceApp{}); h.watch && hub.client.Get(ctx, client.ObjectKeyFromObject(app), current) == nil {
				app = current // Its clusters and its rollout have moved on since.
			}
			return printers.Revisions(app, found, now)
		},
	}).run(ctx)
}

// revisionsOf selects the revisions of an application, or of a former one of its name.
func revisionsOf(namespace, name string) []client.ListOption {
	return []client.ListOption{client.InNamespace(namespace), client.MatchingLabels{v1.ManagedByLabel: v1.ManagedBy, v1.InstanceLabel: name}}
}
