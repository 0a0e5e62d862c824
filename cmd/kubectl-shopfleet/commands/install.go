package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/installer"
	"github.com/shopfleet/shopfleet/config"
)

// installTimeout includes the time to pull an image.
const installTimeout = 3 * time.Minute

var (
	// errConflicting prevents two controllers from reconciling the same objects.
	errConflicting = errors.New("the cluster already has it")
	// errNewer prevents that a release gets permissions, policies, arguments and agents of an earlier one.
	errNewer = errors.New("a newer release runs there")
)

// install is the command that installs the hub or a spoke.
type install struct {
	*Program
	output     *output
	image      string
	spokeImage string
	secrets    pullSecrets
	runbook    runbookURL
	replicas   int32
	safeMode   bool
	wait       waitFlags
	dryRun     dryRun
}

func (p *Program) installCommand() *cobra.Command {
	c := &install{Program: p}
	cmd := &cobra.Command{
		Use:   "install hub|spoke",
		Short: "Install or upgrade the hub or a spoke",
		Long: `Install or upgrade the hub or a spoke.

Applies the manifests of config/hub or config/spoke: CRDs, Namespace, RBAC, admission
policies and Deployment. Then waits until the pods are ready. Run it again to upgrade, with the same
flags: those that you omit are reset to their defaults, but for --image-pull-secret.
Objects that are already as they should be are not written, and objects of a former version
that this one no longer has are pruned: the ConfigMap shopfleet-hub-inventory lists what
was installed. Where a newer release runs, it changes nothing and fails; CRDs of a newer
release are kept.

The hub manages a fleet. A spoke runs EcommerceApps in one cluster without a hub. In a
member of a fleet the spoke is the agent of the hub: use join --mode agent there.

By default the image is that of the release of this program. A program that you built
yourself names one without a registry, like those that make images builds: push it to a
registry that the nodes can reach, and name it with --image. If a registry is private, name
a pull Secret in the same namespace with --image-pull-secret. In members the hub runs
Jobs with the image of the spoke, which upload and download dumps. By default that is
shopfleet-spoke beside the hub's shopfleet-hub; name another with --spoke-image.

With --safe-mode the hub changes nothing in members and clouds, and a spoke nothing of its
applications: they report in status.pendingChanges what they would write.`,
		Example: `  kubectl shopfleet install hub --image registry.example.com/shopfleet-hub:` + config.Release + `
  kubectl shopfleet install spoke --context lab --replicas 1
  kubectl shopfleet install hub --image registry.example.com/shopfleet-hub:` + config.Release + ` --image-pull-secret mirror
  kubectl shopfleet install hub --image registry.example.com/shopfleet-hub:` + config.Release + ` --safe-mode
  kubectl shopfleet install hub --dry-run=server
  kubectl shopfleet install hub --dry-run=client -o yaml > hub.yaml`,
		Args:              hubOrSpoke,
		ValidArgsFunction: first(cobra.FixedCompletions(sets(), cobra.ShellCompDirectiveNoFileComp)),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), config.Set(args[0])) },
	}
	cmd.Flags().StringVar(&c.image, "image", "", "Image to install; default: shopfleet-hub or shopfleet-spoke in the version of this program")
	cmd.Flags().StringVar(&c.spokeImage, "spoke-image", "", "With hub: image of its Jobs in members; default: shopfleet-spoke beside --image")
	c.secrets.add(cmd, "; default: the current ones")
	c.runbook.add(cmd, "; default: that of the version")
	cmd.Flags().Int32Var(&c.replicas, "replicas", 2, "Number of pods, one of which is the leader")
	cmd.Flags().BoolVar(&c.safeMode, "safe-mode", false, "Observe and report, and write nothing but statuses; install again without it to end that")
	c.output = newOutput(cmd)
	c.wait.add(cmd, installTimeout, "the pods are ready")
	c.dryRun.add(cmd)
	return cmd
}

// check rejects flags before any request.
func (i *install) check(set config.Set) error {
	switch {
	case i.spokeImage != "" && set != config.Hub:
		return usagef("--spoke-image %q: is for the hub; name the image of the spoke with --image", i.spokeImage)
	case strings.ContainsAny(i.spokeImage, " \t\n"):
		return usagef("--spoke-image %q: must not contain spaces", i.spokeImage)
	case i.replicas < 1:
		return usagef("--replicas %d: must be at least 1", i.replicas)
	case strings.ContainsAny(i.image, " \t\n"):
		return usagef("--image %q: must not contain spaces", i.image)
	}
	return errors.Join(i.output.check(), i.secrets.check(), i.runbook.check(), i.wait.check(), i.checkNamespace())
}

