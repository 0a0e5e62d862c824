package apply

import (
	"hash/maphash"
	"sync"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// matched remembers which version of an object was found to need no write for which intent, so that
// a pass converts and compares only the objects that changed since. An object costs two numbers,
// because there are many. It is safe for concurrent use.
type matched struct {
	seed maphash.Seed

	mu sync.Mutex
	// versions has a hash of version and intent by a hash of the object's key.
	versions map[uint64]uint64
}

func newMatched() *matched {
	return &matched{seed: maphash.MakeSeed(), versions: make(map[uint64]uint64)}
}

// has reports whether a request is known to need no write.
func (m *matched) has(req Request) bool {
	if !isRepeatable(req) {
		return false
	}
	object, version := m.object(component.KeyOf(req.Intent)), m.version(req)
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.versions[object]
	return ok && known == version
}

// add records that a request needed no write.
func (m *matched) add(req Request) {
	if !isRepeatable(req) {
		return
	}
	object, version := m.object(component.KeyOf(req.Intent)), m.version(req)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.versions[object] = version
}

// forget drops an object that is gone, or about to be.
func (m *matched) forget(key component.Key) {
	object := m.object(key)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.versions, object)
}

func (m *matched) object(key component.Key) uint64 { return maphash.Comparable(m.seed, key) }

func (m *matched) version(req Request) uint64 {
	return maphash.Comparable(m.seed, [3]string{
		string(req.Live.GetUID()), req.Live.GetResourceVersion(), req.Intent.GetAnnotations()[v1.SpecHashAnnotation],
	})
}

// isRepeatable reports whether the outcome of a request depends on nothing but the intent, which has
// its hash, and on the version of the object.
func isRepeatable(req Request) bool {
	// What is generated is no part of the hash: keys may be missing, and a certificate expires.
	return req.Live != nil && req.Live.GetResourceVersion() != "" && req.Check == nil && req.Generate == nil &&
		req.Intent.GetObjectKind().GroupVersionKind().Kind != "" &&
		req.Intent.GetAnnotations()[v1.SpecHashAnnotation] != ""
}
