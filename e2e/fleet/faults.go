package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"github.com/shopfleet/shopfleet/e2e/fleet/internal/process"
)

// Kill ends the components as a power cut would, and returns when they are gone.
// None named means all.
func (c *Cluster) Kill(ctx context.Context, components ...Component) error {
	if len(components) == 0 {
		components = c.spec.components()
	}
	failed := make([]error, 0, len(components)+1)
	// All at once, so that none has time to notice that another is gone.
	for _, component := range components {
		failed = append(failed, c.process(component).Signal(syscall.SIGKILL))
	}
	for _, component := range components {
		if err := c.process(component).Kill(ctx); err != nil {
			failed = append(failed, fmt.Errorf("killing %s of %q: %w", component, c.spec.Name, err))
			continue
		}
		c.mu.Lock()
		delete(c.processes, component)
		c.mu.Unlock()
	}
	return errors.Join(append(failed, c.changed())...)
}

// Freeze stops the components without ending them: connections stay open and nothing
// responds, as when a network drops every packet. No names mean etcd and the API server.
// It returns when they have stopped.
func (c *Cluster) Freeze(ctx context.Context, components ...Component) error {
	if len(components) == 0 {
		components = []Component{APIServer, Etcd}
	}
	return c.signal(ctx, syscall.SIGSTOP, process.Stopped, components)
}

// Thaw resumes frozen components. No names mean all.
func (c *Cluster) Thaw(ctx context.Context, components ...Component) error {
	if len(components) == 0 {
		components = c.spec.components()
	}
	return c.signal(ctx, syscall.SIGCONT, process.Running, components)
}

func (c *Cluster) signal(ctx context.Context, signal syscall.Signal, want process.State, components []Component) error {
	var failed []error
	for _, component := range components {
		id := c.process(component)
		err := id.Signal(signal)
		if err == nil {
			err = id.Await(ctx, want, process.Gone)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("sending %s of %q %s: %w", component, c.spec.Name, signal, err))
		}
	}
	return errors.Join(failed...)
}

// Restart resumes frozen components, starts those that are gone, with their data, and
// returns when the API server is ready. It leaves a running cluster unchanged. Restart
// after Kill is a restart.
func (c *Cluster) Restart(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := c.Thaw(ctx); err != nil {
		return err
	}
	if err := c.startMissing(ctx); err != nil {
		return fmt.Errorf("restarting cluster %q: %w", c.spec.Name, err)
	}
	return nil
}

// Health is the state of the components.
type Health string

// The states of a cluster. Partly means that some component is gone.
const (
	Running Health = "running"
	Frozen  Health = "frozen"
	Partly  Health = "partly running"
	Dead    Health = "dead"
)

// Health returns the state of the cluster's processes, without a request to the API
// server.
func (c *Cluster) Health() Health {
	components := c.spec.components()
	states := make([]process.State, 0, len(components))
	for _, component := range components {
		states = append(states, c.process(component).State())
	}
	gone := 0
	for _, state := range states {
		if state == process.Gone {
			gone++
		}
	}
	switch {
	case gone == len(states):
		return Dead
	case slices.Contains(states, process.Stopped):
		return Frozen
	case gone > 0:
		return Partly
	}
	return Running
}
