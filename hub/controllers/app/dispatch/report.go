package dispatch

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/shopfleet/shopfleet/hub/aggregate"
)

// report is what a lane last found out about the copy of an application.
type report struct {
	// app is the UID of the application that it is about.
	app types.UID
	// failure is why the copy could not be written or deleted, nil if it could.
	failure *aggregate.Failure
	// gone tells that the copy was confirmed not to exist.
	gone bool
}

// reports are those of one lane.
type reports struct {
	mu    sync.Mutex
	known map[types.NamespacedName]report
	// working are the applications that the lane is at work on.
	working map[types.NamespacedName]bool
}

func newReports() *reports {
	return &reports{
		known:   map[types.NamespacedName]report{},
		working: map[types.NamespacedName]bool{},
	}
}

// begin says that the lane is about to read the application and to act on it.
// From now on an absence that was found earlier proves nothing.
func (r *reports) begin(key types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.working[key] = true
}

// end says what came of it; nil if nothing is known or of interest any more. It
// returns the report before and whether there is news for the reconciler.
func (r *reports) end(key types.NamespacedName, next *report) (last report, news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.working, key)
	last, existed := r.known[key]
	if next == nil {
		delete(r.known, key)
		return last, existed
	}
	r.known[key] = *next
	// An absence was not visible while the lane worked, so it is always news.
	return last, !existed || next.gone || !equality.Semantic.DeepEqual(last.failure, next.failure) || last.gone || last.app != next.app
}

// about returns the report about an application; false if there is none yet.
func (r *reports) about(key types.NamespacedName, app types.UID) (report, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	found, ok := r.known[key]
	if !ok || found.app != app {
		return report{}, false
	}
	found.gone = found.gone && !r.working[key]
	return found, true
}
