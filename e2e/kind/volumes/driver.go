package volumes

import (
	"context"
	"errors"
	"io"

	disks "github.com/shopfleet/shopfleet/e2e/fleet/csi"
	"github.com/shopfleet/shopfleet/e2e/fleet/csi/driver"
	"github.com/shopfleet/shopfleet/e2e/kind/clusters"
)

// Driver is the driver of EBS in a cluster: on its node, and for the whole cluster.
type Driver struct {
	node *node
	// cancel ends what works for the whole cluster, and ended receives its error.
	cancel context.CancelFunc
	ended  chan error
}

// Start lets the driver work in a cluster until Stop. The node mounts registry as RegistryFolder. The first call on a machine
// builds the controllers of CSI, which takes minutes and writes to progress.
func (c *Cloud) Start(ctx context.Context, cluster *clusters.Cluster, registry string, progress io.Writer) (*Driver, error) {
	admin, err := cluster.Config()
	if err != nil {
		return nil, err
	}
	node, err := c.mount(ctx, cluster, registry)
	if err != nil {
		return nil, err
	}
	playing, err := driver.Play(ctx, driver.Cluster{Admin: admin, Kubeconfig: cluster.Kubeconfig}, driver.Options{
		Driver: disks.EBS(c.memory, c.api, c.key.Account),
		Cloud:  driver.EBS{Account: c.key.Account, Region: cluster.Region}, Zones: []string{cluster.Zone},
	}, progress)
	if err != nil {
		return nil, errors.Join(err, node.stop())
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d := &Driver{node: node, cancel: cancel, ended: make(chan error, 1)}
	go func() { d.ended <- playing.Run(ctx) }()
	return d, nil
}

// Stop ends the driver. What is mounted stays so, and is not unmounted any more.
func (d *Driver) Stop() error {
	d.cancel()
	return errors.Join(<-d.ended, d.node.stop())
}
