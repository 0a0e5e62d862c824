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
)

// rollbackTimeout is how long rollback waits by default.
const rollbackTimeout = 10 * time.Minute

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
	// key is the annotation, and value returns its next value: empty removes it. Done is the participle
	// that is printed.
	key, done string
	value     func(app *v1.EcommerceApp) (string, error)
}

// command completes the command of one application.
func (c *annotateCommand) command(cmd *cobra.Command) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = usage(cobra.ExactArgs(1)), c.completeApps
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) }
	c.output = newOutput(cmd)
	c.dryRun.add(cmd)
	return cmd
}

func (c *annotateCommand) run(ctx context.Context, name string) error {
	if err := errors.Join(c.output.check(), c.dryRun.check()); err != nil {
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
		switch {
		case app.Annotations[c.key] == value:
			operation = "already " + c.done
			return nil
		case c.dryRun == dryRunClient:
			return nil
		}
		before := app.DeepCopy()
		if app.Annotations == nil {
			app.Annotations = map[string]string{}
		}
		if app.Annotations[c.key] = value; value == "" {
			delete(app.Annotations, c.key)
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

// ofRollout returns a function that first checks that an application has a rollout.
func ofRollout(value func(*v1.EcommerceApp) (string, error)) func(*v1.EcommerceApp) (string, error) {
	return func(app *v1.EcommerceApp) (string, error) {
		if app.Spec.Rollout == nil || app.Status.Rollout == nil {
			return "", hint.With(errNoRollout, "Define one in spec.rollout: kubectl explain eapp.spec.rollout")
		}
		return value(app)
	}
}

func (p *Program) pauseCommand() *cobra.Command {
	c := &annotateCommand{Program: p, key: v1.RolloutPausedAnnotation, done: "paused", value: ofRollout(func(*v1.EcommerceApp) (string, error) { return "true", nil })}
	return c.command(&cobra.Command{
		Use:   "pause APP",
		Short: "Stop the rollout of an EcommerceApp where it is",
		Long: `Stop the rollout of an EcommerceApp where it is.

No other cluster gets the new revision, and no failure causes a rollback, until
kubectl shopfleet resume. Clusters that have it already go on. To hold back all changes,
also those of one cluster, set spec.paused.`,
		Example: `  kubectl shopfleet pause shop -n production`,
	})
}

func (p *Program) resumeCommand() *cobra.Command {
	c := &annotateCommand{Program: p, key: v1.RolloutPausedAnnotation, done: "resumed", value: ofRollout(func(*v1.EcommerceApp) (string, error) { return "", nil })}
	return c.command(&cobra.Command{
		Use:     "resume APP",
		Short:   "Go on with the paused rollout of an EcommerceApp",
		Example: `  kubectl shopfleet resume shop -n production`,
	})
}

func (p *Program) approveCommand() *cobra.Command {
	c := &annotateCommand{Program: p, key: v1.ApproveAnnotation, done: "approved", value: ofRollout(approval)}
	return c.command(&cobra.Command{
		Use:   "approve APP",
		Short: "Approve the rollout of an EcommerceApp in its next region",
		Long: `Approve the rollout of an EcommerceApp in its next region.

The approval counts for this revision, or this version of the pod templates, and this
region. With spec.rollout.approval BetweenRegions each region but the first waits for one.`,
		Example: `  kubectl shopfleet approve shop -n production`,
	})
}

// approval returns the approval of the region that waits for one: for a revision, or for a version of the pod templates.
func approval(app *v1.EcommerceApp) (string, error) {
	prefix, r := "", app.Status.Rollout
	if r.State != v1.RolloutWaitingForApproval {
		prefix, r = v1.ApproveRendering, app.Status.Rendering
	}
	if r == nil || r.State != v1.RolloutWaitingForApproval {
		return "", errNotWaiting
	}
	return prefix + strconv.FormatInt(r.Revision, 10) + "/" + r.Region, nil
}

// rollback is the command that returns to an earlier revision.
type rollback struct {
	annotateCommand
	to   int64
	wait waitFlags
}

func (p *Program) rollbackCommand() *cobra.Command {
	c := &rollback{annotateCommand: annotateCommand{Program: p, key: v1.RollbackToAnnotation, done: "rolling back"}}
	c.value = ofRollout(c.target)
	cmd := &cobra.Command{
		Use:   "rollback APP",
		Short: "Return the clusters of an EcommerceApp to an earlier revision",
		Long: `Return the clusters of an EcommerceApp to an earlier revision.

All clusters change at once, to the revision that was healthy before, or to the one that
you choose. The database keeps its version and size. The spec stays as it is: the clusters
have the earlier revision until it is edited. To roll out the revision of the spec once
more, choose it with --to-revision.

See the revisions: kubectl shopfleet history APP`,
		Example: `  kubectl shopfleet rollback shop -n production
  kubectl shopfleet rollback shop -n production --to-revision 4`,
	}
	c.command(cmd)
	cmd.Flags().Int64Var(&c.to, "to-revision", 0, "The revision; default: the one that was healthy before")
	c.wait.add(cmd, rollbackTimeout, "the clusters that change, and respond, are ready with the revision")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) }
	return cmd
}

// target returns the revision to return to.
func (r *rollback) target(app *v1.EcommerceApp) (string, error) {
	previous := app.Status.Rollout.PreviousRevision
	switch {
	case r.to != 0:
		return strconv.FormatInt(r.to, 10), nil
	case previous == 0:
		return "", errNoPrevious
	case previous == app.Status.Rollout.Revision: // The user edited the spec to return.
		return "", hint.With(errReturned, "Choose one with --to-revision, see kubectl shopfleet history "+app.Name)
	}
	return strconv.FormatInt(previous, 10), nil
}

// returned reports whether the clusters have returned already to the revision that would be chosen.
func (r *rollback) returned(app *v1.EcommerceApp) bool {
	state := app.Status.Rollout
	return r.to == 0 && app.Spec.Rollout != nil && state != nil && state.State == v1.RolloutRolledBack &&
		app.Status.ObservedGeneration == app.Generation && app.Annotations[r.key] == ""
}

func (r *rollback) run(ctx context.Context, name string) error {
	if err := errors.Join(r.output.check(), r.dryRun.check(), r.wait.check()); err != nil {
		return err
	}
	if r.to < 0 {
		return usagef("--to-revision must not be negative")
	}
	hub, err := r.hub()
	if err != nil {
		return err
	}
	namespace, err := r.namespaceFlag()
	if err != nil {
		return err
	}
	app := &v1.EcommerceApp{}
	if err := hub.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, app); err != nil {
		return hint.IfNotFound(fmt.Errorf("getting EcommerceApp %q: %w", name, err), "List all: kubectl shopfleet status -A")
	}
	if r.returned(app) {
		return r.output.printDone(r.Program, app, hub.scheme, fmt.Sprintf("already rolled back to revision %d", app.Status.Rollout.PreviousRevision))
	}
	if err := r.checkHealthy(ctx, hub, app); err != nil {
		return err
	}
	app, err = r.annotate(ctx, hub, client.ObjectKeyFromObject(app))
	if err != nil || !r.wait.enabled || r.dryRun != dryRunNone {
		return err
	}
	return r.await(ctx, hub, awaiting{
		resource: "ecommerceapp", list: &v1.EcommerceAppList{}, namespace: app.Namespace, names: []string{app.Name}, wait: r.wait,
		progress: r.progress,
	})
}

