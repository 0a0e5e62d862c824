package commands

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
)

// status is the command that shows EcommerceApps.
type status struct {
	*Program
	output *output
	listFlags

	regions []string

	app       string
	namespace string
}

func (p *Program) statusCommand() *cobra.Command {
	c := &status{Program: p}
	cmd := &cobra.Command{
		Use:   "status [APP]",
		Short: "Show EcommerceApps, or one of them by region and cluster",
		Long: `Show EcommerceApps, or one of them by region and cluster.

-o wide shows the components in each cluster, and which clusters the placement rejected.
With APP, -w prints each cluster again when something but its AGE changes.

AGE is the time since the status in the cluster last changed, and that of a region the
oldest of its clusters. A cluster marked (stale) does not answer: its AGE is the time since
it last did, and it is shown as not ready.`,
		Example: `  kubectl shopfleet status -A
  kubectl shopfleet status my-ecommerce-app -n production
  kubectl shopfleet status my-ecommerce-app -n production -o wide --region eu-west-1
  kubectl shopfleet status my-ecommerce-app -n production -w`,
		Args:              usage(cobra.MaximumNArgs(1)),
		ValidArgsFunction: p.completeApps,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.app = strings.Join(args, "")
			return c.run(cmd.Context())
		},
	}
	c.output = newListOutput(cmd)
	c.add(cmd)
	cmd.Flags().StringSliceVar(&c.regions, "region", nil, "With APP: only this `REGION`; repeat it for more; default: all regions")
	return cmd
}

func (s *status) run(ctx context.Context) error {
	if err := s.check(); err != nil {
		return err
	}
	namespace, options, err := s.options(s.Program)
	if err != nil {
		return err
	}
	s.namespace = namespace
	hub, err := s.hub()
	if err != nil {
		return err
	}
	if s.app != "" {
		options = append(options, client.MatchingFields{"metadata.name": s.app})
	}
	show := &list{
		Program: s.Program, hub: hub, output: s.output, watch: s.watch,
		kind: &v1.EcommerceAppList{}, options: options, single: s.app != "" && !s.allNamespaces,
		empty: s.empty(), missing: s.missing(hub), allNamespaces: s.allNamespaces,
		render: func(objects []client.Object, now time.Time) *metav1.Table {
			return printers.Apps(itemsOf[v1.EcommerceApp](objects), now)
		},
	}
	if s.app != "" {
		show.detail, show.changes = s.detail, s.changes()
	}
	return show.run(ctx)
}

// check rejects flags that would be ignored.
func (s *status) check() error {
	if err := s.output.check(); err != nil {
		return err
	}
	flag := s.output.rowFlag()
	switch {
	case s.app == "" && len(s.regions) > 0:
		return usagef("--region requires the name of an EcommerceApp")
	case s.app == "":
		return nil
	case len(s.regions) > 0 && !s.output.text():
		return usagef("--region cannot be used with --output %s, which prints the whole EcommerceApp", s.output.format())
	case s.fields != "":
		return usagef("--field-selector cannot be used with a name")
	case flag != "":
		return usagef("%s cannot be used with a name: it is for a list", flag)
	}
	return nil
}

func (s *status) empty() string {
	switch {
	case s.app != "":
		return fmt.Sprintf("No EcommerceApp %q yet.", s.app)
	case s.namespace == "":
		return "No EcommerceApps."
	}
	return fmt.Sprintf("No EcommerceApps in namespace %q. List those of all namespaces with -A.", s.namespace)
}

// missing returns an error if there is no EcommerceApp of the name, with a hint to
// another namespace that has one.
func (s *status) missing(hub *cluster) func(context.Context, []client.Object) error {
	return func(ctx context.Context, objects []client.Object) error {
		if s.app == "" || len(objects) > 0 {
			return nil
		}
		err := fmt.Errorf("finding EcommerceApp %q in namespace %q: %w", s.app, s.namespace, errNotFound)
		elsewhere := &v1.EcommerceAppList{}
		if hub.client.List(ctx, elsewhere, client.MatchingFields{"metadata.name": s.app}) == nil && len(elsewhere.Items) > 0 {
			return hint.With(err, "There is one in another namespace: add -n "+elsewhere.Items[0].Namespace)
		}
		return hint.With(err, "List all: kubectl shopfleet status -A")
	}
}

// changes returns a function that lists the clusters of the EcommerceApps of a name that have changed since the last call. It
// returns nil where there are none, as of a copy in its member.
func (s *status) changes() func([]client.Object, time.Time) *metav1.Table {
	before := map[string]string{}
	return func(objects []client.Object, now time.Time) *metav1.Table {
		var all *metav1.Table
		for _, app := range itemsOf[v1.EcommerceApp](objects) {
			if len(app.Status.Clusters) == 0 {
				continue
			}
			t := printers.Changed(printers.Clusters(&app, printers.Options{Now: now, Regions: s.regions}), before)
			if all != nil {
				t.Rows = append(all.Rows, t.Rows...)
			}
			all = t
		}
		return all
	}
}

// detail describes the EcommerceApps of a name.
func (s *status) detail(objects []client.Object, now time.Time) string {
	var b strings.Builder
	for _, app := range itemsOf[v1.EcommerceApp](objects) {
		b.WriteString(printers.App(&app, printers.Options{Now: now, Wide: s.output.wide(), NoHeaders: *s.output.get.NoHeaders, Regions: s.regions}))
	}
	return b.String()
}
