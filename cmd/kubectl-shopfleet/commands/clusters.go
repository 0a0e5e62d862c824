package commands

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
)

// clusters is the command that lists the fleet.
type clusters struct {
	*session
	output   *output
	selector string
	watch    bool
	names    []string
}

func (s *session) clustersCommand() *cobra.Command {
	c := &clusters{session: s}
	cmd := &cobra.Command{
		Use:     "clusters [NAME ...]",
		Aliases: []string{"cluster", "members"},
		Short:   "List the clusters of the fleet and whether they are ready",
		Example: `  kubectl shopfleet clusters
  kubectl shopfleet clusters -o wide
  kubectl shopfleet clusters -w`,
		ValidArgsFunction: s.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.names = args
			return c.run(cmd.Context())
		},
	}
	c.output = newOutput(cmd, "")
	cmd.Flags().StringVarP(&c.selector, "selector", "l", "", "Only clusters with these labels, for example tier=prod")
	cmd.Flags().BoolVarP(&c.watch, "watch", "w", false, "Show changes until interrupted")
	return cmd
}

func (c *clusters) run(ctx context.Context) error {
	if err := c.output.check(); err != nil {
		return err
	}
	selector, err := labels.Parse(c.selector)
	if err != nil {
		return &usageError{fmt.Errorf("--selector: %w", err)}
	}
	hub, err := c.hub()
	if err != nil {
		return err
	}
	show := &list{
		session: c.session, hub: hub, output: c.output, watch: c.watch, kind: &v1.MemberClusterList{},
		options: []client.ListOption{client.MatchingLabelsSelector{Selector: selector}},
		keep:    named(c.names),
		single:  len(c.names) == 1,
		empty:   "No clusters: kubectl shopfleet join NAME --member-kubeconfig FILE",
		missing: missing("cluster", c.names),
		render:  c.render,
	}
	return show.run(ctx)
}

func (c *clusters) render(objects []client.Object, now time.Time) string {
	items := make([]v1.MemberCluster, 0, len(objects))
	for _, o := range objects {
		if member, ok := o.(*v1.MemberCluster); ok {
			items = append(items, *member)
		}
	}
	return printers.Clusters(items, printers.Options{Now: now, Wide: c.output.wide()}).Text()
}
