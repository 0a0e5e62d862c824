package restore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// minCause is how many bytes of its cause the message of a Restore that cannot go on has at least.
const minCause = 100

// stepsBack returns the steps that put the replaced volumes back. The restored ones stay as PersistentVolumes, but for those
// that no claim of the database got: what they were imported with is deleted with them.
func (w *work) stepsBack() []steps.Step {
	return []steps.Step{
		{Name: v1.RestoreStepHalt, Run: inMember(w.stopDatabase), NoWayBack: true, Once: true},
		{Name: stepReturn, Run: steps.Then(inMember(w.retireReplicas), inMember(w.returnVolumes)), NoWayBack: true, Once: true},
		{Name: v1.RestoreStepPutBack, Run: steps.Then(inMember(w.start), w.removeImports), Once: true},
	}
}

// putBack runs one pass that puts back what was replaced. It goes on for as long as the member is one.
func (w *work) putBack(ctx context.Context) (reconcile.Result, error) {
	result, err := w.find(ctx)
	if err == nil && !result.Stops() {
		result = w.findTarget(ctx)
	}
	if err == nil && !result.Stops() {
		result, err = w.advanceBack(ctx)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	w.decideStalled(result)
	switch replaced := strings.Join(w.retired(), ", "); {
	case !result.Stops():
		result = steps.Fail(v1.ReasonPutBack, "the database runs on the volumes that it had before: %s", replaced)
	case result.Fatal:
		result = steps.RetryAfter(steps.Refused, result.Reason, "%s", w.notBack(ctx, replaced, result))
	}
	w.conclude(result)
	if err := w.write(ctx); err != nil || done(w.restore) {
		return reconcile.Result{}, err
	}
	return w.options.Waits.Later(max(result.Wait, memberDelay)), nil
}

// advanceBack runs the steps back, after checking that the replaced volumes can be put back.
func (w *work) advanceBack(ctx context.Context) (steps.Result, error) {
	if !steps.Begun(w.restore.Status.Steps, v1.RestoreStepHalt) {
		if result := w.findReplaced(ctx); result.Stops() {
			return result, nil
		}
	}
	return steps.Advance(ctx, w.stepsBack(), &w.restore.Status.Steps, w.now)
}

// findReplaced reports that a volume that was replaced cannot be put back, before the database is stopped for it.
func (w *work) findReplaced(ctx context.Context) steps.Result {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	for _, v := range w.restore.Status.Replaced() {
		pv, result := w.findVolume(ctx, v.Replaced)
		if result.Stops() {
			return result
		}
		if ref := pv.Spec.ClaimRef; ref != nil && (ref.Namespace != w.namespace() || ref.Name != v.Claim) {
			return steps.Fail(v1.ReasonVolumeInUse, "the PersistentVolume %s in %s has the claim %s/%s now", v.Replaced, w.member.Name, ref.Namespace, ref.Name)
		}
		if live := w.targetFacts.claims[v.Claim]; live != nil && !slices.Contains([]string{"", v.PersistentVolume, v.Replaced}, live.pvc.Spec.VolumeName) {
			return steps.Fail(v1.ReasonVolumeInUse, "the claim %s in %s has another volume meanwhile, %s", v.Claim, w.member.Name, live.pvc.Spec.VolumeName)
		}
	}
	return steps.Result{}
}

// findRestored reports that a volume that took the place of another one is gone.
func (w *work) findRestored(ctx context.Context) steps.Result {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	for _, v := range w.restore.Status.Replaced() {
		if _, result := w.findVolume(ctx, v.PersistentVolume); result.Stops() {
			return result
		}
	}
	return steps.Result{}
}

// findVolume reads a PersistentVolume.
func (w *work) findVolume(ctx context.Context, name string) (*corev1.PersistentVolume, steps.Result) {
	pv := &corev1.PersistentVolume{}
	err := w.reader().Get(ctx, client.ObjectKey{Name: name}, pv)
	if apierrors.IsNotFound(err) {
		return nil, steps.Fail(v1.ReasonVolumeChanged, "there is no PersistentVolume %s in %s", name, w.member.Name)
	}
	if err != nil {
		return nil, w.memberError(err)
	}
	return pv, steps.Result{}
}

// notBack returns what a Restore says that cannot put its replaced volumes back: where one of them is gone, also how a user can
// have the restored ones.
func (w *work) notBack(ctx context.Context, replaced string, result steps.Result) string {
	way := ""
	if result.Reason == v1.ReasonVolumeChanged && !w.findRestored(ctx).Stops() {
		way = fmt.Sprintf("; what was restored is there: kubectl delete restore %s -n %s has the database run on it", w.restore.Name, w.restore.Namespace)
	}
	return withCommand(replaced+" cannot be put back: ", result.Message, way)
}

// rebindVolumes binds the claims to the restored volumes, whatever they were bound to before Return.
func (w *work) rebindVolumes(ctx context.Context) steps.Result {
	for i := range w.restore.Status.Volumes {
		w.restore.Status.Volumes[i].State = v1.RestoredVolumeReady
	}
	return w.bindClaims(ctx)
}

// returnVolumes binds the claims to the volumes that they had before.
func (w *work) returnVolumes(ctx context.Context) steps.Result {
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	waiting := steps.Result{}
	for _, v := range w.restore.Status.Replaced() {
		restored := v.PersistentVolume
		v.PersistentVolume = v.Replaced
		bound, err := w.bind(ctx, &v)
		if err == nil && bound {
			err = w.unreserve(ctx, restored, v.Claim)
		}
		if err != nil {
			return w.notBound(err)
		}
		if !bound {
			waiting = steps.RetryAfter(memberDelay, v1.ReasonCreatingVolumes, "waiting for the claim %s in %s to be bound to %s", v.Claim, w.member.Name, v.Replaced)
		}
	}
	return waiting
}

// unreserve has a restored volume that no claim got yet be Released: the next claim of the name would get it.
func (w *work) unreserve(ctx context.Context, name, claim string) error {
	pv := &corev1.PersistentVolume{}
	err := w.reader().Get(ctx, client.ObjectKey{Name: name}, pv)
	if ref := pv.Spec.ClaimRef; err != nil || ref == nil || ref.UID != "" || ref.Namespace != w.namespace() || ref.Name != claim {
		return client.IgnoreNotFound(err)
	}
	before := pv.DeepCopy()
	pv.Spec.ClaimRef.UID = w.restore.UID
	if err := w.writer().Patch(ctx, pv, retry.MergeFromLocked(before)); err != nil {
		return fmt.Errorf("unreserving the volume %s: %w", name, err)
	}
	return nil
}

// retired returns the names of the volumes that were replaced.
func (w *work) retired() []string {
	volumes := w.restore.Status.Replaced()
	names := make([]string, 0, len(volumes))
	for _, v := range volumes {
		names = append(names, v.Replaced)
	}
	return slices.Sorted(slices.Values(names))
}

// stalled returns what a Restore says that needs a user, and cannot be taken back by itself: where it stands, what was
// retired, and the command that puts it back.
func (w *work) stalled(why string) string {
	at := ""
	if all := w.restore.Status.Steps; len(all) > 0 {
		at = "at the step " + all[len(all)-1].Name + ": "
	}
	return w.withWayBack(at, why)
}

// withWayBack returns a message with the command that puts back what was retired, if a volume was replaced.
func (w *work) withWayBack(prefix, why string) string {
	way := ""
	if retired := w.retired(); len(retired) > 0 && !w.restore.PutsBack() {
		way = fmt.Sprintf("; what was replaced is kept in %s: kubectl shopfleet restore undo %s -n %s puts it back",
			strings.Join(retired, ", "), w.restore.Name, w.restore.Namespace)
	}
	return withCommand(prefix, why, way)
}

// withCommand returns a message with a command at its end, which stays whole: a message that is too long loses its end.
func withCommand(prefix, why, way string) string {
	return prefix + v1.Excerpt(why, max(minCause, steps.MaxMessage-len(prefix)-len(way))) + way
}
