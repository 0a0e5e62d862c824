package copies

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/propagate"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// newObject is a resource version that no object has: an API server creates a missing object with it,
// and returns a conflict for one that exists.
const newObject = "1"

const (
	// repairLimit is how often an object is written again although its source has not changed, before
	// another client counts as one that keeps changing it, and repairWindow the time between two
	// writes then. They are those of package apply.
	repairLimit  = 10
	repairWindow = 5 * time.Minute
)

// propagate writes the objects that an application propagates beside its copy in the member, and
// deletes those that it no longer does. It costs no request while nothing has changed. What is held
// back is added to the result. What cannot be read on the hub stays as it is in the member.
func (l *MemberQueue) propagate(ctx context.Context, t *task, beside *writtenCopy, next *state.Result) error {
	app := t.App
	leftover := propagate.Leftover(beside.copy, app.Spec.Propagate)
	if len(app.Spec.Propagate)+len(leftover) == 0 {
		l.memory.DropBeside(keyOf(app))
		return nil
	}
	p := propagationPass{MemberQueue: l, app: app, copied: beside.copy, created: beside.created, held: l.holds(app)}
	p.done = l.memory.Beside(keyOf(app), beside.copy.UID, app.Annotations[v1.ReconcileAtAnnotation])
	problems := p.writeAll(ctx)
	if t.MayReturn {
		leftover = nil // The revision before may refer to them.
	}
	for _, object := range leftover {
		problems = append(problems, p.prune(ctx, object))
	}
	next.Pending = append(next.Pending, p.pending...)
	l.memory.SetBeside(keyOf(app), p.done)
	return errors.Join(problems...)
}

// propagationPass is one pass over the objects that an application propagates to a member.
type propagationPass struct {
	*MemberQueue
	app, copied *v1.EcommerceApp
	// created means that the copy is new, so that the objects are probably missing.
	created bool
	// held means that nothing is written, and pending is what would be.
	held    bool
	pending []v1.PendingChange
	// applied counts the writes.
	applied int
	done    state.Beside
}

// writeAll writes the objects whose content differs from what was written or found last.
func (p *propagationPass) writeAll(ctx context.Context) []error {
	var problems []error
	for _, source := range p.state.Sources(keyOf(p.app), p.app.UID).All {
		if !p.isStale(source) {
			continue
		}
		if err := p.writeOne(ctx, source); err != nil {
			problems = append(problems, fmt.Errorf("propagating %s: %w", source, err))
		}
	}
	return problems
}

// writeOne reads a source, and writes and records the object. What is no longer to be copied stays as it is in the member.
func (p *propagationPass) writeOne(ctx context.Context, source propagate.Source) error {
	known := source.Version
	source, from := p.sources.content(ctx, p.app, source.PropagatedObject)
	if source.Reason == v1.ReasonNotChecked {
		return errNotRead
	}
	if source.Version != known {
		p.wake.Add(requestFor(p.app)) // The other members follow.
	}
	if from == nil {
		return nil
	}
	former, now := p.done.Written[source.PropagatedObject], p.options.Clock.Now()
	window := p.options.Waits.Scaled(repairWindow)
	isRepair := former.Version == source.Version
	if due := window - now.Sub(former.Repaired); isRepair && former.Repairs >= repairLimit && due > 0 {
		return &apply.ContendedError{Key: component.KeyOf(propagate.ForCopy(from, p.copied, nil)), Fields: []string{"data"}, RetryIn: due}
	}
	p.memory.CompareBeside(keyOf(p.app), source.PropagatedObject)
	next := state.Written{Version: source.Version, Repairs: former.Repairs, Repaired: former.Repaired}
	if !isRepair || now.Sub(former.Repaired) >= 2*window {
		next.Repairs = 0
	}
	applied := p.applied
	version, held, err := p.write(ctx, from)
	switch {
	case err != nil:
		return err
	case held != "":
		p.pending = append(p.pending, v1.PendingChange{Kind: string(source.Kind), Name: source.Name, Action: held})
		return nil
	}
	if isRepair && p.applied > applied {
		next.Repairs, next.Repaired = next.Repairs+1, now
	}
	next.ResourceVersion = version
	p.done.Written[source.PropagatedObject] = next
	delete(p.done.Pruned, source.PropagatedObject)
	return nil
}

// isStale reports whether a source may differ from the object in the member.
func (p *propagationPass) isStale(source propagate.Source) bool {
	if !source.IsReadable() || !slices.Contains(p.app.Spec.Propagate, source.PropagatedObject) {
		return false
	}
	written := p.done.Written[source.PropagatedObject]
	return written.Version != source.Version || p.memory.HasDrifted(keyOf(p.app), source.PropagatedObject, written)
}

