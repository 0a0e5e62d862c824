package state

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// Owner is a copy that a queue has written, found as it should be, or could not write because it is refused, so that
// objects may be written beside it.
type Owner struct {
	// UID is empty for a copy that is yet to be created while nothing is written, as ReadOnly says. Created means that the
	// last attempt created it, so that the objects are probably missing.
	UID               types.UID
	Created, ReadOnly bool
	// Leftover are the objects that the copy lists and its application does not.
	Leftover []v1.PropagatedObject
	// Only are the objects that may be written beside a copy that is refused itself; nil if all may.
	Only []v1.PropagatedObject
}

// Beside holds the objects that a queue has written beside one copy. A connection begins with none: what is found in the
// member is compared then.
type Beside struct {
	// Copy is the UID of the copy that owns them: with another one they are written again.
	Copy types.UID
	// ReconcileAt is the value of the annotation for which they were compared.
	ReconcileAt string
	// Written lists the objects that were written, or found as they should be. Pruned lists the objects that
	// were deleted, and that the copy may list still.
	Written map[v1.PropagatedObject]Written
	Pruned  map[v1.PropagatedObject]bool
}

// Written describes an object that was as it should be.
type Written struct {
	// Version identifies the content of the source, ResourceVersion the object in the member; empty if that is another
	// one by now.
	Version, ResourceVersion string
	// Repairs counts how often it was written again for this version, and Repaired is when it was last.
	Repairs  int
	Repaired time.Time
}

// beside remembers what is beside a copy, the result of the last attempt to write that, and the resource versions that a
// watch has delivered since the last one began; Deleted for an object that was deleted.
type beside struct {
	Beside
	result    Result
	conflicts apierror.InRow
	seen      map[v1.PropagatedObject]string
}

// Deleted is no resource version.
const Deleted = "deleted"

// Owner returns the Decision about an application and the copy beside which it is to be carried out; nil unless the queue
// of copies has acted on the present order, and the copy is as that says or was refused.
func (m *Member) Owner(key types.NamespacedName) (*Decision, *Owner) {
	m.state.mu.RLock()
	defer m.state.mu.RUnlock()
	d, c := m.state.about(key).decision, m.copies[key]
	if order := d.Order(m.name); order == nil || c == nil || c.result == nil || c.result.Hash != order.Hash {
		return nil, nil
	}
	return d, c.result.Owner
}

// Owners returns the applications with something to write or delete beside their copies.
func (m *Member) Owners() []types.NamespacedName {
	m.state.mu.RLock()
	defer m.state.mu.RUnlock()
	var keys []types.NamespacedName
	for key, c := range m.copies {
		d := m.state.about(key).decision
		if d != nil && c.result != nil && c.result.Owner != nil && len(d.App.Spec.Propagate)+len(c.result.Owner.Leftover) > 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

// Beside returns the objects beside a copy; none if it is another one than before, or if they are to be compared again.
// Those of which a watch has delivered another version than the written one are without a resource version. The caller
// may change them. What a watch delivers from now on is recorded. Known is false if none were compared yet.
func (m *Member) Beside(key types.NamespacedName, copied types.UID, reconcileAt string) (next Beside, known bool) {
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	next = Beside{Copy: copied, ReconcileAt: reconcileAt, Written: map[v1.PropagatedObject]Written{}, Pruned: map[v1.PropagatedObject]bool{}}
	c := m.copies[key]
	if c == nil {
		return next, false // The application is gone since the pass began.
	}
	if c.beside == nil {
		c.beside = &beside{}
	}
	seen := c.beside.seen
	c.beside.seen = map[v1.PropagatedObject]string{}
	if last := c.beside.Beside; last.Copy != copied || last.ReconcileAt != reconcileAt || last.Written == nil {
		return next, false
	}
	for object, written := range c.beside.Written {
		if version, delivered := seen[object]; delivered && version != written.ResourceVersion {
			written.ResourceVersion = "" // Also for the passes that follow, until it is written.
			c.beside.Written[object] = written
		}
	}
	next.Written, next.Pruned = maps.Clone(c.beside.Written), maps.Clone(c.beside.Pruned)
	return next, true
}

// EndBeside records the objects beside a copy and the result of an attempt to write them, unless they were dropped since
// Beside returned them. It returns how many attempts in a row ended in a conflict, and whether there is news for the
// reconciler.
func (m *Member) EndBeside(key types.NamespacedName, next Beside, result Result, conflict bool) (conflicts int, news bool) {
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	c := m.copies[key]
	if c == nil || c.beside == nil {
		return 0, false
	}
	b := c.beside
	news = b.result.says() != result.says() || result.says() && b.result.differs(&result)
	b.Beside, b.result = next, result
	return b.conflicts.Count(conflict), news
}

// says reports whether the status shows anything of a result about what is beside a copy.
func (r *Result) says() bool { return r.Failure != nil || len(r.Pending) > 0 }

// BesideResult returns the last result about what is beside the copy of an application.
func (m *Member) BesideResult(key types.NamespacedName, app types.UID) Result {
	m.state.mu.RLock()
	defer m.state.mu.RUnlock()
	if c := m.copies[key]; c != nil && c.beside != nil && c.beside.result.App == app {
		return c.beside.result
	}
	return Result{}
}

// DropBeside forgets the objects beside a copy.
func (m *Member) DropBeside(key types.NamespacedName) {
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	if c := m.copies[key]; c != nil {
		c.beside = nil
		m.dropEmpty(key)
	}
}

// SeeBeside records the resource version that a watch delivered of an object, and reports whether it is another one than
// that of the last write.
func (m *Member) SeeBeside(key types.NamespacedName, object v1.PropagatedObject, resourceVersion string) bool {
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	c := m.copies[key]
	if c == nil || c.beside == nil {
		return true // It is compared by the pass that follows.
	}
	c.beside.seen[object] = resourceVersion
	return c.beside.Written[object].ResourceVersion != resourceVersion
}

// IsPruned reports whether an object that a copy lists is known to be deleted.
func (m *Member) IsPruned(key types.NamespacedName, copied types.UID, object v1.PropagatedObject) bool {
	m.state.mu.RLock()
	defer m.state.mu.RUnlock()
	c := m.copies[key]
	return c != nil && c.beside != nil && c.beside.Copy == copied && c.beside.Pruned[object]
}
