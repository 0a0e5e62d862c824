package reconciler

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
	"github.com/shopfleet/shopfleet/spoke/runtime/ownwrites"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// reconciler reconciles the objects of one kind in one cluster.
type reconciler[T client.Object] struct {
	kind   Kind[T]
	member *Member
	memory memory[T]
	// eventsDenied logs once that events may not be listed.
	eventsDenied sync.Once
	terminating  *terminating
}

func newReconciler[T client.Object](kind Kind[T], m *Member) *reconciler[T] {
	return &reconciler[T]{
		kind:        kind,
		member:      m,
		terminating: newTerminating(m.Settings.Clock),
	}
}

// Reconcile runs one pass: deletion, or finalizer, observation, decision and writes; and
// the status last.
func (r *reconciler[T]) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	object := r.kind.New()
	if err := r.member.Reader.Get(ctx, req.NamespacedName, object); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(req.NamespacedName)
			return reconcile.Result{}, nil
		}
		return reconcile.Result{}, fmt.Errorf("reading %s %q: %w", r.kind.Name, req, err)
	}
	if r.kind.Selects != nil && !r.kind.Selects(object) {
		r.forget(req.NamespacedName)
		return reconcile.Result{}, nil
	}
	defer r.reportPanic(ctx, req)
	p := &pass[T]{object: r.newest(object)}
	p.paused = r.member.Paused
	if p.object.GetDeletionTimestamp() != nil {
		r.finalize(ctx, p)
		return p.result(r.member.Settings, r.memory.of(req.NamespacedName).afterConflict(p.conflicted))
	}
	p.paused = p.paused || r.kind.Paused != nil && r.kind.Paused(p.object)
	if err := r.prepare(ctx, p); err != nil {
		p.fail("", err)
	} else {
		r.converge(ctx, p)
	}
	if p.states != nil || len(p.problems) > 0 {
		r.writeStatus(ctx, p)
	}
	return p.result(r.member.Settings, r.memory.of(req.NamespacedName).afterConflict(p.conflicted))
}

// reportPanic writes to the status that a pass panicked. The panic goes on to the queue, which
// logs it with its stack, counts it, and retries this object alone.
func (r *reconciler[T]) reportPanic(ctx context.Context, req reconcile.Request) {
	cause := recover()
	if cause == nil {
		return
	}
	// The pass may have changed its object halfway.
	object := r.kind.New()
	if err := r.member.Reader.Get(ctx, req.NamespacedName, object); err == nil {
		p := &pass[T]{object: r.newest(object), deleting: object.GetDeletionTimestamp() != nil}
		p.fail("", errPanicked)
		r.writeStatus(ctx, p)
	}
	panic(cause)
}

// prepare makes the writes to the object itself that must precede all others.
func (r *reconciler[T]) prepare(ctx context.Context, p *pass[T]) error {
	if p.paused {
		return nil
	}
	if !controllerutil.ContainsFinalizer(p.object, v1.SpokeFinalizer) {
		if err := r.patch(ctx, p.object, func(object T) {
			controllerutil.AddFinalizer(object, v1.SpokeFinalizer)
		}); err != nil {
			return fmt.Errorf("adding the finalizer: %w", err)
		}
	}
	handled := ""
	if status := r.kind.Status(p.object); status.LastHandledImageUpdate != nil {
		handled = *status.LastHandledImageUpdate
	}
	restart := v1.RequestedRestart(p.object.GetAnnotations(), handled, r.member.Settings.Clock.Now())
	if restart == "" {
		return nil
	}
	before := r.copyOf(p.object)
	if err := r.patch(ctx, p.object, func(object T) {
		annotations := object.GetAnnotations()
		if annotations[v1.ImageUpdatedAnnotation] == v1.RestartNow {
			delete(annotations, v1.ImageUpdatedAnnotation)
		}
		annotations[v1.RestartedAtAnnotation] = restart
		object.SetAnnotations(annotations)
	}); err != nil {
		p.object = before // The status must not say that it was handled.
		return fmt.Errorf("handling annotation %s: %w", v1.ImageUpdatedAnnotation, err)
	}
	return nil
}

// patch changes the metadata of an object with a merge patch that fails if the object was
// changed concurrently. The object is updated from the response.
func (r *reconciler[T]) patch(ctx context.Context, object T, change func(T)) error {
	before := r.copyOf(object)
	change(object)
	ctx, cancel := context.WithTimeout(ctx, r.member.Settings.Timeout)
	defer cancel()
	if err := r.member.Client.Patch(ctx, object,
		retry.MergeFromLocked(before),
		client.FieldOwner(v1.SpokeFieldManager)); err != nil {
		return err
	}
	r.keepWrite(before, object)
	return nil
}

