package reconciler

import (
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// pass is one reconciliation of one object.
type pass[T client.Object] struct {
	// object is being reconciled; its status is written at the end.
	object T
	// components are the rendered components, and live the live objects.
	components []component.Component
	live       component.Live
	// states are the observed states; nil until then.
	states   []component.State
	deleting bool

	problems []component.Problem
	// outcomes are the outcomes of writes by component.
	outcomes map[string]apply.Outcome
	// errs and the flags summarize the errors so far.
	errs                         []error
	conflicted, blocked, invalid bool
	// statusDue is the time until a delayed status is to be written.
	statusDue time.Duration
	// deadlineDue is the time until a component fails; 0 if no deadline applies.
	deadlineDue time.Duration
}

// fail records an error of a component, or of the application if the name is empty. It
// reports whether other components should be processed.
func (p *pass[T]) fail(name string, err error) bool {
	class, problem := classify(err)
	switch class {
	case quiet:
		p.conflicted = true
		return true
	case transient:
		p.errs = append(p.errs, err)
	case blocked:
		p.blocked = true
	case invalid:
		p.invalid = true
	}
	if problem.Reason == v1.ReasonNamespaceTerminating {
		// The namespace affects all components.
		name = ""
	}
	problem.Component = name
	p.problems = append(p.problems, problem)
	return class != transient && problem.Reason != v1.ReasonNamespaceTerminating
}

// rejectExpansion records that a claim cannot be expanded. The component keeps its volume.
func (p *pass[T]) rejectExpansion(step component.Step, err error) {
	p.blocked = true
	p.problems = append(p.problems, component.Problem{
		Component: step.Component, Reason: v1.ReasonStorageNotExpandable, Message: notExpandable(step, err),
	})
}

// result returns when to reconcile again.
func (p *pass[T]) result(s Settings) (reconcile.Result, error) {
	if err := errors.Join(p.errs...); err != nil {
		return reconcile.Result{}, err
	}
	after := time.Duration(0)
	sooner := func(d time.Duration) {
		if after == 0 || d < after {
			after = d
		}
	}
	if !p.invalid {
		sooner(jitter(s.Resync))
	}
	if p.blocked {
		sooner(jitter(s.RetryAfter))
	}
	if p.statusDue > 0 {
		sooner(p.statusDue)
	}
	if p.deadlineDue > 0 {
		sooner(p.deadlineDue)
	}
	if p.conflicted {
		sooner(jitter(conflictRetry))
	}
	return reconcile.Result{RequeueAfter: after}, nil
}

// conflictRetry is the delay before a retry after a conflict.
const conflictRetry = 200 * time.Millisecond
