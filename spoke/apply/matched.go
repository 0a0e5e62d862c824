package apply

import (
	"hash/maphash"

	"github.com/shopfleet/shopfleet/spoke/component"
)

// match says in which state an object was found to need no write for which intent, so that a pass converts and compares
// only the objects that changed since. An object costs a few numbers, because there are many.
type match struct {
	// intent is a hash of the intent's hash.
	intent uint64
	// state is a hash of the UID of the object, and of its version unless it has a fingerprint.
	state uint64
	// fingerprint is 0 if the version counts.
	fingerprint uint64
}

// isMatched reports whether a request is known to need no write.
func (a *Applier) isMatched(req Request) bool {
	if !isRepeatable(req) || isSlim(req.Live) && !isCurrent(req) {
		return false
	}
	known, ok := a.match(component.KeyOf(req.Intent))
	return ok && known == a.matchOf(req.Live, req.Intent)
}

// isCurrent reports whether an object has the hash of its intent, which a fingerprint does not
// include, and is not being deleted.
func isCurrent(req Request) bool {
	return req.Live.GetDeletionTimestamp() == nil &&
		component.SpecHash(req.Live) == component.SpecHash(req.Intent)
}

// match returns the match of an object.
func (a *Applier) match(key component.Key) (match, bool) {
	object := a.matchKey(key)
	a.mu.Lock()
	defer a.mu.Unlock()
	known, ok := a.matches[object]
	return known, ok
}

// putMatch records that an object needs no write.
func (a *Applier) putMatch(key component.Key, found match) {
	object := a.matchKey(key)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.matches[object] = found
}

// forgetMatch drops the match of an object that is gone, or about to be.
func (a *Applier) forgetMatch(key component.Key) {
	object := a.matchKey(key)
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.matches, object)
}

func (a *Applier) matchKey(key component.Key) uint64 { return maphash.Comparable(a.seed, key) }

// matchOf returns the match of an object from a cache and an intent.
func (a *Applier) matchOf(live, intent component.Resource) match {
	if applied, slim := component.AppliedOf(live); slim {
		return a.matchByFingerprint(live, intent, applied.Fingerprint)
	}
	return match{intent: a.hashIntent(intent), state: maphash.Comparable(a.seed, [2]string{string(live.GetUID()), live.GetResourceVersion()})}
}

// matchByFingerprint returns the match of an object with a fingerprint and an intent.
func (a *Applier) matchByFingerprint(live, intent component.Resource, fingerprint uint64) match {
	return match{intent: a.hashIntent(intent), state: maphash.Comparable(a.seed, live.GetUID()), fingerprint: fingerprint}
}

func (a *Applier) hashIntent(intent component.Resource) uint64 {
	return maphash.Comparable(a.seed, component.SpecHash(intent))
}

// isRepeatable reports whether the outcome of a request depends on nothing but the intent, which has
// its hash, and on the state of the object.
func isRepeatable(req Request) bool {
	// What is generated is no part of the hash: keys may be missing, and a certificate expires.
	return req.Live != nil && req.Live.GetResourceVersion() != "" && req.Check == nil && req.Generate == nil &&
		req.Intent.GetObjectKind().GroupVersionKind().Kind != "" &&
		component.SpecHash(req.Intent) != ""
}
