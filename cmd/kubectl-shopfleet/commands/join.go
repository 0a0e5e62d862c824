package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/join"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
	"github.com/shopfleet/shopfleet/config"
)

const (
	// defaultTTL is long enough that a hub may be down for months before it must renew the
	// token. Managed clusters shorten it.
	defaultTTL = 8760 * time.Hour
	// minTTL is the minimum of the TokenRequest API.
	minTTL = 10 * time.Minute
	// ttlTolerance is the difference to the requested lifetime of a token that causes no warning.
	ttlTolerance = time.Minute
)

// joinCluster is the command that makes a cluster a member.
type joinCluster struct {
	*Program
	output    *output
	member    memberFlags
	server    string
	provider  string
	region    string
	labels    map[string]string
	mode      string
	image     string
	secrets   pullSecrets
	runbook   runbookURL
	ttl       time.Duration
	account   string
	wait      waitFlags
	overwrite bool
	dryRun    dryRun

	confirmation confirmation
}

func (p *Program) joinCommand() *cobra.Command {
	c := &joinCluster{Program: p}
	cmd := &cobra.Command{
		Use:   "join MEMBER --member-kubeconfig FILE",
		Short: "Make a cluster a member of the fleet",
		Long: `Make a cluster a member of the fleet.

On the member, with your own credentials, it applies the permissions that the hub
needs (see config/rbac/member), admission policies that bound what the hub may write with
them (see config/admission/member), and creates a token. The hub writes nothing in kube-*
and in namespaces with the label ecommerce.io/reserved. On the hub it writes the
token to the Secret that registers the member. Then it waits until the MemberCluster is
ready. Your own credentials are not stored anywhere.

The hub renews the token before it expires, and keeps the new one in the same Secret; see
kubectl shopfleet renew. Provider and region are detected from the nodes unless
you set them.

With --mode agent a spoke is installed in the member, as the agent of the hub. It reconciles
the EcommerceApps there even while the hub is unavailable, and the hub only needs permission
to write and read its copies (see config/rbac/agent). Run the command again with the other
mode to switch; no pod restarts. CRDs of a newer release that the member has are kept.

If the hub is of a newer release than this program, the command changes nothing and fails:
the member would get permissions, policies and an agent of an earlier one.

If a Secret of the name registers this cluster already, it is replaced, and the command
says what it registers. One that registers another cluster, or is no registration, is
replaced with --overwrite only. A cluster that is the member already keeps its registered
address unless you set --member-server. With --dry-run no token is created.`,
		Example: `  kubectl shopfleet join eu-1 --member-kubeconfig eu.kubeconfig
  kubectl shopfleet join us-1 --member-kubeconfig ~/.kube/config --member-context us --labels tier=prod
  kubectl shopfleet join ap-1 --member-kubeconfig ap.kubeconfig --mode agent
  kubectl shopfleet join eu-1 --member-kubeconfig new.kubeconfig --overwrite
  kubectl shopfleet join eu-1 --member-kubeconfig eu.kubeconfig --dry-run=server
  kubectl shopfleet join eu-2 --member-kubeconfig eu2.kubeconfig --cloud-account prod-aws
  kubectl shopfleet join lab --member-kubeconfig lab.kubeconfig --provider other --region basement`,
		Args:              usage(cobra.ExactArgs(1)),
		ValidArgsFunction: first(p.completeClusters),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.output = newOutput(cmd)
	c.member.add(cmd, "required")
	cmd.Flags().StringVar(&c.server, "member-server", "", "URL of the member as seen by the hub; default: the registered one, at first the one in the kubeconfig")
	cmd.Flags().StringVar(&c.provider, "provider", "", "Cloud of the member: aws, gcp, azure or other; default: detected")
	cmd.Flags().StringVar(&c.region, "region", "", "Region of the member; default: detected")
	cmd.Flags().StringToStringVar(&c.labels, "labels", nil, "Labels of the MemberCluster, which a placement can select: key=value,...")
	cmd.Flags().StringVar(&c.mode, "mode", "", "What reconciles the EcommerceApps there: agentless (the hub) or agent; default: the current mode, at first agentless")
	cmd.Flags().StringVar(&c.image, "spoke-image", "", "Image of the spoke that is the agent; default: the current one, at first shopfleet-spoke in the version of this program")
	c.secrets.add(cmd, ". For the agent; default: the current ones")
	c.runbook.add(cmd, ". For the agent; default: the current one, at first that of the version")
	cmd.Flags().DurationVar(&c.ttl, "token-ttl", defaultTTL, "How long the token of the hub, and each with which the hub renews it, is valid")
	cmd.Flags().StringVar(&c.account, "cloud-account", "", "CloudAccount that owns the volumes of the member; default: the current one, at first none")
	c.wait.add(cmd, time.Minute, "the MemberCluster is ready")
	cmd.Flags().BoolVar(&c.overwrite, "overwrite", false, "Replace a Secret of this name that registers another cluster, or is not a registration")
	c.dryRun.add(cmd)
	c.confirmation.add(cmd, " of --overwrite")
	return cmd
}

// check rejects flags before any request.
func (c *joinCluster) check(name string) error {
	if err := join.CheckName(name); err != nil {
		return &usageError{err}
	}
	switch {
	case c.member.kubeconfig == "":
		return usagef("--member-kubeconfig is required: a kubeconfig of an administrator of the member")
	case c.provider != "" && !slices.Contains(join.Providers(), c.provider):
		return usagef("--provider %q: must be aws, gcp, azure or other", c.provider)
	case join.ModeOf(c.mode) == "" && c.mode != "":
		return usagef("--mode %q: must be agentless or agent", c.mode)
	case c.ttl < minTTL:
		return usagef("--token-ttl %s: must be at least %s", c.ttl, minTTL)
	}
	return errors.Join(c.output.check(), c.secrets.check(), c.runbook.check(), c.wait.check())
}

func (c *joinCluster) run(ctx context.Context, name string) error {
	if err := c.check(name); err != nil {
		return err
	}
	hub, err := c.hub()
	if err != nil {
		return err
	}
	member, err := c.member.connect(c.Program)
	if err != nil {
		return err
	}
	at, err := join.EndpointOf(member.config, c.server)
	if err != nil {
		return err
	}
	registry := join.Hub{Client: c.dryRun.client(hub.client), Namespace: c.namespace, DryRun: c.dryRun == dryRunServer}
	r := join.Registration{Name: name, Provider: v1.Provider(c.provider), Region: c.region, Labels: c.labels, CloudAccount: c.account}
	var known join.Known
	if err := c.during("comparing the member and the hub", func() (err error) {
		if err = c.checkRelease(ctx, hub); err == nil {
			known, at, err = c.compare(ctx, registry, member, name, at)
		}
		return err
	}); err != nil {
		return err
	}
	r.Mode = known.Mode(name, join.ModeOf(c.mode))
	if confirmed, err := c.confirm(ctx, name, at, known.Replaces()); err != nil || !confirmed {
		return err
	}
	if c.dryRun != dryRunClient {
		if err := c.write(ctx, registry, member, r, at); err != nil {
			return err
		}
	}
	if at.Loopback() && registry.RunsInside(ctx) {
		c.say("warning: the hub runs in a pod, in which %s is the pod itself. Set the address of the member with --member-server", at.Server)
	}
	if c.dryRun != dryRunNone {
		return c.output.printDone(c.Program, memberFrom(r), hub.scheme, "registered"+c.dryRun.suffix())
	}
	if !c.wait.enabled {
		return c.registered(ctx, hub, name)
	}
	return c.awaitReady(ctx, hub, member, join.Waiting{Name: name, Mode: r.Mode, At: at})
}

// memberFrom returns what a dry run knows of the MemberCluster.
func memberFrom(r join.Registration) *v1.MemberCluster {
	member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: r.Name, Labels: r.Labels}}
	member.Spec.Provider, member.Spec.Region, member.Spec.Mode = r.Provider, r.Region, r.Mode
	if r.CloudAccount != "" {
		member.Spec.CloudAccountRef = &v1.ObjectReference{Name: r.CloudAccount}
	}
	return member
}

