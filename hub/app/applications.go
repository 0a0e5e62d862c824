package app

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// applications are all applications as the watch delivered them last, shared with the hub's cache:
// they must not be changed. An application that the cache has and that is missing or older here is
// about to be delivered, and enqueued then. It is safe for concurrent use.
type applications struct {
	mu    sync.RWMutex
	known map[types.NamespacedName]*v1.EcommerceApp
}

func newApplications() *applications {
	return &applications{known: map[types.NamespacedName]*v1.EcommerceApp{}}
}

func (a *applications) set(app *v1.EcommerceApp) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known[keyOf(app)] = app
}

func (a *applications) forget(key types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.known, key)
}

// where returns a request for each application that a condition holds for.
func (a *applications) where(holds func(*v1.EcommerceApp) bool) []reconcile.Request {
	a.mu.RLock()
	defer a.mu.RUnlock()
	var requests []reconcile.Request
	for key, app := range a.known {
		if holds(app) {
			requests = append(requests, reconcile.Request{NamespacedName: key})
		}
	}
	return requests
}
