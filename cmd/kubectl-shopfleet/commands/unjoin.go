package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/join"
)

// leaving is the command that takes a cluster out of the fleet.
type leaving struct {
	*session
	output *output
	member memberFlags
	revoke bool
	remove bool
	wait   time.Duration
}

func (s *session) unjoinCommand() *cobra.Command {
	c := &leaving{session: s}
	cmd := &cobra.Command{
		Use:   "unjoin NAME",
		Short: "Take a cluster out of the fleet; what runs there stays",
		Long: `Take a cluster out of the fleet; what runs there stays.

Deletes the Secret and the MemberCluster on the hub. Nothing on the member is
touched: its shops go on running, without anybody who repairs or updates them, but for
an agent if it has one, which goes on to repair them. To remove shops from it, change
their placement first.

With --revoke and the member's kubeconfig the hub's account and permissions there
are deleted too, which ends its token at once. With --remove-agent the agent is removed,
unless shops of the fleet are left there, which it runs.`,
		Example: `  kubectl shopfleet unjoin eu-1
  kubectl shopfleet unjoin eu-1 --revoke --member-kubeconfig eu.kubeconfig`,
		Args:              usage(cobra.ExactArgs(1)),
		ValidArgsFunction: s.completeClusters,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.output = newOutput(cmd, "unjoined")
	c.member.add(cmd, "with --revoke")
	cmd.Flags().BoolVar(&c.revoke, "revoke", false, "Delete the hub's account and permissions on the member")
	cmd.Flags().BoolVar(&c.remove, "remove-agent", false, "Remove the agent, if no shops of the fleet are left")
	cmd.Flags().DurationVar(&c.wait, "wait", 30*time.Second, "How long to wait until the hub has let go; 0 does not wait")
	return cmd
}

func (c *leaving) run(ctx context.Context, name string) error {
	if (c.revoke || c.remove) != (c.member.kubeconfig != "") {
		return &usageError{errors.New("--revoke or --remove-agent and --member-kubeconfig belong together")}
	}
	if err := c.output.check(); err != nil {
		return err
	}
	hub, err := c.hub()
	if err != nil {
		return err
	}
	registry := join.Hub{Client: hub.client, Namespace: c.namespace}
	found, err := registry.Find(ctx, name)
	if err != nil {
		return err
	}
	var agent join.Agent
	if c.revoke || c.remove {
		// Before anything is deleted: the wrong cluster must not lose its permissions.
		if agent, err = c.verified(ctx, registry, found); err != nil {
			return err
		}
	}
	if err := c.during("deleting on the hub", func() error { return registry.Remove(ctx, found) }); err != nil {
		return err
	}
	if err := c.await(ctx, hub, name); err != nil {
		return err
	}
	if err := c.clean(ctx, agent); err != nil {
		return err
	}
	return c.report(found, hub)
}

// clean takes away what is no longer needed on the member.
func (c *leaving) clean(ctx context.Context, agent join.Agent) error {
	if c.remove {
		if err := c.during("removing the agent", func() error { return agent.Remove(ctx) }); err != nil {
			return err
		}
	}
	if !c.revoke {
		return nil
	}
	err := c.during("revoking on the member", func() error { return agent.Member.Revoke(ctx) })
	if err == nil {
		c.say("the hub's account and permissions on %s are deleted", agent.Member.Config.Host)
	}
	return err
}

// verified connects to the member if it is the one that leaves, and can spare its agent
// where that is to be removed.
func (c *leaving) verified(ctx context.Context, registry join.Hub, l join.Leaving) (agent join.Agent, err error) {
	member, err := c.member.connect(c.session)
	if err != nil {
		return agent, err
	}
	if agent, err = c.agent(member, ""); err != nil {
		return agent, err
	}
	at, err := join.EndpointOf(member.config, "")
	if err != nil {
		return agent, err
	}
	return agent, c.during("identifying the member", func() error {
		hub, err := registry.UID(ctx)
		if err != nil {
			return err
		}
		uid, err := join.Identity(ctx, member.client)
		if err != nil {
			return fmt.Errorf("identifying the member: %w", err)
		}
		if err := l.Verify(hub, uid, at); err != nil || !c.remove {
			return err
		}
		return agent.Unneeded(ctx)
	})
}

func (c *leaving) await(ctx context.Context, hub *cluster, name string) error {
	if c.wait == 0 {
		return nil
	}
	query, err := c.query(hub, c.trouble)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.wait)
	defer cancel()
	return c.during("waiting for the hub to let go", func() error {
		return join.Waiting{Query: query, Name: name}.Gone(ctx)
	})
}

func (c *leaving) report(l join.Leaving, hub *cluster) error {
	if !c.output.table() {
		gone := &v1.MemberCluster{}
		gone.Name = l.Name
		return c.output.print(c.session, gone, hub.scheme)
	}
	_, err := fmt.Fprintf(c.streams.Out, "%s left the fleet. %s\n", l.Name, l.Stays())
	return err
}
