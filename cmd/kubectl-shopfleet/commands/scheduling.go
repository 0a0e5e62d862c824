package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/hub/app/placement"
)

// membersPeriod is the interval of listing the members while applications leave one of them.
const membersPeriod = 2 * time.Second

// errStay is the result of a drain that does not move all applications.
var errStay = errors.New("not all EcommerceApps can leave")

// scheduling is a command that sets spec.scheduling of a member.
type scheduling struct {
	*Program
	output *output
	dryRun dryRun
	to     v1.Scheduling
	chosen selection
	// done is the participle that is printed.
	done string
}

func (p *Program) cordonCommand() *cobra.Command {
	return (&scheduling{Program: p, to: v1.SchedulingCordoned, done: "cordoned"}).command(&cobra.Command{
		Use:   "cordon MEMBER...",
		Short: "Mark members as unschedulable for other EcommerceApps; what runs there stays",
		Example: `  kubectl shopfleet cordon eu-1
  kubectl shopfleet cordon -l tier=test --dry-run=server`,
	})
}

func (p *Program) uncordonCommand() *cobra.Command {
	return (&scheduling{Program: p, to: v1.SchedulingEnabled, done: "uncordoned"}).command(&cobra.Command{
		Use:     "uncordon MEMBER...",
		Short:   "End the cordon or the drain of members",
		Example: `  kubectl shopfleet uncordon eu-1`,
	})
}

// command completes a command that does nothing else.
func (s *scheduling) command(cmd *cobra.Command) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := errors.Join(s.output.check(), s.chosen.check(args)); err != nil {
			return err
		}
		hub, err := s.hub()
		if err != nil {
			return err
		}
		names, err := s.chosen.names(cmd.Context(), &list{Program: s.Program, hub: hub, kind: &v1.MemberClusterList{}}, args)
		// One that cannot be written does not keep the others from it.
		for _, name := range names {
			err = errors.Join(err, s.set(cmd.Context(), hub, name))
		}
		return err
	}
	s.add(cmd)
	s.chosen.add(cmd)
	cmd.Args, cmd.ValidArgsFunction = usage(cobra.ArbitraryArgs), s.completeClusters
	return cmd
}

func (s *scheduling) add(cmd *cobra.Command) {
	cmd.Args, cmd.ValidArgsFunction = usage(cobra.ExactArgs(1)), first(s.completeClusters)
	s.output = newOutput(cmd)
	s.dryRun.add(cmd)
}

// set writes spec.scheduling, unless it has the value, and prints what was done.
func (s *scheduling) set(ctx context.Context, hub *cluster, name string) error {
	member := &v1.MemberCluster{}
	if err := hub.client.Get(ctx, client.ObjectKey{Name: name}, member); err != nil {
		return hint.IfNotFound(fmt.Errorf("getting MemberCluster %q: %w", name, err), "List all: kubectl get memberclusters")
	}
	operation := s.done
	switch now := cmp.Or(member.Spec.Scheduling, v1.SchedulingEnabled); {
	case now == s.to:
		operation = "already " + s.done
	case now == v1.SchedulingDrained && s.to == v1.SchedulingCordoned:
		operation = "already drained" // Which is more.
	default:
		before := member.DeepCopy()
		member.Spec.Scheduling = s.to
		if s.dryRun != dryRunClient {
			if err := s.dryRun.client(hub.client).Patch(ctx, member, client.MergeFrom(before)); err != nil {
				return fmt.Errorf("writing spec.scheduling of MemberCluster %q: %w", name, err)
			}
		}
	}
	return s.output.printDone(s.Program, member, hub.scheme, operation+s.dryRun.suffix())
}

// drain is the command that moves applications out of a member.
type drain struct {
	scheduling
	// names are the members that are drained.
	names        []string
	moveEmpty    bool
	wait         waitFlags
	confirmation confirmation
}

