package copies

import (
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// written remembers the last object that the hub wrote for each application, until the
// watch delivers it. It is safe for concurrent use.
type written struct {
	mu     sync.Mutex
	writes map[types.NamespacedName]write
}

// write is an application as the API server returned it, and the versions that it and
// the writes before it replaced.
type write struct {
	app      *v1.EcommerceApp
	replaced []string
	// planned means that the metadata of app is stored, and its status is about to be.
	planned bool
}

func newWritten() *written {
	return &written{writes: map[types.NamespacedName]write{}}
}

// record remembers that app replaced a version. A write that changed nothing creates no
// version, and no watch event follows it. A plan stays one if the write was of metadata alone.
func (w *written) record(app *v1.EcommerceApp, replaced string, metadata bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if app.ResourceVersion != replaced {
		last := w.writes[keyOf(app)]
		w.writes[keyOf(app)] = write{app: app.DeepCopy(), replaced: append(last.replaced, replaced), planned: last.planned && metadata}
	}
}

// plan remembers an application with the status that it is about to get.
func (w *written) plan(app *v1.EcommerceApp) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes[keyOf(app)] = write{app: app, replaced: w.writes[keyOf(app)].replaced, planned: true}
}

// endPlan forgets a plan, and reports whether there was one: its status was not written.
func (w *written) endPlan(key types.NamespacedName) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	planned := w.writes[key].planned
	if planned {
		delete(w.writes, key)
	}
	return planned
}

// newest returns the newer of the cached application and the last one written, and whether it is
// the one written, which is forgotten otherwise. Only the reconciler of applications may call it:
// nothing is written between its read from the cache and the call.
func (w *written) newest(cached *v1.EcommerceApp) (app *v1.EcommerceApp, ahead bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	app, ahead = w.writes[keyOf(cached)].newest(cached)
	if !ahead {
		delete(w.writes, keyOf(cached))
	}
	return app, ahead
}

// of returns the last write of an application. It must be taken before the cache is read, which
// has what is not remembered any more.
func (w *written) of(key types.NamespacedName) write {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.writes[key]
}

// all returns the last writes, as of does.
func (w *written) all() map[types.NamespacedName]write {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.writes)
}

// newest returns the newer of the cached application and the one written, and whether it is that.
// Versions are only compared for equality.
func (w write) newest(cached *v1.EcommerceApp) (app *v1.EcommerceApp, ahead bool) {
	if w.app == nil || w.app.UID != cached.UID {
		return cached, false
	}
	stored := w.planned && w.app.ResourceVersion == cached.ResourceVersion
	if stored || slices.Contains(w.replaced, cached.ResourceVersion) {
		return w.app, true
	}
	return cached, false
}

func (w *written) forget(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.writes, key)
}
