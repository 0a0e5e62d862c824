package restore

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	// passTimeout bounds one pass.
	passTimeout = 2 * time.Minute
	// memberDelay is the time between two looks at what goes on in the member.
	memberDelay = 2 * time.Second
	// preparationLimit bounds the time of a verification, and of a Restore before it has replaced anything, or before a Job
	// has a dump to load.
	preparationLimit = 6 * time.Hour
	// loadLimit bounds the time until a dump is loaded, but for that of a Job, which has a limit of its own.
	loadLimit = 24 * time.Hour
	// stallsAfter is the time that a step may take from the point of no return on before the Restore is Stalled: by then
	// the database should serve, whatever is waited for.
	stallsAfter = 30 * time.Minute
)

// Reconciler carries out Restores.
type Reconciler struct {
	client  client.Client
	options Options
	// began is the time from which on this process looks at Restores.
	began     time.Time
	conflicts retry.Conflicts
}

// work is one pass over a Restore. The pass changes the status, which the next write stores.
type work struct {
	*Reconciler
	restore *v1.Restore
	stored  *v1.Restore
	now     time.Time

	// What the pass found; see find.
	backup      *v1.Backup
	member      *v1.MemberCluster
	app         *v1.EcommerceApp // With its effective spec in the member.
	invalid     error            // Why there is no effective spec.
	targetFacts *targetFacts
	// stalls is true if the Restore needs a user, and cannot be taken back by itself.
	stalls bool
	// proof says what a verification has found.
	proof string
}

// Reconcile runs one pass over a Restore.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	restore := &v1.Restore{}
	if err := r.client.Get(ctx, request.NamespacedName, restore); err != nil {
		return r.conflicts.Retry(r.options.Waits, request, reconcile.Result{}, client.IgnoreNotFound(err))
	}
	w := &work{Reconciler: r, stored: restore, now: r.options.Clock.Now()}
	result, err := w.pass(ctx)
	return r.conflicts.Retry(r.options.Waits, request, result, client.IgnoreNotFound(err))
}