// checkHealthy returns an error unless the revision that the user chose was once completed. The revision of
// the spec is rolled out again, even if it failed.
func (r *rollback) checkHealthy(ctx context.Context, hub *cluster, app *v1.EcommerceApp) error {
	if r.to == 0 || app.Status.Rollout != nil && app.Status.Rollout.Revision == r.to {
		return nil
	}
	stored := &appsv1.ControllerRevisionList{}
	if err := hub.client.List(ctx, stored, revisionsOf(app.Namespace, app.Name)...); err != nil {
		return fmt.Errorf("listing the revisions of EcommerceApp %q: %w", app.Name, err)
	}
	for i := range stored.Items {
		if state := &stored.Items[i]; state.Revision == r.to && metav1.IsControlledBy(state, app) && state.Annotations[v1.CompletedAtAnnotation] != "" {
			return nil
		}
	}
	return hint.With(fmt.Errorf("choosing revision %d of EcommerceApp %q: %w", r.to, app.Name, errNotHealthy), "List all: kubectl shopfleet history "+app.Name)
}

// progress describes a rollback. The hub removes the annotation when it has decided.
func (r *rollback) progress(o client.Object) progress {
	app, ok := o.(*v1.EcommerceApp)
	if !ok || app.Status.Rollout == nil {
		return progress{}
	}
	rollout := app.Status.Rollout
	state := string(rollout.State)
	if app.Annotations[v1.RollbackToAnnotation] != "" {
		state = "Requested"
	}
	if r.to == rollout.Revision { // Another attempt.
		return phase(state, rollout.Message, string(v1.RolloutComplete), string(v1.RolloutRolledBack))
	}
	return phase(state, rollout.Message, string(v1.RolloutRolledBack), "")
}
