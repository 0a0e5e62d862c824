package copies

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/propagate"
	"github.com/shopfleet/shopfleet/spoke/apply"
)

// writtenCopy is a copy that exists in the member.
type writtenCopy struct {
	// copy has the identity of the copy, and the annotations that the cache has.
	copy *v1.EcommerceApp
	// created means that this attempt created it.
	created bool
}

// copyAfter returns the copy after an attempt, where live is what the cache has of it, or nil. It
// returns nil if the copy is another application's, is being deleted, or is yet to be seen.
func (l *MemberQueue) copyAfter(app, live *v1.EcommerceApp, result apply.Result) *writtenCopy {
	after := &v1.EcommerceApp{}
	after.Namespace, after.Name = app.Namespace, app.Name
	after.Labels = map[string]string{v1.ClusterLabel: l.name}
	switch {
	case result.Outcome == apply.Terminating:
		return nil
	case live != nil:
		after.UID, after.Annotations = live.UID, live.Annotations
		if live.DeletionTimestamp != nil || result.Outcome == "" && !owned(app)(live) {
			return nil
		}
	case result.Object != nil:
		after.UID = result.Object.GetUID()
	case !l.holds(app):
		return nil
	}
	return &writtenCopy{copy: after, created: result.Outcome == apply.Created}
}

// propagated are the objects that a queue has written beside copies. It is empty when the member is
// connected: what is found in the member is compared then. It is safe for concurrent use.
type propagated struct {
	mu    sync.Mutex
	known map[types.NamespacedName]propagatedObjects
	// seen are the resource versions that a watch has delivered since objects were compared; gone for
	// one that was deleted.
	seen map[types.NamespacedName]map[v1.PropagatedObject]string
}

// gone is no resource version.
const gone = "gone"

// propagatedObjects are those beside one copy.
type propagatedObjects struct {
	// copy is the UID of the copy that owns them: with another one they are written again.
	copy types.UID
	// reconcileAt is the value of the annotation for which they were compared.
	reconcileAt string
	// written are those that were written, or found as they should be. Pruned are the objects that were
	// deleted, and that the copy may list still.
	written map[v1.PropagatedObject]writtenObject
	pruned  map[v1.PropagatedObject]bool
}

// writtenObject has the version of the content of an object, and its resource version in the member.
type writtenObject struct {
	version, resourceVersion string
	// repairs counts how often it was written again for this version, and repaired is when it was last.
	repairs  int
	repaired time.Time
}

func newPropagated() *propagated {
	return &propagated{
		known: map[types.NamespacedName]propagatedObjects{}, seen: map[types.NamespacedName]map[v1.PropagatedObject]string{},
	}
}

// of returns the objects beside a copy; none if it is another one than before, or if they are to be
// compared again. The caller may change them.
func (p *propagated) of(key types.NamespacedName, copied types.UID, reconcileAt string) propagatedObjects {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.known[key]; ok && known.copy == copied && known.reconcileAt == reconcileAt {
		known.written, known.pruned = maps.Clone(known.written), maps.Clone(known.pruned)
		return known
	}
	return propagatedObjects{
		copy: copied, reconcileAt: reconcileAt,
		written: map[v1.PropagatedObject]writtenObject{}, pruned: map[v1.PropagatedObject]bool{},
	}
}

func (p *propagated) set(key types.NamespacedName, objects propagatedObjects) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known[key] = objects
}

func (p *propagated) forget(key types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, key)
	delete(p.seen, key)
}

// see records the resource version that a watch delivered of an object, and reports whether it is
// another one than that of the last write.
func (p *propagated) see(key types.NamespacedName, object v1.PropagatedObject, resourceVersion string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen[key] == nil {
		p.seen[key] = map[v1.PropagatedObject]string{}
	}
	p.seen[key][object] = resourceVersion
	return p.known[key].written[object].resourceVersion != resourceVersion
}

// compare forgets what a watch delivered of an object, which is about to be compared: what it
// delivers from now on may be newer.
func (p *propagated) compare(key types.NamespacedName, object v1.PropagatedObject) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.seen[key], object)
}

// hasDrifted reports whether a watch has delivered another version of an object than the written one.
func (p *propagated) hasDrifted(key types.NamespacedName, object v1.PropagatedObject, written writtenObject) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	version, delivered := p.seen[key][object]
	return delivered && version != written.resourceVersion
}

// remaining returns the objects that a copy lists, that its application no longer propagates, and
// that are not known to be deleted.
func (p *propagated) remaining(app, live *v1.EcommerceApp) []v1.PropagatedObject {
	leftover := propagate.Leftover(live, app.Spec.Propagate)
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.known[keyOf(app)]
	return slices.DeleteFunc(leftover, func(o v1.PropagatedObject) bool { return known.copy == live.UID && known.pruned[o] })
}

// intentFor returns the intent for a copy: what copyFor returns, with the objects that are propagated
// beside it. They are recorded before they are written, so that they are found again.
func (l *MemberQueue) intentFor(app *v1.EcommerceApp, facts MemberFacts, live *v1.EcommerceApp) (*v1.EcommerceApp, error) {
	intent, err := copyFor(app, facts, live)
	if err != nil {
		return intent, err
	}
	listed := app.Spec.Propagate
	if live != nil {
		listed = slices.Concat(listed, l.propagated.remaining(app, live))
	}
	if text := propagate.Record(listed...); text != "" {
		intent.Annotations[v1.PropagatedAnnotation] = text
	}
	return intent, nil
}
