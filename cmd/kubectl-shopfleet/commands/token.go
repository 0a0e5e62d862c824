package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/join"
)

// renewTimeout is the default of --timeout for renewals.
const renewTimeout = time.Minute

func (p *Program) tokenCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Manage the hub's tokens in the members",
		Args:  usage(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(p.tokenRenewCommand())
	return cmd
}

// tokenRenew is the command that renews the hub's tokens.
type tokenRenew struct {
	*Program
	output *output
	member memberFlags
	ttl    time.Duration
	wait   waitFlags
}

func (p *Program) tokenRenewCommand() *cobra.Command {
	c := &tokenRenew{Program: p}
	cmd := &cobra.Command{
		Use:   "renew MEMBER...",
		Short: "Renew the hub's tokens in members now",
		Long: `Renew the hub's tokens in members now.

The hub requests a new token with the one that it has, connects with it, stores it in the
Secret that registers the member, and then replaces the connection. It does the same by
itself when half of the life of a token has passed.

A member whose token has expired or was revoked rejects that request. With the kubeconfig
of an administrator of the member the command creates the token itself, and writes it to
the Secret.`,
		Example: `  kubectl shopfleet token renew eu-1 us-1
  kubectl shopfleet token renew eu-1 --member-kubeconfig eu.kubeconfig`,
		Args:              usage(cobra.MinimumNArgs(1)),
		ValidArgsFunction: p.completeClusters,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.output = newOutput(cmd)
	c.member.add(cmd, "for one member whose token has expired")
	cmd.Flags().DurationVar(&c.ttl, "token-ttl", defaultTTL, "How long the token is valid, with --member-kubeconfig")
	c.wait.add(cmd, renewTimeout, "the hub uses the new tokens")
	return cmd
}

func (t *tokenRenew) check(names []string) error {
	switch {
	case t.member.kubeconfig != "" && len(names) > 1:
		return usagef("--member-kubeconfig is for one member, not for %d", len(names))
	case t.ttl < minTTL:
		return usagef("--token-ttl %s: must be at least %s", t.ttl, minTTL)
	}
	return errors.Join(t.output.check(), t.wait.check())
}

func (t *tokenRenew) run(ctx context.Context, names []string) error {
	if err := t.check(names); err != nil {
		return err
	}
	hub, err := t.hub()
	if err != nil {
		return err
	}
	registry := join.Hub{Client: hub.client, Namespace: t.namespace}
	var inUse func(*v1.MemberCluster) bool
	if t.member.kubeconfig != "" {
		inUse, err = t.create(ctx, registry, names[0])
	} else {
		inUse, err = t.request(ctx, registry, names)
	}
	if err != nil {
		return err
	}
	operation := "renewal requested"
	if t.wait.enabled {
		operation = "renewed"
		err = t.await(ctx, hub, awaiting{
			resource: "membercluster", list: &v1.MemberClusterList{}, names: names, wait: t.wait,
			progress: func(o client.Object) progress { return renewalProgress(o, inUse) },
		})
	}
	if err != nil {
		return err
	}
	return t.report(ctx, hub, names, operation)
}

// request makes the hub renew the tokens, and returns a function that reports whether it
// uses the new one of a member.
func (t *tokenRenew) request(ctx context.Context, registry join.Hub, names []string) (func(*v1.MemberCluster) bool, error) {
	request := t.clock.Now().UTC().Format(time.RFC3339Nano)
	for _, name := range names {
		if err := t.during("requesting a renewal on the hub", func() error {
			return registry.RequestRenewal(ctx, name, request)
		}); err != nil {
			return nil, err
		}
	}
	return func(m *v1.MemberCluster) bool { return m.Status.LastHandledRenewAt == request }, nil
}

// create writes a token that the user creates to the hub, and returns a function that
// reports whether the hub uses it.
func (t *tokenRenew) create(ctx context.Context, registry join.Hub, name string) (func(*v1.MemberCluster) bool, error) {
	member, err := t.member.connect(t.Program)
	if err != nil {
		return nil, err
	}
	var token join.Token
	err = t.during("creating a token on the member", func() error {
		uid, err := join.Identity(ctx, member.client)
		if err != nil {
			return fmt.Errorf("identifying the member: %w", err)
		}
		renewal, err := registry.PrepareRenewal(ctx, name, uid)
		if err != nil {
			return err
		}
		if token, err = (join.Member{Config: member.config, Client: member.client}).Mint(ctx, t.ttl); err != nil {
			return err
		}
		return registry.Store(ctx, renewal, token)
	})
	if err != nil {
		return nil, err
	}
	t.say("created a token, valid for %s", duration.HumanDuration(token.ExpiresAt.Sub(t.clock.Now()).Round(time.Minute)))
	return func(m *v1.MemberCluster) bool {
		return m.Status.CredentialsExpirationTime != nil && m.Status.CredentialsExpirationTime.Unix() == token.ExpiresAt.Unix() &&
			meta.IsStatusConditionTrue(m.Status.Conditions, v1.ConditionCredentialsValid)
	}, nil
}

// renewalProgress returns the progress of a member until the hub uses its new token.
func renewalProgress(o client.Object, inUse func(*v1.MemberCluster) bool) progress {
	m, ok := o.(*v1.MemberCluster)
	if !ok {
		return progress{}
	}
	if inUse(m) {
		return progress{text: "renewed", done: true}
	}
	for _, kind := range []string{v1.ConditionConnected, v1.ConditionCredentialsValid, v1.ConditionCredentialsRenewed} {
		if s := meta.FindStatusCondition(m.Status.Conditions, kind); s != nil && s.Status == metav1.ConditionFalse {
			return progress{text: s.Reason + ": " + s.Message}
		}
	}
	return progress{text: "waiting for the hub"}
}

func (t *tokenRenew) report(ctx context.Context, hub *cluster, names []string, operation string) error {
	for _, name := range names {
		member := &v1.MemberCluster{}
		if err := hub.client.Get(ctx, client.ObjectKey{Name: name}, member); err != nil {
			return fmt.Errorf("getting MemberCluster %q: %w", name, err)
		}
		if err := t.output.printDone(t.Program, member, hub.scheme, operation); err != nil {
			return err
		}
	}
	return nil
}
