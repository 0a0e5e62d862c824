package reconciler

import (
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// resync is the period of reconciliations without an event. They cost no request unless
// something differs, but one for each object that the spec refers to and no cache has.
const resync = 10 * time.Minute

// pass is one reconciliation of one object.
type pass[T client.Object] struct {
	// object is being reconciled; its status is written at the end.
	object T
	// components are the rendered components, contents the converted content of their objects where it was
	// computed, and live the live objects.
	components []component.Component
	contents   contents
	live       component.Live
	// held are the components whose pod templates stay as they are, though another version was rendered.
	held []string
	// awaited are the objects that the hub is about to write, and without which components do not begin.
	awaited map[component.Key]bool
	// states are the observed states; nil until then.
	states   []component.State
	deleting bool
	// database is the database of the object; nil if it has none to administer. Its
	// replicas are those that were observed.
	database *database.Spec
	replicas []v1.DatabaseReplica
	// created is true if the database is known to have been created, and lost says what to do if its data
	// is lost.
	created bool
	lost    string
	// paused means that nothing but the status is written, and pending is what would be.
	paused  bool
	pending []v1.PendingChange

	problems []component.Problem
	// rewrites are the objects that the API server stored otherwise than they were applied.
	rewrites []component.Rewrite
	// outcomes are the outcomes of writes by component.
	outcomes map[string]apply.Outcome
	// written are the objects that were created or changed.
	written map[component.Key]bool
	// errs are the errors so far that the queue retries, retryIn the shortest wait of the
	// others; 0 if there is none.
	errs    []error
	retryIn time.Duration
	// conflicted means that a write did, incomplete that one did, was fenced or paused, rejected that
	// the spec must change.
	conflicted, incomplete, rejected bool
	// statusDue is the time until a delayed status is to be written.
	statusDue time.Duration
	// deadlineDue is the time until a component fails; 0 if no deadline applies.
	deadlineDue time.Duration
	// checkDue is the time until what no watch tells of is read again; 0 if nothing is.
	checkDue time.Duration
}

// intents returns all rendered objects, in the order of rendering.
func (p *pass[T]) intents() []component.Resource {
	var all []component.Resource
	for _, c := range p.components {
		for _, object := range c.Rendered() {
			all = append(all, object.Resource)
		}
	}
	return all
}

// fail records an error of a component, or of the application if the name is empty. It
// reports whether other components should be processed.
func (p *pass[T]) fail(name string, err error) bool {
	d := apierror.Decide(err)
	if d.Return && d.Class != apierror.Internal {
		p.errs = append(p.errs, err)
	}
	switch d.Class {
	case apierror.Conflict:
		p.conflicted, p.incomplete = true, true
		return true
	case apierror.Fenced:
		p.retryIn, p.incomplete = retry.Sooner(p.retryIn, d.Wait), true
		return true
	case apierror.Paused:
		// The pause has just begun: another pass tells what it holds back.
		p.incomplete = true
		return false
	case apierror.InvalidSpec:
		p.rejected = true
	case apierror.Internal:
		// The queue would double its delay with each pass, whatever caused it. Most are tried again earlier: see
		// escalate.
		p.retryIn = retry.Sooner(p.retryIn, lastRetry)
		p.problems = append(p.problems, component.Problem{Component: name, Reason: d.Reason, Message: d.Message, Lasting: true})
		return true
	case apierror.NamespaceTerminating:
		// The namespace affects all components.
		name = ""
	default:
	}
	p.retryIn = retry.Sooner(p.retryIn, d.Wait)
	p.problems = append(p.problems, component.Problem{Component: name, Reason: d.Reason, Message: d.Message, Blocking: d.Blocking})
	return d.Blocking && d.Class != apierror.NamespaceTerminating
}

// rejectExpansion records that a claim cannot be expanded. The component keeps its volume.
func (p *pass[T]) rejectExpansion(step component.Step, err error) {
	p.retryIn = retry.Sooner(p.retryIn, apierror.Decide(err).Wait)
	p.problems = append(p.problems, component.Problem{
		Component: step.Component, Reason: v1.ReasonStorageNotExpandable, Message: notExpandable(step, err),
		Blocking: !step.Optional, Optional: step.Optional,
	})
}

// keepSize records that the cluster accepts the expansion of a claim, and keeps its size.
func (p *pass[T]) keepSize(step component.Step) {
	p.problems = append(p.problems, component.Problem{
		Component: step.Component, Reason: v1.ReasonStorageNotExpandable, Blocking: !step.Optional, Optional: step.Optional,
		Message: "exempt claim " + step.Target.GetName() + " from the admission policy or webhook of the cluster that keeps it from growing to " + step.Size.String(),
	})
}

// leaveContended records that another client keeps changing an object, until a user ends that. The component
// may work all the same.
func (p *pass[T]) leaveContended(name string, contended *apply.ContendedError) {
	p.retryIn = retry.Sooner(p.retryIn, contended.RetryIn)
	p.problems = append(p.problems, component.Problem{
		Component: name, Reason: contended.ConditionReason(), Message: apierror.Message(contended),
		Blocking: true, Harmless: true,
	})
}

// result returns when to reconcile again, also with an error. The wait is the one after a conflict, or 0.
func (p *pass[T]) result(s Settings, conflict time.Duration) (reconcile.Result, error) {
	failed := errors.Join(p.errs...)
	after := s.Waits.Later(retry.Sooner(p.retryIn, conflict)).RequeueAfter
	after = retry.Sooner(retry.Sooner(after, p.statusDue), retry.Sooner(p.deadlineDue, p.checkDue))
	again := s.Waits.Later(resync).RequeueAfter
	if failed != nil || p.rejected || after > 0 && after < again {
		return reconcile.Result{RequeueAfter: after}, failed
	}
	return reconcile.Result{RequeueAfter: again, Priority: new(handler.LowPriority)}, nil
}