func (p *Program) drainCommand() *cobra.Command {
	c := &drain{scheduling: scheduling{Program: p, to: v1.SchedulingDrained, done: "draining"}}
	cmd := &cobra.Command{
		Use:   "drain MEMBER...",
		Short: "Move the EcommerceApps of members to others, and mark them as unschedulable",
		Long: `Move the EcommerceApps of members to others, and mark them as unschedulable.

An EcommerceApp leaves the member when the other clusters that are chosen for it serve
customers. One with a database stays, as its data would be left behind, unless you allow
that with --move-empty; its volumes and backups in the member are kept. One that no other
cluster can run stays too. The command fails if any stays; to end the drain, use uncordon,
which also ends what --move-empty allowed. A dry run lists what would leave and what would
stay, as the hub decides it now: with -o, as a DrainPreview of each member.`,
		Example: `  kubectl shopfleet drain eu-1
  kubectl shopfleet drain eu-1 eu-2 --dry-run=server
  kubectl shopfleet drain eu-1 --move-empty --timeout 10m`,
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.add(cmd)
	c.chosen.add(cmd)
	cmd.Args, cmd.ValidArgsFunction = usage(cobra.ArbitraryArgs), c.completeClusters
	cmd.Flags().BoolVar(&c.moveEmpty, "move-empty", false, "Let EcommerceApps with a database leave their data behind, and start with an empty database elsewhere")
	c.wait.add(cmd, 10*time.Minute, "no EcommerceApp runs in the member that can leave it")
	c.confirmation.add(cmd, " of --move-empty")
	return cmd
}

func (d *drain) run(ctx context.Context, names []string) error {
	if err := errors.Join(d.output.check(), d.wait.check(), d.chosen.check(names)); err != nil {
		return err
	}
	hub, err := d.hub()
	if err != nil {
		return err
	}
	d.names, err = d.chosen.names(ctx, &list{Program: d.Program, hub: hub, kind: &v1.MemberClusterList{}}, names)
	if err != nil || len(d.names) == 0 {
		return err
	}
	action := "move the EcommerceApps of " + strings.Join(d.names, ", ") + " to other members"
	if d.moveEmpty {
		action += ", and leave their data behind"
	}
	if confirmed, err := d.confirmation.confirm(ctx, d.Program, question{"drain", action, d.moveEmpty, d.dryRun}); err != nil || !confirmed {
		return err
	}
	// All are marked before one is waited for, so that no application moves from one to another.
	for _, name := range d.names {
		if err := d.set(ctx, hub, name); err != nil {
			return err
		}
		if d.moveEmpty && d.dryRun != dryRunClient {
			if err := d.allow(ctx, hub, name); err != nil {
				return err
			}
		}
	}
	for _, name := range d.names {
		switch {
		case d.dryRun != dryRunNone:
			err = errors.Join(err, d.showPreview(ctx, hub, name))
		case d.wait.enabled:
			err = errors.Join(err, d.await(ctx, hub, name))
		}
	}
	return err
}

// allow lets the applications with a database leave a member without their data.
func (d *drain) allow(ctx context.Context, hub *cluster, name string) error {
	apps := &v1.EcommerceAppList{}
	if err := hub.client.List(ctx, apps); err != nil {
		return fmt.Errorf("listing EcommerceApps: %w", err)
	}
	writer := d.dryRun.client(hub.client)
	for i := range apps.Items {
		app := &apps.Items[i]
		if app.Spec.Database == nil || !runsIn(app, name) {
			continue
		}
		// The hub and other users write at the same time.
		if err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
			if err := hub.client.Get(ctx, client.ObjectKeyFromObject(app), app); err != nil {
				return client.IgnoreNotFound(err)
			}
			if slices.Contains(placement.RequestOf(app, nil, time.Time{}).MoveEmpty, name) {
				return nil
			}
			before := app.DeepCopy()
			consent(app, name)
			return writer.Patch(ctx, app, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		}); err != nil {
			return fmt.Errorf("annotating EcommerceApp %s/%s: %w", app.Namespace, app.Name, err)
		}
	}
	return nil
}