// confirm prints the Secret that is replaced, and asks the user if it may be that of another cluster.
func (c *joinCluster) confirm(ctx context.Context, name string, at join.Endpoint, replaced string) (bool, error) {
	action := "make the cluster at " + at.Server + " a member with the name " + name
	if replaced != "" {
		c.say("note: %s is replaced", replaced)
		action += ", and replace " + replaced
	}
	return c.confirmation.confirm(ctx, c.Program, question{"join", action, c.overwrite && replaced != "", c.dryRun})
}

// write installs the agent, if there is to be one, and registers the member.
func (c *joinCluster) write(ctx context.Context, registry join.Hub, member *cluster, r join.Registration, at join.Endpoint) error {
	if r.Mode == v1.ModeAgent {
		if err := c.installAgent(ctx, member); err != nil {
			return err
		}
	}
	return c.register(ctx, registry, member, r, at)
}

// checkRelease returns an error if the hub is of a newer release than this program, whose permissions, policies and agent
// it would get in the member. Users who may not read that can still join members: the hub reports what it lacks there.
func (c *joinCluster) checkRelease(ctx context.Context, hub *cluster) error {
	current, err := c.running(ctx, hub, config.Hub)
	switch {
	case apierrors.IsForbidden(err):
		return nil
	case err != nil || !c.isOlderThan(current):
		return err
	}
	return hint.With(fmt.Errorf("joining with release %s a hub of %s: %w", c.version, current.version, errNewer),
		fmt.Sprintf("Use kubectl-shopfleet of %s, which has the permissions, the policies and the agent of that release.", current.version))
}

