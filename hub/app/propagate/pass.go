package propagate

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

// pass is one pass over the objects that an application propagates to a member.
type pass struct {
	*MemberQueue
	app, copied *v1.EcommerceApp
	order       *state.Order
	// created means that the copy is new, so that the objects are probably missing.
	created bool
	// held means that nothing is written, and pending is what would be.
	held    bool
	pending []v1.PendingChange
	// applied counts the writes, and pruned are the objects that were deleted.
	applied int
	pruned  []v1.PropagatedObject
	done    state.Beside
	// unread means that the hub's API server did not respond: a problem of no cluster.
	unread error
}

// run writes the objects whose content differs from what was written or found last, and deletes what is left over, unless
// a revision that a cluster may have refers to it.
func (p *pass) run(ctx context.Context, d *state.Decision, owner *state.Owner) (problems []error) {
	known := p.dispatcher.State.Sources(client.ObjectKeyFromObject(p.app), p.app.UID)
	for _, object := range p.app.Spec.Propagate {
		source, read := known.Of(object)
		if read && !p.isStale(source) || owner.Only != nil && !slices.Contains(owner.Only, object) {
			continue
		}
		switch err := p.writeOne(ctx, object); {
		case errors.Is(err, errNotRead):
			p.unread = fmt.Errorf("propagating %s: %w", object, err)
		case err != nil:
			problems = append(problems, fmt.Errorf("propagating %s: %w", object, err))
		}
	}
	if d.MayReturn {
		return problems
	}
	for _, object := range owner.Leftover {
		if err := p.prune(ctx, object); err != nil {
			problems = append(problems, err)
		}
	}
	return problems
}

// writeOne reads a source, and writes and records the object. What is no longer to be copied stays as it is in the member.
func (p *pass) writeOne(ctx context.Context, object v1.PropagatedObject) error {
	source, from := p.dispatcher.content(ctx, p.app, object)
	if source.Reason == v1.ReasonNotChecked {
		return errNotRead
	}
	if from == nil {
		return nil
	}
	former, now := p.done.Written[object], p.dispatcher.Clock.Now()
	window := p.dispatcher.Waits.Scaled(repairWindow)
	isRepair := former.Version == source.Version
	if due := window - now.Sub(former.Repaired); isRepair && former.Repairs >= repairLimit && due > 0 {
		return &apply.ContendedError{Key: component.KeyOf(ForCopy(from, p.copied, nil)), Fields: []string{"data"}, RetryIn: due}
	}
	delete(p.done.Pruned, object) // Also if the answer is lost.
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
	p.done.Written[object] = next
	return nil
}

// isStale reports whether a source may differ from the object in the member.
func (p *pass) isStale(source state.Source) bool {
	written := p.done.Written[source.PropagatedObject]
	return source.IsReadable() && (written.Version != source.Version || written.ResourceVersion == "")
}

// write makes the object in the member match its source, and returns its resource version. If that is
// held back, it returns the change.
func (p *pass) write(ctx context.Context, source Object) (version string, held v1.PendingAction, err error) {
	if p.created && !p.held {
		if version, err = p.apply(ctx, ForCopy(source, p.copied, nil), newObject); !apierrors.IsConflict(err) {
			return version, "", err
		}
	}
	live, err := p.live(ctx, RefOf(source))
	if err != nil {
		return "", "", err
	}
	if live == nil {
		return p.unlessHeld(ctx, v1.PendingCreate, ForCopy(source, p.copied, nil), newObject)
	}
	intent := ForCopy(source, p.copied, live)
	switch {
	case !IsOurs(live) && !mayAdopt(live, intent):
		return "", "", conflictOf(live, intent)
	case live.GetDeletionTimestamp() != nil:
		return "", "", apierrors.NewConflict(schema.GroupResource{Resource: string(RefOf(live).Kind)}, live.GetName(), errTerminating)
	case Matches(live, intent):
		return live.GetResourceVersion(), "", nil
	case TypeOf(live) != TypeOf(intent):
		// It cannot be changed.
		if !p.held {
			if err := p.Applier.Delete(ctx, live, metav1.DeletePropagationBackground); err != nil {
				return "", "", err
			}
		}
		return p.unlessHeld(ctx, v1.PendingRecreate, intent, newObject)
	}
	return p.unlessHeld(ctx, v1.PendingUpdate, intent, live.GetResourceVersion())
}

