package state

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// observed is a status that the reconciler of a copy, in this process, is about to write or, in a member that is
// paused, would have written.
type observed struct {
	// copy is the UID of the copy, and version the one that the status is about to replace.
	copy    types.UID
	version string
	status  *v1.EcommerceAppStatus
}

// SetStatus records the status of a copy that its reconciler is about to write.
func (m *Member) SetStatus(copied *v1.EcommerceApp) {
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	m.of(client.ObjectKeyFromObject(copied)).observed = observed{copied.UID, copied.ResourceVersion, copied.Status.DeepCopy()}
}

// SeeStatus forgets the status of a copy if the cache has another version than the one that it replaces: that with the
// status, or that of another write, after which there is another status. It reports whether the cache has the status.
// Where nothing is written the status counts until it is replaced.
func (m *Member) SeeStatus(live *v1.EcommerceApp) bool {
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	c := m.copies[client.ObjectKeyFromObject(live)]
	if c == nil || c.observed.copy != live.UID || m.paused || c.observed.version == live.ResourceVersion {
		return false
	}
	last := c.observed.status
	c.observed = observed{}
	m.dropEmpty(client.ObjectKeyFromObject(live))
	return equality.Semantic.DeepEqual(last, &live.Status)
}

// DropStatus forgets the status of a copy that does not exist any more.
func (m *Member) DropStatus(key types.NamespacedName, copied types.UID) {
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	if c := m.copies[key]; c != nil && c.observed.copy == copied {
		c.observed = observed{}
		m.dropEmpty(key)
	}
}

// Status returns the status of a copy as the cache has it, or nil if that is what counts. It must not be changed.
func (m *Member) Status(live *v1.EcommerceApp) *v1.EcommerceAppStatus {
	m.state.mu.RLock()
	defer m.state.mu.RUnlock()
	c := m.copies[client.ObjectKeyFromObject(live)]
	if c != nil && c.observed.copy == live.UID && (m.paused || c.observed.version == live.ResourceVersion) {
		return c.observed.status
	}
	return nil
}