// compare rejects what the hub would reject, before anything is written. It returns the
// state of the hub, and the endpoint to register instead of the kubeconfig's.
func (c *joinCluster) compare(ctx context.Context, registry join.Hub, member *cluster, name string, at join.Endpoint) (join.Known, join.Endpoint, error) {
	known, err := registry.Observe(ctx, name)
	if err == nil && c.account != "" {
		err = registry.CheckAccount(ctx, c.account)
	}
	if err != nil {
		return known, at, err
	}
	version, err := join.Kubernetes(ctx, member.config)
	if err != nil {
		return known, at, fmt.Errorf("reaching the member: %w", err)
	}
	c.say("member %s (Kubernetes %s)", member.config.Host, version)
	if err := join.CheckKubernetes(version); err != nil {
		return known, at, err
	}
	uid, err := join.Identity(ctx, member.client)
	if err != nil {
		return known, at, fmt.Errorf("identifying the member: %w", err)
	}
	if c.server == "" {
		at = known.Endpoint(name, uid, at)
		if at.Server != member.config.Host {
			c.say("note: the hub keeps the registered address %s. Set another one with --member-server", at.Server)
		}
	}
	return known, at, known.Check(name, uid, at, c.overwrite)
}

// installAgent installs the agent before the hub relies on it.
func (c *joinCluster) installAgent(ctx context.Context, member *cluster) error {
	agent, err := c.agent(member, c.image)
	if err != nil {
		return err
	}
	agent.PullSecrets, agent.RunbookURL, agent.DryRun = c.secrets, string(c.runbook), c.dryRun == dryRunServer
	ctx, cancel := c.wait.limit(ctx, nil)
	defer cancel()
	return c.during("installing the agent on the member", func() error { return agent.Install(ctx) })
}

