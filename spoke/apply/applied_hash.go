package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/shopfleet/shopfleet/spoke/component"
)

// AppliedHash returns a hash of the intents and fingerprints of the objects of an application, as they
// were written or found last. It is empty unless all objects that are live are as intended. An
// intent whose object does not exist does not count. Objects without fingerprint are left out.
func (a *Applier) AppliedHash(intents []component.Resource, live component.Live) string {
	return appliedHashOf(intents, func(intent component.Resource) (applied component.Applied, counts, ok bool) {
		key := component.KeyOf(intent)
		if !a.slim(intent) {
			return applied, false, true
		}
		known, ok := a.match(key)
		if !ok {
			return applied, false, live[key] == nil
		}
		applied = component.Applied{Hash: component.SpecHash(intent), Fingerprint: known.fingerprint}
		return applied, true, known.fingerprint != 0 && known.intent == a.hashIntent(intent)
	})
}

// Recall trusts an applied hash that another process has left: the live objects that have the hashes and
// fingerprints of that time are as they were intended then, and need no write if they still are.
func (a *Applier) Recall(appliedHash string, intents []component.Resource, live component.Live) {
	if appliedHash == "" || !slices.ContainsFunc(intents, func(intent component.Resource) bool { return a.isUnknown(intent, live) }) {
		return
	}
	var found []component.Resource
	now := appliedHashOf(intents, func(intent component.Resource) (component.Applied, bool, bool) {
		has := live[component.KeyOf(intent)]
		if has == nil {
			return component.Applied{}, false, true
		}
		applied, slim := component.AppliedOf(has)
		if !slim {
			return applied, false, true
		}
		if applied.Hash == component.SpecHash(intent) {
			found = append(found, intent)
		}
		return applied, true, applied.Fingerprint != 0
	})
	if now != appliedHash {
		return
	}
	for _, intent := range found {
		key := component.KeyOf(intent)
		a.putMatch(key, a.matchOf(live[key], intent))
	}
}

// isUnknown reports whether nothing is known of a live object with a fingerprint.
func (a *Applier) isUnknown(intent component.Resource, live component.Live) bool {
	key := component.KeyOf(intent)
	_, known := a.match(key)
	return !known && isSlim(live[key])
}

// appliedHashOf returns a hash of the intents that count, in their order, with what was applied of them; empty if
// none counts, or one is not ok.
func appliedHashOf(intents []component.Resource, of func(component.Resource) (applied component.Applied, counts, ok bool)) string {
	sum, counted := sha256.New(), false
	for _, intent := range intents {
		applied, counts, ok := of(intent)
		switch {
		case !ok:
			return ""
		case counts:
			counted = true
			sum.Write(fmt.Appendln(nil, component.KeyOf(intent), applied.Hash, applied.Fingerprint))
		}
	}
	if !counted {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}
