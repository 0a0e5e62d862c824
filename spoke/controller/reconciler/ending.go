package reconciler

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// terminatingFor is how long no object is created in a namespace that was found to be
// terminating. During that time, each deleted object triggers a reconciliation whose
// writes would be rejected; the namespace may be recreated soon after.
const terminatingFor = 5 * time.Second

// terminating records the namespaces that are being deleted. It is safe for concurrent use.
type terminating struct {
	clock clock.PassiveClock

	mu   sync.Mutex
	seen map[string]refusal
}

// refusal is a rejected write and its time.
type refusal struct {
	err error
	at  time.Time
}

func newTerminating(c clock.PassiveClock) *terminating {
	return &terminating{clock: c, seen: make(map[string]refusal)}
}

// note records the error if it says that the namespace is terminating.
func (t *terminating) note(namespace string, err error) {
	if apierror.Classify(err) != apierror.NamespaceTerminating {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen[namespace] = refusal{err, t.clock.Now()}
}

// of returns the last error for a namespace if it is recent, otherwise nil.
func (t *terminating) of(namespace string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, ok := t.seen[namespace]
	if !ok {
		return nil
	}
	if t.clock.Since(last.at) >= terminatingFor {
		delete(t.seen, namespace)
		return nil
	}
	return last.err
}
