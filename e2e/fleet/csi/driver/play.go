package driver

import (
	"context"
	"errors"
	"io"

	disks "github.com/shopfleet/shopfleet/e2e/fleet/csi"
)

// Playing is a driver that works in a cluster: its controllers and what attaches and grows volumes.
type Playing struct {
	driver      *Driver
	controllers *Controllers
	standIn     *disks.SimulatedDriver
}

// Play lets a driver listen, and starts its controllers in a cluster. Run attaches and grows its volumes, and ends all of it.
func Play(ctx context.Context, c Cluster, o Options, progress io.Writer) (*Playing, error) {
	d, err := Listen(ctx, o)
	if err != nil {
		return nil, err
	}
	controllers, err := StartControllers(ctx, c, d, progress)
	if err != nil {
		return nil, errors.Join(err, d.Stop())
	}
	p := &Playing{driver: d, controllers: controllers}
	if p.standIn, err = disks.New(c.Admin, o.Driver); err != nil {
		return nil, errors.Join(err, p.stop(ctx))
	}
	return p, nil
}

// Run attaches and grows volumes until the context ends. Then it ends the controllers and the driver.
func (p *Playing) Run(ctx context.Context) error {
	return errors.Join(p.standIn.Run(ctx), p.stop(context.WithoutCancel(ctx)))
}

func (p *Playing) stop(ctx context.Context) error {
	return errors.Join(p.controllers.Stop(ctx), p.driver.Stop())
}
