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

// renewal is the command that renews the hub's tokens.
type renewal struct {
	*Program
	output *output
	member memberFlags
	ttl    time.Duration
	wait   waitFlags
	chosen selection
}

func (p *Program) renewCommand() *cobra.Command {
	c := &renewal{Program: p}
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
		Example: `  kubectl shopfleet renew eu-1 us-1
  kubectl shopfleet renew --all
  kubectl shopfleet renew eu-1 --member-kubeconfig eu.kubeconfig`,
		Args:              usage(cobra.ArbitraryArgs),
		ValidArgsFunction: p.completeClusters,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.output = newOutput(cmd)
	c.member.add(cmd, "for one member whose token has expired")
	cmd.Flags().DurationVar(&c.ttl, "token-ttl", defaultTTL, "How long the token is valid, with --member-kubeconfig")
	c.chosen.add(cmd)
	c.wait.add(cmd, renewTimeout, "the hub uses the new tokens")
	return cmd
}

func (r *renewal) check(names []string) error {
	switch {
	case r.member.kubeconfig != "" && len(names) != 1:
		return usagef("--member-kubeconfig is for one member: name it")
	case r.ttl < minTTL:
		return usagef("--token-ttl %s: must be at least %s", r.ttl, minTTL)
	}
	return errors.Join(r.output.check(), r.wait.check(), r.chosen.check(names))
}

func (r *renewal) run(ctx context.Context, names []string) error {
	if err := r.check(names); err != nil {
		return err
	}
	hub, err := r.hub()
	if err != nil {
		return err
	}
	if names, err = r.chosen.names(ctx, &list{Program: r.Program, hub: hub, kind: &v1.MemberClusterList{}}, names); err != nil || len(names) == 0 {
		return err
	}
	registry := join.Hub{Client: hub.client, Namespace: r.namespace}
	var inUse func(*v1.MemberCluster) bool
	if r.member.kubeconfig != "" {
		inUse, err = r.create(ctx, registry, names[0])
	} else {
		inUse, err = r.request(ctx, registry, names)
	}
	if err != nil {
		return err
	}
	operation := "renewal requested"
	if r.wait.enabled {
		operation = "renewed"
		err = r.await(ctx, hub, awaiting{
			resource: "membercluster", list: &v1.MemberClusterList{}, names: names, wait: r.wait,
			progress: func(o client.Object) progress { return renewalProgress(o, inUse) },
		})
	}
	if err != nil {
		return err
	}
	return r.report(ctx, hub, names, operation)
}

// request makes the hub renew the tokens, and returns a function that reports whether it
// uses the new one of a member.
func (r *renewal) request(ctx context.Context, registry join.Hub, names []string) (func(*v1.MemberCluster) bool, error) {
	request := r.clock.Now().UTC().Format(time.RFC3339Nano)
	for _, name := range names {
		if err := r.during("requesting a renewal on the hub", func() error {
			return registry.RequestRenewal(ctx, name, request)
		}); err != nil {
			return nil, err
		}
	}
	return func(m *v1.MemberCluster) bool { return m.Status.LastHandledRenewAt == request }, nil
}

// create writes a token that the user creates to the hub, and returns a function that
// reports whether the hub uses it.
func (r *renewal) create(ctx context.Context, registry join.Hub, name string) (func(*v1.MemberCluster) bool, error) {
	member, err := r.member.connect(r.Program)
	if err != nil {
		return nil, err
	}
	var token join.Token
	err = r.during("creating a token on the member", func() error {
		uid, err := join.Identity(ctx, member.client)
		if err != nil {
			return fmt.Errorf("identifying the member: %w", err)
		}
		prepared, err := registry.PrepareRenewal(ctx, name, uid)
		if err != nil {
			return err
		}
		if token, err = (join.Member{Config: member.config, Client: member.client}).Mint(ctx, r.ttl); err != nil {
			return err
		}
		return registry.Store(ctx, prepared, token)
	})
	if err != nil {
		return nil, err
	}
	r.say("created a token, valid for %s", duration.HumanDuration(token.ExpiresAt.Sub(r.clock.Now()).Round(time.Minute)))
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

func (r *renewal) report(ctx context.Context, hub *cluster, names []string, operation string) error {
	for _, name := range names {
		member := &v1.MemberCluster{}
		if err := hub.client.Get(ctx, client.ObjectKey{Name: name}, member); err != nil {
			return fmt.Errorf("getting MemberCluster %q: %w", name, err)
		}
		if err := r.output.printDone(r.Program, member, hub.scheme, operation); err != nil {
			return err
		}
	}
	return nil
}
