package processes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/manifests"
	"github.com/shopfleet/shopfleet/config"
)

// rollout is how long a process may take to run: an image is pulled on the way.
const rollout = 3 * time.Minute

// installing is the command that installs a process.
type installing struct {
	Session
	image      string
	spokeImage string
	replicas   int32
	wait       time.Duration
	dryRun     dryRun
}

func (s Session) install() *cobra.Command {
	c := &installing{Session: s}
	cmd := &cobra.Command{
		Use:   "install hub|spoke",
		Short: "Install the hub or a spoke in a cluster, or upgrade it",
		Long: `Install the hub or a spoke in a cluster, or upgrade it.

Applies what config/hub or config/spoke hold: definitions, namespace, permissions and
the Deployment. Then waits until its pods are ready. Run it again to upgrade, and give
the same flags again: they are all that is kept of the last time. What is as it should
be is not written to.

The hub rules a fleet. A spoke runs shops in one cluster without a hub; members of a
fleet that need one get it from join --mode agent.

The image is looked for under its name without a registry, as make images builds it.
Push it to a registry that the nodes reach, and name it with --image. The hub uses the
spoke's image too, for Jobs in members that move dumps to buckets and back: the one beside
its own, shopfleet-spoke instead of shopfleet-hub, or that of --spoke-image.`,
		Example: `  kubectl shopfleet install hub --image registry.example.com/shopfleet-hub:v1.0.0
  kubectl shopfleet install spoke --context lab --replicas 1
  kubectl shopfleet install hub --dry-run=client > hub.yaml`,
		Args:              argument,
		ValidArgsFunction: cobra.FixedCompletions(names(), cobra.ShellCompDirectiveNoFileComp),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().StringVar(&c.image, "image", "", "Image of the process; default: shopfleet-hub or shopfleet-spoke in this program's version")
	cmd.Flags().StringVar(&c.spokeImage, "spoke-image", "", "With hub: image of its Jobs in members; default: the spoke's beside --image")
	cmd.Flags().Int32Var(&c.replicas, "replicas", 2, "Number of pods, one of which leads")
	cmd.Flags().DurationVar(&c.wait, "wait", rollout, "How long to wait until the pods are ready; 0 does not wait")
	c.dryRun.add(cmd, "none, client: only print what would be applied; or "+serverTries)
	return cmd
}

// check refuses flags before anything is asked or written.
func (c *installing) check(set config.Set) error {
	switch {
	case c.spokeImage != "" && set != config.Hub:
		return wrong("--spoke-image %q: is for the hub; --image is the spoke's", c.spokeImage)
	case strings.ContainsAny(c.spokeImage, " \t\n"):
		return wrong("--spoke-image %q: must not contain spaces", c.spokeImage)
	case c.replicas < 1:
		return wrong("--replicas %d: must be at least 1", c.replicas)
	case c.wait < 0:
		return wrong("--wait %s: must not be negative", c.wait)
	case strings.ContainsAny(c.image, " \t\n"):
		return wrong("--image %q: must not contain spaces", c.image)
	}
	return c.dryRun.check(dryRunNone, dryRunClient, dryRunServer)
}

func (c *installing) run(ctx context.Context, name string) error {
	p := process{c.Session, config.Set(name)}
	if err := c.check(p.set); err != nil {
		return err
	}
	wanted := config.Installation{Namespace: p.place(), Image: c.image, SpokeImage: c.spokeImage, Replicas: c.replicas}
	if wanted.Image == "" {
		wanted.Image = p.set.Image(c.Version)
	}
	if p.set == config.Hub && wanted.SpokeImage == "" && config.SpokeImage(wanted.Image) == "" {
		c.say("The image %s does not tell which one the spoke has: dumps are not sent to buckets. Name it with --spoke-image.", wanted.Image)
	}
	objects, err := p.set.Install(wanted)
	if err != nil {
		return fmt.Errorf("reading the manifests of the %s: %w", name, err)
	}
	plan := manifests.Plan{Objects: objects, DryRun: c.dryRun == dryRunServer}
	if c.dryRun == dryRunClient {
		return c.show(plan)
	}
	at, err := c.Connect()
	if err != nil {
		return err
	}
	if err := p.alone(ctx, at.Client); err != nil {
		return err
	}
	if err := c.apply(ctx, at, plan); err != nil {
		return err
	}
	if plan.DryRun || c.wait == 0 {
		return nil
	}
	return c.await(ctx, p, at)
}

// show prints the plan for kubectl apply.
func (c *installing) show(plan manifests.Plan) error {
	for _, object := range plan.Objects {
		raw, err := yaml.Marshal(object.Object)
		if err != nil {
			return fmt.Errorf("printing %s: %w", manifests.Name(object), err)
		}
		if _, err := fmt.Fprintf(c.Streams.Out, "---\n%s", raw); err != nil {
			return fmt.Errorf("printing %s: %w", manifests.Name(object), err)
		}
	}
	return nil
}

func (c *installing) apply(ctx context.Context, at Target, plan manifests.Plan) error {
	return c.During("installing in "+at.Host, func() error {
		return plan.Apply(ctx, at.Client, c.report)
	})
}

func (c *installing) await(ctx context.Context, p process, at Target) error {
	ctx, cancel := context.WithTimeout(ctx, c.wait)
	defer cancel()
	return c.During("waiting for the pods", func() error { return p.follow(at).Wait(ctx) })
}

// errOther tells that the other process is in the cluster.
var errOther = errors.New("the cluster has the other one")

// alone refuses a spoke beside a hub: both would act on the same objects.
func (p process) alone(ctx context.Context, c client.Client) error {
	for _, name := range names() {
		other := process{p.Session, config.Set(name)}
		if other.set == p.set {
			continue
		}
		key := client.ObjectKey{Namespace: p.place(), Name: other.name()}
		err := c.Get(ctx, key, &appsv1.Deployment{})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("looking for a %s: %w", name, err)
		}
		if err == nil {
			return hint.With(fmt.Errorf("deployment %q: %w", key, errOther),
				"A hub gives its shops to members, a spoke runs them where it is: beside each other both would act on the same objects. "+
					"Choose another cluster with --context or --kubeconfig, or uninstall the other one first.")
		}
	}
	return nil
}
