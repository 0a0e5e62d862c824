package apply

import (
	"hash/maphash"
	"sync"

	"github.com/shopfleet/shopfleet/spoke/component"
)

// matched remembers which state of an object was found to need no write for which intent, so that
// a pass converts and compares only the objects that changed since. An object costs a few numbers,
// because there are many. It is safe for concurrent use.
type matched struct {
	seed maphash.Seed

	mu sync.Mutex
	// objects has the match of an object by a hash of its key.
	objects map[uint64]match
}

// match says in which state an object needed no write.
type match struct {
	// intent is a hash of the intent's hash.
	intent uint64
	// state is a hash of the UID of the object, and of its version unless it has a fingerprint.
	state uint64
	// fingerprint is 0 if the version counts.
	fingerprint uint64
}

func newMatched() *matched {
	return &matched{seed: maphash.MakeSeed(), objects: make(map[uint64]match)}
}

// has reports whether a request is known to need no write.
func (m *matched) has(req Request) bool {
	if !isRepeatable(req) || isSlim(req.Live) && !isCurrent(req) {
		return false
	}
	known, ok := m.get(component.KeyOf(req.Intent))
	return ok && known == m.of(req.Live, req.Intent)
}

// isCurrent reports whether an object has the hash of its intent, which a fingerprint does not
// include, and is not being deleted.
func isCurrent(req Request) bool {
	return req.Live.GetDeletionTimestamp() == nil &&
		component.SpecHash(req.Live) == component.SpecHash(req.Intent)
}

func (m *matched) get(key component.Key) (match, bool) {
	object := m.object(key)
	m.mu.Lock()
	defer m.mu.Unlock()
	known, ok := m.objects[object]
	return known, ok
}

// put records that an object needs no write.
func (m *matched) put(key component.Key, found match) {
	object := m.object(key)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.objects[object] = found
}

// forget drops an object that is gone, or about to be.
func (m *matched) forget(key component.Key) {
	object := m.object(key)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, object)
}

func (m *matched) object(key component.Key) uint64 { return maphash.Comparable(m.seed, key) }

// of returns the match of an object from a cache and an intent.
func (m *matched) of(live, intent component.Resource) match {
	if applied, slim := component.AppliedOf(live); slim {
		return m.byFingerprint(live, intent, applied.Fingerprint)
	}
	return match{intent: m.intent(intent), state: maphash.Comparable(m.seed, [2]string{string(live.GetUID()), live.GetResourceVersion()})}
}

// byFingerprint returns the match of an object with a fingerprint and an intent.
func (m *matched) byFingerprint(live, intent component.Resource, fingerprint uint64) match {
	return match{intent: m.intent(intent), state: maphash.Comparable(m.seed, live.GetUID()), fingerprint: fingerprint}
}

func (m *matched) intent(intent component.Resource) uint64 {
	return maphash.Comparable(m.seed, component.SpecHash(intent))
}

// isRepeatable reports whether the outcome of a request depends on nothing but the intent, which has
// its hash, and on the state of the object.
func isRepeatable(req Request) bool {
	// What is generated is no part of the hash: keys may be missing, and a certificate expires.
	return req.Live != nil && req.Live.GetResourceVersion() != "" && req.Check == nil && req.Generate == nil &&
		req.Intent.GetObjectKind().GroupVersionKind().Kind != "" &&
		component.SpecHash(req.Intent) != ""
}
