package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/installer"
	"github.com/shopfleet/shopfleet/config"
)

// uninstall is the command that removes the hub or a spoke.
type uninstall struct {
	*Program
	output       *output
	definitions  bool
	wait         waitFlags
	dryRun       dryRun
	confirmation confirmation
}

func (p *Program) uninstallCommand() *cobra.Command {
	c := &uninstall{Program: p}
	cmd := &cobra.Command{
		Use:   "uninstall hub|spoke",
		Short: "Remove the hub or a spoke; EcommerceApps keep running",
		Long: `Remove the hub or a spoke; EcommerceApps keep running.

Deletes the Deployment, its ServiceAccount, RBAC and what else belongs to it. The
Namespace, registration Secrets, CRDs and their objects stay, so that you can install it
again later.

In a member of a fleet the spoke is the agent of the hub: use unjoin --delete-agent there.

--delete-definitions also deletes the CRDs. It fails if one of them still has an object,
because deleting a CRD deletes all its objects and what they run.`,
		Example: `  kubectl shopfleet uninstall hub
  kubectl shopfleet uninstall hub --dry-run=server --delete-definitions
  kubectl shopfleet uninstall spoke --context lab`,
		Args:              hubOrSpoke,
		ValidArgsFunction: first(cobra.FixedCompletions(sets(), cobra.ShellCompDirectiveNoFileComp)),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), config.Set(args[0])) },
	}
	c.output = newOutput(cmd)
	cmd.Flags().BoolVar(&c.definitions, "delete-definitions", false, "Delete the CRDs too, if they have no objects")
	c.wait.add(cmd, time.Minute, "the pods have stopped and the CRDs, if they are deleted, are gone")
	c.dryRun.add(cmd)
	c.confirmation.add(cmd, " of --delete-definitions")
	return cmd
}

func (u *uninstall) run(ctx context.Context, set config.Set) error {
	if err := errors.Join(u.output.check(), u.wait.check(), u.checkNamespace()); err != nil {
		return err
	}
	objects, err := set.Install(config.Installation{Namespace: u.namespace})
	if err != nil {
		return fmt.Errorf("reading the manifests of the %s: %w", set, err)
	}
	plan := installer.Plan{
		Objects: append(objects, installer.Lease(u.namespace, leaseName(set))),
		DryRun:  u.dryRun == dryRunServer,
	}.WithInventory(u.namespace, inventoryName(set)).Complete()
	at, err := u.hub()
	if err != nil {
		return err
	}
	if u.definitions {
		// Before anything is deleted: the controller has to finalize the objects that are left.
		if err := plan.CheckUnused(ctx, at.client); err != nil {
			return err
		}
	}
	what := fmt.Sprintf("remove the %s from namespace %s of %s", set, u.namespace, at.config.Host)
	if u.definitions {
		what += ", and its CRDs"
	}
	if confirmed, err := u.confirmation.confirm(ctx, u.Program, question{"uninstall", what, u.definitions, u.dryRun}); err != nil || !confirmed {
		return err
	}
	if err := u.remove(ctx, at, set, plan); err != nil || u.dryRun != dryRunNone {
		return err
	}
	u.say("%s", u.remains(set))
	return nil
}

// remove stops the pods, and then deletes their permissions.
func (u *uninstall) remove(ctx context.Context, at *cluster, set config.Set, plan installer.Plan) error {
	if err := u.delete(ctx, at, plan.Deployments()); err != nil {
		return err
	}
	if u.wait.enabled && u.dryRun == dryRunNone {
		if err := u.awaitGone(ctx, at, set); err != nil {
			return err
		}
	}
	if err := u.prune(ctx, at, plan); err != nil {
		return err
	}
	if err := u.delete(ctx, at, plan.Surroundings()); err != nil || !u.definitions {
		return err
	}
	if err := u.delete(ctx, at, plan.Definitions()); err != nil || !u.wait.enabled || u.dryRun != dryRunNone {
		return err
	}
	return u.awaitDefinitions(ctx, at, plan)
}

// awaitDefinitions waits until the CRDs are deleted.
func (u *uninstall) awaitDefinitions(ctx context.Context, at *cluster, plan installer.Plan) error {
	ctx, cancel := u.wait.limit(ctx, nil)
	defer cancel()
	return u.during("waiting for the CRDs to be deleted", func() error { return plan.Definitions().Gone(ctx, at.client) })
}

// prune deletes what former versions have installed.
func (u *uninstall) prune(ctx context.Context, at *cluster, plan installer.Plan) error {
	if u.dryRun == dryRunClient {
		return nil
	}
	return plan.Prune(ctx, at.client, u.output.results(u.Program))
}

func (u *uninstall) delete(ctx context.Context, at *cluster, plan installer.Plan) error {
	report := u.output.results(u.Program)
	if u.dryRun == dryRunClient {
		return plan.Reversed().Preview(installer.Deleted, report)
	}
	return u.during("deleting in "+at.config.Host, func() error { return plan.Remove(ctx, at.client, report) })
}

func (u *uninstall) awaitGone(ctx context.Context, at *cluster, set config.Set) error {
	rollout, err := u.rollout(at, set)
	if err != nil {
		return err
	}
	ctx, cancel := u.wait.limit(ctx, nil)
	defer cancel()
	return u.during("waiting for the pods to stop", func() error { return rollout.Gone(ctx) })
}

// remains describes what is left in the cluster.
func (u *uninstall) remains(set config.Set) string {
	text := "Left: Namespace " + u.namespace
	if !u.definitions {
		text += ", the CRDs and their objects"
	}
	if set == config.Spoke {
		text += ". EcommerceApps keep running, but are no longer updated or repaired"
		if !u.definitions {
			text += ". Those that you delete are finalized when you install a spoke again, or remove their finalizer " + v1.SpokeFinalizer
		}
		return text + "."
	}
	text += ", and the registration Secrets. EcommerceApps keep running in the members, but are no longer updated"
	if !u.definitions {
		text += ". Objects that you delete are finalized when you install the hub again"
	}
	return text + "."
}
