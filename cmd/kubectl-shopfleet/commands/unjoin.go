package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/join"
)

// unjoin is the command that removes clusters from the fleet.
type unjoin struct {
	*Program
	output      *output
	chosen      selection
	member      memberFlags
	revoke      bool
	deleteAgent bool
	wait        waitFlags
	dryRun      dryRun

	confirmation confirmation
}

func (p *Program) unjoinCommand() *cobra.Command {
	c := &unjoin{Program: p}
	cmd := &cobra.Command{
		Use:   "unjoin MEMBER...",
		Short: "Remove clusters from the fleet; what runs there stays",
		Long: `Remove clusters from the fleet; what runs there stays.

Deletes the registration Secret and the MemberCluster on the hub. Nothing on a member
changes: its EcommerceApps keep running, but the hub no longer updates or repairs them. An
agent keeps repairing them. To remove EcommerceApps from the member, change their
placement first.

With --revoke and the kubeconfig of the member it also deletes the hub's ServiceAccount,
permissions, admission policies and record there, which invalidates the token at once and
lets another hub manage the member, and removes the finalizer of the EcommerceApps that the
hub managed, so that you can delete them: their volumes stay. Without it, remove the
finalizer of one before you delete it there:

  kubectl patch ecommerceapp APP -n NAMESPACE --type=merge -p '{"metadata":{"finalizers":null}}'

With --delete-agent it deletes the agent, which is a spoke, unless that still runs
EcommerceApps of the fleet.`,
		Example: `  kubectl shopfleet unjoin eu-1
  kubectl shopfleet unjoin -l tier=test --dry-run=server
  kubectl shopfleet unjoin eu-1 --revoke --member-kubeconfig eu.kubeconfig`,
		Args:              usage(cobra.ArbitraryArgs),
		ValidArgsFunction: p.completeClusters,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.output = newOutput(cmd)
	c.chosen.add(cmd)
	c.member.add(cmd, "for one member, with --revoke or --delete-agent")
	cmd.Flags().BoolVar(&c.revoke, "revoke", false, "Delete the hub's ServiceAccount and permissions on the member")
	cmd.Flags().BoolVar(&c.deleteAgent, "delete-agent", false, "Delete the agent, if it no longer runs EcommerceApps of the fleet")
	c.wait.add(cmd, 30*time.Second, "the hub has removed its finalizer")
	c.dryRun.add(cmd)
	c.confirmation.add(cmd, "")
	return cmd
}

func (u *unjoin) check(names []string) error {
	switch {
	case (u.revoke || u.deleteAgent) != (u.member.kubeconfig != ""):
		return usagef("--revoke and --delete-agent require --member-kubeconfig, which requires one of them")
	case u.member.kubeconfig != "" && len(names) != 1:
		return usagef("--member-kubeconfig is for one member: name it")
	}
	return errors.Join(u.output.check(), u.wait.check(), u.chosen.check(names))
}

func (u *unjoin) run(ctx context.Context, names []string) error {
	if err := u.check(names); err != nil {
		return err
	}
	hub, err := u.hub()
	if err != nil {
		return err
	}
	registry := join.Hub{Client: hub.client, Namespace: u.namespace}
	leaving, err := u.find(ctx, registry, hub, names)
	if err != nil || len(leaving) == 0 {
		return err
	}
	var agent join.Agent
	if u.revoke || u.deleteAgent {
		// Verified before anything is deleted: another cluster must not lose its permissions.
		if agent, err = u.verified(ctx, registry, leaving[0]); err != nil {
			return err
		}
	}
	asked := question{"unjoin", u.action(leaving), true, u.dryRun}
	if confirmed, err := u.confirmation.confirm(ctx, u.Program, asked); err != nil || !confirmed {
		return err
	}
	leaving, err = u.remove(ctx, hub, leaving)
	for _, l := range leaving {
		err = errors.Join(err, u.finish(ctx, hub, l, agent))
	}
	return err
}

// find returns the members that the user named or selected. If one of them is none, no member is removed.
func (u *unjoin) find(ctx context.Context, registry join.Hub, hub *cluster, names []string) ([]join.Leaving, error) {
	names, err := u.chosen.names(ctx, &list{Program: u.Program, hub: hub, kind: &v1.MemberClusterList{}}, names)
	if err != nil {
		return nil, err
	}
	var leaving []join.Leaving
	for _, name := range unique(slices.Clone(names)) {
		l, err := registry.Find(ctx, name)
		if err != nil {
			return nil, err
		}
		leaving = append(leaving, l)
	}
	return leaving, nil
}

// action describes what the command is about to do.
func (u *unjoin) action(leaving []join.Leaving) string {
	names := make([]string, 0, len(leaving))
	for _, l := range leaving {
		names = append(names, l.Name)
	}
	text := fmt.Sprintf("remove %d members from the fleet: %s", len(names), strings.Join(names, ", "))
	if len(names) == 1 {
		text = "remove member " + names[0] + " from the fleet"
	}
	if u.deleteAgent {
		text += ", delete its agent"
	}
	if u.revoke {
		text += ", delete the hub's ServiceAccount and permissions there"
	}
	return text
}

// remove deletes members from the hub, and returns those that it has deleted. One that cannot be deleted does not keep the
// others from it.
func (u *unjoin) remove(ctx context.Context, hub *cluster, leaving []join.Leaving) (removed []join.Leaving, failed error) {
	if u.dryRun == dryRunClient {
		return leaving, nil
	}
	registry := join.Hub{Client: u.dryRun.client(hub.client), Namespace: u.namespace}
	failed = u.during("deleting on the hub", func() (failed error) {
		for _, l := range leaving {
			err := registry.Remove(ctx, l)
			if failed = errors.Join(failed, err); err == nil {
				removed = append(removed, l)
			}
		}
		return failed
	})
	return removed, failed
}

// finish waits until a member has left, deletes what the flags name from it, and prints what was done.
func (u *unjoin) finish(ctx context.Context, hub *cluster, l join.Leaving, agent join.Agent) error {
	if u.dryRun != dryRunClient {
		if err := u.awaitGone(ctx, hub, l.Name); err != nil {
			return err
		}
		if err := u.clean(ctx, agent); err != nil {
			return err
		}
	}
	return u.report(l, hub)
}

// clean deletes what the flags name on the member.
func (u *unjoin) clean(ctx context.Context, agent join.Agent) error {
	if u.deleteAgent {
		if err := u.during("deleting the agent", func() error { return agent.Remove(ctx) }); err != nil {
			return err
		}
	}
	if !u.revoke {
		return nil
	}
	agent.Member.Client = u.dryRun.client(agent.Member.Client)
	if err := u.during("revoking permissions on the member", func() error { return agent.Member.Revoke(ctx) }); err != nil {
		return err
	}
	u.say("deleted the hub's ServiceAccount and permissions on %s%s", agent.Member.Config.Host, u.dryRun.suffix())
	released := 0
	err := u.during("removing finalizers on the member", func() (err error) {
		released, err = agent.Member.Release(ctx)
		return err
	})
	if released > 0 {
		u.say("removed the finalizer of the EcommerceApps there (%d): you can delete them%s", released, u.dryRun.suffix())
	}
	return err
}

// verified connects to the member. It returns an error if that is another cluster, or
// if the agent is to be deleted and still needed.
func (u *unjoin) verified(ctx context.Context, registry join.Hub, l join.Leaving) (agent join.Agent, err error) {
	member, err := u.member.connect(u.Program)
	if err != nil {
		return agent, err
	}
	if agent, err = u.agent(member, ""); err != nil {
		return agent, err
	}
	agent.DryRun = u.dryRun == dryRunServer
	at, err := join.EndpointOf(member.config, "")
	if err != nil {
		return agent, err
	}
	return agent, u.during("identifying the member", func() error {
		hub, err := registry.UID(ctx)
		if err != nil {
			return err
		}
		uid, err := join.Identity(ctx, member.client)
		if err != nil {
			return fmt.Errorf("identifying the member: %w", err)
		}
		if err := l.Verify(hub, uid, at); err != nil || !u.deleteAgent {
			return err
		}
		return agent.CheckUnused(ctx)
	})
}

func (u *unjoin) awaitGone(ctx context.Context, hub *cluster, name string) error {
	if !u.wait.enabled || u.dryRun != dryRunNone {
		return nil
	}
	query, err := hub.query(u.retrying)
	if err != nil {
		return err
	}
	ctx, cancel := u.wait.limit(ctx, nil)
	defer cancel()
	return u.during("waiting for the hub to remove its finalizer", func() error {
		return join.Waiting{Query: query, Name: name}.Gone(ctx)
	})
}

func (u *unjoin) report(l join.Leaving, hub *cluster) error {
	gone := &v1.MemberCluster{}
	gone.Name = l.Name
	if err := u.output.printDone(u.Program, gone, hub.scheme, "left the fleet"+u.dryRun.suffix()); err != nil {
		return err
	}
	u.say("%s", l.Stays())
	return nil
}
