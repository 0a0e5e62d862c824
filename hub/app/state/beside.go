package state

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

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

// Written describes an object that is as it should be.
type Written struct {
	// Version identifies the content of the source, ResourceVersion the object in the member.
	Version, ResourceVersion string
	// Repairs counts how often it was written again for this version, and Repaired is when it was last.
	Repairs  int
	Repaired time.Time
}

// beside remembers what is beside a copy, and the resource versions that a watch has delivered since objects were
// compared; Deleted for one that was deleted.
type beside struct {
	Beside
	seen map[v1.PropagatedObject]string
}

// Deleted is no resource version.
const Deleted = "deleted"

// Beside returns the objects beside a copy; none if it is another one than before, or if they are to be compared again.
// The caller may change them. What a watch delivers from now on is recorded.
func (m *Member) Beside(key types.NamespacedName, copied types.UID, reconcileAt string) Beside {
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	c := m.of(key)
	if c.beside == nil {
		c.beside = &beside{seen: map[v1.PropagatedObject]string{}}
	}
	if known := c.beside.Beside; known.Copy == copied && known.ReconcileAt == reconcileAt && known.Written != nil {
		known.Written, known.Pruned = maps.Clone(known.Written), maps.Clone(known.Pruned)
		return known
	}
	return Beside{Copy: copied, ReconcileAt: reconcileAt, Written: map[v1.PropagatedObject]Written{}, Pruned: map[v1.PropagatedObject]bool{}}
}

// SetBeside records the objects beside a copy, unless they were dropped since Beside returned them.
func (m *Member) SetBeside(key types.NamespacedName, next Beside) {
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	if c := m.copies[key]; c != nil && c.beside != nil {
		c.beside.Beside = next
	}
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

// CompareBeside forgets what a watch delivered of an object, which is about to be compared: what it delivers from now on
// may be newer.
func (m *Member) CompareBeside(key types.NamespacedName, object v1.PropagatedObject) {
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	if c := m.copies[key]; c != nil && c.beside != nil {
		delete(c.beside.seen, object)
	}
}

// HasDrifted reports whether a watch has delivered another version of an object than the written one.
func (m *Member) HasDrifted(key types.NamespacedName, object v1.PropagatedObject, written Written) bool {
	m.state.mu.RLock()
	defer m.state.mu.RUnlock()
	if c := m.copies[key]; c != nil && c.beside != nil {
		version, delivered := c.beside.seen[object]
		return delivered && version != written.ResourceVersion
	}
	return false
}

// IsPruned reports whether an object that a copy lists is known to be deleted.
func (m *Member) IsPruned(key types.NamespacedName, copied types.UID, object v1.PropagatedObject) bool {
	m.state.mu.RLock()
	defer m.state.mu.RUnlock()
	c := m.copies[key]
	return c != nil && c.beside != nil && c.beside.Copy == copied && c.beside.Pruned[object]
}
