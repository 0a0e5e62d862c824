package state

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/propagate"
)

// Sources are the objects that an application propagates, as they were read from the hub's API server: their versions,
// by which members are compared, and not their content. They are not changed.
type Sources struct {
	// App, Generation and ReconcileAt say for what they were read.
	App         types.UID
	Generation  int64
	ReconcileAt string
	// Due is when they are to be read again.
	Due time.Time
	All []propagate.Source
	// Partial means that what an earlier revision lists could not be read.
	Partial bool
}

// Objects returns what was to be read.
func (s Sources) Objects() []v1.PropagatedObject {
	objects := make([]v1.PropagatedObject, 0, len(s.All))
	for _, source := range s.All {
		objects = append(objects, source.PropagatedObject)
	}
	return objects
}

// Of returns what was read of an object, and whether it was to be.
func (s Sources) Of(object v1.PropagatedObject) (propagate.Source, bool) {
	if i := slices.Index(s.Objects(), object); i >= 0 {
		return s.All[i], true
	}
	return propagate.Source{}, false
}

// Signature returns a text that differs if something else is to be copied.
func (s Sources) Signature() string {
	text := propagate.Signature(s.All)
	if s.Partial {
		text += "?"
	}
	return text
}

// Sources returns the sources of an application as they were read last.
func (s *State) Sources(key types.NamespacedName, app types.UID) Sources {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if known := s.about(key).sources; known.App == app {
		return known
	}
	return Sources{}
}

// SetSources records the sources of an application; none if they are zero.
func (s *State) SetSources(key types.NamespacedName, next Sources) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.of(key).sources = next
}

// ReplaceSource records what was read of one source of an application.
func (s *State) ReplaceSource(key types.NamespacedName, app types.UID, next propagate.Source) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.about(key)
	if i := slices.Index(a.sources.Objects(), next.PropagatedObject); i >= 0 && a.sources.App == app {
		a.sources.All = slices.Clone(a.sources.All)
		a.sources.All[i] = next
	}
}
