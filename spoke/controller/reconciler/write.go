package reconciler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// creationExpected is the time for which a child that was created is expected to appear in the cache. If
// it does not, the next reconciliation, when the time is over, reads it. So a child that is deleted
// before the cache has had it is created again after two to three seconds.
const creationExpected = 2 * time.Second

var (
	// errNotWatched means that a renderer returned an object of a kind without cache.
	errNotWatched = errors.New("objects of this kind are not watched")
	// errNoClaim means that a step expands an object that is not a claim.
	errNoClaim = errors.New("only claims can be expanded")
	// errPanicked means that a pass panicked.
	errPanicked = errors.New("reconciling panicked")
)

// execute takes the steps of a plan. An error in one component does not stop the others,
// unless the API server itself fails.
func (r *reconciler[T]) execute(ctx context.Context, p *pass[T], steps []component.Step) {
	p.outcomes, p.written = make(map[string]apply.Outcome), make(map[component.Key]bool)
	if err := r.terminating.of(p.object.GetNamespace()); err != nil && !p.deleting {
		p.fail("", err)
		return
	}
	failed := make(map[string]bool)
	for _, step := range steps {
		if failed[step.Component] {
			continue
		}
		outcome, err := r.take(ctx, p, step)
		if step.Action == component.Grow && apierror.Classify(err) == apierror.Forbidden {
			p.rejectExpansion(step, err)
			continue
		}
		if contended, ok := errors.AsType[*apply.ContendedError](err); ok {
			p.leaveContended(step.Component, contended)
			continue
		}
		if err != nil {
			failed[step.Component] = true
			r.terminating.note(p.object.GetNamespace(), err)
			if !p.fail(step.Component, err) {
				return
			}
			continue
		}
		p.noteOutcome(step, outcome)
	}
}

// noteOutcome notes what a step has changed.
func (p *pass[T]) noteOutcome(step component.Step, outcome apply.Outcome) {
	if step.Action == component.Grow && outcome == apply.Unchanged {
		p.keepSize(step)
	}
	if outcome == apply.Created || outcome == apply.Updated {
		p.outcomes[step.Component] = outcome
		p.written[component.KeyOf(step.About())] = true
	}
}

// take executes one step.
func (r *reconciler[T]) take(ctx context.Context, p *pass[T], step component.Step) (apply.Outcome, error) {
	if p.paused && step.Action != component.Apply {
		change, err := r.pendingStep(ctx, step)
		if change != nil {
			p.pending = append(p.pending, *change)
		}
		return apply.Held, err
	}
	switch step.Action {
	case component.Apply:
		request, err := r.request(ctx, p, step.Object)
		if err != nil {
			return "", err
		}
		if err := r.endImports(ctx, p, step.Object.Resource); err != nil {
			return "", err
		}
		request.ExpectFor, request.Content = creationExpected, p.contents[step.Object.Resource]
		delete(p.contents, step.Object.Resource) // It may be changed.
		result, err := r.member.Applier.Apply(ctx, request)
		if result.Change != nil {
			p.pending = append(p.pending, *result.Change)
		}
		p.retryIn = retry.Sooner(p.retryIn, result.Wait)
		return result.Outcome, err
	case component.Grow:
		claim, ok := step.Target.(*corev1.PersistentVolumeClaim)
		if !ok {
			return "", errNoClaim
		}
		return r.member.Applier.Grow(ctx, claim, step.Size)
	case component.Recreate:
		return apply.Updated, r.member.Applier.Delete(ctx, step.Target, step.Propagation)
	case component.Scale:
		return r.member.Applier.Scale(ctx, step.Target, step.Replicas)
	case component.Delete:
		if serves, err := r.serves(ctx, step); err != nil || serves {
			return apply.Unchanged, err
		}
		return apply.Unchanged, r.member.Applier.Delete(ctx, step.Target, step.Propagation)
	default:
		return "", errors.New("unknown action " + string(step.Action))
	}
}

