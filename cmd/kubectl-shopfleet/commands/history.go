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

func (p *Program) rolloutHistoryCommand() *cobra.Command {
	var output *output
	cmd := &cobra.Command{
		Use:   "history APP",
		Short: "List the revisions of an EcommerceApp with a rollout",
		Long: `List the revisions of an EcommerceApp with a rollout.

The last ten that were healthy in all clusters are kept, and those that clusters still
have. Each is a ControllerRevision in the namespace of the EcommerceApp.`,
		Example: `  kubectl shopfleet rollout history shop -n production
  kubectl shopfleet rollout history shop -n production -o yaml`,
		Args:              usage(cobra.ExactArgs(1)),
		ValidArgsFunction: p.completeApps,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.history(cmd.Context(), output, args[0])
		},
	}
	output = newListOutput(cmd)
	return cmd
}

func (p *Program) history(ctx context.Context, output *output, name string) error {
	if err := output.check(); err != nil {
		return err
	}
	namespace, err := p.namespaceFlag()
	if err != nil {
		return err
	}
	hub, err := p.hub()
	if err != nil {
		return err
	}
	app := &v1.EcommerceApp{}
	if err := hub.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, app); err != nil {
		return hint.IfNotFound(fmt.Errorf("getting EcommerceApp %q: %w", name, err), "List all: kubectl shopfleet status -A")
	}
	return (&list{
		Program: p, hub: hub, output: output, kind: &appsv1.ControllerRevisionList{},
		options: revisionsOf(namespace, name),
		keep:    func(o client.Object) bool { return metav1.IsControlledBy(o, app) },
		empty:   "EcommerceApp " + name + " has no revisions: define spec.rollout to keep some.",
		render: func(objects []client.Object, now time.Time) *metav1.Table {
			found := itemsOf[appsv1.ControllerRevision](objects)
			if output.sortBy() == "" {
				slices.SortFunc(found, func(a, b appsv1.ControllerRevision) int { return cmp.Compare(b.Revision, a.Revision) })
			}
			return printers.Revisions(app, found, now)
		},
	}).run(ctx)
}

// revisionsOf selects the revisions of an application, or of a former one of its name.
func revisionsOf(namespace, name string) []client.ListOption {
	return []client.ListOption{client.InNamespace(namespace), client.MatchingLabels{v1.ManagedByLabel: v1.ManagedBy, v1.InstanceLabel: name}}
}
