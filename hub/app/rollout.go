package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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

// decideRollout adds the decision about the rollout to the input of the status. While the application is
// paused, or has to be corrected, its clusters keep what they have.
func (r *Reconciler) decideRollout(ctx context.Context, app *v1.EcommerceApp, in *observation) error {
	if app.Spec.Rollout == nil || in.recovering || in.Deleting || len(in.Unanswered) > 0 {
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
	request, server, err := r.rolloutRequest(ctx, app, in)
	if err != nil {
		in.keepRevisions(apierror.Decide(err), r.clustersOf(app, &in.Input))
		return err
	}
	in.rollOut(request)
	in.setServer(app.Spec.Database, server)
	if !in.completes(request.Last) {
		return nil
	}
	// Before the status says so, so that it is done again after a crash.
	if err := r.revisions.Complete(ctx, app, in.Rollout, in.Revisions); err != nil {
		in.retryCompletion(request.Last, err)
		return err
	}
	return nil
}

// retryCompletion returns to the last state of a rollout that is complete, because the history could not be written. No
// cluster begins in the decision that completes a rollout, and the last state has what was bad before the updates.
func (o *observation) retryCompletion(last *v1.RolloutStatus, err error) {
	if last != nil && last.Revision == o.Rollout.Revision {
		o.Rollout = last.DeepCopy()
	}
	o.Rollout.CompletionTime, o.Rollout.State = nil, v1.RolloutProgressing
	o.Rollout.Message = "writing the history: " + apierror.Message(err)
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

// keepRevisions leaves the clusters with what they have, because the revision of the spec could not be read or stored.
// None is added if that has no number.
func (o *observation) keepRevisions(d apierror.Decision, clusters []rollout.Cluster) {
	o.Unrevised = &aggregate.Unrevised{Message: d.Message, Blocking: d.Blocking}
	if o.Rollout == nil {
		o.keepClusters()
		return
	}
	o.repeatRollout(clusters)
}

// repeatRollout leaves the clusters as they were decided last, because nothing can be decided. One that is new gets what the
// others have. Those that were left behind stay so, also if their entry says something else first: of others it is not
// known whether they have to follow the server of the spec, which may wait.
func (o *observation) repeatRollout(clusters []rollout.Cluster) {
	last := o.Previous.Rollout
	decided := rollout.Unchanged(last, clusters)
	maps.DeleteFunc(decided.Refused, func(name, _ string) bool {
		entry := o.Previous.EntryOf(name)
		return !slices.Contains(last.LeftBehind, name) && (entry == nil || entry.Reason != v1.ReasonUpgradeRefused)
	})
	o.Rollout, o.Revisions = &decided.Status, decided.Revisions
	o.leaveBehind(decided.Refused)
}

// rolloutRequest stores the revision of the spec, and returns the request of a decision about it, and the server of the
// database that clusters get until the rollout is complete, or nil.
func (r *Reconciler) rolloutRequest(ctx context.Context, app *v1.EcommerceApp, in *observation) (rollout.Request, *v1.DatabaseServer, error) {
	server, err := r.serverUntilComplete(ctx, app)
	if err != nil {
		return rollout.Request{}, nil, err
	}
	revised, last := *app, in.Previous.Rollout
	if last != nil {
		revised.Status.Rollout = last.DeepCopy()
		revised.Status.Rollout.DatabaseServer = server
	}
	resolved, err := r.revisions.Resolve(ctx, &revised)
	if err == nil {
		err = r.revisions.Store(ctx, &revised, resolved)
	}
	if err != nil {
		return rollout.Request{}, nil, err
	}
	request := r.requestOf(&revised, resolved, &in.Input)
	if last != nil && (last.DatabaseServer == nil) != (server == nil) {
		awaitServers(request.Clusters)
	}
	for i, c := range renderingsOf(request.Clusters, &in.Input) {
		request.Clusters[i].Replacing = c.IsReplacing(in.Previous.Rendering)
	}
	request.Paused = rollout.IsPaused(app)
	if revision, region, _ := strings.Cut(app.Annotations[v1.ApproveAnnotation], "/"); revision == strconv.FormatInt(resolved.Revision, 10) {
		request.Approved = region
	}
	request.RollbackTo, err = r.rollbackTo(ctx, app, resolved.Revision)
	return request, server, err
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
// rollout that would lead there with the facts that it decides by, or nil if all clusters change at once. It writes nothing.
func (r *Reconciler) dryRunRollout(ctx context.Context, app *v1.EcommerceApp, in *aggregate.Input) (*v1.Rollout, []rollout.Cluster, error) {
	if app.Spec.Rollout == nil || len(in.Unanswered) > 0 {
		return nil, nil, nil
	}
	resolved, err := r.revisions.Resolve(ctx, app)
	if err != nil {
		return nil, nil, err
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
	if request := r.requestOf(app, resolved, in); rollout.Guarded(request) {
		return app.Spec.Rollout, request.Clusters, nil
	}
	return nil, nil, nil
}

// rollOut adds the decision. If none is possible, the clusters keep what they have.
func (o *observation) rollOut(request rollout.Request) {
	decision, err := rollout.Next(request)
	if err != nil {
		o.Invalid = err.Error()
		if o.Previous.Rollout != nil {
			o.repeatRollout(request.Clusters)
		}
		return
	}
	o.Rollout, o.Revisions = &decision.Status, decision.Revisions
	o.leaveBehind(decision.Refused)
	o.specAnswered = decision.Status.Revision == request.Revision
	o.rollbackDecided = request.RollbackTo == 0 || request.RollbackTo == decision.Status.Target()
	o.wake(decision.Until)
}

// leaveBehind adds why the rollout leaves clusters behind, by name.
func (o *observation) leaveBehind(refused map[string]string) {
	for i := range o.Clusters {
		o.Clusters[i].LeftBehind = refused[o.Clusters[i].Name]
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

// endRollout takes annotations that are handled out of the application, after the status says what was decided, and
// drops the revisions that are remembered and that no cluster has.
func (r *Reconciler) endRollout(app *v1.EcommerceApp, in *observation) {
	decided := app.Status.Rollout
	r.state.KeepRevisions(keyOf(app), revisionsInUse(&app.Status))
	stored := equality.Semantic.DeepEqual(decided, in.Rollout)
	if stored && in.rollbackDecided {
		delete(app.Annotations, v1.RollbackToAnnotation)
	}
	if approvalEnded(app, stored && in.specAnswered) {
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

// approvalEnded reports whether the region that the user approved has begun, or another revision is rolled out: the approval
// does not count when the spec returns. An approval of a later revision counts until the status is about the present spec.
func approvalEnded(app *v1.EcommerceApp, specAnswered bool) bool {
	number, region, approved := strings.Cut(app.Annotations[v1.ApproveAnnotation], "/")
	if !approved || app.Status.Rollout == nil {
		return false
	}
	if version, is := strings.CutPrefix(number, v1.ApproveRendering); is {
		return renderingBegan(app, version, region)
	}
	revision, err := strconv.ParseInt(number, 10, 64)
	last := app.Status.Rollout
	if err == nil && (revision < last.Revision || specAnswered && revision > last.Revision) {
		return true
	}
	return slices.ContainsFunc(app.Status.Clusters, func(c v1.ClusterStatus) bool {
		return cmp.Or(c.Region, aggregate.RegionUnknown) == region && strconv.FormatInt(c.Revision, 10) == number
	})
}

// What a rollout is about, in its events.
const aboutRevision, aboutTemplates = "Revision", "Pod templates"

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

// recordLeftBehind records an event for each cluster that a rollout begins to leave behind, with what its entry says.
func (r *Reconciler) recordLeftBehind(app *v1.EcommerceApp, what string, last, next *v1.RolloutStatus) {
	if next == nil {
		return
	}
	// The action tells the event about pod templates from that about the revision.
	action := "Rollout"
	if what == aboutTemplates {
		action = "Render"
	}
	for _, name := range next.LeftBehind {
		entry := app.Status.EntryOf(name)
		if entry == nil || last != nil && last.Revision == next.Revision && slices.Contains(last.LeftBehind, name) {
			continue
		}
		r.recorder.Eventf(app, copies.Subject(name), corev1.EventTypeWarning, "RolloutLeftBehind", action,
			"%s %d: %s is left behind: %s", what, next.Revision, name, strings.TrimSuffix(entry.Reason+": "+entry.Message, ": "))
	}
}
