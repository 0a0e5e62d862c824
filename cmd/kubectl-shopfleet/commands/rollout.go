package commands

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
)

// rolloutTimeout is the default of --timeout for rollouts.
const rolloutTimeout = 10 * time.Minute

var (
	errNoRollout  = errors.New("it has no rollout")
	errNoPrevious = errors.New("no other revision was healthy")
	errReturned   = errors.New("the revision of the spec is the one that was healthy before")
	errNotWaiting = errors.New("its rollout does not wait for an approval")
	errNotHealthy = errors.New("it does not exist, or was never healthy in all clusters")
)

// annotateCommand is a command that changes the course of a rollout by an annotation.
type annotateCommand struct {
	*Program
	output *output
	dryRun dryRun
	chosen selection
	// key is the annotation, and value returns its next value: empty removes it. Done is the participle
	// that is printed.
	key, done string
	value     func(app *v1.EcommerceApp) (string, error)
}

// many completes a command of any number of applications.
func (c *annotateCommand) many(cmd *cobra.Command) *cobra.Command {
	c.command(cmd)
	c.chosen.add(cmd)
	cmd.Args, cmd.ValidArgsFunction = usage(cobra.ArbitraryArgs), c.inNamespace(&v1.EcommerceAppList{})
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.runMany(cmd.Context(), args) }
	return cmd
}

// runMany annotates the chosen applications. One that cannot be written does not keep the others from it.
func (c *annotateCommand) runMany(ctx context.Context, names []string) error {
	if err := errors.Join(c.output.check(), c.chosen.check(names)); err != nil {
		return err
	}
	namespace, err := c.namespaceFlag()
	if err != nil {
		return err
	}
	hub, err := c.hub()
	if err != nil {
		return err
	}
	names, err = c.chosen.names(ctx, &list{
		Program: c.Program, hub: hub, kind: &v1.EcommerceAppList{}, options: []client.ListOption{client.InNamespace(namespace)},
	}, names)
	for _, name := range names {
		_, failed := c.annotate(ctx, hub, client.ObjectKey{Namespace: namespace, Name: name})
		err = errors.Join(err, failed)
	}
	return err
}

// command completes the command of one application.
func (c *annotateCommand) command(cmd *cobra.Command) {
	cmd.Args, cmd.ValidArgsFunction = usage(cobra.ExactArgs(1)), c.completeApps
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) }
	c.output = newOutput(cmd)
	c.dryRun.add(cmd)
}

func (c *annotateCommand) run(ctx context.Context, name string) error {
	if err := c.output.check(); err != nil {
		return err
	}
	hub, err := c.hub()
	if err != nil {
		return err
	}
	namespace, err := c.namespaceFlag()
	if err != nil {
		return err
	}
	_, err = c.annotate(ctx, hub, client.ObjectKey{Namespace: namespace, Name: name})
	return err
}