// write makes the object in the member match its source, and returns its resource version. If that is
// held back, it returns the change.
func (p *propagationPass) write(ctx context.Context, source propagate.Object) (version string, held v1.PendingAction, err error) {
	if p.created && !p.held {
		if version, err = p.apply(ctx, propagate.ForCopy(source, p.copied, nil), newObject); !apierrors.IsConflict(err) {
			return version, "", err
		}
	}
	live, err := p.live(ctx, propagate.RefOf(source))
	if err != nil {
		return "", "", err
	}
	if live == nil {
		return p.unlessHeld(ctx, v1.PendingCreate, propagate.ForCopy(source, p.copied, nil), newObject)
	}
	intent := propagate.ForCopy(source, p.copied, live)
	switch {
	case !propagate.IsOurs(live) && !mayAdopt(live, intent):
		return "", "", conflictOf(live, intent)
	case live.GetDeletionTimestamp() != nil:
		return "", "", apierrors.NewConflict(schema.GroupResource{Resource: string(propagate.RefOf(live).Kind)}, live.GetName(), errTerminating)
	case propagate.Matches(live, intent):
		return live.GetResourceVersion(), "", nil
	case propagate.TypeOf(live) != propagate.TypeOf(intent):
		// It cannot be changed.
		if !p.held {
			if err := p.applier.Delete(ctx, live, metav1.DeletePropagationBackground); err != nil {
				return "", "", err
			}
		}
		return p.unlessHeld(ctx, v1.PendingRecreate, intent, newObject)
	}
	return p.unlessHeld(ctx, v1.PendingUpdate, intent, live.GetResourceVersion())
}

// unlessHeld applies an object over a resource version, or returns the change if it is held back.
func (p *propagationPass) unlessHeld(ctx context.Context, change v1.PendingAction, intent propagate.Object, over string) (version string, held v1.PendingAction, err error) {
	if p.held {
		return "", change, nil
	}
	version, err = p.apply(ctx, intent, over)
	return version, "", err
}

// prune deletes an object that is no longer propagated, unless another copy owns it as well.
func (p *propagationPass) prune(ctx context.Context, object v1.PropagatedObject) error {
	if p.done.Pruned[object] {
		return nil
	}
	live, err := p.live(ctx, object)
	if err != nil {
		return err
	}
	switch {
	case live == nil || !propagate.IsOurs(live) || live.GetDeletionTimestamp() != nil:
	case p.held:
		p.pending = append(p.pending, v1.PendingChange{Kind: string(object.Kind), Name: object.Name, Action: v1.PendingDelete})
		return nil
	case len(propagate.Others(live, p.copied)) > 0:
		if err := p.disown(ctx, live); err != nil {
			return err
		}
	default:
		if err := p.applier.Delete(ctx, live, metav1.DeletePropagationBackground); err != nil {
			return fmt.Errorf("pruning %s: %w", object, err)
		}
	}
	p.done.Pruned[object] = true
	delete(p.done.Written, object)
	p.queue.Add(requestFor(p.app)) // The copy lists the object until it is written again.
	return nil
}

// disown removes the reference to the copy from an object.
func (p *propagationPass) disown(ctx context.Context, live propagate.Object) error {
	intent := propagate.ForCopy(live, p.copied, live)
	intent.SetOwnerReferences(propagate.Others(live, p.copied))
	_, err := p.apply(ctx, intent, live.GetResourceVersion())
	return err
}

// live reads an object from the member's API server; nil if it does not exist. No cache has its
// content.
func (p *propagationPass) live(ctx context.Context, object v1.PropagatedObject) (propagate.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, p.options.CallTimeout)
	defer cancel()
	live := propagate.New(object.Kind)
	err := p.cluster.GetAPIReader().Get(ctx, client.ObjectKey{Namespace: p.app.Namespace, Name: object.Name}, live)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", object, err)
	}
	return live, nil
}

// apply applies an object if the one in the member has a resource version, and returns the next one.
func (p *propagationPass) apply(ctx context.Context, intent propagate.Object, over string) (version string, err error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(intent)
	if err != nil {
		return "", fmt.Errorf("encoding %s: %w", propagate.RefOf(intent), err)
	}
	sent := &unstructured.Unstructured{Object: content}
	sent.SetResourceVersion(over)
	ctx, cancel := context.WithTimeout(ctx, p.options.CallTimeout)
	defer cancel()
	err = p.cluster.GetClient().Apply(ctx, client.ApplyConfigurationFromUnstructured(sent), client.FieldOwner(v1.HubFieldManager), client.ForceOwnership)
	if err != nil {
		return "", fmt.Errorf("applying %s: %w", propagate.RefOf(intent), err)
	}
	p.applied++
	return sent.GetResourceVersion(), nil
}

var (
	errTerminating = errors.New("it is being deleted")
	// errNotRead means that the hub's API server did not respond.
	errNotRead = errors.New("the object was not read on the hub")
)

// mayAdopt reports whether the user lets the hub replace an object that it did not write.
func mayAdopt(live, intent propagate.Object) bool {
	if metav1.GetControllerOf(live) != nil {
		return false
	}
	switch v1.AdoptPolicy(live.GetAnnotations()[v1.AdoptAnnotation]) {
	case v1.AdoptAlways:
		return true
	case v1.AdoptIfNoDiff:
		return propagate.SameContent(live, intent)
	default:
		return false
	}
}

// conflictOf returns the error about an object that the hub did not write.
func conflictOf(live, intent propagate.Object) error {
	conflict := &apply.ConflictError{Key: component.KeyOf(intent)}
	if controller := metav1.GetControllerOf(live); controller != nil {
		conflict.Controller = controller.Kind
	} else if !propagate.SameContent(live, intent) {
		conflict.Differences = []string{"data"}
	}
	return conflict
}
