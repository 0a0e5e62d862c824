package reconciler

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
)

// endingFor is how long nothing is created in a namespace that was found to be
// ending. While it empties, each object that goes wakes us, and each write would
// be refused; a namespace of the same name may be made soon after.
const endingFor = 5 * time.Second

// ending remembers which namespaces are being deleted.
type ending struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	seen map[string]refusal
}

// refusal is how the API server refused a write, and when.
type refusal struct {
	err error
	at  time.Time
}

func newEnding(c clock.PassiveClock) *ending {
	return &ending{clock: c, seen: make(map[string]refusal)}
}

// note remembers an error that tells that a namespace is ending.
func (e *ending) note(namespace string, err error) {
	if !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seen[namespace] = refusal{err, e.clock.Now()}
}

// of returns the last refusal of a namespace, while it is recent.
func (e *ending) of(namespace string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	last, ok := e.seen[namespace]
	if !ok {
		return nil
	}
	if e.clock.Since(last.at) >= endingFor {
		delete(e.seen, namespace)
		return nil
	}
	return last.err
}
