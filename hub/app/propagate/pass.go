package propagate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// pass is one pass over the objects that an application propagates to a member.
type pass struct {
	*MemberQueue
	app, copied *v1.EcommerceApp
	order       *state.Order
	// created means that the copy is new, so that the objects are probably missing.
	created bool
	// readOnly means that nothing is written, and pending is what would be.
	readOnly bool
	pending  []v1.PendingChange
	// pruned means that the copy lists what is deleted.
	pruned bool
	done   state.Beside
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
		err := p.checkContended(source)
		if err == nil {
			err = p.writeOne(ctx, object)
		}
		switch {
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

// checkContended returns an error while an object that others change again and again has to wait for its repair, so that nothing
// is read for it. A source that is known to have changed does not wait.
func (p *pass) checkContended(source state.Source) error {
	former := p.done.Written[source.PropagatedObject]
	due := repairsOf(former).Wait(p.dispatcher.Clock.Now(), p.repairWindow())
	if due == 0 || former.Version != source.Version {
		return nil
	}
	key := component.Key{GroupKind: schema.GroupKind{Kind: string(source.Kind)}, Namespace: p.app.Namespace, Name: source.Name}
	return &apply.ContendedError{Key: key, Fields: []string{"data"}, RetryIn: due}
}

func (p *pass) repairWindow() time.Duration { return p.dispatcher.Waits.Scaled(apply.RepairWindow) }

func repairsOf(w state.Written) apply.Repairs {
	return apply.Repairs{Count: w.Repairs, Last: w.Repaired}
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
	former := p.done.Written[object]
	isRepair, repairs := former.Version == source.Version, repairsOf(former)
	delete(p.done.Pruned, object) // Also if the answer is lost.
	version, action, err := p.write(ctx, from)
	switch {
	case err != nil:
		return err
	case action != "" && p.readOnly:
		p.pending = append(p.pending, v1.PendingChange{Kind: string(source.Kind), Name: source.Name, Action: action})
		return nil
	case !isRepair:
		repairs = apply.Repairs{}
	case action != "":
		repairs = repairs.Next(p.dispatcher.Clock.Now(), p.repairWindow())
	}
	p.done.Written[object] = state.Written{Version: source.Version, ResourceVersion: version, Repairs: repairs.Count, Repaired: repairs.Last}
	return nil
}

// isStale reports whether a source may differ from the object in the member.
func (p *pass) isStale(source state.Source) bool {
	written := p.done.Written[source.PropagatedObject]
	return source.IsReadable() && (written.Version != source.Version || written.ResourceVersion == "")
}

// write makes the object in the member match its source. It returns its resource version, and what was done, or would be
// done if that is held back; nothing if the object is as it should be.
func (p *pass) write(ctx context.Context, source Object) (version string, action v1.PendingAction, err error) {
	if p.created && !p.readOnly {
		version, err = p.Applier.ApplyOver(ctx, forCopy(source, p.copied, nil), "")
		if !apierrors.IsConflict(err) {
			return version, v1.PendingCreate, err
		}
	}
	live, err := p.live(ctx, refOf(source))
	if err != nil {
		return "", "", err
	}
	intent, over := forCopy(source, p.copied, live), ""
	switch action, err = actionFor(live, intent); {
	case err != nil || p.readOnly && action != "":
		return "", action, err
	case action == "":
		return live.GetResourceVersion(), "", nil
	case action == v1.PendingUpdate:
		over = live.GetResourceVersion()
	case action == v1.PendingRecreate:
		if err := p.Applier.Delete(ctx, live, metav1.DeletePropagationBackground); err != nil {
			return "", "", err
		}
	}
	version, err = p.Applier.ApplyOver(ctx, intent, over)
	return version, action, err
}

// prune deletes an object that is no longer propagated, unless another copy owns it as well.
func (p *pass) prune(ctx context.Context, object v1.PropagatedObject) error {
	if p.done.Pruned[object] {
		return nil
	}
	live, err := p.ours(ctx, object)
	if err != nil {
		return err
	}
	switch {
	case live == nil:
	case !p.isPresent():
		return nil // It may be listed again.
	case p.readOnly:
		p.pending = append(p.pending, v1.PendingChange{Kind: string(object.Kind), Name: object.Name, Action: v1.PendingDelete})
		return nil
	case len(others(live, p.copied)) > 0:
		_, err = p.Applier.ApplyOver(ctx, disowned(live, p.copied), live.GetResourceVersion())
	default:
		err = p.Applier.Delete(ctx, live, metav1.DeletePropagationBackground)
	}
	if err != nil {
		return fmt.Errorf("pruning %s: %w", object, err)
	}
	p.done.Pruned[object] = true
	delete(p.done.Written, object)
	p.pruned = true
	return nil
}

// isPresent reports whether the order is still that about the copy.
func (p *pass) isPresent() bool {
	decision, owner := p.Memory.Owner(client.ObjectKeyFromObject(p.app))
	return owner != nil && decision.Order(p.Name).Hash == p.order.Hash
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

// ours returns an object that the hub wrote in the member; nil if there is none, or it is being deleted.
func (p *pass) ours(ctx context.Context, object v1.PropagatedObject) (Object, error) {
	live, err := p.live(ctx, object)
	if err != nil || live == nil || !isOurs(live) || live.GetDeletionTimestamp() != nil {
		return nil, err
	}
	return live, nil
}

// errNotRead means that the hub's API server did not respond.
var errNotRead = errors.New("the object was not read on the hub")
