package reconciler

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
)

var (
	// errNotWatched tells that a renderer made an object of a kind that no cache holds.
	errNotWatched = errors.New("objects of this kind are not watched")
	// errNoClaim tells that something other than a claim was to grow.
	errNoClaim = errors.New("only a claim can grow")
)

// execute takes the steps of a plan. What fails in one component does not keep
// the others from going on, unless the API server itself is in trouble.
func (r *reconciler[T]) execute(ctx context.Context, p *pass[T], steps []component.Step) {
	p.outcomes = make(map[string]apply.Outcome)
	if err := r.ending.of(p.object.GetNamespace()); err != nil && !p.deleting {
		p.fail("", err)
		return
	}
	failed := make(map[string]bool)
	for _, step := range steps {
		if failed[step.Component] {
			continue
		}
		outcome, err := r.take(ctx, p, step)
		if step.Action == component.Grow && apierrors.IsForbidden(err) {
			p.refuse(step, err)
			continue
		}
		if err != nil {
			failed[step.Component] = true
			r.ending.note(p.object.GetNamespace(), err)
			if !p.fail(step.Component, err) {
				return
			}
			continue
		}
		if outcome == apply.Created || outcome == apply.Updated {
			p.outcomes[step.Component] = outcome
		}
	}
}

// take does what one step says.
func (r *reconciler[T]) take(ctx context.Context, p *pass[T], step component.Step) (apply.Outcome, error) {
	switch step.Action {
	case component.Apply:
		result, err := r.member.Applier.Apply(ctx, r.request(p, step.Object))
		return result.Outcome, err
	case component.Grow:
		claim, ok := step.Target.(*corev1.PersistentVolumeClaim)
		if !ok {
			return "", errNoClaim
		}
		return apply.Updated, r.member.Applier.Grow(ctx, claim, step.Size)
	case component.Recreate:
		return apply.Updated, r.member.Applier.Delete(ctx, step.Target, step.Propagation)
	case component.Delete:
		return apply.Unchanged, r.member.Applier.Delete(ctx, step.Target, step.Propagation)
	default:
		return "", errors.New("unknown action " + string(step.Action))
	}
}

// request returns what is asked of the applier for an object.
func (r *reconciler[T]) request(p *pass[T], object component.Object) apply.Request {
	return apply.Request{
		Intent: object.Resource,
		Live:   p.live[component.KeyOf(object.Resource)],
		// A certificate is made again before it expires; passwords never are.
		Once:     object.Once && (object.Generate == nil || object.Generate.TLS == nil),
		Owned:    r.owned(p.object, object.Resource),
		Generate: object.Generate,
		Seals:    p.sealedBy(object),
	}
}

// sealedBy names a claim with data that was made with what is drawn for a Secret
// that is retained as data is; empty when there is none.
func (p *pass[T]) sealedBy(secret component.Object) string {
	if !secret.Retain || secret.Generate == nil {
		return ""
	}
	part := secret.Resource.GetLabels()[v1.ComponentLabel]
	for _, c := range p.components {
		for _, object := range c.Objects {
			if object.Resource.GetLabels()[v1.ComponentLabel] != part {
				continue
			}
			for _, key := range component.Claims(object.Resource) {
				if p.live[key] != nil {
					return key.Name
				}
			}
		}
	}
	return ""
}

// owned tells whether a live object is the application's: it controls it, or
// nothing does and the labels are those that this application's object has, as
// with what was retained from an application of the same name.
func (r *reconciler[T]) owned(owner T, want component.Resource) func(component.Resource) bool {
	return func(live component.Resource) bool {
		if controller := metav1.GetControllerOf(live); controller != nil {
			return controller.UID == owner.GetUID()
		}
		for _, label := range []string{v1.ManagedByLabel, v1.PartOfLabel, v1.InstanceLabel} {
			if live.GetLabels()[label] != want.GetLabels()[label] {
				return false
			}
		}
		return true
	}
}