// converge runs the steps of a pass: it renders, observes, plans and writes.
func (r *reconciler[T]) converge(ctx context.Context, p *pass[T]) {
	facts := r.keepMark(ctx, p, r.rotate(ctx, p, r.facts(p.object)))
	components, err := r.render(p.object, facts)
	if err != nil {
		p.reject(err)
		return
	}
	if err := r.compare(ctx, p, facts, components); err != nil {
		p.fail("", err)
		return
	}
	status := r.kind.Status(p.object)
	// What admission changed of an object is known to the process that applied it.
	if status.AppliedHash != nil && (p.paused || !wasRewritten(*status.Conditions)) {
		r.member.Applier.Recall(*status.AppliedHash, p.intents(), p.live)
	}
	p.awaited = r.awaited(ctx, p)
	decision, err := component.Decide(component.Input{
		Components: p.components,
		Live:       p.live,
		OwnerUID:   p.object.GetUID(),
		Generation: p.object.GetGeneration(),
		Conditions: *status.Conditions,
		Awaited:    p.awaited,
	})
	if err != nil {
		p.reject(err)
		return
	}
	p.states, p.problems = decision.States, append(p.problems, decision.Problems...)
	r.execute(ctx, p, decision.Steps)
	p.rewrites = component.WithStored(r.member.Applier.Rewrites(p.intents()), decision.Rewrites)
	r.checkReferences(ctx, p)
	r.checkPods(ctx, p)
	r.followReplicas(ctx, p)
	r.recordChanges(p)
}

// compare reads the live objects, and completes what was rendered: pod templates that must not change yet stay as they
// are, and each object gets its hash.
func (r *reconciler[T]) compare(ctx context.Context, p *pass[T], facts render.Cluster, components []component.Component) error {
	var err error
	if p.live, err = r.observe(ctx, p.object, components); err != nil {
		return err
	}
	p.components, p.held = component.Hold(components, p.live, component.Rendering{
		Version: r.kind.Version, Released: r.kind.Released == nil || r.kind.Released(p.object),
		Observed: r.inEffect(p.object), OwnerUID: p.object.GetUID(),
	})
	p.contents, err = r.stamp(p.object, facts, p.components, len(p.held) == 0)
	return err
}

// inEffect reports whether the last status says that the present spec is in effect: it is about it, nothing was held
// back, and no part of it waits for a user.
func (r *reconciler[T]) inEffect(object T) bool {
	status := r.kind.Status(object)
	return *status.ObservedGeneration == object.GetGeneration() && *status.Phase != v1.PhasePaused &&
		!meta.IsStatusConditionTrue(*status.Conditions, v1.ConditionStalled)
}

// wasRewritten reports whether the last status says that admission changed what was applied.
func wasRewritten(conditions []metav1.Condition) bool {
	return meta.IsStatusConditionFalse(conditions, v1.ConditionStoredAsApplied)
}

// facts returns what is known of the cluster, and of the member facts that the object has.
func (r *reconciler[T]) facts(object T) render.Cluster {
	facts := r.member.Facts()
	if r.kind.Facts != nil {
		facts = r.kind.Facts(object, facts)
	}
	return facts
}

// render returns the components of an object.
func (r *reconciler[T]) render(object T, facts render.Cluster) ([]component.Component, error) {
	return r.kind.Render(r.copyOf(object), facts)
}

// reject records that the spec cannot be rendered and must be changed.
func (p *pass[T]) reject(err error) {
	p.fail("", &apierror.SpecError{Reason: v1.ReasonInvalidSpec, Err: err})
}

// newest returns the newer of an object in the cache and the last one that was written. The caller may change it.
func (r *reconciler[T]) newest(cached T) T {
	last := r.memory.of(client.ObjectKeyFromObject(cached))
	newest, ahead := last.write.Newest(cached)
	if !ahead {
		last.write = ownwrites.Write[T]{}
		return cached
	}
	return r.copyOf(newest)
}

// keepWrite records the response to a write.
func (r *reconciler[T]) keepWrite(before, after T) {
	last := r.memory.of(client.ObjectKeyFromObject(after))
	last.write = last.write.Next(before.GetResourceVersion(), after)
}

func (r *reconciler[T]) copyOf(object T) T { return object.DeepCopyObject().(T) }

func (r *reconciler[T]) forget(name types.NamespacedName) {
	r.memory.forget(name)
	r.member.Settings.Metrics.observe(r.subject(name), "")
}

func (r *reconciler[T]) subject(name types.NamespacedName) subject {
	return subject{cluster: r.member.Name, kind: r.kind.Name, name: name}
}
