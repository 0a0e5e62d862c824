package reconciler

import (
	"cmp"
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// maxRefusal bounds what a change says about a write that is refused, in bytes.
const maxRefusal = 512

// errNotObserved means that the login of a database could not be observed.
var errNotObserved = errors.New("the login of the database was not observed")

// DryRunRequest is an object whose children are to be planned.
type DryRunRequest[T client.Object] struct {
	// Object need not exist. It has a UID.
	Object T
	// Deletion plans the end of the object.
	Deletion bool
	// NoNamespace means that the namespace does not exist: the API server is not asked about
	// objects in it.
	NoNamespace bool
}

// DryRun returns what the reconciler would write of the children of an object, now and when the
// dependencies of its components serve. Nothing is written: the Applier of the member makes dry runs,
// and serves this call only. The error is an *apierror.SpecError if the object cannot be rendered.
func (k Kind[T]) DryRun(ctx context.Context, m *Member, t DryRunRequest[T]) ([]v1.PlannedChange, error) {
	r := newReconciler(k, m)
	if t.Deletion {
		return r.dryRunDeletion(ctx, t.Object)
	}
	p := &pass[T]{object: t.Object, paused: true} // No password is rotated.
	facts := r.keepMark(ctx, p, r.rotate(ctx, p, r.facts(p.object)))
	p.problems = slices.DeleteFunc(p.problems, func(problem component.Problem) bool { return problem.Reason == v1.ReasonDatabaseLost })
	if len(p.problems) > 0 || p.incomplete {
		return nil, errors.Join(append(p.errs, errNotObserved)...)
	}
	components, err := r.render(p.object, facts)
	if err != nil {
		return nil, &apierror.SpecError{Reason: v1.ReasonInvalidSpec, Err: err}
	}
	if err := r.compare(ctx, p, facts, components); err != nil {
		return nil, err
	}
	if applied := r.kind.Status(p.object).AppliedHash; applied != nil {
		r.member.Applier.Recall(*applied, p.intents(), p.live)
	}
	login, err := r.dryRunLogin(ctx, p)
	if err != nil {
		return nil, err
	}
	mark, err := r.dryRunMark(ctx, p)
	if err != nil {
		return nil, err
	}
	p.paused = t.NoNamespace
	changes, err := r.dryRunPlan(ctx, p, true)
	if slices.ContainsFunc(changes, func(c v1.PlannedChange) bool { return c.Action == v1.PlannedRefuse && c.Kind == claimKind }) {
		changes, err = r.dryRunPlan(ctx, p, false) // A StatefulSet is replaced when its claims have grown.
	}
	return slices.Concat(login, mark, changes), err
}

// dryRunMark returns the creation of the mark of a database that has none. It is no step of a plan.
func (r *reconciler[T]) dryRunMark(ctx context.Context, p *pass[T]) ([]v1.PlannedChange, error) {
	if p.database == nil {
		return nil, nil
	}
	key := client.ObjectKey{Namespace: p.object.GetNamespace(), Name: p.database.MarkName()}
	if found, err := r.readCertainly(ctx, key, &corev1.Secret{}, true); err != nil || found {
		return nil, err
	}
	return []v1.PlannedChange{{Kind: "Secret", Name: p.database.MarkName(), Action: v1.PlannedAction(v1.PendingCreate)}}, nil
}

// dryRunLogin returns the creation of the login of a database that has none. It is no step of a plan.
func (r *reconciler[T]) dryRunLogin(ctx context.Context, p *pass[T]) ([]v1.PlannedChange, error) {
	if p.database == nil || p.database.Replicas == 0 {
		return nil, nil
	}
	seen, err := r.observeLogin(ctx, p.object, *p.database)
	if err != nil || seen.live != nil {
		return nil, err
	}
	return []v1.PlannedChange{{Kind: "Secret", Name: p.database.LoginSecretName(), Action: v1.PlannedAction(v1.PendingCreate)}}, nil
}

// claimKind is the kind of volume claims.
const claimKind = "PersistentVolumeClaim"

// dryRunPlan plans the children of an object and tries the steps, as if claims could grow or not.
func (r *reconciler[T]) dryRunPlan(ctx context.Context, p *pass[T], grown bool) ([]v1.PlannedChange, error) {
	decision, err := component.Decide(component.Input{
		Components: p.components, Live: p.live, OwnerUID: p.object.GetUID(), Generation: p.object.GetGeneration(),
		Conditions: *r.kind.Status(p.object).Conditions, Eventual: true, Grown: grown,
	})
	if err != nil {
		return nil, &apierror.SpecError{Reason: v1.ReasonInvalidSpec, Err: err}
	}
	return r.try(ctx, p, decision.Steps)
}

// dryRunDeletion returns the children that are deleted with an object. The API server is not asked: what
// it refuses now it may allow when it is the turn of the child.
func (r *reconciler[T]) dryRunDeletion(ctx context.Context, owner T) ([]v1.PlannedChange, error) {
	live, err := r.observe(ctx, owner, nil)
	if err != nil {
		return nil, err
	}
	var changes []v1.PlannedChange
	for _, exists := range component.Deleted(live, owner.GetUID()) {
		changes = append(changes, Planned(v1.PendingChange{
			Kind: exists.GetObjectKind().GroupVersionKind().Kind, Name: exists.GetName(), Action: v1.PendingDelete,
		}))
	}
	return changes, nil
}

// try takes steps as dry runs, and returns their changes. A step that is refused does not stop the
// others. The error belongs to the first step whose change is not known.
func (r *reconciler[T]) try(ctx context.Context, p *pass[T], steps []component.Step) ([]v1.PlannedChange, error) {
	var changes []v1.PlannedChange
	var failed error
	for _, step := range steps {
		change, err := r.dryRunStep(ctx, p, step)
		if err == nil {
			if change != nil {
				changes = append(changes, Planned(*change))
			}
			continue
		}
		about := step.Object.Resource
		if about == nil {
			about = step.Target
		}
		if refused, is := Refusal(about.GetObjectKind().GroupVersionKind().Kind, about.GetName(), err); is {
			changes = append(changes, refused)
			continue
		}
		if failed = cmp.Or(failed, err); ctx.Err() != nil {
			break
		}
	}
	return changes, failed
}

// dryRunStep takes one step as a dry run. It returns nil if nothing would change.
func (r *reconciler[T]) dryRunStep(ctx context.Context, p *pass[T], step component.Step) (*v1.PendingChange, error) {
	if step.Action == component.Apply {
		request, err := r.request(ctx, p, step.Object)
		if err != nil {
			return nil, err
		}
		result, err := r.member.Applier.Apply(ctx, request)
		return result.Change, err
	}
	change, err := r.pendingStep(ctx, step)
	if err != nil || change == nil {
		return nil, err
	}
	if _, err := r.take(ctx, p, step); err != nil {
		return nil, err
	}
	return change, nil
}

// Planned returns a pending change as a planned one.
func Planned(c v1.PendingChange) v1.PlannedChange {
	return v1.PlannedChange{Kind: c.Kind, Name: c.Name, Action: v1.PlannedAction(c.Action), Fields: c.Fields}
}

// Refusal returns the change of a write that failed, and reports whether it is refused: what passes
// by itself, and what keeps the cluster from answering, is not. What the cluster fails on is: it answers
// about other objects.
func Refusal(kind, name string, err error) (v1.PlannedChange, bool) {
	d := apierror.Decide(err)
	if !d.Blocking && d.Class != apierror.NotFound && d.Class != apierror.Internal {
		return v1.PlannedChange{}, false
	}
	message := v1.Excerpt(d.Message, maxRefusal)
	return v1.PlannedChange{Kind: kind, Name: name, Action: v1.PlannedRefuse, Reason: d.Reason, Message: message}, true
}
