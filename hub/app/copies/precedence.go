package copies

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// longestPrecedence bounds how long the objects of an application wait for copies of others.
const longestPrecedence = 2 * time.Second

// precedence lets copies be written before the objects that are made from copies: a copy is one
// write, and about thirty objects are made from it. A member waits for nothing but the hub's own
// decisions and its own copies. It is safe for concurrent use.
type precedence struct {
	mu sync.Mutex
	// undecided are the applications with a spec that is new, and waiting the copies that are about
	// to be written, by member.
	undecided map[types.NamespacedName]bool
	waiting   map[string]map[types.NamespacedName]bool
	// changed is closed when anything was removed, and replaced.
	changed chan struct{}
}

func newPrecedence() *precedence {
	return &precedence{
		undecided: map[types.NamespacedName]bool{}, waiting: map[string]map[types.NamespacedName]bool{}, changed: make(chan struct{}),
	}
}

// decide notes an application that the reconciler is about to see.
func (p *precedence) decide(app types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.undecided[app] = true
}

// decided drops an application that the reconciler has seen.
func (p *precedence) decided(app types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.undecided[app] {
		delete(p.undecided, app)
		p.signal()
	}
}

// expect notes a copy that a member's queue is about to write.
func (p *precedence) expect(member string, app types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting[member] == nil {
		p.waiting[member] = map[types.NamespacedName]bool{}
	}
	p.waiting[member][app] = true
}

// done drops a copy that a member's queue has seen, whatever came of it.
func (p *precedence) done(member string, app types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.waiting[member][app] {
		return
	}
	if delete(p.waiting[member], app); len(p.waiting[member]) == 0 {
		delete(p.waiting, member)
	}
	p.signal()
}

// leave drops the copies of a member whose queue ends or begins: what was expected of one that had ended is
// written by no other.
func (p *precedence) leave(member string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waiting[member] != nil {
		delete(p.waiting, member)
		p.signal()
	}
}

func (p *precedence) signal() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// isFree reports whether nothing precedes the objects of applications in a member, and returns a
// channel that is closed when that may have changed.
func (p *precedence) isFree(member string) (free bool, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.undecided) == 0 && len(p.waiting[member]) == 0, p.changed
}

// await blocks until nothing precedes the objects of applications in a member, but not longer than
// longestPrecedence.
func (p *precedence) await(ctx context.Context, member string) {
	free, changed := p.isFree(member)
	if free {
		return
	}
	limit := time.NewTimer(longestPrecedence)
	defer limit.Stop()
	for ; !free; free, changed = p.isFree(member) {
		select {
		case <-ctx.Done():
			return
		case <-limit.C:
			return
		case <-changed:
		}
	}
}
