package reconciler

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// newest keeps the response of the last write of an object until the cache has moved on.
// It is safe for concurrent use.
type newest[T client.Object] struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]response[T]
}

// response is a response of the API server, and the resource versions that the cache may have
// until it receives the object: those before each write since it was last up to date.
type response[T client.Object] struct {
	before []string
	object T
}

// of returns the newest known version of a cached object.
func (n *newest[T]) of(cached T) T {
	n.mu.Lock()
	defer n.mu.Unlock()
	name := client.ObjectKeyFromObject(cached)
	last, ok := n.objects[name]
	if !ok {
		return cached
	}
	if !slices.Contains(last.before, cached.GetResourceVersion()) {
		delete(n.objects, name)
		return cached
	}
	return last.object.DeepCopyObject().(T)
}

// keep records the response of a write.
func (n *newest[T]) keep(before, after T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if before.GetResourceVersion() == after.GetResourceVersion() {
		return
	}
	name := client.ObjectKeyFromObject(after)
	var versions []string
	if last, ok := n.objects[name]; ok && last.object.GetResourceVersion() == before.GetResourceVersion() {
		// Written again before the cache was updated.
		versions = last.before
	}
	n.objects[name] = response[T]{before: append(versions, before.GetResourceVersion()), object: after.DeepCopyObject().(T)}
}

func (n *newest[T]) forget(name types.NamespacedName) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.objects, name)
}
