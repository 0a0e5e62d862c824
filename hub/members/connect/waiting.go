package connect

import (
	"slices"
	"sync"

	"github.com/shopfleet/shopfleet/hub/members/ownership"
)

// waiting are deletions that are about to be recorded. The zero value is ready for use, and safe for
// concurrent use.
type waiting struct {
	mu        sync.Mutex
	deletions []ownership.Deletion
}

func (w *waiting) add(d ownership.Deletion) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deletions = append(w.deletions, d)
}

// remove removes a deletion once.
func (w *waiting) remove(d ownership.Deletion) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if i := slices.Index(w.deletions, d); i >= 0 {
		w.deletions = slices.Delete(w.deletions, i, i+1)
	}
}

func (w *waiting) all() []ownership.Deletion {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.deletions)
}
