package apply

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// maxFingerprints bounds the fingerprints that are remembered, of 16 bytes each.
const maxFingerprints = 512

// Fingerprints computes fingerprints, and remembers the last: the same fields are applied to an object in
// each application, and come again with each of its events. It is safe for concurrent use.
type Fingerprints struct {
	seed maphash.Seed

	mu sync.Mutex
	// known has the fingerprint of fields by a hash of their encoding.
	known map[uint64]uint64
}

// NewFingerprints returns Fingerprints that remember none.
func NewFingerprints() *Fingerprints {
	return &Fingerprints{seed: maphash.MakeSeed(), known: make(map[uint64]uint64)}
}

// Take replaces the managed fields of an object by the hash of its intent and the fingerprint of the
// fields that a field manager has applied, with the order of lists where it has a meaning. The manager loses a field when another one changes or
// removes it, so that the fingerprint stands for the content, which a cache need not keep then. An
// object that has its fingerprint already stays as it is.
func (f *Fingerprints) Take(object component.Resource, manager string) {
	if _, taken := component.AppliedOf(object); taken {
		return
	}
	component.Applied{
		Hash: component.SpecHash(object), Fingerprint: f.of(object, manager),
		Rendered: object.GetAnnotations()[v1.RenderedAnnotation],
	}.Record(object)
}

// isSlim reports whether an object is from a cache that keeps its fingerprint, and not its content.
func isSlim(object component.Resource) bool {
	if object == nil {
		return false
	}
	_, slim := component.AppliedOf(object)
	return slim
}

// of returns the fingerprint of what a manager has applied of an object, or 0 if it applied nothing.
func (f *Fingerprints) of(object component.Resource, manager string) uint64 {
	fields := f.ofFields(object.GetManagedFields(), manager)
	if fields == 0 {
		return 0
	}
	return max(fields^orderOf(object), 1)
}

// ofFields returns the fingerprint of the fields that a manager has applied, or 0 if there are none.
func (f *Fingerprints) ofFields(all []metav1.ManagedFieldsEntry, manager string) uint64 {
	entry := appliedBy(all, manager)
	if entry == nil {
		return 0
	}
	encoding := maphash.Bytes(f.seed, entry.FieldsV1.GetRawBytes())
	f.mu.Lock()
	defer f.mu.Unlock()
	if known, ok := f.known[encoding]; ok {
		return known
	}
	if len(f.known) >= maxFingerprints {
		clear(f.known)
	}
	f.known[encoding] = fingerprintOf(entry)
	return f.known[encoding]
}

// fingerprintOf returns the fingerprint of the fields of an entry, or 0 if they cannot be read.
func fingerprintOf(entry *metav1.ManagedFieldsEntry) uint64 {
	fields := appliedFields(entry)
	if fields == nil {
		return 0
	}
	// The order of keys may differ between a response and a watch; the keys of maps are sorted.
	canonical, err := json.Marshal(fields)
	if err != nil {
		return 0
	}
	sum := sha256.Sum256(canonical)
	return binary.BigEndian.Uint64(sum[:])
}

// appliedBy returns the entry of what a manager has applied, or nil.
func appliedBy(all []metav1.ManagedFieldsEntry, manager string) *metav1.ManagedFieldsEntry {
	i := slices.IndexFunc(all, func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == manager && m.Operation == metav1.ManagedFieldsOperationApply && m.Subresource == "" && m.FieldsV1 != nil
	})
	if i < 0 {
		return nil
	}
	return &all[i]
}

// appliedFields returns the fields of an entry, or nil if they cannot be read.
func appliedFields(entry *metav1.ManagedFieldsEntry) map[string]any {
	var fields map[string]any
	if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
		return nil
	}
	return fields
}

// note records that a live object, as the API server has it, needs no write for an intent.
func (a *Applier) note(live, intent component.Resource) {
	if !a.slim(intent) {
		a.putMatch(component.KeyOf(intent), a.matchOf(live, intent))
		return
	}
	if found := a.fingerprints.of(live, a.manager); found != 0 {
		a.putMatch(component.KeyOf(intent), a.matchByFingerprint(live, intent, found))
	}
}

// isBehind reports whether the cache has the object that the last write of the same intent replaced.
func (a *Applier) isBehind(req Request) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	last, ok := a.written[component.KeyOf(req.Intent)]
	return ok && last.over == req.Live.GetResourceVersion() &&
		component.SpecHash(last.answer) == component.SpecHash(req.Intent)
}

// Whole returns a live object with its content: from the API server, if the cache has it without. It
// returns nil if the object no longer exists.
func (a *Applier) Whole(ctx context.Context, live component.Resource) (component.Resource, error) {
	if !isSlim(live) {
		return live, nil
	}
	gvk, err := a.client.GroupVersionKindFor(live)
	if err != nil {
		return nil, fmt.Errorf("finding the kind of %T %q: %w", live, live.GetName(), err)
	}
	wanted := &unstructured.Unstructured{}
	wanted.SetGroupVersionKind(gvk)
	wanted.SetNamespace(live.GetNamespace())
	wanted.SetName(live.GetName())
	return a.get(ctx, wanted)
}

// isOwned reports whether this applier owns all of an intent that a live object matches. Of an object
// whose content the cache has, the content says enough.
func (a *Applier) isOwned(live component.Resource, intent *unstructured.Unstructured) bool {
	whole, ok := live.(*unstructured.Unstructured)
	return !ok || !a.slim(intent) || a.ownsAll(whole, intent)
}

// metadataOf returns an object of an intent's kind and name that has nothing but metadata.
func metadataOf(intent *unstructured.Unstructured) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(intent.GroupVersionKind())
	object.SetNamespace(intent.GetNamespace())
	object.SetName(intent.GetName())
	return object
}
