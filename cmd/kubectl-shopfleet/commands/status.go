package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
)

// status is the command that shows shops.
type status struct {
	*session
	output        *output
	selector      string
	allNamespaces bool
	watch         bool
	untilReady    bool
	timeout       time.Duration

	app string
	in  string
}

func (s *session) statusCommand() *cobra.Command {
	c := &status{session: s}
	cmd := &cobra.Command{
		Use:     "status [APP]",
		Aliases: []string{"apps", "app"},
		Short:   "Show shops, or one shop in every region, cluster and component",
		Long: `Show shops, or one shop in every region, cluster and component.

AGE is how long ago the cluster's line last changed; with (stale) the cluster does
not answer, and AGE is how long ago it was last heard of.`,
		Example: `  kubectl shopfleet status -A
  kubectl shopfleet status my-ecommerce-app -n production
  kubectl shopfleet status my-ecommerce-app -n production -w
  kubectl shopfleet status my-ecommerce-app -n production --until-ready --timeout 2m`,
		Args:              usage(cobra.MaximumNArgs(1)),
		ValidArgsFunction: s.completeApps,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.app = strings.Join(args, "")
			return c.run(cmd.Context())
		},
	}
	c.output = newOutput(cmd, "")
	cmd.Flags().StringVarP(&c.selector, "selector", "l", "", "Only shops with these labels")
	cmd.Flags().BoolVarP(&c.allNamespaces, "all-namespaces", "A", false, "Shops of all namespaces")
	cmd.Flags().BoolVarP(&c.watch, "watch", "w", false, "Show changes until interrupted")
	cmd.Flags().BoolVar(&c.untilReady, "until-ready", false, "Show changes until the shop is ready as its spec now says")
	cmd.Flags().DurationVar(&c.timeout, "timeout", 0, "With --until-ready: give up after this time; 0 never does")
	return cmd
}

func (c *status) run(ctx context.Context) error {
	if err := c.output.check(); err != nil {
		return err
	}
	selector, err := labels.Parse(c.selector)
	if err != nil {
		return &usageError{fmt.Errorf("--selector: %w", err)}
	}
	if c.untilReady && c.app == "" {
		return &usageError{errors.New("--until-ready needs the name of a shop")}
	}
	hub, err := c.hub()
	if err != nil {
		return err
	}
	if !c.allNamespaces {
		if c.in, _, err = c.flags.ToRawKubeConfigLoader().Namespace(); err != nil {
			return fmt.Errorf("reading the namespace: %w", err)
		}
	}
	options := []client.ListOption{client.InNamespace(c.in), client.MatchingLabelsSelector{Selector: selector}}
	if c.app != "" {
		options = append(options, client.MatchingFields{"metadata.name": c.app})
	}
	show := &list{
		session: c.session, hub: hub, output: c.output, watch: c.watch || c.untilReady,
		kind: &v1.EcommerceAppList{}, options: options, keep: named(nil), single: c.app != "" && !c.allNamespaces,
		empty: c.empty(), missing: c.missing(hub), render: c.render,
	}
	if !c.untilReady {
		return show.run(ctx)
	}
	show.enough = ready
	return c.bounded(ctx, show)
}

// bounded gives up when the time is over.
func (c *status) bounded(ctx context.Context, show *list) error {
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	err := show.run(ctx)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() != nil {
		return hint.With(fmt.Errorf("shop %q: %w: %s", c.app, errNotReadyInTime, c.timeout),
			fmt.Sprintf("See why: kubectl describe ecommerceapp %s -n %s", c.app, c.in))
	}
	return err
}

func (c *status) empty() string {
	switch {
	case c.app != "":
		return fmt.Sprintf("No shop %q yet.", c.app)
	case c.in == "":
		return "No shops."
	}
	return fmt.Sprintf("No shops in namespace %q; -A shows those of all namespaces.", c.in)
}

// missing says where a shop is that is not where it was looked for.
func (c *status) missing(hub *cluster) func(context.Context, []client.Object) error {
	return func(ctx context.Context, objects []client.Object) error {
		if c.app == "" || len(objects) > 0 {
			return nil
		}
		err := fmt.Errorf("shop %q in namespace %q: %w", c.app, c.in, errNotFound)
		elsewhere := &v1.EcommerceAppList{}
		if hub.client.List(ctx, elsewhere, client.MatchingFields{"metadata.name": c.app}) == nil && len(elsewhere.Items) > 0 {
			return hint.With(err, "There is one in another namespace: add -n "+elsewhere.Items[0].Namespace)
		}
		return hint.With(err, "See all: kubectl shopfleet status -A")
	}
}

func (c *status) render(objects []client.Object, now time.Time) string {
	options := printers.Options{Now: now, Wide: c.output.wide(), AllNamespaces: c.allNamespaces}
	apps := make([]v1.EcommerceApp, 0, len(objects))
	for _, o := range objects {
		if app, ok := o.(*v1.EcommerceApp); ok {
			apps = append(apps, *app)
		}
	}
	if c.app == "" {
		return printers.Apps(apps, options).Text()
	}
	var b strings.Builder
	for i := range apps {
		app := &apps[i]
		b.WriteString(printers.Headline(app) + "\n" + printers.App(app, options).Text())
		if c.output.wide() || len(app.Status.Clusters) == 0 {
			b.WriteString(printers.Rejected(app).Text())
		}
	}
	return b.String()
}

// ready tells whether the one shop is ready as its spec now says.
func ready(objects []client.Object) bool {
	if len(objects) != 1 {
		return false
	}
	app, ok := objects[0].(*v1.EcommerceApp)
	if !ok || app.Status.ObservedGeneration != app.Generation {
		return false
	}
	condition := meta.FindStatusCondition(app.Status.Conditions, v1.ConditionReady)
	return condition != nil && condition.Status == metav1.ConditionTrue
}