func (i *install) run(ctx context.Context, set config.Set) error {
	if err := i.check(set); err != nil {
		return err
	}
	if i.dryRun == dryRunClient {
		plan, err := i.plan(set, process{})
		if err != nil {
			return err
		}
		return plan.Preview(installer.Created, i.output.results(i.Program))
	}
	at, err := i.hub()
	if err != nil {
		return err
	}
	if err := i.checkConflict(ctx, at, set); err != nil {
		return err
	}
	current, err := i.running(ctx, at, set)
	if err != nil {
		return err
	}
	if err := i.checkRelease(set, current); err != nil {
		return err
	}
	plan, err := i.plan(set, current)
	if err != nil {
		return err
	}
	plan = plan.WithInventory(i.namespace, inventoryName(set))
	if err := i.during("installing in "+at.config.Host, func() error {
		return plan.Apply(ctx, at.client, i.output.results(i.Program))
	}); err != nil {
		return err
	}
	if plan.DryRun || !i.wait.enabled {
		return nil
	}
	rollout, err := i.rollout(at, set)
	if err != nil {
		return err
	}
	ctx, cancel := i.wait.limit(ctx, nil)
	defer cancel()
	return i.during("waiting for the pods to be ready", func() error { return rollout.Wait(ctx) })
}

// plan returns what to apply, with what is kept of what runs there.
func (i *install) plan(set config.Set, current process) (installer.Plan, error) {
	wanted := config.Installation{
		Namespace: i.namespace, Image: i.image, SpokeImage: i.spokeImage, PullSecrets: i.secrets,
		Replicas: i.replicas, SafeMode: i.safeMode, RunbookURL: string(i.runbook),
	}
	if wanted.Image == "" {
		wanted.Image = i.images + set.Image(i.version)
	}
	if len(wanted.PullSecrets) == 0 {
		wanted.PullSecrets = current.pullSecrets
	}
	if set == config.Hub && wanted.SpokeImage == "" && config.SpokeImage(wanted.Image) == "" {
		i.say("warning: the image of the spoke cannot be derived from %s, so dumps are not uploaded. Name it with --spoke-image", wanted.Image)
	}
	objects, err := set.Install(wanted)
	if err != nil {
		return installer.Plan{}, fmt.Errorf("reading the manifests of the %s: %w", set, err)
	}
	return installer.Plan{Objects: objects, DryRun: i.dryRun == dryRunServer}, nil
}

// checkConflict returns an error if there is a hub where a spoke is to be installed, or
// the other way round: both would reconcile the same objects.
func (i *install) checkConflict(ctx context.Context, at *cluster, set config.Set) error {
	for _, name := range sets() {
		other := config.Set(name)
		if other == set {
			continue
		}
		key := client.ObjectKey{Namespace: i.namespace, Name: deploymentName(other)}
		err := at.client.Get(ctx, key, &appsv1.Deployment{})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("looking for a %s: %w", name, err)
		}
		if err == nil {
			return hint.With(fmt.Errorf("installing the %s beside Deployment %q: %w", set, key, errConflicting),
				"A hub and a spoke in one cluster would reconcile the same objects. "+
					"Choose another cluster with --context or --kubeconfig, or run first: kubectl shopfleet uninstall "+name)
		}
	}
	return nil
}

// checkRelease returns an error if what runs there is of a newer release than this program.
func (i *install) checkRelease(set config.Set, current process) error {
	if !i.isOlderThan(current) {
		return nil
	}
	return hint.With(fmt.Errorf("installing the %s of release %s over %s: %w", set, i.version, current.version, errNewer),
		fmt.Sprintf("Use kubectl-shopfleet of %s. To return to an earlier release, give that program the earlier image with --image: "+
			"the newer definitions and permissions fit it.", current.version))
}

// sets returns the arguments of install and uninstall.
func sets() []string { return []string{string(config.Hub), string(config.Spoke)} }

// hubOrSpoke accepts one of them.
func hubOrSpoke(cmd *cobra.Command, args []string) error {
	if err := cobra.ExactArgs(1)(cmd, args); err != nil {
		return &usageError{err}
	}
	if !slices.Contains(sets(), args[0]) {
		return usagef("%q: must be one of %s", args[0], strings.Join(sets(), ", "))
	}
	return nil
}

// deploymentName returns the name of the Deployment and of the objects around it.
func deploymentName(set config.Set) string { return "shopfleet-" + string(set) }

// leaseName returns the name of the Lease that the leader renews.
func leaseName(set config.Set) string {
	if set == config.Spoke {
		return config.SpokeLease
	}
	return deploymentName(set)
}

// inventoryName returns the name of the ConfigMap that lists the objects of an installation.
func inventoryName(set config.Set) string { return deploymentName(set) + "-inventory" }

// checkNamespace rejects --namespace: one flag names the namespace of the hub, or of a spoke, for all verbs.
func (p *Program) checkNamespace() error {
	if *p.flags.Namespace != "" {
		return usagef("--namespace is that of EcommerceApps: name the namespace of the hub, or of a spoke, with --hub-namespace")
	}
	return nil
}

// rollout returns a wait for the Deployment.
func (p *Program) rollout(at *cluster, set config.Set) (installer.Rollout, error) {
	query, err := at.query(p.retrying)
	name := deploymentName(set)
	return installer.Rollout{
		Query: query, Namespace: p.namespace, Name: name,
		Report: func(progress string) { p.say("%s: %s", name, progress) },
	}, err
}
