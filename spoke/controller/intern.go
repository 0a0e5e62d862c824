package controller

import (
	"hash/maphash"
	"maps"
	"reflect"
	"sync"
	"weak"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// minInterned is the number of values up to which an interner drops none.
const minInterned = 256

// interner makes the objects of one cache share what they have in common: the objects of a component
// have the same labels, and all of an application the same owner. Cached objects are read-only, so
// that whole maps and lists can be shared. It is safe for concurrent use.
//
// What no object uses is dropped whenever the number of values has doubled, as far as the garbage
// collector has noticed. An interner ends with its cache.
type interner struct {
	seed maphash.Seed

	mu sync.Mutex
	// values has each value by its hash.
	values map[uint64]interned
	// limit is the number of values at which those that are not in use are dropped.
	limit int
}

// interned is a value, and one of the objects that use it. A weak pointer does not keep the object.
type interned struct {
	value any
	user  weak.Pointer[metav1.ObjectMeta]
}

func newInterner() *interner {
	return &interner{seed: maphash.MakeSeed(), values: make(map[uint64]interned), limit: minInterned}
}

// metadata shares the metadata of an object that is about to be cached. Annotations and managed fields
// differ between objects: one of them has the hash.
func (i *interner) metadata(m *metav1.ObjectMeta) {
	m.Namespace = share(i, m, maphash.String(i.seed, m.Namespace), m.Namespace, func(a, b string) bool { return a == b })
	m.Labels = i.stringMap(m, m.Labels)
	m.OwnerReferences = shareList(i, m, m.OwnerReferences, func(o metav1.OwnerReference) [2]string {
		return [2]string{string(o.UID), o.Name}
	})
	m.Finalizers = shareList(i, m, m.Finalizers, func(name string) string { return name })
}

// stringMap shares a map of an object.
func (i *interner) stringMap(user *metav1.ObjectMeta, m map[string]string) map[string]string {
	if len(m) == 0 {
		return m
	}
	var hash uint64
	for key, value := range m {
		hash += maphash.Comparable(i.seed, [2]string{key, value}) // In any order.
	}
	return share(i, user, hash, m, maps.Equal)
}

// containers shares the containers of an object, which have only names and images left.
func (i *interner) containers(user *metav1.ObjectMeta, all []corev1.Container) []corev1.Container {
	return shareList(i, user, all, func(c corev1.Container) [2]string { return [2]string{c.Name, c.Image} })
}

// shareAmounts shares the amounts of resources of an object.
func shareAmounts[M ~map[K]resource.Quantity, K ~string](in *interner, user *metav1.ObjectMeta, list M) M {
	if len(list) == 0 {
		return list
	}
	var hash uint64
	for name, amount := range list {
		hash += maphash.Comparable(in.seed, [2]string{string(name), amount.String()})
	}
	return share(in, user, hash, list, func(a, b M) bool { return reflect.DeepEqual(a, b) })
}

// shareList shares a list of an object. The key of an item need not be unique.
func shareList[T any, K comparable](in *interner, user *metav1.ObjectMeta, list []T, key func(T) K) []T {
	if len(list) == 0 {
		return list
	}
	var hash uint64
	for _, item := range list {
		hash = maphash.Comparable(in.seed, struct {
			before uint64
			key    K
		}{hash, key(item)})
	}
	return share(in, user, hash, list, func(a, b []T) bool { return reflect.DeepEqual(a, b) })
}

// share returns the value that other objects have, if one is equal, or else records that the user
// has it.
func share[T any](in *interner, user *metav1.ObjectMeta, hash uint64, value T, equal func(a, b T) bool) T {
	in.mu.Lock()
	defer in.mu.Unlock()
	known, found := in.values[hash]
	if shared, same := known.value.(T); found && same && equal(shared, value) {
		if known.user.Value() == nil {
			in.values[hash] = interned{shared, weak.Make(user)}
		}
		return shared
	}
	if len(in.values) >= in.limit {
		maps.DeleteFunc(in.values, func(_ uint64, v interned) bool { return v.user.Value() == nil })
		in.limit = max(minInterned, 2*len(in.values))
	}
	in.values[hash] = interned{value, weak.Make(user)}
	return value
}
