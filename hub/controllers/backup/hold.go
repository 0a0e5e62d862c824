package backup

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const (
	// holdLimit bounds how long a database is held, from when quiescing began. It is less
	// than selfReleaseTimeout, after which the database has released itself.
	holdLimit          = 50 * time.Second
	selfReleaseTimeout = 58 * time.Second
)

// errStopping means that the hub stops.
var errStopping = errors.New("the hub stops")

// holdState is how far the hold of a database is.
type holdState string

const (
	// noHold means that this process has not quiesced the database.
	noHold holdState = ""
	// quiescing means that the database has not confirmed yet.
	quiescing holdState = "Quiescing"
	// quiesced means that the database is held.
	quiesced holdState = "Quiesced"
	// refused means that the database did not confirm.
	refused holdState = "Refused"
	// expired means that the database was held until the deadline.
	expired holdState = "Expired"
	// released means that a pass ended the hold before the deadline.
	released holdState = "Released"
)

// hold is the hold of the database of one Backup. The mutex of holds guards it.
type hold struct {
	uid   types.UID
	since time.Time
	state holdState
	err   error
	// end releases the database.
	end context.CancelFunc
}

// holds keeps databases quiesced between the passes over their Backups, so that no pass
// waits for a database or for a snapshot. A hold ends when a pass releases it, at its
// deadline, or with the process. Its methods may be called concurrently and do not wait,
// but for Start.
type holds struct {
	clock clock.Clock
	// wake enqueues the Backup.
	wake func(types.NamespacedName)

	running sync.WaitGroup
	mu      sync.Mutex
	stopped bool
	all     map[types.NamespacedName]*hold
}

// Start blocks until the context ends, and then releases all databases.
func (h *holds) Start(ctx context.Context) error {
	<-ctx.Done()
	h.mu.Lock()
	h.stopped = true
	for _, held := range h.all {
		held.end()
	}
	h.mu.Unlock()
	h.running.Wait()
	return nil
}

// begin returns the state of a Backup's hold, and the error if the database refused. The
// first call begins to quiesce. A refusal is returned once; the call after it begins
// again, as does one after a hold that has ended.
func (h *holds) begin(ctx context.Context, key types.NamespacedName, uid types.UID, quiesce func(context.Context) (func(), error)) (holdState, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if held := h.all[key]; held != nil {
		current := held.uid == uid
		switch state := h.stateOf(held); {
		case current && (state == quiescing || state == quiesced):
			return state, nil
		case current && state == refused:
			h.remove(key)
			return refused, held.err
		}
		h.remove(key)
	}
	if h.stopped {
		return refused, errStopping
	}
	// The hold outlives the pass.
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	held := &hold{uid: uid, since: h.clock.Now(), state: quiescing, end: end}
	if h.all == nil {
		h.all = map[types.NamespacedName]*hold{}
	}
	h.all[key] = held
	h.running.Go(func() {
		defer end()
		h.run(ctx, key, held, quiesce)
	})
	return quiescing, nil
}

// run holds a database until the context ends or the deadline passes.
func (h *holds) run(ctx context.Context, key types.NamespacedName, held *hold, quiesce func(context.Context) (func(), error)) {
	release, err := quiesce(ctx)
	h.mu.Lock()
	held.state, held.err = quiesced, err
	if err != nil {
		held.state = refused
	}
	h.mu.Unlock()
	h.wake(key)
	if err != nil {
		return
	}
	defer release()
	deadline := h.clock.NewTimer(holdLimit - h.clock.Since(held.since))
	defer deadline.Stop()
	select {
	case <-ctx.Done():
	case <-deadline.C():
		h.mu.Lock()
		if held.state == quiesced {
			held.state = expired
		}
		h.mu.Unlock()
	}
}

// release ends the hold of a Backup, and keeps in mind how it ended.
func (h *holds) release(key types.NamespacedName) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if held := h.all[key]; held != nil {
		if h.stateOf(held) == quiesced {
			held.state = released
		}
		held.end()
	}
}

// forget ends the hold of a Backup, if there is one.
func (h *holds) forget(key types.NamespacedName) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.remove(key)
}

func (h *holds) remove(key types.NamespacedName) {
	if held := h.all[key]; held != nil {
		held.end()
		delete(h.all, key)
	}
}

// state returns the state of a Backup's hold.
func (h *holds) state(key types.NamespacedName) holdState {
	h.mu.Lock()
	defer h.mu.Unlock()
	if held := h.all[key]; held != nil {
		return h.stateOf(held)
	}
	return noHold
}

func (h *holds) stateOf(held *hold) holdState {
	if held.state == quiesced && h.clock.Since(held.since) > selfReleaseTimeout {
		return expired // The process was suspended.
	}
	return held.state
}
