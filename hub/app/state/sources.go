package state

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Source is the result of reading an object of spec.propagate on the hub.
type Source struct {
	v1.PropagatedObject
	// Version identifies the content that was read. It is empty if there is a Reason.
	Version string
	// Reason is why it is not copied: Missing, Forbidden, InvalidSpec, or NotChecked if the hub's API
	// server has not responded; empty if it is.
	Reason string
	// Message explains the reason InvalidSpec.
	Message string
}

// IsReadable reports whether the source is copied.
func (s Source) IsReadable() bool { return s.Reason == "" }

// Sources are the objects that an application propagates, and what was read of them from the hub's API server: their
// versions, by which members are compared, and not their content. They are not changed.
type Sources struct {
	// App is the UID of the application.
	App types.UID
	// Listed are the objects that its clusters need. Partial means that what an earlier revision lists is not known.
	Listed  []v1.PropagatedObject
	Partial bool
	// All are the sources that were read, for a Generation and a ReconcileAt. Due is when they are to be read again.
	All         []Source
	Generation  int64
	ReconcileAt string
	Due         time.Time
}

// Of returns what was read of an object, and whether it was.
func (s Sources) Of(object v1.PropagatedObject) (Source, bool) {
	if i := slices.IndexFunc(s.All, func(source Source) bool { return source.PropagatedObject == object }); i >= 0 {
		return s.All[i], true
	}
	return Source{}, false
}

// Read returns what was read of the objects that are listed, and whether all of them were.
func (s Sources) Read() (read []Source, all bool) {
	for _, object := range s.Listed {
		if source, known := s.Of(object); known {
			read = append(read, source)
		}
	}
	return read, len(read) == len(s.Listed)
}

// IsDue reports whether the objects that are listed are to be read: that is due, was not done, or is asked for by an edit
// of the application or by v1.ReconcileAtAnnotation.
func (s Sources) IsDue(app *v1.EcommerceApp, now time.Time) bool {
	_, all := s.Read()
	return !all || s.Generation != app.Generation || s.ReconcileAt != app.Annotations[v1.ReconcileAtAnnotation] || !now.Before(s.Due)
}

// Sources returns what is known of the sources of an application.
func (s *State) Sources(key types.NamespacedName, app types.UID) Sources {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if known := s.about(key).sources; known.App == app {
		return known
	}
	return Sources{}
}

// ListSources records which objects the clusters of an application need, and returns what is known of them.
func (s *State) ListSources(key types.NamespacedName, app types.UID, listed []v1.PropagatedObject, partial bool) Sources {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := &s.of(key).sources
	if known.App != app || len(listed) == 0 && !partial {
		*known = Sources{App: app}
	}
	known.Listed, known.Partial = listed, partial
	return *known
}

// SetSources records what was read, unless the application is gone, and reports whether that is news.
func (s *State) SetSources(key types.NamespacedName, next Sources) (news bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.about(key); a.sources.App == next.App {
		next.Listed, next.Partial = a.sources.Listed, a.sources.Partial // They may be others since.
		news = !slices.Equal(a.sources.All, next.All)
		a.sources = next
	}
	return news
}

// ReplaceSource records what was read of one source of an application, and reports whether that is news.
func (s *State) ReplaceSource(key types.NamespacedName, app types.UID, next Source) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.about(key)
	last, known := a.sources.Of(next.PropagatedObject)
	if a.sources.App != app || last == next || !slices.Contains(a.sources.Listed, next.PropagatedObject) {
		return false
	}
	if !known {
		a.sources.All = append(slices.Clip(a.sources.All), next)
		return true
	}
	a.sources.All = slices.Clone(a.sources.All)
	a.sources.All[slices.Index(a.sources.All, last)] = next
	return true
}
