package iam

import (
	"slices"
	"sync"
)

// Log collects refusals, for tests that require that there were none. It is safe for concurrent
// use, and its zero value is empty.
type Log struct {
	mu      sync.Mutex
	refused []string
}

// Refuse adds what the documents do not allow: the permission, and the resource if it matters.
func (l *Log) Refuse(permission string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = append(l.refused, permission)
}

// Refused returns what was refused, in order.
func (l *Log) Refused() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.refused)
}
