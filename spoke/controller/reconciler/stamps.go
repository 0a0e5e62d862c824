package reconciler

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// specHash is the value of an annotation ecommerce.io/spec-hash.
type specHash [sha256.Size]byte

// stamped are the hashes of what was rendered last for an object, in the order of rendering, and what they follow from:
// the spec by its generation. Rendering is pure: of the same object and facts come the same hashes, and most passes are
// about a child.
type stamped struct {
	uid                 types.UID
	generation          int64
	labels, annotations map[string]string
	facts               render.Cluster
	hashes              []specHash
}

// of returns the hashes of an object, or nil if they must be computed.
func (s *stamped) of(owner client.Object, facts render.Cluster) []specHash {
	if s.uid != owner.GetUID() || s.generation != owner.GetGeneration() || s.facts != facts ||
		!maps.Equal(s.labels, owner.GetLabels()) || !maps.Equal(s.annotations, owner.GetAnnotations()) {
		return nil
	}
	return s.hashes
}

// newStamped returns hashes with what they follow from.
func newStamped(owner client.Object, facts render.Cluster, hashes []specHash) stamped {
	return stamped{
		uid: owner.GetUID(), generation: owner.GetGeneration(), facts: facts, hashes: slices.Clone(hashes),
		labels: maps.Clone(owner.GetLabels()), annotations: maps.Clone(owner.GetAnnotations()),
	}
}

// stamp adds the owner reference to rendered objects that are not retained, what was rendered to workloads,
// and the hash to all, and returns the content of those whose hash it computed. What follows from live objects, such as pod
// templates that stay, is not remembered.
func (r *reconciler[T]) stamp(owner T, facts render.Cluster, components []component.Component, remembered bool) (contents, error) {
	gvk, err := apiutil.GVKForObject(owner, r.member.Scheme)
	if err != nil {
		return nil, fmt.Errorf("finding the kind of %T: %w", owner, err)
	}
	controller := metav1.NewControllerRef(owner, gvk)
	last := r.memory.of(client.ObjectKeyFromObject(owner))
	var known []specHash
	if remembered {
		known = last.stamped.of(owner, facts)
	}
	hashes, all := []specHash{}, make(contents)
	for _, c := range components {
		for _, object := range c.Rendered() {
			component.Record(object, r.kind.Version)
			var hash specHash
			if n := len(hashes); n < len(known) {
				hash = known[n]
			}
			if hash, err = all.stamp(object, *controller, hash); err != nil {
				return nil, err
			}
			hashes = append(hashes, hash)
		}
	}
	if known == nil && remembered {
		last.stamped = newStamped(owner, facts, hashes)
	}
	return all, nil
}

// contents are the contents of rendered objects, which need not be converted again to be written. An object that was
// copied from one has none.
type contents map[component.Resource]map[string]any

// stamp adds the owner reference and the hash to an object, and returns the hash: the one that is known, unless it
// is zero.
func (c contents) stamp(object component.Object, controller metav1.OwnerReference, known specHash) (specHash, error) {
	if !object.Retain {
		object.Resource.SetOwnerReferences([]metav1.OwnerReference{controller})
	}
	if object.Instead != nil {
		object.Instead.SetOwnerReferences([]metav1.OwnerReference{controller})
		if _, err := apply.Stamp(object.Instead); err != nil {
			return known, fmt.Errorf("hashing %q: %w", object.Instead.GetName(), err)
		}
	}
	if known != (specHash{}) {
		annotate(object.Resource, known)
		return known, nil
	}
	var err error
	if c[object.Resource], err = apply.Stamp(object.Resource); err != nil {
		return known, fmt.Errorf("hashing %s %q: %w", object.Resource.GetObjectKind().GroupVersionKind().Kind, object.Resource.GetName(), err)
	}
	if _, err := hex.Decode(known[:], []byte(object.Resource.GetAnnotations()[v1.SpecHashAnnotation])); err != nil {
		return known, fmt.Errorf("reading the hash of %q: %w", object.Resource.GetName(), err)
	}
	return known, nil
}

// annotate sets the hash of a rendered object, whose annotations other objects may share.
func annotate(object component.Resource, hash specHash) {
	annotations := maps.Clone(object.GetAnnotations())
	if annotations == nil {
		annotations = make(map[string]string, 1)
	}
	annotations[v1.SpecHashAnnotation] = hex.EncodeToString(hash[:])
	object.SetAnnotations(annotations)
}
