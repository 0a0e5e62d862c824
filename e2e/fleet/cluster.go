package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/fleet/binaries"
	"github.com/shopfleet/shopfleet/e2e/fleet/internal/process"
)

const (
	// startTimeout bounds the start of one cluster: far more than it takes, because
	// other fleets may start on the same machine.
	startTimeout = 3 * time.Minute
	pollInterval = 50 * time.Millisecond
	// bindAttempts is how often a cluster tries other ports if its own are taken before
	// it listens.
	bindAttempts = 3
)

// Cluster is one control plane. Its methods may be called from several goroutines.
type Cluster struct {
	spec     ClusterSpec
	dir      string
	programs binaries.Dir
	tied     bool
	// changed is called, with no lock held, when processes came or went.
	changed func() error

	// admin is set before the cluster is handed out, and never again.
	admin *rest.Config

	mu        sync.Mutex
	ports     ports
	processes map[Component]process.ID
	// audited is a mark of the audit log: the end that the last look at it found.
	audited audit.Mark
}

// Name returns the cluster's name.
func (c *Cluster) Name() string { return c.spec.Name }

// Spec returns the spec of the cluster, with defaults filled in.
func (c *Cluster) Spec() ClusterSpec { return c.spec }

// AdminConfig returns a client configuration that may do everything, without
// client-side limits. It belongs to system:masters, which is exempt from RBAC and
// from priority and fairness: use it to prepare and observe, and run what is under
// test with ServiceAccountKubeconfig.
func (c *Cluster) AdminConfig() *rest.Config { return rest.CopyConfig(c.admin) }

// AdminKubeconfig returns the path of a kubeconfig file for the same identity.
func (c *Cluster) AdminKubeconfig() string { return c.path(fileAdmin) }

// LogFile returns the path of the component's log.
func (c *Cluster) LogFile(component Component) string { return c.path(string(component) + ".log") }

// start brings the cluster up from nothing.
func (c *Cluster) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := c.startServer(ctx); err != nil {
		return fmt.Errorf("starting cluster %q: %w", c.spec.Name, err)
	}
	if err := c.startMissing(ctx); err != nil {
		return fmt.Errorf("starting cluster %q: %w", c.spec.Name, err)
	}
	if err := c.populate(ctx); err != nil {
		return fmt.Errorf("preparing cluster %q: %w", c.spec.Name, err)
	}
	return nil
}

// startServer starts etcd and the API server on ports of their own.
func (c *Cluster) startServer(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		if err := c.clearData(); err != nil {
			return err
		}
		chosen, err := choosePorts(ctx)
		if err != nil {
			return err
		}
		c.mu.Lock()
		c.ports = chosen
		c.mu.Unlock()
		if err := c.writeFiles(); err != nil {
			return err
		}
		if c.admin, err = loadConfig(c.AdminKubeconfig()); err != nil {
			return err
		}
		err = c.launch(Etcd, APIServer)
		if err == nil {
			err = c.awaitReady(ctx)
		}
		if err == nil {
			return nil
		}
		// Another program took a port in between if it still answers there now that
		// ours are gone.
		err = errors.Join(err, c.Kill(context.WithoutCancel(ctx)))
		if attempt == bindAttempts || !chosen.taken(ctx) {
			return err
		}
	}
}

// startMissing starts the components that are not running, servers first.
func (c *Cluster) startMissing(ctx context.Context) error {
	var rest []Component
	for _, component := range c.spec.components() {
		if c.process(component).State() != process.Gone {
			continue
		}
		if component != Etcd && component != APIServer {
			rest = append(rest, component)
			continue
		}
		if err := c.launch(component); err != nil {
			return err
		}
	}
	// The others give up when they find no API server.
	if err := c.awaitReady(ctx); err != nil {
		return err
	}
	return c.launch(rest...)
}

func (c *Cluster) launch(components ...Component) error {
	for _, component := range components {
		id, err := process.Start(c.command(component))
		if err != nil {
			return fmt.Errorf("%w%s", err, c.logTail(component))
		}
		c.mu.Lock()
		c.processes[component] = id
		c.mu.Unlock()
	}
	return c.changed()
}

func (c *Cluster) process(component Component) process.ID {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.processes[component]
}

// ended returns an error for the first component that is not running.
func (c *Cluster) ended(components ...Component) error {
	for _, component := range components {
		if c.process(component).State() == process.Gone {
			return fmt.Errorf("%s ended%s", component, c.logTail(component))
		}
	}
	return nil
}

// eventually repeats the check until it succeeds. It gives up when the context
// ends or one of the components does.
func (c *Cluster) eventually(ctx context.Context, what string, check func(context.Context) error, components ...Component) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if err := c.ended(components...); err != nil {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
			}
			return fmt.Errorf("waiting for %s: %w", what, errors.Join(context.Cause(ctx), err, errors.New(c.logTail(components...))))
		case <-ticker.C:
		}
	}
}

func loadConfig(file string) (*rest.Config, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(raw)
	if err != nil {
		return nil, fmt.Errorf("parsing %q: %w", file, err)
	}
	config.QPS = -1
	return config, nil
}
