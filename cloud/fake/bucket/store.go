package bucket

import (
	"bytes"
	"crypto/md5" //nolint:gosec // S3 and its like tell this checksum of each object.
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// Errors of a store.
var (
	// ErrExists means that there is an object under the key already.
	ErrExists = errors.New("there is an object already")
	// ErrMissing means that there is no object under the key.
	ErrMissing = errors.New("there is no such object")
	// ErrLocked means that a policy protects the object.
	ErrLocked = errors.New("the object is locked")
)

// Object describes an object of a store.
type Object struct {
	// Key is the complete key, with the prefix of the account.
	Key   string
	Bytes int64
	// ModifiedAt is the time of the last write.
	ModifiedAt time.Time
	// MD5 and CRC32C are the checksums that providers return; Serial differs between any
	// two objects of a store, and grows.
	MD5    [md5.Size]byte
	CRC32C uint32
	Serial int64
	Locked bool
	// Versioned is true for an object that was written while the bucket kept versions.
	Versioned bool
}

// Store represents a bucket. It is safe for concurrent use.
type Store struct {
	clock clock.PassiveClock

	mu sync.Mutex
	// objects are the current ones, and older are the versions before them, the oldest first.
	objects map[string]storedObject
	older   map[string][]storedObject
	// versioned is true for a bucket that keeps versions.
	versioned bool
	serial    int64
	dir       string
	secret    []byte
}

// storedObject is an object with its content.
type storedObject struct {
	Object

	content content
	// marker is true for a version that stands for a deletion.
	marker bool
}

// NewStore returns an empty bucket.
func NewStore(clock clock.PassiveClock) *Store {
	return &Store{clock: clock, objects: map[string]storedObject{}, older: map[string][]storedObject{}, secret: []byte("of this store")}
}

// SpillTo keeps contents of more than 1 MiB, from now on, in files of a directory.
func (s *Store) SpillTo(dir string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dir = dir
}

// Create creates an object with the content of a reader. If the key has one already, it returns
// ErrExists after it has read the reader to its end. A reader that fails creates
// nothing; its error is returned.
func (s *Store) Create(key string, from io.Reader) (Object, error) {
	if _, err := s.Stat(key); err == nil {
		if _, err := io.Copy(io.Discard, from); err != nil {
			return Object{}, fmt.Errorf("reading the content: %w", err)
		}
		return Object{}, ErrExists
	}
	return s.write(key, from, false)
}

// Replace creates an object, or overwrites an existing one. It returns ErrLocked if
// that one must stay.
func (s *Store) Replace(key string, from io.Reader) (Object, error) {
	return s.write(key, from, true)
}

func (s *Store) write(key string, from io.Reader, overwrite bool) (Object, error) {
	s.mu.Lock()
	d := &draft{dir: s.dir}
	s.mu.Unlock()
	if _, err := io.Copy(d, from); err != nil {
		d.discard()
		return Object{}, fmt.Errorf("reading the content: %w", err)
	}
	made := storedObject{Object: Object{Key: key}}
	made.content, made.Bytes, made.MD5, made.CRC32C = d.finish()

	s.mu.Lock()
	defer s.mu.Unlock()
	old, exists := s.objects[key]
	switch {
	case exists && !overwrite:
		made.content.drop()
		return Object{}, ErrExists
	case exists && s.versioned:
		s.older[key] = append(s.older[key], old)
	case exists && old.Locked:
		made.content.drop()
		return Object{}, ErrLocked
	case exists:
		old.content.drop()
	}
	s.serial++
	made.Serial, made.ModifiedAt, made.Versioned = s.serial, s.clock.Now(), s.versioned
	s.objects[key] = made
	return made.Object, nil
}

// Stat returns the object with a key, or ErrMissing.
func (s *Store) Stat(key string) (Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.objects[key]
	if !ok {
		return Object{}, ErrMissing
	}
	return found.Object, nil
}

// Open reads an object, which may be deleted meanwhile. It returns ErrMissing if there
// is no object.
func (s *Store) Open(key string) (Object, io.ReadSeekCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.objects[key]
	if !ok {
		return Object{}, nil, ErrMissing
	}
	content, err := found.content.open()
	if err != nil {
		return Object{}, nil, fmt.Errorf("opening the content of %q: %w", key, err)
	}
	return found.Object, content, nil
}

// Page lists objects whose keys begin with a prefix and come after another, in the order
// of their keys, at most limit of them; and whether there are more.
func (s *Store) Page(prefix, after string, limit int) ([]Object, bool) {
	var page []Object
	for _, o := range s.Objects() {
		if !strings.HasPrefix(o.Key, prefix) || o.Key <= after {
			continue
		}
		if len(page) == limit {
			return page, true
		}
		page = append(page, o)
	}
	return page, false
}

// Delete deletes an object. It returns ErrMissing if there is no object, and ErrLocked if
// it must stay. Where versions are kept it hides the object, a locked one too, and marks a missing one.
func (s *Store) Delete(key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.objects[key]
	switch {
	case s.versioned:
		s.hide(key)
		return nil
	case !ok:
		return ErrMissing
	case found.Locked:
		return ErrLocked
	}
	found.content.drop()
	delete(s.objects, key)
	return nil
}

// Objects returns all objects, sorted by key.
func (s *Store) Objects() []Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Object, 0, len(s.objects))
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		out = append(out, s.objects[key].Object)
	}
	return out
}

// Keys returns the keys of all objects, sorted.
func (s *Store) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.objects))
}

// Content returns the content of an object, and whether it exists.
func (s *Store) Content(key string) ([]byte, bool) {
	_, reader, err := s.Open(key)
	if err != nil {
		return nil, false
	}
	defer func() { _ = reader.Close() }()
	content, err := io.ReadAll(reader)
	return content, err == nil
}

// Put writes an object as another client, also over a locked one.
func (s *Store) Put(key string, content []byte) {
	s.Remove(key)
	// Memory takes everything.
	_, _ = s.write(key, bytes.NewReader(content), true)
}

// Remove deletes an object as another client, also a locked one.
func (s *Store) Remove(key string) {
	s.Lock(key, false)
	if _, err := s.Stat(key); err == nil {
		_ = s.Delete(key) // Another one may have been faster.
	}
}

// Lock locks an object by a policy of the bucket, or unlocks it.
func (s *Store) Lock(key string, locked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found, ok := s.objects[key]; ok {
		found.Locked = locked
		s.objects[key] = found
	}
}
