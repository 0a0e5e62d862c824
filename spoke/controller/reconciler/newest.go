package reconciler

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// newest keeps what the server answered to the last write of an object, until
// the cache has moved on from what the object was before.
type newest[T client.Object] struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]answer[T]
}

// answer is an object as the server answered, and the resource version that the
// cache had before.
type answer[T client.Object] struct {
	before string
	object T
}

// of returns the newest known state of an object that the cache returned.
func (n *newest[T]) of(cached T) T {
	n.mu.Lock()
	defer n.mu.Unlock()
	name := client.ObjectKeyFromObject(cached)
	last, ok := n.objects[name]
	if !ok {
		return cached
	}
	if last.before != cached.GetResourceVersion() {
		delete(n.objects, name)
		return cached
	}
	return last.object.DeepCopyObject().(T)
}

// keep remembers what the server made of an object.
func (n *newest[T]) keep(before, after T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if before.GetResourceVersion() == after.GetResourceVersion() {
		return
	}
	name := client.ObjectKeyFromObject(after)
	version := before.GetResourceVersion()
	if last, ok := n.objects[name]; ok && last.object.GetResourceVersion() == version {
		// Written again before the cache saw the first write.
		version = last.before
	}
	n.objects[name] = answer[T]{before: version, object: after.DeepCopyObject().(T)}
}

func (n *newest[T]) forget(name types.NamespacedName) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.objects, name)
}