// annotate sets the annotation, unless it has the value, and prints what was done.
func (c *annotateCommand) annotate(ctx context.Context, hub *cluster, key client.ObjectKey) (*v1.EcommerceApp, error) {
	app, operation, name := &v1.EcommerceApp{}, c.done, key.Name
	// The hub and other users write at the same time.
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if err := hub.client.Get(ctx, key, app); err != nil {
			return hint.IfNotFound(fmt.Errorf("getting EcommerceApp %q: %w", name, err), "List all: kubectl shopfleet status -A")
		}
		value, err := c.value(app)
		if err != nil {
			return fmt.Errorf("reading the rollout of EcommerceApp %q: %w", name, err)
		}
		if app.Annotations[c.key] == value {
			operation = "already " + c.done
			return nil
		}
		before := app.DeepCopy()
		if app.Annotations == nil {
			app.Annotations = map[string]string{}
		}
		if app.Annotations[c.key] = value; value == "" {
			delete(app.Annotations, c.key)
		}
		if c.dryRun == dryRunClient {
			return nil
		}
		if err := c.dryRun.client(hub.client).Patch(ctx, app, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return fmt.Errorf("annotating EcommerceApp %q: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return app, c.output.printDone(c.Program, app, hub.scheme, operation+c.dryRun.suffix())
}

func (p *Program) rolloutCommand() *cobra.Command {
	return group(
		&cobra.Command{Use: "rollout", Short: "Follow and steer the rollouts of EcommerceApps"},
		p.rolloutStatusCommand(), p.rolloutHistoryCommand(), p.rolloutPauseCommand(), p.rolloutResumeCommand(), p.rolloutApproveCommand(),
		p.rolloutUndoCommand(), p.rolloutRestartCommand(), p.rolloutReconcileCommand(), p.rolloutRenderNowCommand(),
	)
}

// ofRollout returns a function that first checks that an application has a rollout.
func ofRollout(value func(*v1.EcommerceApp) (string, error)) func(*v1.EcommerceApp) (string, error) {
	return func(app *v1.EcommerceApp) (string, error) {
		if app.Spec.Rollout == nil || app.Status.Rollout == nil {
			return "", hint.With(errNoRollout, "Define one in spec.rollout: kubectl explain eapp.spec.rollout")
		}
		return value(app)
	}
}

func (p *Program) rolloutPauseCommand() *cobra.Command {
	c := &annotateCommand{Program: p, key: v1.RolloutPausedAnnotation, done: "paused", value: ofRollout(func(*v1.EcommerceApp) (string, error) { return "true", nil })}
	return c.many(&cobra.Command{
		Use:   "pause APP...",
		Short: "Stop the rollout of an EcommerceApp where it is",
		Long: `Stop the rollout of an EcommerceApp where it is.

No other cluster gets the new revision, and no failure causes a rollback, until
kubectl shopfleet rollout resume. Clusters that have it already go on. To hold back all
changes, also those of one cluster, use kubectl shopfleet pause app.`,
		Example: `  kubectl shopfleet rollout pause shop -n production`,
	})
}

func (p *Program) rolloutResumeCommand() *cobra.Command {
	c := &annotateCommand{Program: p, key: v1.RolloutPausedAnnotation, done: "resumed", value: ofRollout(func(*v1.EcommerceApp) (string, error) { return "", nil })}
	return c.many(&cobra.Command{
		Use:     "resume APP...",
		Short:   "Go on with the paused rollout of an EcommerceApp",
		Example: `  kubectl shopfleet rollout resume shop -n production`,
	})
}

func (p *Program) rolloutApproveCommand() *cobra.Command {
	c := &annotateCommand{Program: p, key: v1.ApproveAnnotation, done: "approved", value: ofRollout(approval)}
	return c.many(&cobra.Command{
		Use:   "approve APP...",
		Short: "Approve the rollout of an EcommerceApp in its next region",
		Long: `Approve the rollout of an EcommerceApp in its next region.

The approval counts for this revision, or this version of the pod templates, and this
region. With spec.rollout.approval BetweenRegions each region but the first waits for one.`,
		Example: `  kubectl shopfleet rollout approve shop -n production`,
	})
}

// approval returns the approval of the region that waits for one.
func approval(app *v1.EcommerceApp) (string, error) {
	value, r := rollout.ToApprove(app)
	if r == nil {
		return "", errNotWaiting
	}
	return value, nil
}

// undo is the command that returns to an earlier revision.
type undo struct {
	annotateCommand
	to   int64
	wait waitFlags
}

func (p *Program) rolloutUndoCommand() *cobra.Command {
	c := &undo{annotateCommand: annotateCommand{Program: p, key: v1.RollbackToAnnotation, done: "rolling back"}}
	c.value = ofRollout(c.target)
	cmd := &cobra.Command{
		Use:   "undo APP",
		Short: "Return the clusters of an EcommerceApp to an earlier revision",
		Long: `Return the clusters of an EcommerceApp to an earlier revision.

All clusters change at once, to the revision that was healthy before, or to the one that
you choose. The database keeps its version and size. The spec stays as it is: the clusters
have the earlier revision until it is edited. To roll out the revision of the spec once
more, choose it with --to-revision.

See the revisions: kubectl shopfleet rollout history APP`,
		Example: `  kubectl shopfleet rollout undo shop -n production
  kubectl shopfleet rollout undo shop -n production --to-revision 4`,
	}
	c.command(cmd)
	cmd.Flags().Int64Var(&c.to, "to-revision", 0, "The revision; default: the one that was healthy before")
	c.wait.add(cmd, rolloutTimeout, "the clusters that change, and respond, are ready with the revision")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) }
	return cmd
}

