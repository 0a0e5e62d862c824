package reconciler

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// perObject keeps a value for each object until it is forgotten. It is ready to use, and safe for
// concurrent use.
type perObject[V any] struct {
	mu  sync.Mutex
	all map[types.NamespacedName]V
}

// of returns the value of an object; the zero value if there is none.
func (p *perObject[V]) of(name types.NamespacedName) V {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.all[name]
}

func (p *perObject[V]) keep(name types.NamespacedName, value V) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = make(map[types.NamespacedName]V)
	}
	p.all[name] = value
}

func (p *perObject[V]) forget(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, name)
}
