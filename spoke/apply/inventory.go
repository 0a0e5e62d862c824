package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/shopfleet/shopfleet/spoke/component"
)

// Inventory returns a hash of the intents and fingerprints of the objects of an application, as they
// were written or found last. It is empty unless all objects that are live are as intended. An
// intent whose object does not exist does not count. Objects without fingerprint are left out.
func (a *Applier) Inventory(intents []component.Resource, live component.Live) string {
	return inventoryOf(intents, func(intent component.Resource) (fingerprint uint64, counts, ok bool) {
		key := component.KeyOf(intent)
		if !a.slim(intent) {
			return 0, false, true
		}
		known, ok := a.matched.get(key)
		if !ok {
			return 0, false, live[key] == nil
		}
		return known.fingerprint, true, known.fingerprint != 0 && known.intent == a.matched.intent(intent)
	})
}

// Recall trusts an inventory that another process has left: if the live objects have the hashes and
// fingerprints of that time, they need no write.
func (a *Applier) Recall(inventory string, intents []component.Resource, live component.Live) {
	if inventory == "" || !slices.ContainsFunc(intents, func(intent component.Resource) bool { return a.isUnknown(intent, live) }) {
		return
	}
	var found []component.Resource
	now := inventoryOf(intents, func(intent component.Resource) (fingerprint uint64, counts, ok bool) {
		has := live[component.KeyOf(intent)]
		if has == nil {
			return 0, false, true
		}
		applied, slim := component.AppliedOf(has)
		if !slim {
			return 0, false, true
		}
		found = append(found, intent)
		return applied.Fingerprint, true, applied.Fingerprint != 0 && applied.Hash == component.SpecHash(intent)
	})
	if now != inventory {
		return
	}
	for _, intent := range found {
		key := component.KeyOf(intent)
		a.matched.put(key, a.matched.of(live[key], intent))
	}
}

// isUnknown reports whether nothing is known of a live object with a fingerprint.
func (a *Applier) isUnknown(intent component.Resource, live component.Live) bool {
	key := component.KeyOf(intent)
	_, known := a.matched.get(key)
	return !known && isSlim(live[key])
}

// inventoryOf returns a hash of the intents that count, in their order, with their fingerprints; empty if none
// counts, or one is not ok.
func inventoryOf(intents []component.Resource, of func(component.Resource) (fingerprint uint64, counts, ok bool)) string {
	sum, counted := sha256.New(), false
	for _, intent := range intents {
		fingerprint, counts, ok := of(intent)
		switch {
		case !ok:
			return ""
		case counts:
			counted = true
			sum.Write(fmt.Appendln(nil, component.KeyOf(intent), component.SpecHash(intent), fingerprint))
		}
	}
	if !counted {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}
