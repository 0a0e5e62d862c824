package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/copies"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// planRollout adds the decision about the rollout to the input of the status. While the application is
// paused, or has to be corrected, its clusters keep what they have.
func (r *Reconciler) planRollout(ctx context.Context, app *v1.EcommerceApp, in *observation) error {
	if app.Spec.Rollout == nil || in.recovering || in.Deleting || len(in.Undecided) > 0 {
		return nil
	}
	in.Rollout, in.Revisions = in.Previous.Rollout.DeepCopy(), map[string]int64{}
	for _, entry := range in.Previous.Clusters {
		in.Revisions[entry.Name] = entry.Revision
	}
	if in.Paused || in.SafeMode {
		in.Rollout = rollout.Suspend(in.Previous.Rollout, r.clustersOf(app, &in.Input))
		return nil
	}
	server, err := r.serverUntilComplete(ctx, app)
	if err != nil {
		in.keepRevisions(apierror.Decide(err))
		return err
	}
	revised := *app
	if in.Previous.Rollout != nil {
		revised.Status.Rollout = in.Previous.Rollout.DeepCopy()
		revised.Status.Rollout.DatabaseServer = server
	}
	request, err := r.rolloutRequest(ctx, &revised, in)
	if err != nil {
		in.keepRevisions(apierror.Decide(err))
		return err
	}
	in.rollOut(request)
	in.setServer(app.Spec.Database, server)
	if !in.completes(request.Last) {
		return nil
	}
	// Before the status says so, so that it is done again after a crash.
	if err := r.revisions.Complete(ctx, app, in.Rollout, in.Revisions); err != nil {
		in.Rollout.CompletionTime, in.Rollout.State = nil, v1.RolloutProgressing
		in.Rollout.Message = "writing the history: " + apierror.Message(err)
		return err
	}
	return nil
}

// serverUntilComplete returns the server of the database that clusters get until the rollout is complete, or nil. It
// reads the revision that is rolled out when the spec has another one.
func (r *Reconciler) serverUntilComplete(ctx context.Context, app *v1.EcommerceApp) (*v1.DatabaseServer, error) {
	last := app.Status.Rollout
	if last == nil || last.State == v1.RolloutComplete || last.DatabaseServer != nil {
		return rollout.ServerUntilComplete(app, nil), nil
	}
	_, hash, err := rollout.Template(&app.Spec)
	if err != nil || hash == last.SpecHash || app.Spec.Database == nil || app.Spec.Database.Engine != v1.EngineMySQL {
		return nil, err
	}
	released, err := r.revisions.Spec(ctx, app, last.Revision)
	if _, missing := errors.AsType[*apierror.SpecError](err); missing {
		return nil, nil // No cluster can get it any more.
	}
	if err != nil {
		return nil, err
	}
	return rollout.ServerUntilComplete(app, released.Database), nil
}

// setServer adds the server that clusters get until the rollout is complete to its status. Once it is complete, or when
// the server is another one, what is known of the clusters is to be compared with the other spec at once.
func (o *observation) setServer(db *v1.Database, server *v1.DatabaseServer) {
	next, last := o.Rollout, o.Previous.Rollout
	if next == nil {
		return
	}
	next.DatabaseServer = server
	if next.State == v1.RolloutComplete {
		next.DatabaseServer = nil
	}
	if server != nil && next.DatabaseServer != nil {
		next.Message = rollout.WithWaitingServer(next.Message, db)
	}
	if was := last != nil && last.DatabaseServer != nil; was != (next.DatabaseServer != nil) {
		o.until = o.Now.Add(time.Second)
	}
}

// keepRevisions leaves the clusters with what they have, because the revision of the spec could not be stored. One
// that is new gets what the others have, and none is added if that has no number.
func (o *observation) keepRevisions(d apierror.Decision) {
	o.Unrevised = &aggregate.Unrevised{Message: d.Message, Blocking: d.Blocking}
	if o.Rollout == nil {
		o.keepClusters()
		return
	}
	for _, name := range o.Chosen {
		o.Revisions[name] = cmp.Or(o.Revisions[name], o.Rollout.Target())
	}
}

