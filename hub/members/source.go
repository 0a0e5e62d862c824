package members

import (
	"context"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Changes reports which members there are, and when their state changes. A Fleet does.
type Changes interface {
	// OnChange registers a function that is called with the name of each member whose state
	// changes, until stop is called.
	OnChange(call func(name string)) (stop func())
	// Names returns the names of the members.
	Names() []string
}

// Connections returns the changes of the connections of members: engagement, conditions and
// credentials, but not nodes.
func (f *Fleet) Connections() Changes { return connections{f} }

type connections struct{ *Fleet }

// OnChange implements Changes.
func (c connections) OnChange(call func(name string)) (stop func()) {
	type connection struct {
		conditions Conditions
		engaged    bool
		expireAt   int64
	}
	var mu sync.Mutex
	last := map[string]connection{}
	changed := func(name string) bool {
		mu.Lock()
		defer mu.Unlock()
		state, exists := c.State(name)
		if !exists {
			delete(last, name)
			return true
		}
		now := connection{state.Conditions, state.Engaged, state.Info.CredentialsExpireAt.UnixNano()}
		before, known := last[name]
		last[name] = now
		return !known || now != before
	}
	return c.Fleet.OnChange(func(name string) {
		if changed(name) {
			call(name)
		}
	})
}

// Source returns a controller source that adds, for each change of a member's state, the
// requests that the function returns for the member's name.
func Source[R comparable](c Changes, requests func(ctx context.Context, name string) []R) source.TypedSource[R] {
	return source.TypedFunc[R](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[R]) error {
		add := func(name string) {
			for _, request := range requests(ctx, name) {
				queue.Add(request)
			}
		}
		context.AfterFunc(ctx, c.OnChange(add))
		// Members that changed before the controller started.
		for _, name := range c.Names() {
			add(name)
		}
		return nil
	})
}