func (p *Program) agent(member *cluster, image string) (join.Agent, error) {
	query, err := member.query(p.retrying)
	return join.Agent{
		Member: join.Member{Config: member.config, Client: member.client},
		Image:  image, Default: p.images + config.Spoke.Image(p.version), Query: query, Say: p.say,
	}, err
}

// register writes to the member and then to the hub.
func (c *joinCluster) register(ctx context.Context, registry join.Hub, member *cluster, r join.Registration, at join.Endpoint) error {
	account := join.Member{Config: member.config, Client: member.client, DryRun: c.dryRun == dryRunServer}
	if err := c.during("granting permissions on the member", func() error { return account.Grant(ctx, r.Mode) }); err != nil {
		return err
	}
	c.say("  granted permissions to the hub%s", c.dryRun.suffix())
	token, err := c.token(ctx, account)
	if err != nil {
		return err
	}
	if member.config.Proxy != nil {
		c.say("note: the hub connects to %s directly, without the proxy in your kubeconfig", at.Server)
	}
	if r.Kubeconfig, err = at.Kubeconfig(r.Name, token); err != nil {
		return err
	}
	err = c.during("writing to the hub", func() error { return registry.Register(ctx, r) })
	if err == nil {
		c.say("hub\n  wrote Secret %s/%s%s", registry.Namespace, r.Name, c.dryRun.suffix())
	}
	return err
}

// token creates a token on the member. A server dry run returns a placeholder: a token is valid
// also when it is not stored.
func (c *joinCluster) token(ctx context.Context, account join.Member) (join.Token, error) {
	token := join.Token{Value: "created-without-dry-run"}
	if c.dryRun == dryRunServer {
		return token, nil
	}
	if err := c.during("creating a token on the member", func() (err error) {
		token, err = account.Mint(ctx, c.ttl)
		return err
	}); err != nil {
		return token, err
	}
	valid := token.ExpiresAt.Sub(c.clock.Now())
	c.say("  created a token, valid for %s", duration.HumanDuration(valid.Round(time.Minute)))
	if valid < c.ttl-ttlTolerance {
		c.say("note: the member does not issue tokens for %s. The hub renews this one before %s",
			duration.HumanDuration(c.ttl), token.ExpiresAt.UTC().Format(time.RFC3339))
	}
	return token, nil
}

func (c *joinCluster) awaitReady(ctx context.Context, hub, at *cluster, waiting join.Waiting) error {
	query, err := hub.query(c.retrying)
	if err != nil {
		return err
	}
	ctx, cancel := c.wait.limit(ctx, nil)
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
	// The permissions of the other mode are in use until the switch is complete.
	account := join.Member{Config: at.config, Client: at.client}
	if err := c.during("waiting for the handover of the EcommerceApps", func() error { return account.Narrow(ctx, waiting.Mode) }); err != nil {
		return err
	}
	if note := withoutRestores(member); note != "" {
		c.say("note: %s", note)
	}
	return c.output.printDone(c.Program, member, hub.scheme, "is ready: "+printers.Summary(member))
}

// withoutRestores returns what to install in a member whose databases are backed up by snapshots that cannot be restored
// there; empty for any other.
func withoutRestores(m *v1.MemberCluster) string {
	if !csi.BySnapshots(v1.BackupAuto, m) || csi.HasSnapshots(m) {
		return ""
	}
	return fmt.Sprintf("snapshots cannot be restored in %s: %s", m.Name, csi.InstallSnapshots)
}

// registered prints a member without waiting for it. The hub may not have created its
// MemberCluster yet.
func (c *joinCluster) registered(ctx context.Context, hub *cluster, name string) error {
	c.say("See whether it is ready: kubectl get memberclusters %s", name)
	member := &v1.MemberCluster{}
	if err := hub.client.Get(ctx, client.ObjectKey{Name: name}, member); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("getting MemberCluster %q: %w", name, err)
	}
	member.Name = name
	return c.output.printDone(c.Program, member, hub.scheme, "registered")
}