// target returns the revision to return to.
func (u *undo) target(app *v1.EcommerceApp) (string, error) {
	previous := app.Status.Rollout.PreviousRevision
	switch {
	case u.to != 0:
		return strconv.FormatInt(u.to, 10), nil
	case previous == 0:
		return "", errNoPrevious
	case previous == app.Status.Rollout.Revision: // The user edited the spec to return.
		return "", hint.With(errReturned, "Choose one with --to-revision, see kubectl shopfleet rollout history "+app.Name+" -n "+app.Namespace)
	}
	return strconv.FormatInt(previous, 10), nil
}

// returned reports whether the clusters have returned already to the revision that would be chosen.
func (u *undo) returned(app *v1.EcommerceApp) bool {
	state := app.Status.Rollout
	return u.to == 0 && app.Spec.Rollout != nil && state != nil && state.State == v1.RolloutRolledBack &&
		app.Status.ObservedGeneration == app.Generation && app.Annotations[u.key] == ""
}

func (u *undo) run(ctx context.Context, name string) error {
	if err := errors.Join(u.output.check(), u.wait.check()); err != nil {
		return err
	}
	if u.to < 0 {
		return usagef("--to-revision must not be negative")
	}
	hub, err := u.hub()
	if err != nil {
		return err
	}
	namespace, err := u.namespaceFlag()
	if err != nil {
		return err
	}
	app := &v1.EcommerceApp{}
	if err := hub.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, app); err != nil {
		return hint.IfNotFound(fmt.Errorf("getting EcommerceApp %q: %w", name, err), "List all: kubectl shopfleet status -A")
	}
	if u.returned(app) {
		return u.output.printDone(u.Program, app, hub.scheme, fmt.Sprintf("already rolled back to revision %d", app.Status.Rollout.PreviousRevision))
	}
	if err := u.checkHealthy(ctx, hub, app); err != nil {
		return err
	}
	app, err = u.annotate(ctx, hub, client.ObjectKeyFromObject(app))
	if err != nil || !u.wait.enabled || u.dryRun != dryRunNone {
		return err
	}
	return u.await(ctx, hub, awaiting{
		resource: "ecommerceapp", list: &v1.EcommerceAppList{}, namespace: app.Namespace, names: []string{app.Name}, wait: u.wait,
		progress: u.progress,
	})
}

// checkHealthy returns an error unless the revision that the user chose was once completed. The revision of
// the spec is rolled out again, even if it failed.
func (u *undo) checkHealthy(ctx context.Context, hub *cluster, app *v1.EcommerceApp) error {
	if u.to == 0 || app.Status.Rollout != nil && app.Status.Rollout.Revision == u.to {
		return nil
	}
	stored := &appsv1.ControllerRevisionList{}
	if err := hub.client.List(ctx, stored, revisionsOf(app.Namespace, app.Name)...); err != nil {
		return fmt.Errorf("listing the revisions of EcommerceApp %q: %w", app.Name, err)
	}
	for i := range stored.Items {
		if state := &stored.Items[i]; state.Revision == u.to && metav1.IsControlledBy(state, app) && state.Annotations[v1.CompletedAtAnnotation] != "" {
			return nil
		}
	}
	return hint.With(fmt.Errorf("choosing revision %d of EcommerceApp %q: %w", u.to, app.Name, errNotHealthy), "List all: kubectl shopfleet rollout history "+app.Name+" -n "+app.Namespace)
}

// progress describes a rollback. The hub removes the annotation when it has decided.
func (u *undo) progress(o client.Object) progress {
	app, ok := o.(*v1.EcommerceApp)
	if !ok || app.Status.Rollout == nil {
		return progress{}
	}
	last := app.Status.Rollout
	state := string(last.State)
	if app.Annotations[v1.RollbackToAnnotation] != "" {
		state = "Requested"
	}
	if u.to == last.Revision { // Another attempt.
		failed := string(v1.RolloutRolledBack)
		if state == string(v1.RolloutFailed) {
			failed = state
		}
		return phase(state, last.Message, string(v1.RolloutComplete), failed)
	}
	return phase(state, last.Message, string(v1.RolloutRolledBack), "")
}
