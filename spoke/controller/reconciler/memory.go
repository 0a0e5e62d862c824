package reconciler

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/spoke/replication"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
	"github.com/shopfleet/shopfleet/spoke/runtime/ownwrites"
)

// remembered holds all that a reconciler remembers of one object. A process that starts knows nothing of it, and asks,
// renders and counts again.
type remembered[T client.Object] struct {
	// write is the last one of the object, until the cache has it.
	write ownwrites.Write[T]
	// stamped has the hashes of what was rendered last.
	stamped stamped
	// replicas is the last observation of the replicas of its database.
	replicas replication.Observation
	// referred has what is known of the Secrets and ConfigMaps of users that it refers to.
	referred referredObjects
	// pods is the last check of the pods that it waits for.
	pods podCheck
	// failures has the failures of writes that may pass without a user.
	failures failures
	// conflicts counts the passes in a row that ended in one.
	conflicts apierror.InRow
}

// afterConflict returns how long to wait after a pass, without jitter: 0 unless it ended in a conflict.
func (r *remembered[T]) afterConflict(conflicted bool) time.Duration {
	if inRow := r.conflicts.Count(conflicted); inRow > 0 {
		return apierror.ConflictDelay(inRow)
	}
	return 0
}

// memory holds what is remembered of each object until the object is gone. It is ready to use, and safe for concurrent
// use. What it returns belongs to the pass over the object: a queue runs one at a time.
type memory[T client.Object] struct {
	mu      sync.Mutex
	objects map[types.NamespacedName]*remembered[T]
}

// of returns what is remembered of an object.
func (m *memory[T]) of(name types.NamespacedName) *remembered[T] {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.objects == nil {
		m.objects = make(map[types.NamespacedName]*remembered[T])
	}
	if m.objects[name] == nil {
		m.objects[name] = &remembered[T]{}
	}
	return m.objects[name]
}

func (m *memory[T]) forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, name)
}