// serves reports whether the pods of a Deployment that is to be deleted have the requests: a cache may not
// have yet that the Service was switched to them, when the next pods are wanted already.
func (r *reconciler[T]) serves(ctx context.Context, step component.Step) (bool, error) {
	if step.Selects == nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.member.Settings.Timeout)
	defer cancel()
	service := &metav1.PartialObjectMetadata{}
	service.SetGroupVersionKind(step.Selects.GetObjectKind().GroupVersionKind())
	err := r.member.APIReader.Get(ctx, client.ObjectKeyFromObject(step.Selects), service)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading Service %q: %w", step.Selects.GetName(), err)
	}
	return err == nil && step.Serves(service), nil
}

// request returns the apply request for an object.
func (r *reconciler[T]) request(ctx context.Context, p *pass[T], object component.Object) (apply.Request, error) {
	dependent, err := r.dependentClaim(ctx, p, object)
	return apply.Request{
		Intent: object.Resource,
		Live:   p.live[component.KeyOf(object.Resource)],
		// A pod template that stays is that of the live object.
		KeepTemplate: object.KeepsTemplate(), Instead: object.Instead,
		// Certificates are renewed; passwords are never replaced.
		Once:            object.Once && (object.Generate == nil || object.Generate.TLS == nil),
		Owned:           r.owned(p.object, object.Resource),
		Generate:        object.Generate,
		RequiredByClaim: dependent,
		Again:           r.isRequested(p.object),
		Hold:            p.paused,

		StartReplicas: object.StartReplicas,
	}, err
}

// isRequested reports whether a user has asked for a reconciliation that no status has reported yet.
func (r *reconciler[T]) isRequested(object T) bool {
	handled := r.kind.Status(object).LastHandledReconcileAt
	return handled != nil && *handled != object.GetAnnotations()[v1.ReconcileAtAnnotation]
}

// pendingStep returns the change of a step other than an apply; nil if its object is gone.
func (r *reconciler[T]) pendingStep(ctx context.Context, step component.Step) (*v1.PendingChange, error) {
	switch step.Action {
	case component.Grow:
		former := ""
		if claim, ok := step.Target.(*corev1.PersistentVolumeClaim); ok {
			former = claim.Spec.Resources.Requests.Storage().String()
		}
		return new(apply.Expansion(step.Target, former, step.Size.String())), nil
	case component.Scale:
		return new(apply.Scaling(step.Target, step.Former(), step.Replicas)), nil
	case component.Recreate:
		whole, err := r.member.Applier.Whole(ctx, step.Target)
		if err != nil || whole == nil {
			return nil, err
		}
		return new(apply.Recreation(whole, step.Object.Resource)), nil
	default:
		return new(apply.Change(v1.PendingDelete, step.Target)), nil
	}
}

// owned returns a function that reports whether a live object belongs to the application:
// the application controls it, or it has no controller and the application's labels, such
// as objects retained from an application of the same name. Labels that were removed from an
// object of ours do not make it another's.
func (r *reconciler[T]) owned(owner T, want component.Resource) func(component.Resource) bool {
	return func(live component.Resource) bool {
		if controller := metav1.GetControllerOf(live); controller != nil {
			return controller.UID == owner.GetUID()
		}
		for _, label := range []string{v1.ManagedByLabel, v1.PartOfLabel, v1.InstanceLabel} {
			if value, ok := live.GetLabels()[label]; ok && value != want.GetLabels()[label] {
				return false
			}
		}
		return live.GetLabels()[v1.ManagedByLabel] == v1.ManagedBy || appliedByUs(live)
	}
}

// appliedByUs reports whether the spoke applied an object, according to its managed fields. An
// object from a cache has only our own managed fields: caches hold no object without the label.
func appliedByUs(live component.Resource) bool {
	return slices.ContainsFunc(live.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == v1.SpokeFieldManager && m.Operation == metav1.ManagedFieldsOperationApply
	})
}