// consent lets an application leave a member without its data.
func consent(app *v1.EcommerceApp, name string) {
	if app.Annotations == nil {
		app.Annotations = map[string]string{}
	}
	app.Annotations[v1.MoveEmptyAnnotation] = strings.Trim(app.Annotations[v1.MoveEmptyAnnotation]+","+name, ", ")
}

func runsIn(app *v1.EcommerceApp, member string) bool {
	return slices.ContainsFunc(app.Status.Clusters, func(entry v1.ClusterStatus) bool { return entry.Name == member })
}

// await prints how the applications leave a member, until those have that can.
func (d *drain) await(ctx context.Context, hub *cluster, name string) error {
	ctx, cancel := d.wait.limit(ctx, errTimeout)
	defer cancel()
	query, err := hub.query(d.retrying)
	if err != nil {
		return err
	}
	query.List = &v1.EcommerceAppList{}
	states := map[string]string{}
	var stays leaving
	var clusters []placement.Cluster
	var listed time.Time
	err = d.during("waiting for EcommerceApps to leave "+name, func() error {
		return query.Run(ctx, func(objects []client.Object) (bool, error) {
			if d.clock.Since(listed) > membersPeriod {
				members := &v1.MemberClusterList{}
				if err := hub.client.List(ctx, members); err != nil {
					return false, fmt.Errorf("listing MemberClusters: %w", err)
				}
				listed = d.clock.Now()
				clusters = clustersOfMembers(members.Items, listed)
			}
			var next map[string]string
			next, stays = d.states(itemsOf[v1.EcommerceApp](objects), clusters, name)
			d.report(name, states, next)
			states = next
			return stays.leaving == 0, nil
		})
	})
	switch {
	case err != nil && errors.Is(context.Cause(ctx), errTimeout): // It may have interrupted a request.
		return fmt.Errorf("draining member %q: %w after %s: %s", name, errTimeout, d.wait.timeout, strings.Join(slices.Sorted(maps.Keys(states)), ", "))
	case err != nil:
		return fmt.Errorf("draining member %q: %w", name, err)
	case len(states) > 0:
		advice := "See why one stays: kubectl shopfleet why APP -n NAMESPACE --member " + name
		if stays.data > 0 {
			advice = "To let those with a database leave without their data, add --move-empty. " + advice
		}
		return hint.With(fmt.Errorf("draining member %q: %w: %s", name, errStay, strings.Join(slices.Sorted(maps.Keys(states)), ", ")), advice)
	}
	d.say("%s is drained", name)
	return nil
}

// report prints which applications have left a member, and what is new about the others.
func (d *drain) report(name string, last, next map[string]string) {
	for _, app := range slices.Sorted(maps.Keys(last)) {
		if _, runs := next[app]; !runs {
			d.say("%s: left %s", app, name)
		}
	}
	for _, app := range slices.Sorted(maps.Keys(next)) {
		if next[app] != last[app] {
			d.say("%s: %s", app, next[app])
		}
	}
}

// leaving counts the applications that are leaving a member, and those that stay for their data.
type leaving struct{ leaving, data int }

// states describes the applications that run in a member, by namespace and name.
func (d *drain) states(apps []v1.EcommerceApp, clusters []placement.Cluster, name string) (states map[string]string, n leaving) {
	states = map[string]string{}
	for i := range apps {
		app := &apps[i]
		if !runsIn(app, name) {
			continue
		}
		key := app.Namespace + "/" + app.Name
		found, err := explain(app, clusters, d.clock.Now())
		if err != nil {
			states[key] = err.Error()
			continue
		}
		at := slices.IndexFunc(found.Clusters, func(r placement.Result) bool { return r.Cluster == name && r.Decision == placement.Stays })
		switch {
		case at < 0:
			states[key] = "leaving"
			n.leaving++
			continue
		case found.Clusters[at].Reason == v1.ReasonReplacementPending:
			n.leaving++
		case found.Clusters[at].Reason == v1.ReasonDataStays:
			n.data++
		}
		states[key] = found.Clusters[at].Message
	}
	return states, n
}
