package state

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/shopfleet/shopfleet/hub/app/recovery"
)

// lookup is about the copy of an application that lost its inventory; zero if the reconciler did not ask for one.
type lookup struct {
	app   types.UID
	found recovery.Presence
}

// Ask returns the result of the last lookup of an application's copy, and records that there is to be one.
func (m *Member) Ask(key types.NamespacedName, app types.UID) recovery.Presence {
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	c := m.of(key)
	if c.lookup.app != app {
		c.lookup = lookup{app: app}
	}
	return c.lookup.found
}

// Asked returns the application whose copy is to be looked for; empty if none is.
func (m *Member) Asked(key types.NamespacedName) types.UID {
	m.state.mu.RLock()
	defer m.state.mu.RUnlock()
	if c := m.copies[key]; c != nil {
		return c.lookup.app
	}
	return ""
}

// Answer records the result of a lookup that was asked for, and reports whether it is news.
func (m *Member) Answer(key types.NamespacedName, app types.UID, found recovery.Presence) bool {
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	c := m.copies[key]
	if c == nil || c.lookup.app != app {
		return false
	}
	news := c.lookup.found != found
	c.lookup.found = found
	return news
}
