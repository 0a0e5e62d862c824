package apply

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// applyMissing applies an object that the cache does not have. It returns the object instead if
// the API server has it. A creation is tried without a read unless there is no cache, it may be
// behind a write of this process, or the creation would be held or refused.
func (a *Applier) applyMissing(ctx context.Context, req Request) (Result, component.Resource, error) {
	intent, err := a.intent(req)
	if err != nil {
		return Result{}, nil, err
	}
	if wait := a.expected(intent, req); wait > 0 {
		return Result{Outcome: Expected, Wait: wait}, nil, nil
	}
	a.forgetMatch(component.KeyOf(intent))
	var conflict error
	if !req.Uncached && req.RequiredByClaim == "" && !req.Hold && !a.wrote(component.KeyOf(intent)) {
		result, err := a.createMissing(ctx, intent, req)
		if !apierrors.IsConflict(err) {
			return result, nil, err
		}
		conflict = err
	}
	live, err := a.get(ctx, intent)
	switch {
	case err != nil || live != nil:
		return Result{}, live, err
	case conflict != nil:
		return Result{}, nil, conflict // It was deleted since.
	case req.RequiredByClaim != "":
		return Result{}, nil, &LostError{Key: component.KeyOf(intent), Data: req.RequiredByClaim}
	}
	result, err := a.createMissing(ctx, intent, req)
	return result, nil, err
}

// createMissing creates an object with its generated data, unless that is held.
func (a *Applier) createMissing(ctx context.Context, intent *unstructured.Unstructured, req Request) (Result, error) {
	if req.Hold {
		return held(Change(v1.PendingCreate, intent)), nil
	}
	if err := a.addGenerated(intent, nil, req.Generate); err != nil {
		return Result{}, err
	}
	result, err := a.create(ctx, intent)
	if a.dryRun && err == nil {
		result.Change = new(Change(v1.PendingCreate, intent))
	}
	return result, err
}

// create applies a missing object. If it was created concurrently, it has another version
// than noVersion, and the API server returns a conflict.
func (a *Applier) create(ctx context.Context, intent *unstructured.Unstructured) (Result, error) {
	slim, sum := a.slim(intent), component.SpecHash(intent)
	if !slim { // The annotation does not cover what was generated.
		var err error
		if sum, err = hashOf(intent.Object); err != nil {
			return Result{}, err
		}
	}
	intent.SetResourceVersion(noVersion)
	if slim && !answersWhole(intent.GetKind()) {
		return a.createSlim(ctx, intent, sum)
	}
	stored := intent.DeepCopy()
	if err := a.send(ctx, stored); err != nil {
		return Result{}, err
	}
	intent.SetResourceVersion("")
	if err := a.noteStored(stored, intent); err != nil {
		return Result{}, err
	}
	a.remember(writeRecord{intent: sum, answer: stored, created: a.clock.Now()})
	if slim {
		a.note(stored, intent)
		return Result{Outcome: Created}, nil
	}
	return Result{Outcome: Created, Object: stored}, nil
}

// createSlim creates an object whose content the cache does not keep either: it asks for the metadata
// of what was stored, which says all that is remembered. What a policy changed of it is not known until
// it is written again.
func (a *Applier) createSlim(ctx context.Context, intent *unstructured.Unstructured, sum string) (Result, error) {
	raw, err := intent.MarshalJSON()
	if err != nil {
		return Result{}, fmt.Errorf("encoding %s %q: %w", intent.GetKind(), intent.GetName(), err)
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	stored := metadataOf(intent)
	if err := a.client.Patch(ctx, stored, client.RawPatch(types.ApplyPatchType, raw), client.FieldOwner(a.manager)); err != nil {
		return Result{}, &sendError{kind: intent.GetKind(), name: intent.GetName(), err: err}
	}
	a.remember(writeRecord{intent: sum, answer: stored, created: a.clock.Now()})
	a.note(stored, intent)
	return Result{Outcome: Created}, nil
}
