package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/tools/clientcmd"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/join"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
	"github.com/shopfleet/shopfleet/config"
)

const (
	// year is how long a token is asked for: long enough that rotation is a plan
	// and not an alarm. Clusters of clouds shorten it.
	year = 8760 * time.Hour
	// minTTL is the least that the TokenRequest API grants.
	minTTL = 10 * time.Minute
	// tolerated is by how much a token may fall short without a word.
	tolerated = time.Minute
)

// memberFlags say how the caller reaches a member.
type memberFlags struct {
	kubeconfig, context string
}

func (m *memberFlags) add(cmd *cobra.Command, use string) {
	cmd.Flags().StringVar(&m.kubeconfig, "member-kubeconfig", "", "Kubeconfig of an administrator of the member; "+use)
	cmd.Flags().StringVar(&m.context, "member-context", "", "Context in it; the default is its current one")
}

// connect connects to the member as the caller.
func (m *memberFlags) connect(s *session) (*cluster, error) {
	caller, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: m.kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: m.context},
	).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of the member: %w", err)
	}
	return s.connect(caller)
}

// joining is the command that makes a cluster a member.
type joining struct {
	*session
	output    *output
	member    memberFlags
	server    string
	provider  string
	region    string
	labels    map[string]string
	mode      string
	image     string
	ttl       time.Duration
	wait      time.Duration
	overwrite bool
}

func (s *session) joinCommand() *cobra.Command {
	c := &joining{session: s}
	cmd := &cobra.Command{
		Use:   "join NAME --member-kubeconfig FILE",
		Short: "Make a cluster a member of the fleet",
		Long: `Make a cluster a member of the fleet.

On the member, with your own credentials: applies the permissions that the hub needs
there (see config/rbac/member), and makes a token for them. On the hub: writes the
token into the Secret that registers the member. Then waits until the hub reports it
ready. Your own credentials go nowhere.

Run it again to renew the token. Provider and region are detected from the nodes
unless they are given.

With --mode agent the member gets an agent, which runs its shops also while the hub
is away, and the hub's permissions there shrink to writing and reading copies (see
config/rbac/agent). Run it again with the other mode to switch; no shop restarts.`,
		Example: `  kubectl shopfleet join eu-1 --member-kubeconfig eu.kubeconfig
  kubectl shopfleet join us-1 --member-kubeconfig ~/.kube/config --member-context us --labels tier=prod
  kubectl shopfleet join ap-1 --member-kubeconfig ap.kubeconfig --mode agent
  kubectl shopfleet join lab --member-kubeconfig lab.kubeconfig --provider local --region basement`,
		Args:              usage(cobra.ExactArgs(1)),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.output = newOutput(cmd, "joined")
	c.member.add(cmd, "required")
	cmd.Flags().StringVar(&c.server, "member-server", "", "URL at which the hub reaches the member, when it is not the one in the kubeconfig")
	cmd.Flags().StringVar(&c.provider, "provider", "", "Cloud of the member: aws, gcp, azure or local; default: detected")
	cmd.Flags().StringVar(&c.region, "region", "", "Region of the member; default: detected")
	cmd.Flags().StringToStringVar(&c.labels, "labels", nil, "Labels of the MemberCluster, for placement: key=value,...")
	cmd.Flags().StringVar(&c.mode, "mode", "", "Who runs the shops there: agentless (the hub) or agent; default: as it is, agentless at first")
	cmd.Flags().StringVar(&c.image, "spoke-image", "", "Image of the agent; default: the one that it has, at first shopfleet-spoke of this program's version")
	cmd.Flags().DurationVar(&c.ttl, "token-ttl", year, "For how long the hub's token is valid")
	cmd.Flags().DurationVar(&c.wait, "wait", time.Minute, "How long to wait until the member is ready; 0 does not wait")
	cmd.Flags().BoolVar(&c.overwrite, "overwrite", false, "Replace a Secret of this name that registers another cluster or nothing")
	return cmd
}

// check refuses flags before anything is asked or written.
func (c *joining) check(name string) error {
	if err := join.CheckName(name); err != nil {
		return &usageError{err}
	}
	switch {
	case c.member.kubeconfig == "":
		return &usageError{errors.New("--member-kubeconfig is required: a kubeconfig of an administrator of the member")}
	case c.provider != "" && !slices.Contains(join.Providers(), c.provider):
		return &usageError{fmt.Errorf("--provider %q: must be aws, gcp, azure or local", c.provider)}
	case join.ModeOf(c.mode) == "" && c.mode != "":
		return &usageError{fmt.Errorf("--mode %q: must be agentless or agent", c.mode)}
	case c.ttl < minTTL:
		return &usageError{fmt.Errorf("--token-ttl %s: must be at least %s", c.ttl, minTTL)}
	case c.wait < 0:
		return &usageError{fmt.Errorf("--wait %s: must not be negative", c.wait)}
	}
	return c.output.check()
}

func (c *joining) run(ctx context.Context, name string) error {
	if err := c.check(name); err != nil {
		return err
	}
	hub, err := c.hub()
	if err != nil {
		return err
	}
	member, err := c.member.connect(c.session)
	if err != nil {
		return err
	}
	at, err := join.EndpointOf(member.config, c.server)
	if err != nil {
		return err
	}
	registry := join.Hub{Client: hub.client, Namespace: c.namespace}
	r := join.Registration{Name: name, Provider: v1.Provider(c.provider), Region: c.region, Labels: c.labels}
	if err := c.during("comparing the member and the hub", func() (err error) {
		r.Mode, err = c.compare(ctx, registry, member, name, at)
		return err
	}); err != nil {
		return err
	}
	if r.Mode == v1.ModeAgent {
		if err := c.installAgent(ctx, member); err != nil {
			return err
		}
	}
	if err := c.register(ctx, registry, member, r, at); err != nil {
		return err
	}
	if at.Loopback() && registry.RunsInside(ctx) {
		c.say("warning: %s means the hub's own pod to the hub: give the member's address with --member-server", at.Server)
	}
	if c.wait == 0 {
		c.say("%s is registered; see whether it is ready: kubectl shopfleet clusters", name)
		return nil
	}
	return c.await(ctx, hub, member, join.Waiting{Name: name, Mode: r.Mode, At: at})
}

// compare refuses what the hub would refuse, before anything is written, and returns
// the mode that the member is to be in.
func (c *joining) compare(ctx context.Context, registry join.Hub, member *cluster, name string, at join.Endpoint) (v1.Mode, error) {
	known, err := registry.Observe(ctx, name)
	if err != nil {
		return "", err
	}
	version, err := join.Kubernetes(ctx, member.config)
	if err != nil {
		return "", fmt.Errorf("reaching the member: %w", err)
	}
	c.say("member %s (Kubernetes %s)", at.Server, version)
	uid, err := join.Identity(ctx, member.client)
	if err != nil {
		return "", fmt.Errorf("identifying the member: %w", err)
	}
	return known.Mode(name, join.ModeOf(c.mode)), known.Check(name, uid, at, c.overwrite)
}

// installAgent puts the agent into the member, before anything is left to it.
func (c *joining) installAgent(ctx context.Context, member *cluster) error {
	agent, err := c.agent(member, c.image)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.wait, time.Minute))
	defer cancel()
	return c.during("installing the agent on the member", func() error { return agent.Install(ctx) })
}

