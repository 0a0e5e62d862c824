package commands

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
)

// clusters is the command that lists MemberClusters.
type clusters struct {
	*Program
	output   *output
	selector string
	watch    bool
	names    []string
}

func (p *Program) clustersCommand() *cobra.Command {
	c := &clusters{Program: p}
	cmd := &cobra.Command{
		Use:     "clusters [MEMBER...]",
		Aliases: []string{"cluster", "members"},
		Short:   "List the MemberClusters of the fleet and whether they are ready",
		Example: `  kubectl shopfleet clusters
  kubectl shopfleet clusters -o wide
  kubectl shopfleet clusters -w`,
		ValidArgsFunction: p.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.names = args
			return c.run(cmd.Context())
		},
	}
	c.output = newOutput(cmd, wide)
	cmd.Flags().StringVarP(&c.selector, "selector", "l", "", "Label selector, for example tier=prod")
	cmd.Flags().BoolVarP(&c.watch, "watch", "w", false, "Show changes until you interrupt the command")
	return cmd
}

func (c *clusters) run(ctx context.Context) error {
	if err := c.output.check(); err != nil {
		return err
	}
	selector, err := labels.Parse(c.selector)
	if err != nil {
		return usagef("--selector: %w", err)
	}
	hub, err := c.hub()
	if err != nil {
		return err
	}
	show := &list{
		Program: c.Program, hub: hub, output: c.output, watch: c.watch, kind: &v1.MemberClusterList{},
		options: []client.ListOption{client.MatchingLabelsSelector{Selector: selector}},
		keep:    func(o client.Object) bool { return len(c.names) == 0 || slices.Contains(c.names, o.GetName()) },
		single:  len(c.names) == 1,
		empty:   "No clusters. Join one: kubectl shopfleet join MEMBER --member-kubeconfig FILE",
		missing: c.missing,
		render: func(objects []client.Object, now time.Time) string {
			return printers.Clusters(itemsOf[v1.MemberCluster](objects), printers.Options{Now: now, Wide: c.output.wide()})
		},
	}
	return show.run(ctx)
}

// missing returns an error for the first name that is not among the objects.
func (c *clusters) missing(_ context.Context, objects []client.Object) error {
	for _, name := range c.names {
		if !slices.ContainsFunc(objects, func(o client.Object) bool { return o.GetName() == name }) {
			return hint.With(fmt.Errorf("finding MemberCluster %q: %w", name, errNotFound), "List all: kubectl shopfleet clusters")
		}
	}
	return nil
}
