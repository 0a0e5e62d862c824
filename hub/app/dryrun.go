package app

import (
	"cmp"
	"context"
	"errors"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/placement"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

var (
	// errNotStarted means that the controller of applications was not added to a manager.
	errNotStarted = errors.New("the controller of applications has not started")
	// errRecovering means that it is not known yet where an application runs.
	errRecovering = errors.New("the status of the application was lost, and is being recovered")
)

// DryRunResult holds what the hub would decide about an application.
type DryRunResult struct {
	// App is the application as it would be dispatched: with the status that follows from the
	// decision.
	App *v1.EcommerceApp
	// Results are the decisions of the placement, sorted by cluster; empty if none is possible.
	Results []placement.Result
	// Rollout defines in which order the clusters change; nil if they do at once. Clusters are the facts that it
	// decides by.
	Rollout  *v1.Rollout
	Clusters []rollout.Cluster
	// Problem says in which respect the placement is not as the spec says; empty if it is.
	Problem string
}

// DryRun decides about an application that need not exist on the hub, as the reconciler would. It
// writes nothing. The status of the application is that of the one on the hub, if there is one.
func (c *Controller) DryRun(ctx context.Context, app *v1.EcommerceApp) (DryRunResult, error) {
	r := c.reconciler
	if r == nil {
		return DryRunResult{}, errNotStarted
	}
	app = app.DeepCopy()
	if restart := v1.RequestedRestart(app.Annotations, app.Status.LastHandledImageUpdate, r.clock.Now()); restart != "" {
		app.Annotations[v1.RestartedAtAnnotation] = restart
	}
	in, err := r.observe(ctx, app)
	if err == nil && in.recovering {
		err = errRecovering
	}
	if err != nil {
		return DryRunResult{}, err
	}
	if in.Invalid != "" && in.decision.Unmatched == "" {
		return DryRunResult{}, &apierror.SpecError{Reason: v1.ReasonInvalidSpec, Err: errors.New(in.Invalid)}
	}
	dry := DryRunResult{App: app}
	dry.Rollout, dry.Clusters, err = r.dryRunRollout(ctx, app, &in.Input)
	if err != nil {
		return DryRunResult{}, err
	}
	in.Rendering = in.Previous.Rendering // What the edit leaves as it is.
	app.Status = aggregate.Compute(in.Input)
	app.Status.Backups = backedUp(app, in.Clusters)
	if len(in.Unanswered) > 0 {
		return DryRunResult{App: app, Problem: app.Status.Message}, nil
	}
	dry.Results = in.decision.Results(in.request)
	dry.Problem = cmp.Or(in.decision.Unmet, in.decision.Unmatched)
	return dry, nil
}

// backedUp returns the backups of an application whose clusters may upgrade the database: an upgrade waits for
// a backup, and is planned all the same.
func backedUp(app *v1.EcommerceApp, clusters []aggregate.Cluster) []v1.ClusterBackups {
	if app.Spec.Database == nil {
		return nil
	}
	all := make([]v1.ClusterBackups, 0, len(clusters))
	for i := range clusters {
		wanted := cmp.Or(clusters[i].Database, app.Spec.Database).Server()
		all = append(all, v1.ClusterBackups{Name: clusters[i].Name, Version: wanted.Version, Image: wanted.Image})
	}
	return all
}
