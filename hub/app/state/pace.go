package state

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// StatusWritten records that the status of an application was written.
func (s *State) StatusWritten(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(key).statusAt = s.clock.Now()
}

// LastStatus returns when the status of an application was written last; zero if this process has not written it.
func (s *State) LastStatus(key types.NamespacedName) time.Time {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.about(key).statusAt
}

// Ahead returns the Decision about an application whose clusters are recorded in its metadata and not in its status yet;
// nil if there is none.
func (s *State) Ahead(app *v1.EcommerceApp) *Decision {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.about(client.ObjectKeyFromObject(app)).ahead(app)
}

func (a *application) ahead(app *v1.EcommerceApp) *Decision {
	if d := a.decision; d.IsOf(app.UID) && d.Ahead && app.InventoryLost() {
		return d
	}
	return nil
}

// UntilResults returns how long the first status of an application waits for the results of the members that are
// connected, whose copies it would compete with: at most a limit, counted from when the clusters were first handed over.
func (s *State) UntilResults(app *v1.EcommerceApp, limit time.Duration) time.Duration {
	s.mu.RLock()
	defer s.mu.RUnlock()
	key := client.ObjectKeyFromObject(app)
	a := s.about(key)
	d := a.ahead(app)
	if d == nil || d.App.Generation != app.Generation || app.DeletionTimestamp != nil || s.haveActed(key, d) {
		return 0
	}
	return max(limit-s.clock.Since(a.handedOver), 0)
}

// haveActed reports whether all queues of connected members have a result about their order. The lock is held.
func (s *State) haveActed(key types.NamespacedName, d *Decision) bool {
	for name, order := range d.Orders {
		for m := range s.members[name] {
			if c := m.copies[key]; c == nil || c.result == nil || c.result.Hash != order.Hash {
				return false
			}
		}
	}
	return true
}