// unlessHeld applies an object over a resource version, or returns the change if it is held back.
func (p *pass) unlessHeld(ctx context.Context, change v1.PendingAction, intent Object, over string) (version string, held v1.PendingAction, err error) {
	if p.held {
		return "", change, nil
	}
	version, err = p.apply(ctx, intent, over)
	return version, "", err
}

// prune deletes an object that is no longer propagated, unless another copy owns it as well.
func (p *pass) prune(ctx context.Context, object v1.PropagatedObject) error {
	if p.done.Pruned[object] {
		return nil
	}
	live, err := p.live(ctx, object)
	if err != nil {
		return err
	}
	switch {
	case live == nil || !IsOurs(live) || live.GetDeletionTimestamp() != nil:
	case !p.isPresent():
		return nil // It may be listed again.
	case p.held:
		p.pending = append(p.pending, v1.PendingChange{Kind: string(object.Kind), Name: object.Name, Action: v1.PendingDelete})
		return nil
	case len(Others(live, p.copied)) > 0:
		if err := p.disown(ctx, live); err != nil {
			return err
		}
	default:
		if err := p.Applier.Delete(ctx, live, metav1.DeletePropagationBackground); err != nil {
			return fmt.Errorf("pruning %s: %w", object, err)
		}
	}
	p.done.Pruned[object] = true
	delete(p.done.Written, object)
	p.pruned = append(p.pruned, object)
	return nil
}

// isPresent reports whether the order is still that about the copy.
func (p *pass) isPresent() bool {
	decision, owner := p.Memory.Owner(client.ObjectKeyFromObject(p.app))
	return owner != nil && decision.Order(p.Name).Hash == p.order.Hash
}

// disown removes the reference to the copy from an object.
func (p *pass) disown(ctx context.Context, live Object) error {
	intent := ForCopy(live, p.copied, live)
	intent.SetOwnerReferences(Others(live, p.copied))
	_, err := p.apply(ctx, intent, live.GetResourceVersion())
	return err
}

// live reads an object from the member's API server; nil if it does not exist. No cache has its
// content.
func (p *pass) live(ctx context.Context, object v1.PropagatedObject) (Object, error) {
	ctx, cancel := context.WithTimeout(ctx, p.dispatcher.CallTimeout)
	defer cancel()
	live := empty(object.Kind)
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
func (p *pass) apply(ctx context.Context, intent Object, over string) (version string, err error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(intent)
	if err != nil {
		return "", fmt.Errorf("encoding %s: %w", RefOf(intent), err)
	}
	sent := &unstructured.Unstructured{Object: content}
	sent.SetResourceVersion(over)
	ctx, cancel := context.WithTimeout(ctx, p.dispatcher.CallTimeout)
	defer cancel()
	err = p.cluster.GetClient().Apply(ctx, client.ApplyConfigurationFromUnstructured(sent), client.FieldOwner(v1.HubFieldManager), client.ForceOwnership)
	if err != nil {
		return "", fmt.Errorf("applying %s: %w", RefOf(intent), err)
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
func mayAdopt(live, intent Object) bool {
	if metav1.GetControllerOf(live) != nil {
		return false
	}
	switch v1.AdoptPolicy(live.GetAnnotations()[v1.AdoptAnnotation]) {
	case v1.AdoptAlways:
		return true
	case v1.AdoptIfNoDiff:
		return SameContent(live, intent)
	default:
		return false
	}
}

// conflictOf returns the error about an object that the hub did not write.
func conflictOf(live, intent Object) error {
	conflict := &apply.ConflictError{Key: component.KeyOf(intent)}
	if controller := metav1.GetControllerOf(live); controller != nil {
		conflict.Controller = controller.Kind
	} else if !SameContent(live, intent) {
		conflict.Differences = []string{"data"}
	}
	return conflict
}
