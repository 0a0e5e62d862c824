package dispatch

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/shopfleet/shopfleet/hub/aggregate"
)

// report is the result of the last attempt to write or delete the copy of an application.
type report struct {
	// app is the UID of the application.
	app types.UID
	// failure is why the copy could not be written or deleted, or nil.
	failure *aggregate.Failure
	// unknown is the origin that waits for the user; empty if none does.
	unknown string
	// gone means that the copy was confirmed not to exist.
	gone bool
	// applied means that the attempt was to write the copy, and that it succeeded.
	applied bool
}

// reports are those of one member. They are safe for concurrent use.
type reports struct {
	mu    sync.Mutex
	known map[types.NamespacedName]report
	// working holds the applications that a worker processes. The value is true while an
	// absence that the worker finds still counts.
	working map[types.NamespacedName]bool
}

func newReports() *reports {
	return &reports{
		known:   map[types.NamespacedName]report{},
		working: map[types.NamespacedName]bool{},
	}
}

// begin records that a worker is about to read the application and to act on it. From now
// on an absence that was found earlier proves nothing.
func (r *reports) begin(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.working[key] = true
}

// end records the result of a worker; nil if nothing is known or of interest any more. It
// returns the report before and whether there is news for the reconciler.
func (r *reports) end(key types.NamespacedName, next *report) (last report, news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := r.working[key]
	delete(r.working, key)
	last, existed := r.known[key]
	if next == nil || next.gone && !counts {
		// The next attempt, with the application as it is now, says more.
		delete(r.known, key)
		return last, existed
	}
	r.known[key] = *next
	// An absence was not visible while the worker was busy, so it is always news.
	return last, !existed || next.gone || !equality.Semantic.DeepEqual(last.failure, next.failure) || last.gone || last.app != next.app || last.unknown != next.unknown || last.applied != next.applied
}

// forgetAbsence makes an absence of the copy not count that was found, or is about to be
// found by a worker that read the application earlier.
func (r *reports) forgetAbsence(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, busy := r.working[key]; busy {
		r.working[key] = false
	}
	if r.known[key].gone {
		delete(r.known, key)
	}
}

// leave records that the copy is to be deleted: that it was applied no longer counts.
func (r *reports) leave(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if last, known := r.known[key]; known {
		last.applied = false
		r.known[key] = last
	}
}

// about returns the report about an application, and whether there is one.
func (r *reports) about(key types.NamespacedName, app types.UID) (report, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, ok := r.known[key]
	if !ok || found.app != app {
		return report{}, false
	}
	_, busy := r.working[key]
	found.gone, found.applied = found.gone && !busy, found.applied && !busy
	return found, true
}
