package restore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// asksBack reports whether a user asks to have the volumes put back that a Restore has replaced, and that is not done yet.
func asksBack(r *v1.Restore) bool {
	return r.Annotations[v1.PutBackAnnotation] == "true" && replaced(r) && !steps.Complete(r.Status.Steps, stepPutBack)
}

// stepsBack returns the steps that put the replaced volumes back. The restored ones stay, as PersistentVolumes.
func (w *work) stepsBack() []steps.Step {
	return []steps.Step{
		{Name: "Halt", Run: inMember(w.stopDatabase), Once: true},
		{Name: stepReturn, Run: inMember(w.returnVolumes), NoWayBack: true, Once: true},
		{Name: stepPutBack, Run: inMember(w.runAgain), Once: true},
	}
}

// putBack runs one pass that puts back what was replaced. It goes on for as long as the member is one.
func (w *work) putBack(ctx context.Context) (reconcile.Result, error) {
	result, err := w.find(ctx)
	if err == nil && !result.Stops() {
		result = w.findTarget(ctx)
	}
	if err == nil && !result.Stops() {
		if len(w.retired()) == 0 {
			result = steps.RetryAfter(steps.Refused, v1.ReasonVolumeChanged, "nothing was replaced in %s: there is nothing to put back", w.member.Name)
		} else {
			result, err = steps.Advance(ctx, w.stepsBack(), &w.restore.Status.Steps, w.now)
		}
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	if !result.Stops() {
		result = steps.Fail(v1.ReasonPutBack, "the database runs on the volumes that it had before: %s", strings.Join(w.retired(), ", "))
	}
	w.conclude(result)
	if err := w.write(ctx); err != nil || done(w.restore) {
		return reconcile.Result{}, err
	}
	return w.options.Waits.Later(max(result.Wait, memberDelay)), nil
}

// returnVolumes binds the claims to the volumes that they had before.
func (w *work) returnVolumes(ctx context.Context) steps.Result {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	waiting := steps.Result{}
	for _, v := range w.restore.Status.Volumes {
		if v.Replaced == "" {
			continue
		}
		v.PersistentVolume = v.Replaced
		bound, err := w.bind(ctx, &v)
		if err != nil {
			return w.memberError(err)
		}
		if !bound {
			waiting = steps.RetryAfter(memberDelay, v1.ReasonCreatingVolumes, "waiting for the claim %s in %s to be bound to %s", v.Claim, w.member.Name, v.Replaced)
		}
	}
	return waiting
}

// runAgain releases the lock of the database, and waits until it is ready.
func (w *work) runAgain(ctx context.Context) steps.Result { return w.start(ctx) }

// retired returns the names of the volumes that were replaced.
func (w *work) retired() []string {
	var names []string
	for _, v := range w.restore.Status.Volumes {
		if v.Replaced != "" {
			names = append(names, v.Replaced)
		}
	}
	return slices.Sorted(slices.Values(names))
}

// stalled returns what a Restore says that cannot go on, and cannot be taken back by itself: where it stands, what was
// retired, and the command that puts it back.
func (w *work) stalled(why string) string {
	at := ""
	if all := w.restore.Status.Steps; len(all) > 0 {
		at = "at the step " + all[len(all)-1].Name + ": "
	}
	retired := w.retired()
	if len(retired) == 0 {
		return at + why
	}
	return fmt.Sprintf("%s%s; what was replaced is kept in %s: kubectl shopfleet restore undo %s -n %s puts it back",
		at, why, strings.Join(retired, ", "), w.restore.Name, w.restore.Namespace)
}