func (s *session) agent(member *cluster, image string) (join.Agent, error) {
	query, err := s.query(member, s.trouble)
	return join.Agent{
		Member: join.Member{Config: member.config, Client: member.client},
		Image:  image, Default: config.Spoke.Image(s.version), Query: query, Say: s.say,
	}, err
}

// register writes to the member and then to the hub.
func (c *joining) register(ctx context.Context, registry join.Hub, member *cluster, r join.Registration, at join.Endpoint) error {
	account := join.Member{Config: member.config, Client: member.client}
	if err := c.during("granting permissions on the member", func() error { return account.Grant(ctx, r.Mode) }); err != nil {
		return err
	}
	c.say("  granted the permissions of the hub")
	var token join.Token
	if err := c.during("making a token on the member", func() (err error) {
		token, err = account.Mint(ctx, c.ttl)
		return err
	}); err != nil {
		return err
	}
	valid := token.ExpiresAt.Sub(c.clock.Now())
	c.say("  made a token for it, valid for %s", duration.HumanDuration(valid.Round(time.Minute)))
	if valid < c.ttl-tolerated {
		c.say("warning: the member shortened the token from %s: run this command again before %s",
			duration.HumanDuration(c.ttl), token.ExpiresAt.UTC().Format(time.RFC3339))
	}
	if member.config.Proxy != nil {
		c.say("note: the hub connects to %s without the proxy of your kubeconfig", at.Server)
	}
	var err error
	if r.Kubeconfig, err = at.Kubeconfig(r.Name, token); err != nil {
		return err
	}
	err = c.during("writing to the hub", func() error { return registry.Register(ctx, r) })
	if err == nil {
		c.say("hub\n  wrote Secret %s/%s", registry.Namespace, r.Name)
	}
	return err
}

func (c *joining) await(ctx context.Context, hub, at *cluster, waiting join.Waiting) error {
	query, err := c.query(hub, c.trouble)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.wait)
	defer cancel()
	waiting.Query, waiting.Report = query, func(state metav1.Condition) {
		if state.Status == metav1.ConditionTrue {
			return
		}
		if state.Message == "" {
			c.say("  %s", state.Reason)
		} else {
			c.say("  %s: %s", state.Reason, state.Message)
		}
	}
	var member *v1.MemberCluster
	err = c.during("waiting for the hub to connect", func() (err error) {
		member, err = waiting.Ready(ctx)
		return err
	})
	if err != nil {
		return err
	}
	// What it needed in the other mode is taken away only now that it has changed over.
	account := join.Member{Config: at.config, Client: at.client}
	if err := c.during("waiting for the shops to be handed over", func() error { return account.Narrow(ctx, waiting.Mode) }); err != nil {
		return err
	}
	if !c.output.table() {
		return c.output.print(c.session, member, hub.scheme)
	}
	_, err = fmt.Fprintf(c.streams.Out, "%s is ready: %s\n", waiting.Name, printers.Facts(member))
	return err
}

// trouble says that the hub does not answer while something is waited for.
func (s *session) trouble(err error) {
	if err != nil {
		s.say("  trying again: %v", err)
	}
}
