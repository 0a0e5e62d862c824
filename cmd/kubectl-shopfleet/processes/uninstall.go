package processes

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/manifests"
	"github.com/shopfleet/shopfleet/config"
)

// uninstalling is the command that removes a process.
type uninstalling struct {
	Session
	definitions bool
	wait        time.Duration
	dryRun      dryRun
}

func (s Session) uninstall() *cobra.Command {
	c := &uninstalling{Session: s}
	cmd := &cobra.Command{
		Use:   "uninstall hub|spoke",
		Short: "Remove the hub or a spoke from a cluster; shops go on running",
		Long: `Remove the hub or a spoke from a cluster; shops go on running.

Deletes the Deployment, the account, its permissions and what is around them. Shops,
members, registrations, the namespace and the definitions stay, so that an
installation later takes up where this one ended.

--delete-definitions deletes the definitions too, and refuses while one object of
theirs is left: with a definition go all its objects, and all that they run.`,
		Example: `  kubectl shopfleet uninstall hub
  kubectl shopfleet uninstall spoke --context lab --dry-run=server`,
		Args:              argument,
		ValidArgsFunction: cobra.FixedCompletions(names(), cobra.ShellCompDirectiveNoFileComp),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().BoolVar(&c.definitions, "delete-definitions", false, "Delete the definitions too, if they have no objects")
	cmd.Flags().DurationVar(&c.wait, "wait", time.Minute, "How long to wait until the pods have ended; 0 does not wait")
	c.dryRun.add(cmd, "none, or "+serverTries)
	return cmd
}

func (c *uninstalling) run(ctx context.Context, name string) error {
	if c.wait < 0 {
		return wrong("--wait %s: must not be negative", c.wait)
	}
	if err := c.dryRun.check(dryRunNone, dryRunServer); err != nil {
		return err
	}
	p := process{c.Session, config.Set(name)}
	objects, err := p.set.Install(config.Installation{Namespace: p.place()})
	if err != nil {
		return fmt.Errorf("reading the manifests of the %s: %w", name, err)
	}
	plan := manifests.Plan{Objects: append(objects, p.lease()), DryRun: c.dryRun == dryRunServer}
	at, err := c.Connect()
	if err != nil {
		return err
	}
	if c.definitions {
		// Before anything is deleted: the process is needed to delete what is left.
		if err := plan.CheckUnused(ctx, at.Client); err != nil {
			return err
		}
	}
	if err := c.remove(ctx, p, at, plan); err != nil {
		return err
	}
	c.say("%s", p.remains(c.definitions))
	return nil
}

// remove stops the process and then takes its permissions away.
func (c *uninstalling) remove(ctx context.Context, p process, at Target, plan manifests.Plan) error {
	if err := c.delete(ctx, at, plan.Deployments()); err != nil {
		return err
	}
	if c.wait > 0 && !plan.DryRun {
		if err := c.await(ctx, p, at); err != nil {
			return err
		}
	}
	if err := c.delete(ctx, at, plan.Surroundings()); err != nil || !c.definitions {
		return err
	}
	if err := c.delete(ctx, at, plan.Definitions()); err != nil || c.wait == 0 || plan.DryRun {
		return err
	}
	return c.During("waiting for the definitions to go", func() error { return plan.Definitions().Gone(ctx, at.Client) })
}

func (c *uninstalling) delete(ctx context.Context, at Target, plan manifests.Plan) error {
	return c.During("deleting in "+at.Host, func() error {
		return plan.Remove(ctx, at.Client, c.report)
	})
}

func (c *uninstalling) await(ctx context.Context, p process, at Target) error {
	ctx, cancel := context.WithTimeout(ctx, c.wait)
	defer cancel()
	return c.During("waiting for the pods to end", func() error { return p.follow(at).Gone(ctx) })
}

// lease is what the process leaves behind on its own.
func (p process) lease() *unstructured.Unstructured {
	if p.set == config.Spoke {
		return manifests.Lease(p.place(), config.SpokeLease)
	}
	return manifests.Lease(p.place(), p.name())
}

// remains says what is left in the cluster, and what that means.
func (p process) remains(definitions bool) string {
	stays := "Left: namespace " + p.place()
	if !definitions {
		stays += ", the definitions and all their objects"
	}
	if p.set == config.Hub {
		stays += ", and the registrations of the members. Shops go on running in the members, where nobody updates them now"
		if !definitions {
			stays += "; what is deleted on the hub stays in the list until a hub is installed again"
		}
		return stays + "."
	}
	return stays + ". Shops go on running, and nobody repairs or updates them now."
}