func (w *work) pass(ctx context.Context) (reconcile.Result, error) {
	if !w.stored.DeletionTimestamp.IsZero() {
		return w.finalize(ctx)
	}
	if done(w.stored) {
		return reconcile.Result{}, nil
	}
	if err := w.ensureFinalizer(ctx); err != nil {
		return reconcile.Result{}, w.unstarted(ctx, err)
	}
	w.restore = w.stored.DeepCopy()
	if w.stored.PutsBack() {
		return w.putBack(ctx)
	}
	if w.restore.Status.Phase == v1.RestoreCleaningUp {
		return w.cleanUp(ctx)
	}
	result, err := w.advance(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	result = w.limited(result)
	if w.restore.Spec.Verify {
		w.concludeVerification(result)
		if err := w.write(ctx); err != nil {
			return reconcile.Result{}, err
		}
		return w.options.Waits.Later(max(result.Wait, memberDelay)), nil
	}
	result = w.onward(result)
	w.conclude(result)
	if result.Fatal && w.changed() && result.Reason != v1.ReasonAlreadyRestored {
		// Written down first: nothing must be done again while the rest is taken back.
		w.restore.Status.Phase, w.restore.Status.CompletionTime = v1.RestoreCleaningUp, nil
	}
	if err := w.write(ctx); err != nil {
		return reconcile.Result{}, err
	}
	if done(w.restore) {
		return reconcile.Result{}, nil
	}
	return w.options.Waits.Later(max(result.Wait, apierror.ConflictWait)), nil
}

// limited returns the result of a pass, which is fatal if the Restore has waited for too long. A
// pause has no time limit.
func (w *work) limited(result steps.Result) steps.Result {
	limit, age := w.timeLimit(), w.age()
	switch {
	case !result.Stops(), result.Fatal, result.Reason == v1.ReasonPaused, limit == 0:
		return result
	case age <= limit:
		return result.Within(limit - age)
	case w.restore.Spec.Verify:
		return steps.Fail(v1.ReasonVerificationFailed, "not verified within %s: %s", limit, result.Message)
	default:
		return steps.Fail(result.Reason, "given up after %s: %s", limit, result.Message)
	}
}

// timeLimit returns how long the Restore may take, as it is now, before it is given up; 0 means
// without a limit.
func (w *work) timeLimit() time.Duration {
	d := w.restore.Status.Dump
	switch {
	case w.restore.Spec.Verify:
		return preparationLimit
	case w.replaced(), d != nil && (d.Loaded || d.Job != "" && d.RequestTime == nil):
		return 0
	case w.loading():
		return loadLimit
	default:
		return preparationLimit
	}
}

// onward returns the result of a pass: past the point of no return nothing fails, because a database without its claim must
// not start. It is given up only if another volume took the place. One that waits for too long goes on, and is Stalled
// meanwhile.
func (w *work) onward(result steps.Result) steps.Result {
	if w.decideStalled(result); !w.stalls {
		return result
	}
	message := w.stalled(result.Message)
	if result.Fatal {
		return steps.RetryAfter(steps.Refused, result.Reason, "%s", message)
	}
	result.Message = message
	return result
}

// decideStalled decides whether a Restore is Stalled, also while it puts back what it replaced, or is being deleted: it cannot go on,
// or should be further. One whose member was away has the time of its step anew: that says nothing about the step.
func (w *work) decideStalled(result steps.Result) {
	if !w.replaced() {
		return
	}
	if interrupted(reasonOf(w.restore)) && !interrupted(result.Reason) {
		w.restore.Status.ResumeTime = v1.Seconds(w.now)
	}
	cannot := result.Fatal && result.Reason != v1.ReasonConflict && result.Reason != v1.ReasonAlreadyRestored
	w.stalls = cannot || w.isOverdue(result)
}

// interrupted reports whether a reason says nothing about a step, but that the Restore is paused, or its member away.
func interrupted(reason string) bool {
	return reason == v1.ReasonPaused || reason == v1.ReasonClusterUnreachable
}

// isOverdue reports whether the database should serve by now, and waits for something in a member that is there: a claim
// that is Lost, a quota, a pod that is never ready. Cleanup after the database serves does not count, nor does the time before
// this process. It is asked once Retire is begun.
func (w *work) isOverdue(result steps.Result) bool {
	at := w.restore.Status.Steps[len(w.restore.Status.Steps)-1]
	switch {
	case !result.Stops(), result.Fatal, at.Name == stepRelease, interrupted(result.Reason), result.Reason == v1.ReasonDeleting:
		return false
	case w.restore.PutsBack() && !steps.Begun(w.restore.Status.Steps, v1.RestoreStepHalt):
		return false // The last step is of what is to be taken back.
	}
	return w.since(at.StartTime.Time) > stallsAfter && w.now.Sub(w.began) > stallsAfter
}

// changed reports whether the Restore may have changed something in the member.
func (w *work) changed() bool {
	return w.restore.Status.Dump != nil || steps.Begun(w.restore.Status.Steps, stepImport)
}

// done reports whether nothing more is done for a Restore.
func done(r *v1.Restore) bool {
	return !r.PutsBack() && (r.Status.Phase == v1.RestoreCompleted || r.Status.Phase == v1.RestoreFailed)
}

// unstarted reports that a Restore cannot be started because of an error, if that lasts until a user acts, and
// returns the error.
func (w *work) unstarted(ctx context.Context, err error) error {
	d := apierror.Decide(err)
	if !d.Blocking {
		return err
	}
	w.restore = w.stored.DeepCopy()
	result := steps.RetryAfter(d.Wait, d.Reason, "%s", d.Message)
	if w.restore.Spec.Verify {
		w.concludeVerification(result)
	} else {
		w.conclude(result)
	}
	return errors.Join(err, w.write(ctx))
}

func (w *work) ensureFinalizer(ctx context.Context) error {
	before := w.stored.DeepCopy()
	if !controllerutil.AddFinalizer(w.stored, v1.RestoreFinalizer) {
		return nil
	}
	if err := w.client.Patch(ctx, w.stored, retry.MergeFromLocked(before)); err != nil {
		return fmt.Errorf("adding the finalizer: %w", err)
	}
	return nil
}

// conclude writes what a pass came to into the status.
func (w *work) conclude(result steps.Result) {
	s := &w.restore.Status
	s.ObservedGeneration = w.restore.Generation
	ready := metav1.Condition{
		Type: v1.ConditionReady, ObservedGeneration: w.restore.Generation, LastTransitionTime: metav1.NewTime(w.now),
		Status: metav1.ConditionTrue, Reason: v1.ReasonCompleted, Message: "The database runs on the restored data",
	}
	switch {
	case w.isDump():
		ready.Message = "The dump is loaded, and the database serves"
	case w.targetFacts == nil || w.targetFacts.copy == nil:
		ready.Message = "The claims are there; the database starts on them when the application is placed"
	}
	switch {
	case result.Fatal:
		s.Phase, s.CompletionTime = v1.RestoreFailed, v1.Seconds(w.now)
	case result.Stops() && (w.bound() || s.Dump != nil && s.Dump.Loaded):
		s.Phase = v1.RestoreStarting
	case result.Stops() && (len(s.Volumes) > 0 || s.Dump != nil):
		s.Phase = v1.RestoreInProgress
	case result.Stops():
		s.Phase = v1.RestorePending
	default:
		s.Phase, s.CompletionTime = v1.RestoreCompleted, v1.Seconds(w.now)
	}
	if result.Stops() {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, result.Reason, v1.Excerpt(result.Message, steps.MaxMessage)
	}
	if !result.Stops() || result.Fatal {
		s.ResumeTime = nil // It is for limits, and those have ended.
	}
	w.setConditions(ready)
}

// setConditions sets the message and the condition Ready, and sets or removes Stalled. That stays as it is while nothing is known
// about the step.
func (w *work) setConditions(ready metav1.Condition) {
	s := &w.restore.Status
	s.Message = ready.Message
	meta.SetStatusCondition(&s.Conditions, ready)
	switch {
	case w.stalls:
		ready.Type, ready.Status = v1.ConditionStalled, metav1.ConditionTrue
		meta.SetStatusCondition(&s.Conditions, ready)
	case !interrupted(ready.Reason):
		meta.RemoveStatusCondition(&s.Conditions, v1.ConditionStalled)
	}
}

// save writes the status, and fails if the Restore has changed since it was read. Apart
// from its resource version, w.restore is left as it is, because callers hold pointers
// into it.
func (w *work) save(ctx context.Context) error {
	saved := w.restore.DeepCopy()
	if err := w.client.Status().Patch(ctx, saved, retry.MergeFromLocked(w.stored)); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	w.stored, w.restore.ResourceVersion = saved, saved.ResourceVersion
	return nil
}

// write writes the status if it changed.
func (w *work) write(ctx context.Context) error {
	if equality.Semantic.DeepEqual(w.stored.Status, w.restore.Status) {
		return nil
	}
	before := w.stored
	if err := w.client.Status().Patch(ctx, w.restore, retry.MergeFromLocked(before)); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	kind, reason := corev1.EventTypeWarning, reasonOf(w.restore)
	if w.restore.Status.Phase == v1.RestoreCompleted {
		kind, reason = corev1.EventTypeNormal, v1.ReasonCompleted
	}
	rejected := steps.Rejected(reason) && reasonOf(before) != reason && w.restore.Status.Phase != v1.RestoreCleaningUp
	if done(w.restore) && !done(before) || rejected {
		w.options.Recorder.Eventf(w.restore, nil, kind, reason, "Restore", "%s", w.restore.Status.Message)
	}
	return nil
}

// reasonOf returns the reason of the condition Ready.
func reasonOf(r *v1.Restore) string {
	if ready := meta.FindStatusCondition(r.Status.Conditions, v1.ConditionReady); ready != nil {
		return ready.Reason
	}
	return ""
}

func (w *work) age() time.Duration {
	if w.restore.Status.StartTime == nil {
		return 0
	}
	return w.since(w.restore.Status.StartTime.Time)
}

// since returns how long the Restore has been at work since a time. Time before the end of a pause
// does not count.
func (w *work) since(t time.Time) time.Duration {
	if resumed := w.restore.Status.ResumeTime; resumed != nil && resumed.After(t) {
		t = resumed.Time
	}
	return w.now.Sub(t)
}
