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
	// object is what is reconciled; its status is written at the end.
	object T
	// components and live are what was rendered, and what was found.
	components []component.Component
	live       component.Live
	// states are what is observed, nil until something is.
	states   []component.State
	deleting bool

	problems []component.Problem
	// outcomes are what was written of each component.
	outcomes map[string]apply.Outcome
	// worst says what follows from the errors so far.
	errs                         []error
	conflicted, blocked, invalid bool
	// statusDue is in how long a status that was held back is to be written.
	statusDue time.Duration
	// deadlineDue is in how long a component will have failed; 0 when none will.
	deadlineDue time.Duration
}

// fail records an error of a component; empty for the application as a whole. It
// tells whether there is any use in going on with other components.
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
		// It is so for all components, whichever met it.
		name = ""
	}
	problem.Component = name
	p.problems = append(p.problems, problem)
	return class != transient && problem.Reason != v1.ReasonNamespaceTerminating
}

// refuse records that a claim cannot grow. The component goes on with the volume
// that it has.
func (p *pass[T]) refuse(step component.Step, err error) {
	p.blocked = true
	p.problems = append(p.problems, component.Problem{
		Component: step.Component, Reason: v1.ReasonStorageNotExpandable, Message: notExpandable(step, err),
	})
}

// result says when to reconcile again.
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

// conflictRetry is the delay after a write that met a newer object.
const conflictRetry = 200 * time.Millisecond