// rolloutRequest stores the revision of the spec, and returns the request of a decision about it.
func (r *Reconciler) rolloutRequest(ctx context.Context, app *v1.EcommerceApp, in *observation) (rollout.Request, error) {
	resolved, err := r.revisions.Resolve(ctx, app)
	if err != nil {
		return rollout.Request{}, err
	}
	if err := r.revisions.Store(ctx, app, resolved); err != nil {
		return rollout.Request{}, err
	}
	request := r.requestOf(app, resolved, &in.Input)
	if last := in.Previous.Rollout; last != nil && (last.DatabaseServer == nil) != (app.Status.Rollout.DatabaseServer == nil) {
		awaitServers(request.Clusters)
	}
	request.Paused = app.Annotations[v1.RolloutPausedAnnotation] == "true"
	if revision, region, _ := strings.Cut(app.Annotations[v1.ApproveAnnotation], "/"); revision == strconv.FormatInt(resolved.Revision, 10) {
		request.Approved = region
	}
	request.RollbackTo, err = r.rollbackTo(ctx, app, resolved.Revision)
	return request, err
}

// awaitServers lets clusters wait that refused the server of the spec, and not yet the one that is rolled out in its
// place: see setServer.
func awaitServers(clusters []rollout.Cluster) {
	for i := range clusters {
		if c := &clusters[i]; c.Refused != "" {
			c.Refused, c.Waiting = "", true
		}
	}
}

// requestOf returns the request of a decision about a rollout, without what users ask for by annotations.
func (r *Reconciler) requestOf(app *v1.EcommerceApp, resolved revisions.Resolved, in *aggregate.Input) rollout.Request {
	return rollout.Request{
		Spec: *app.Spec.Rollout, Revision: resolved.Revision, Hash: resolved.Hash, Healthy: resolved.Healthy,
		Last: in.Previous.Rollout, Clusters: r.clustersOf(app, in), Now: in.Now.Time,
	}
}

// dryRunRollout adds the end of a rollout to the input of the status, if all goes well, and returns the
// rollout that would lead there, or nil if all clusters change at once. It writes nothing.
func (r *Reconciler) dryRunRollout(ctx context.Context, app *v1.EcommerceApp, in *aggregate.Input) (*v1.Rollout, error) {
	if app.Spec.Rollout == nil || len(in.Undecided) > 0 {
		return nil, nil
	}
	resolved, err := r.revisions.Resolve(ctx, app)
	if err != nil {
		return nil, err
	}
	last := in.Previous.Rollout
	in.Rollout = &v1.RolloutStatus{Revision: resolved.Revision, SpecHash: resolved.Hash, State: v1.RolloutComplete}
	if last != nil && last.Revision == resolved.Revision {
		in.Rollout = last // One that was rolled back stays so.
	}
	in.Revisions = map[string]int64{}
	for _, name := range in.Chosen {
		in.Revisions[name] = in.Rollout.Target()
	}
	if rollout.Guarded(r.requestOf(app, resolved, in)) {
		return app.Spec.Rollout, nil
	}
	return nil, nil
}

// rollOut adds the decision. If none is possible, the clusters keep what they have.
func (o *observation) rollOut(request rollout.Request) {
	decision, err := rollout.Next(request)
	if err != nil {
		o.Invalid = err.Error()
		return
	}
	o.Rollout, o.Revisions, o.refused = &decision.Status, decision.Revisions, decision.Refused
	o.rollbackDecided = request.RollbackTo == 0 || request.RollbackTo == decision.Status.Target()
	o.wake(decision.Until)
}

// addRefusals adds to the clusters that the rollout leaves behind why it does: nothing was tried there.
func (o *observation) addRefusals() {
	for i := range o.Clusters {
		if c := &o.Clusters[i]; c.Failure == nil && o.refused[c.Name] != "" {
			c.Failure = &aggregate.Failure{Reason: v1.ReasonUpgradeRefused, Message: o.refused[c.Name]}
		}
	}
}

// completes reports whether the rollout is complete by this decision.
func (o *observation) completes(last *v1.RolloutStatus) bool {
	next := o.Rollout
	return next != nil && next.CompletionTime != nil && (last == nil || last.CompletionTime == nil || last.Revision != next.Revision)
}

