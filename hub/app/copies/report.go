package copies

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
)

// report is the result of the last attempt to write or delete the copy of an application.
type report struct {
	// app is the UID of the application.
	app types.UID
	// revision is the one that the copy was to have; 0 without a rollout.
	revision int64
	// failure is why the copy could not be written or deleted, or nil.
	failure *aggregate.Failure
	// failing is since when the member's API server fails on the copy; zero if it does not.
	failing time.Time
	// unknown is the origin that waits for the user; empty if none does.
	unknown string
	// pending are the writes that are held back.
	pending []v1.PendingChange
	// gone means that the copy was confirmed not to exist.
	gone bool
	// applied means that the attempt was to write the copy, and that it succeeded.
	applied bool
	// kept names the generation that the copy counts for although an earlier one made it.
	kept kept
}

// reports are those of one member. They are safe for concurrent use.
type reports struct {
	mu      sync.Mutex
	known   map[types.NamespacedName]report
	working map[types.NamespacedName]work
}

// work represents the processing of an application by a worker.
type work struct {
	// outdated is true if an absence that the worker finds no longer counts.
	outdated bool
	// awaited is true if the reconciler asked meanwhile whether the copy is confirmed.
	awaited bool
}

func newReports() *reports {
	return &reports{
		known:   map[types.NamespacedName]report{},
		working: map[types.NamespacedName]work{},
	}
}

// begin records that a worker is about to read the application and to act on it. From now
// on an absence that was found earlier proves nothing.
func (r *reports) begin(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.working[key] = work{}
}

// forget drops what is known of an application that does not exist any more. What a worker finds meanwhile
// wakes the reconciler, which forgets it again.
func (r *reports) forget(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, key)
}

// end records the result of a worker; nil if nothing is known or of interest any more. It
// returns the report before and whether there is news for the reconciler.
func (r *reports) end(key types.NamespacedName, next *report) (last report, news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	done := r.working[key]
	delete(r.working, key)
	last, existed := r.known[key]
	if next == nil || next.gone && done.outdated {
		// The next attempt, with the application as it is now, says more.
		delete(r.known, key)
		return last, existed
	}
	r.known[key] = *next
	// An absence was not visible while the worker was busy, so it is always news.
	return last, !existed || done.awaited || next.gone || !equality.Semantic.DeepEqual(last.failure, next.failure) || last.gone || last.app != next.app || last.unknown != next.unknown || last.applied != next.applied || last.kept != next.kept ||
		!equality.Semantic.DeepEqual(last.pending, next.pending)
}

// forgetAbsence makes an absence of the copy not count that was found, or is about to be
// found by a worker that read the application earlier.
func (r *reports) forgetAbsence(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w, busy := r.working[key]; busy {
		w.outdated = true
		r.working[key] = w
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
	found.gone = found.gone && !busy
	return found, true
}

// confirmed reports whether the copy of an application was applied and is not about to be deleted.
// While a worker is busy it may be: the end of the worker is news then.
func (r *reports) confirmed(key types.NamespacedName, app types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.known[key]
	if found.app != app || !found.applied {
		return false
	}
	w, busy := r.working[key]
	if busy {
		w.awaited = true
		r.working[key] = w
	}
	return !busy
}
