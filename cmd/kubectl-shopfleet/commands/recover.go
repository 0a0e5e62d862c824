package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
)

// errNothingWaits means that there is nothing to settle.
var errNothingWaits = errors.New("no decision is pending")

// recoverCommand shows what a restored hub finds in its members.
type recoverCommand struct {
	*Program
	output        *output
	allNamespaces bool
}

func (p *Program) recoverCommand() *cobra.Command {
	c := &recoverCommand{Program: p}
	cmd := &cobra.Command{
		Use:   "recover [APP]",
		Short: "Show what a restored hub found in the members, and settle it",
		Long: `Show what a restored hub found in the members, and settle it.

A hub that was restored from an older backup does not know what happened since. It changes
nothing of that until you decide. REASON is

  NewerInMember        the cluster has a later generation of the EcommerceApp, or one that was
                       made from another EcommerceApp of this name: import or overwrite it
  DeletedInMember      the cluster has recorded that the EcommerceApp was deleted: delete it with
                       "kubectl shopfleet delete", or create it again with overwrite
  NewerElsewhere       the EcommerceApp is not created in the cluster, because it has left it, or
                       another one has a later generation: settle that, or correct the placement
  ManagedByAnotherHub  another hub manages the member: take it over, if that hub is gone`,
		Example: `  kubectl shopfleet recover -A
  kubectl shopfleet recover import shop -n production --member eu-1
  kubectl shopfleet recover overwrite shop -n production
  kubectl shopfleet recover take-over eu-1`,
		Args:              usage(cobra.MaximumNArgs(1)),
		ValidArgsFunction: p.completeApps,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), strings.Join(args, "")) },
	}
	c.output = newOutput(cmd, wide)
	cmd.Flags().BoolVarP(&c.allNamespaces, "all-namespaces", "A", false, "Show the EcommerceApps of all namespaces")
	cmd.AddCommand(p.overwriteCommand(), p.importCommand(), p.takeOverCommand())
	return cmd
}

func (c *recoverCommand) run(ctx context.Context, name string) error {
	if err := c.output.check(); err != nil {
		return err
	}
	if name != "" && c.allNamespaces {
		return usagef("a name cannot be used with --all-namespaces")
	}
	hub, err := c.hub()
	if err != nil {
		return err
	}
	apps, members, err := c.waiting(ctx, hub, name)
	switch {
	case err != nil:
		return err
	case !c.output.text():
		all := &corev1.List{}
		for i := range apps {
			all.Items = append(all.Items, runtime.RawExtension{Object: &apps[i]})
		}
		for i := range members {
			all.Items = append(all.Items, runtime.RawExtension{Object: &members[i]})
		}
		return c.output.print(c.Program, all, hub.scheme)
	case len(apps)+len(members) == 0:
		c.say("Nothing to settle.")
		return nil
	}
	text := printers.Recover(apps, members, printers.Options{Now: c.clock.Now(), Wide: c.output.wide(), AllNamespaces: c.allNamespaces})
	if _, err := io.WriteString(c.streams.Out, text); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

// waiting returns the applications that wait for the user and, unless one is named, the
// members that do.
func (c *recoverCommand) waiting(ctx context.Context, hub *cluster, name string) ([]v1.EcommerceApp, []v1.MemberCluster, error) {
	var options []client.ListOption
	if !c.allNamespaces {
		namespace, err := c.namespaceFlag()
		if err != nil {
			return nil, nil, err
		}
		options = append(options, client.InNamespace(namespace))
	}
	if name != "" {
		options = append(options, client.MatchingFields{"metadata.name": name})
	}
	apps, members := &v1.EcommerceAppList{}, &v1.MemberClusterList{}
	err := c.during("waiting for the hub at "+hub.config.Host, func() error {
		if err := hub.client.List(ctx, apps, options...); err != nil || name != "" {
			return err
		}
		return hub.client.List(ctx, members)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("listing from the hub: %w", err)
	}
	if name != "" && len(apps.Items) == 0 {
		return nil, nil, hint.With(fmt.Errorf("getting EcommerceApp %q: %w", name, errNotFound), listHint)
	}
	apps.Items = slices.DeleteFunc(apps.Items, func(app v1.EcommerceApp) bool {
		return !slices.ContainsFunc(app.Status.Clusters, func(entry v1.ClusterStatus) bool { return printers.Waits(&entry) })
	})
	members.Items = slices.DeleteFunc(members.Items, func(m v1.MemberCluster) bool { return m.Status.OtherHub == "" })
	return apps.Items, members.Items, nil
}

// settlement holds the flags of the verbs that settle what was found.
type settlement struct {
	*Program
	output      *output
	dryRun      dryRun
	interactive interactive
}

// add adds the flags to a verb.
func (s *settlement) add(cmd *cobra.Command) {
	s.output = newOutput(cmd)
	s.dryRun.add(cmd)
	s.interactive.add(cmd)
}

// start checks the flags and connects to the hub.
func (s *settlement) start() (*cluster, error) {
	if err := errors.Join(s.output.check(), s.dryRun.check()); err != nil {
		return nil, err
	}
	return s.hub()
}

// app returns an application of the namespace that the user chose.
func (s *settlement) app(ctx context.Context, hub *cluster, name string) (*v1.EcommerceApp, error) {
	namespace, err := s.namespaceFlag()
	if err != nil {
		return nil, err
	}
	app := &v1.EcommerceApp{}
	if err := hub.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, app); err != nil {
		return nil, hint.IfNotFound(fmt.Errorf("getting EcommerceApp %q: %w", name, err), listHint)
	}
	return app, nil
}

// memberCluster returns a MemberCluster.
func (s *settlement) memberCluster(ctx context.Context, hub *cluster, name string) (*v1.MemberCluster, error) {
	member := &v1.MemberCluster{}
	err := hub.client.Get(ctx, client.ObjectKey{Name: name}, member)
	switch {
	case apierrors.IsNotFound(err):
		return nil, hint.With(fmt.Errorf("getting MemberCluster %q: %w", name, err), "List all: kubectl shopfleet clusters")
	case err != nil:
		return nil, fmt.Errorf("getting MemberCluster %q: %w", name, err)
	default:
		return member, nil
	}
}

// listHint says how to list what waits.
const listHint = "List all: kubectl shopfleet recover -A"

// confirm asks the user, if that is wanted.
func (s *settlement) confirm(ctx context.Context, action string) (bool, error) {
	return s.interactive.confirm(ctx, s.Program, "recovery", action)
}

// done prints what was done to an object.
func (s *settlement) done(hub *cluster, object runtime.Object, operation string) error {
	return s.output.printDone(s.Program, object, hub.scheme, operation+s.dryRun.suffix())
}