// rollbackTo returns the revision that the user asks for, or 0. One that does not exist, or never was healthy,
// is reported by an event and ignored.
func (r *Reconciler) rollbackTo(ctx context.Context, app *v1.EcommerceApp, spec int64) (int64, error) {
	text := app.Annotations[v1.RollbackToAnnotation]
	if text == "" {
		return 0, nil
	}
	revision, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil || revision <= 0:
		err = &apierror.SpecError{Reason: v1.ReasonRevisionNotFound, Err: fmt.Errorf("%q is not the number of a revision", text)}
	case revision == spec:
		return revision, nil // Another attempt.
	default:
		err = r.revisions.CheckHealthy(ctx, app, revision)
	}
	if refused, is := errors.AsType[*apierror.SpecError](err); is {
		r.recorder.Eventf(app, nil, corev1.EventTypeWarning, refused.Reason, "Rollback", "Cannot follow the annotation %s: %s", v1.RollbackToAnnotation, refused)
		return 0, nil
	}
	return revision, err
}

// settleRollout takes annotations that are handled out of the application, after the status says what was decided, and
// drops the revisions that are remembered and that no cluster has.
func (r *Reconciler) settleRollout(app *v1.EcommerceApp, in *observation) {
	decided := app.Status.Rollout
	r.state.KeepRevisions(keyOf(app), revisionsInUse(&app.Status))
	if in.rollbackDecided && equality.Semantic.DeepEqual(decided, in.Rollout) {
		delete(app.Annotations, v1.RollbackToAnnotation)
	}
	if approvalEnded(app) {
		delete(app.Annotations, v1.ApproveAnnotation)
	}
}

// revisionsInUse returns the revisions that clusters have, or may get; none while no cluster has an earlier one.
func revisionsInUse(s *v1.EcommerceAppStatus) []int64 {
	if s.Rollout == nil {
		return nil
	}
	var earlier []int64
	for i := range s.Clusters {
		if c := &s.Clusters[i]; c.Phase != v1.PhaseDeleting && c.Revision != s.Rollout.Revision {
			earlier = append(earlier, c.Revision)
		}
	}
	if len(earlier) == 0 {
		return nil
	}
	return append(earlier, s.Rollout.Revision, s.Rollout.PreviousRevision)
}

// approvalEnded reports whether the region that the user approved has begun, or a later revision is rolled
// out: the approval does not count when the spec returns to that of before.
func approvalEnded(app *v1.EcommerceApp) bool {
	number, region, approved := strings.Cut(app.Annotations[v1.ApproveAnnotation], "/")
	if !approved || app.Status.Rollout == nil {
		return false
	}
	if version, is := strings.CutPrefix(number, v1.ApproveRendering); is {
		return renderingBegan(app, version, region)
	}
	revision, err := strconv.ParseInt(number, 10, 64)
	return err == nil && revision < app.Status.Rollout.Revision || slices.ContainsFunc(app.Status.Clusters, func(c v1.ClusterStatus) bool {
		return cmp.Or(c.Region, aggregate.RegionUnknown) == region && strconv.FormatInt(c.Revision, 10) == number
	})
}

// recordRollout records events for transitions of the rollout of a revision, or of a version of pod templates.
func (r *Reconciler) recordRollout(app *v1.EcommerceApp, what string, last, next *v1.RolloutStatus) {
	if next == nil || last != nil && last.State == next.State && last.Revision == next.Revision && last.Region == next.Region {
		return
	}
	subject := strings.ReplaceAll(strings.ToLower(what), " ", "-") + "-"
	kind, reason, message := corev1.EventTypeNormal, string(next.State), next.Message
	switch next.State {
	case v1.RolloutFailed, v1.RolloutRollingBack:
		kind = corev1.EventTypeWarning
	case v1.RolloutRolledBack:
		message = fmt.Sprintf("the clusters run revision %d again", next.PreviousRevision)
	case v1.RolloutComplete:
		message = fmt.Sprintf("%d of %d clusters run it", next.Updated, next.Total)
	default:
	}
	r.recorder.Eventf(app, copies.Subject(subject+strconv.FormatInt(next.Revision, 10)), kind, "Rollout"+reason, "Rollout", "%s %d: %s", what, next.Revision, message)
}
