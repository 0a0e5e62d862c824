package clusters

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodes"

	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
)

const (
	// readyTimeout is how long kind waits for a node to be ready.
	readyTimeout = 3 * time.Minute
	// requestTimeout bounds each request to a cluster.
	requestTimeout = 20 * time.Second

	auditFile = "audit.log"
)

// Spec represents the desired state of a cluster.
type Spec struct {
	// Name is kind's name of the cluster; the node's container bears it, too.
	Name string
	// Region and Zone are the node's labels; empty for none.
	Region, Zone string
	// Dir is the folder for the cluster's kubeconfig and audit log.
	Dir string
	// Ports are container ports of the node that get a free port of the machine's
	// loopback address.
	Ports []int32
	// Mounts maps paths in the node to folders of this machine. Missing ones are created.
	Mounts map[string]string
}

// Cluster is a cluster that runs.
type Cluster struct {
	Spec
	// Kubeconfig is a file for this machine, of an administrator.
	Kubeconfig string
	// InternalServer is the URL of the API server in the containers' network.
	InternalServer string

	provider *cluster.Provider
	node     nodes.Node
}

// Up makes a cluster, unless one of its name runs, and returns when its node is
// ready. What kind says goes to progress. A cluster that could not be finished
// is deleted, and so is one that was left behind and cannot be used.
func Up(ctx context.Context, spec Spec, progress io.Writer) (*Cluster, error) {
	c := &Cluster{
		Spec:       spec,
		Kubeconfig: filepath.Join(spec.Dir, "kubeconfig"),
		provider:   newProvider(progress),
	}
	if err := os.MkdirAll(spec.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of cluster %q: %w", spec.Name, err)
	}
	existing, err := c.provider.List()
	if err != nil {
		return nil, fmt.Errorf("listing kind clusters: %w", err)
	}
	if slices.Contains(existing, spec.Name) {
		left := c.reuse(ctx)
		if left == nil {
			return c, nil
		}
		_, _ = fmt.Fprintf(progress, "cluster %s cannot be used any more, and is made anew: %v\n", spec.Name, left)
		if err := c.Down(); err != nil {
			return nil, err
		}
	}
	if err := c.create(ctx); err != nil {
		return nil, err
	}
	return c, c.find()
}

// reuse finds an existing cluster, and returns why it cannot be used: it was created from
// another folder, or did not survive a restart of the engine.
func (c *Cluster) reuse(ctx context.Context) error {
	if err := c.find(); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(c.Dir, "audit", auditFile)); err != nil {
		return fmt.Errorf("finding its audit log: %w", err)
	}
	for path := range c.Mounts {
		if _, err := c.Exec(ctx, "mountpoint", "-q", path); err != nil {
			return fmt.Errorf("finding %q mounted: %w", path, err)
		}
	}
	config, err := c.Config()
	if err != nil {
		return err
	}
	asking, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if err := asking.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return fmt.Errorf("asking whether it is ready: %w", err)
	}
	return nil
}

// create makes the cluster. kind cannot be interrupted: the end of the context is
// noticed afterwards.
func (c *Cluster) create(ctx context.Context) error {
	config, err := c.config()
	if err != nil {
		return err
	}
	options := []cluster.CreateOption{
		cluster.CreateWithV1Alpha4Config(config),
		cluster.CreateWithNodeImage(nodeImage()),
		cluster.CreateWithKubeconfigPath(c.Kubeconfig),
		cluster.CreateWithWaitForReady(readyTimeout),
		cluster.CreateWithDisplayUsage(false),
		cluster.CreateWithDisplaySalutation(false),
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("creating cluster %q: %w", c.Name, err)
	}
	if err := c.provider.Create(c.Name, options...); err != nil {
		return fmt.Errorf("creating cluster %q: %w", c.Name, err)
	}
	if err := ctx.Err(); err != nil {
		return errors.Join(fmt.Errorf("creating cluster %q: %w", c.Name, err), c.Down())
	}
	return nil
}

// find sets the fields of a running cluster.
func (c *Cluster) find() error {
	if err := c.provider.ExportKubeConfig(c.Name, c.Kubeconfig, false); err != nil {
		return fmt.Errorf("writing the kubeconfig of cluster %q: %w", c.Name, err)
	}
	internal, err := c.provider.KubeConfig(c.Name, true)
	if err != nil {
		return fmt.Errorf("reading the internal kubeconfig of cluster %q: %w", c.Name, err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(internal))
	if err != nil {
		return fmt.Errorf("parsing the internal kubeconfig of cluster %q: %w", c.Name, err)
	}
	c.InternalServer = config.Host
	list, err := c.provider.ListNodes(c.Name)
	if err != nil {
		return fmt.Errorf("listing the nodes of cluster %q: %w", c.Name, err)
	}
	if len(list) == 0 {
		return fmt.Errorf("cluster %q: %w", c.Name, errNoNode)
	}
	c.node = list[0]
	return nil
}

var errNoNode = errors.New("kind lists no node of it")

// Down deletes the cluster and everything in it. One that is gone is fine.
func (c *Cluster) Down() error {
	if err := c.provider.Delete(c.Name, c.Kubeconfig); err != nil {
		return fmt.Errorf("deleting cluster %q: %w", c.Name, err)
	}
	return nil
}

// Delete deletes the clusters of those names; those that are gone are fine.
func Delete(names []string, progress io.Writer) error {
	provider := newProvider(progress)
	var failed []error
	for _, name := range names {
		if err := provider.Delete(name, ""); err != nil {
			failed = append(failed, fmt.Errorf("deleting cluster %q: %w", name, err))
		}
	}
	return errors.Join(failed...)
}

// Names returns the names of the clusters that are there, of whomever.
func Names(progress io.Writer) ([]string, error) {
	names, err := newProvider(progress).List()
	if err != nil {
		return nil, fmt.Errorf("listing kind clusters: %w", err)
	}
	return names, nil
}

// Config returns how this machine reaches the cluster, as an administrator, with a
// deadline for each request.
func (c *Cluster) Config() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of cluster %q: %w", c.Name, err)
	}
	config.Timeout = requestTimeout
	config.QPS = -1
	return config, nil
}

// Node returns the name of the node's container.
func (c *Cluster) Node() string { return c.node.String() }

// Audit returns the audit log from a mark on, and the next mark. The first mark is 0.
func (c *Cluster) Audit(mark audit.Mark) (audit.Log, audit.Mark, error) {
	log, next, err := audit.Read(filepath.Join(c.Dir, "audit", auditFile), mark)
	if err != nil {
		return nil, mark, fmt.Errorf("reading the audit log of cluster %q: %w", c.Name, err)
	}
	return log, next, nil
}
