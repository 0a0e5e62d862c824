package commands

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
)

// The kinds that can be paused, as arguments.
const (
	kindApp    = "app"
	kindMember = "member"
)

// pause is a command that sets spec.paused of EcommerceApps or of MemberClusters.
type pause struct {
	*Program
	output *output
	dryRun dryRun
	chosen selection
	to     bool
	// done is the participle that is printed.
	done string
}

func (p *Program) pauseCommand() *cobra.Command {
	return (&pause{Program: p, to: true, done: "paused"}).command(&cobra.Command{
		Use:   "pause app|member NAME...",
		Short: "Pause EcommerceApps or members: nothing is written, and what would be is listed",
		Long: `Pause EcommerceApps or members: nothing is written, and what would be is listed.

While an EcommerceApp is paused, the hub and the agents write nothing of it. While a member
is paused, the hub writes nothing in it; an agent there goes on with the copies that it has.
kubectl shopfleet diff shows what would be written. The command sets spec.paused.

To stop only the rollout of a revision, use kubectl shopfleet rollout pause.`,
		Example: `  kubectl shopfleet pause member eu-1
  kubectl shopfleet pause app shop cart -n production
  kubectl shopfleet pause member -l tier=test --dry-run=server`,
	})
}

func (p *Program) unpauseCommand() *cobra.Command {
	return (&pause{Program: p, to: false, done: "unpaused"}).command(&cobra.Command{
		Use:   "unpause app|member NAME...",
		Short: "End the pause of EcommerceApps or members, and write what is pending",
		Example: `  kubectl shopfleet unpause member eu-1
  kubectl shopfleet unpause app shop -n production`,
	})
}

// command completes a command of one direction.
func (p *pause) command(cmd *cobra.Command) *cobra.Command {
	cmd.Args = usage(func(cmd *cobra.Command, args []string) error {
		if err := cobra.MinimumNArgs(1)(cmd, args); err != nil {
			return err
		}
		if args[0] != kindApp && args[0] != kindMember {
			return fmt.Errorf("%q %w: must be one of %s, %s", args[0], errKind, kindApp, kindMember)
		}
		return nil
	})
	cmd.ValidArgsFunction = p.complete
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return p.run(cmd.Context(), args[0], args[1:]) }
	p.output = newOutput(cmd)
	p.dryRun.add(cmd)
	p.chosen.add(cmd)
	return cmd
}

// errKind means that the first argument is not a kind.
var errKind = errors.New("cannot be paused")

func (p *pause) complete(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	switch {
	case len(args) == 0:
		return []string{kindApp, kindMember}, cobra.ShellCompDirectiveNoFileComp
	case args[0] == kindMember:
		return p.completeClusters(cmd, args[1:], begun)
	}
	return p.inNamespace(&v1.EcommerceAppList{})(cmd, args[1:], begun)
}

func (p *pause) run(ctx context.Context, kind string, names []string) error {
	if err := errors.Join(p.output.check(), p.chosen.check(names)); err != nil {
		return err
	}
	namespace, err := p.namespaceFlag()
	if err != nil {
		return err
	}
	hub, err := p.hub()
	if err != nil {
		return err
	}
	objects, err := p.find(ctx, hub, kind, namespace, names)
	if err != nil {
		return err
	}
	// One that cannot be written does not keep the others from it.
	var failed error
	for _, object := range objects {
		failed = errors.Join(failed, p.set(ctx, hub, object))
	}
	return failed
}

// find returns the objects that the user named or selected.
func (p *pause) find(ctx context.Context, hub *cluster, kind, namespace string, names []string) ([]client.Object, error) {
	newObject, all, hinted := func() client.Object { return &v1.EcommerceApp{} }, client.ObjectList(&v1.EcommerceAppList{}), "kubectl shopfleet status -A"
	if kind == kindMember {
		newObject, all, hinted = func() client.Object { return &v1.MemberCluster{} }, &v1.MemberClusterList{}, "kubectl get memberclusters"
		namespace = ""
	}
	names, err := p.chosen.names(ctx, &list{Program: p.Program, hub: hub, kind: all, options: []client.ListOption{client.InNamespace(namespace)}}, names)
	if err != nil {
		return nil, err
	}
	var objects []client.Object
	for _, name := range names {
		object := newObject()
		if err := hub.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
			return nil, hint.IfNotFound(fmt.Errorf("getting %s %q: %w", kind, name, err), "List all: "+hinted)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// set writes spec.paused, unless it has the value, and prints what was done.
func (p *pause) set(ctx context.Context, hub *cluster, object client.Object) error {
	before, operation := object.DeepCopyObject().(client.Object), p.done
	changed := false
	switch o := object.(type) {
	case *v1.EcommerceApp:
		changed, o.Spec.Paused = o.Spec.Paused != p.to, p.to
	case *v1.MemberCluster:
		changed, o.Spec.Paused = o.Spec.Paused != p.to, p.to
	}
	switch {
	case !changed:
		operation = "already " + p.done
	case p.dryRun != dryRunClient:
		if err := p.dryRun.client(hub.client).Patch(ctx, object, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("writing spec.paused of %q: %w", object.GetName(), err)
		}
	}
	return p.output.printDone(p.Program, object, hub.scheme, operation+p.dryRun.suffix())
}
