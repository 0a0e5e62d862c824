package state

import "k8s.io/apimachinery/pkg/types"

// CountConflict records whether a pass over an application ended in a conflict, and returns how many there were in a
// row.
func (s *State) CountConflict(key types.NamespacedName, conflict bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.apps[key] == nil && !conflict {
		return 0
	}
	return s.of(key).conflicts.Count(conflict)
}

// CountConflict records whether an attempt at a copy ended in a conflict, and returns how many there were in a row. They
// are counted without an order and a result too, until an attempt ends otherwise: each conflict is tried again.
func (m *Member) CountConflict(key types.NamespacedName, conflict bool) int {
	m.state.mu.Lock()
	defer m.state.mu.Unlock()
	if m.copies[key] == nil && !conflict {
		return 0
	}
	inRow := m.of(key).conflicts.Count(conflict)
	m.dropEmpty(key)
	return inRow
}
