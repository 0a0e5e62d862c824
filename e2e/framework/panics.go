package framework

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// Poison is the value of a panic that a test causes. Any other panic that is recovered in
// the process of a test fails its suite.
type Poison string

// panics holds the panics that controllers recovered. It is safe for concurrent use.
type panics struct {
	mu    sync.Mutex
	found []string
}

// registering guards utilruntime.PanicHandlers, which the environments of parallel tests append to.
var registering sync.Mutex

// watchPanics returns the panics from now on, of all controllers of the process.
func watchPanics() *panics {
	p := &panics{}
	registering.Lock()
	defer registering.Unlock()
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, p.handle)
	return p
}

func (p *panics) handle(_ context.Context, cause any) {
	if _, expected := cause.(Poison); expected {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.found = append(p.found, fmt.Sprintf("%v\n%s", cause, debug.Stack()))
}

// all returns the panics so far, with their stacks.
func (p *panics) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.found)
}
