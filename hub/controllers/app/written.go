package app

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// written remembers which versions of an application were written over and have
// not been left behind by the watch. A cache that still has one of them is late.
type written struct {
	mu   sync.Mutex
	over map[types.NamespacedName][]string
}

func newWritten() *written {
	return &written{over: map[types.NamespacedName][]string{}}
}

// note remembers that app was written over a version. A write that changed nothing
// makes no version, and no watch would tell of it.
func (w *written) note(app *v1.EcommerceApp, over string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if app.ResourceVersion != over {
		w.over[keyOf(app)] = append(w.over[keyOf(app)], over)
	}
}

// pending tells whether the cache has not seen the last write yet. Versions are
// compared for equality alone.
func (w *written) pending(app *v1.EcommerceApp) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if slices.Contains(w.over[keyOf(app)], app.ResourceVersion) {
		return true
	}
	delete(w.over, keyOf(app))
	return false
}

func (w *written) forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.over, key)
}
