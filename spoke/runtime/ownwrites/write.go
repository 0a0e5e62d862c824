package ownwrites

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Write represents the last write of an object. The zero value stands for none. A Write is a value and is never
// changed, so it is safe for concurrent use.
type Write[T client.Object] struct {
	object T
	// replaced are the versions that the cache may have until it has the object: those that each write replaced
	// since the cache was last up to date.
	replaced []string
}

// Next returns the Write after another one, which replaced a version of the object. A write that changed nothing creates
// no version, and no watch event follows it.
func (w Write[T]) Next(replaced string, after T) Write[T] {
	if after.GetResourceVersion() == replaced {
		return w
	}
	return Write[T]{object: after.DeepCopyObject().(T), replaced: append(slices.Clip(w.replaced), replaced)}
}

// Newest returns the newer of the object in the cache and the one that was written, which is not to be changed, and
// reports whether it is the one written. If it is not, the Write is of no more use.
func (w Write[T]) Newest(cached T) (newest T, ahead bool) {
	if slices.Contains(w.replaced, cached.GetResourceVersion()) && w.object.GetUID() == cached.GetUID() {
		return w.object, true
	}
	return cached, false
}
