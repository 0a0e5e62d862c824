package bucket

import (
	"maps"
	"slices"
	"strings"
)

// Version describes a version of an object.
type Version struct {
	Object

	// Marker is true for a version that stands for a deletion, and Latest for the newest one of
	// its key.
	Marker, Latest bool
}

// KeepVersions makes the bucket keep the versions of objects that are overwritten or deleted from now on.
func (s *Store) KeepVersions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.versioned = true
}

// KeepsVersions reports whether the bucket keeps versions.
func (s *Store) KeepsVersions() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.versioned
}

// hide puts a marker over an object, or where there is none. The store is locked.
func (s *Store) hide(key string) {
	if current, ok := s.objects[key]; ok {
		s.older[key] = append(s.older[key], current)
		delete(s.objects, key)
	}
	s.serial++
	marker := storedObject{Object: Object{Key: key, Serial: s.serial, ModifiedAt: s.clock.Now(), Versioned: true}, marker: true}
	s.older[key] = append(s.older[key], marker)
}

// Hidden reports whether the newest version of an object is a marker.
func (s *Store) Hidden(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, current := s.objects[key]
	return !current && len(s.older[key]) > 0
}

// Versions returns the versions of the objects whose keys begin with a prefix, sorted by key, the newest
// of each key first.
func (s *Store) Versions(prefix string) []Version {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := slices.AppendSeq(slices.Collect(maps.Keys(s.objects)), maps.Keys(s.older))
	slices.Sort(keys)
	var out []Version
	for _, key := range slices.Compact(keys) {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		all := slices.Clone(s.older[key])
		if current, ok := s.objects[key]; ok {
			all = append(all, current)
		}
		for i, v := range slices.Backward(all) {
			out = append(out, Version{Object: v.Object, Marker: v.marker, Latest: i == len(all)-1})
		}
	}
	return out
}

// DeleteVersion deletes one version of an object for good. The version before it is current afterwards. It returns
// ErrMissing if there is no such version, and ErrLocked if it must stay.
func (s *Store) DeleteVersion(key string, serial int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.older[key]
	if current, ok := s.objects[key]; ok {
		all = append(all, current)
	}
	at := slices.IndexFunc(all, func(o storedObject) bool { return o.Serial == serial })
	switch {
	case at < 0:
		return ErrMissing
	case all[at].Locked:
		return ErrLocked
	}
	all[at].content.drop()
	all = slices.Delete(slices.Clone(all), at, at+1)
	delete(s.objects, key)
	if last := len(all) - 1; last >= 0 && !all[last].marker {
		s.objects[key], all = all[last], all[:last]
	}
	s.older[key] = all
	if len(all) == 0 {
		delete(s.older, key)
	}
	return nil
}
