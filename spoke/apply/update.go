package apply

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/shopfleet/shopfleet/spoke/component"
)

// update is an intent for an owned object that exists, and the content of that object.
type update struct {
	intent  *unstructured.Unstructured
	live    component.Resource
	content map[string]any
	hold    bool
	// start is Request.StartReplicas.
	start int32
}

// update applies an owned object if it differs, unless that is held.
func (a *Applier) update(ctx context.Context, u update) (Result, error) {
	intent, live, content := u.intent, u.live, u.content
	key := component.KeyOf(intent)
	same := matches(content, intent)
	if same && (u.hold || a.dryRun || a.isOwned(live, intent)) {
		a.forget(key)
		a.forgetRewritten(key)
		return Result{Outcome: Unchanged}, nil
	}
	sum, err := hashOf(intent.Object)
	if err != nil {
		return Result{}, err
	}
	next := repair{key: key, intent: sum, fields: []string{"metadata.managedFields"}}
	if !same {
		done, err := a.done(key, sum, live)
		if err != nil {
			return Result{}, err
		}
		if done {
			return Result{Outcome: Unchanged}, nil
		}
		differences := drifted(content, intent)
		if u.hold {
			return held(pendingUpdate(intent, differences)), nil
		}
		next.fields = pathsOf(differences)
	}
	if err := a.admit(ctx, intent, next); err != nil {
		return Result{}, err
	}
	written, err := a.write(ctx, u)
	switch {
	case err != nil:
		return Result{}, err
	case written == nil:
		return Result{Outcome: Unchanged}, nil
	}
	if a.dryRun {
		return answered(content, written)
	}
	a.noteRepair(next)
	return a.noteWritten(u, sum, written)
}

// write applies the intent over the object as it is known.
func (a *Applier) write(ctx context.Context, u update) (*unstructured.Unstructured, error) {
	over, err := a.basisOf(component.KeyOf(u.intent), u.live)
	if err != nil {
		return nil, err
	}
	if over.version, err = a.leaveReplicas(ctx, u, over.version); err != nil {
		return nil, err
	}
	written, err := a.overwrite(ctx, u.intent, over)
	if apierrors.IsConflict(err) {
		written, err = a.overwriteNewer(ctx, u.intent, over, err)
	}
	return written, err
}

// noteWritten remembers what was written, and what the API server stored of it.
func (a *Applier) noteWritten(u update, sum string, written *unstructured.Unstructured) (Result, error) {
	intent, live := u.intent, u.live
	if err := a.noteStored(written, intent); err != nil {
		return Result{}, err
	}
	if written.GetResourceVersion() == live.GetResourceVersion() {
		// Admission undid all of it: the object is as it was.
		a.remember(writeRecord{intent: sum, answer: written})
		if a.slim(intent) {
			a.note(written, intent)
		}
		return Result{Outcome: Unchanged}, nil
	}
	a.remember(writeRecord{intent: sum, over: live.GetResourceVersion(), answer: written})
	if a.slim(intent) {
		a.note(written, intent)
	}
	return Result{Outcome: Updated, Object: written}, nil
}
