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

// status is the command that shows EcommerceApps.
type status struct {
	*Program
	output        *output
	selector      string
	allNamespaces bool
	watch         bool
	untilReady    bool
	timeout       time.Duration

	app       string
	namespace string
}

func (p *Program) statusCommand() *cobra.Command {
	c := &status{Program: p}
	cmd := &cobra.Command{
		Use:     "status [APP]",
		Aliases: []string{"apps", "app"},
		Short:   "Show EcommerceApps, or one of them by region, cluster and component",
		Long: `Show EcommerceApps, or one of them by region, cluster and component.

AGE is the time since the status in the cluster last changed. A cluster marked (stale)
does not answer: its AGE is the time since it last did, and its components are shown as
not ready.`,
		Example: `  kubectl shopfleet status -A
  kubectl shopfleet status my-ecommerce-app -n production
  kubectl shopfleet status my-ecommerce-app -n production -w
  kubectl shopfleet status my-ecommerce-app -n production --until-ready --timeout 2m`,
		Args:              usage(cobra.MaximumNArgs(1)),
		ValidArgsFunction: p.completeApps,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.app = strings.Join(args, "")
			return c.run(cmd.Context())
		},
	}
	c.output = newOutput(cmd, wide)
	cmd.Flags().StringVarP(&c.selector, "selector", "l", "", "Label selector, for example tier=prod")
	cmd.Flags().BoolVarP(&c.allNamespaces, "all-namespaces", "A", false, "List the EcommerceApps of all namespaces")
	cmd.Flags().BoolVarP(&c.watch, "watch", "w", false, "Show changes until you interrupt the command")
	cmd.Flags().BoolVar(&c.untilReady, "until-ready", false, "Show changes until the EcommerceApp is ready with its current spec")
	cmd.Flags().DurationVar(&c.timeout, "timeout", 0, "With --until-ready: how long to wait; 0 waits forever")
	return cmd
}

func (s *status) run(ctx context.Context) error {
	if err := s.output.check(); err != nil {
		return err
	}
	selector, err := labels.Parse(s.selector)
	if err != nil {
		return usagef("--selector: %w", err)
	}
	if s.untilReady && s.app == "" {
		return usagef("--until-ready requires the name of an EcommerceApp")
	}
	hub, err := s.hub()
	if err != nil {
		return err
	}
	if !s.allNamespaces {
		if s.namespace, err = s.namespaceFlag(); err != nil {
			return err
		}
	}
	options := []client.ListOption{client.InNamespace(s.namespace), client.MatchingLabelsSelector{Selector: selector}}
	if s.app != "" {
		options = append(options, client.MatchingFields{"metadata.name": s.app})
	}
	show := &list{
		Program: s.Program, hub: hub, output: s.output, watch: s.watch || s.untilReady,
		kind: &v1.EcommerceAppList{}, options: options, single: s.app != "" && !s.allNamespaces,
		empty: s.empty(), missing: s.missing(hub), render: s.render,
	}
	if !s.untilReady {
		return show.run(ctx)
	}
	show.enough = ready
	return s.runUntilReady(ctx, show)
}

func (s *status) runUntilReady(ctx context.Context, show *list) error {
	if s.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.timeout, errTimeout)
		defer cancel()
	}
	err := show.run(ctx)
	if errors.Is(err, errTimeout) {
		return hint.With(fmt.Errorf("EcommerceApp %q is not ready: %w after %s", s.app, err, s.timeout),
			fmt.Sprintf("See why: kubectl describe ecommerceapp %s -n %s", s.app, s.namespace))
	}
	return err
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

func (s *status) render(objects []client.Object, now time.Time) string {
	options := printers.Options{Now: now, Wide: s.output.wide(), AllNamespaces: s.allNamespaces}
	apps := itemsOf[v1.EcommerceApp](objects)
	if s.app == "" {
		return printers.Apps(apps, options)
	}
	var b strings.Builder
	for i := range apps {
		b.WriteString(printers.App(&apps[i], options))
	}
	return b.String()
}

// ready reports whether the only object is an EcommerceApp that is ready with its current spec.
func ready(objects []client.Object) bool {
	if len(objects) != 1 {
		return false
	}
	app, ok := objects[0].(*v1.EcommerceApp)
	return ok && app.Status.ObservedGeneration == app.Generation &&
		meta.IsStatusConditionPresentAndEqual(app.Status.Conditions, v1.ConditionReady, metav1.ConditionTrue)
}
