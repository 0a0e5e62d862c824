package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"k8s.io/client-go/rest"

	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/binaries"
	disks "github.com/shopfleet/shopfleet/e2e/fleet/csi"
	"github.com/shopfleet/shopfleet/e2e/fleet/internal/manifests"
	"github.com/shopfleet/shopfleet/e2e/fleet/internal/process"
)

// Cluster represents a cluster in which a driver works.
type Cluster struct {
	Admin *rest.Config
	// Kubeconfig is a file with the same access. The controllers' logs are beside it.
	Kubeconfig string
}

// Of returns a cluster of a fleet, which must be Driverless.
func Of(c *fleet.Cluster) Cluster {
	return Cluster{Admin: c.AdminConfig(), Kubeconfig: c.AdminKubeconfig()}
}

// install gives the cluster the definitions of snapshots.
func (c Cluster) install(ctx context.Context) error {
	definitions, err := binaries.SnapshotDefinitions(ctx)
	if err != nil {
		return err
	}
	objects, err := manifests.Parse(definitions)
	if err != nil {
		return err
	}
	if err := manifests.Apply(ctx, c.Admin, objects); err != nil {
		return fmt.Errorf("installing the definitions of snapshots: %w", err)
	}
	return nil
}

// Controllers are the processes that work for one driver in one cluster.
type Controllers struct {
	processes map[string]process.ID
	cluster   Cluster
}

// StartControllers installs a driver that listens in a cluster, with the definitions of snapshots, and starts the controllers.
// The first call on a machine builds them, which takes minutes and writes to progress.
func StartControllers(ctx context.Context, c Cluster, d *Driver, progress io.Writer) (*Controllers, error) {
	programs, err := binaries.EnsureCSI(ctx, progress)
	if err != nil {
		return nil, err
	}
	if err := c.install(ctx); err != nil {
		return nil, err
	}
	if err := disks.Install(ctx, c.Admin, d.Driver); err != nil {
		return nil, err
	}
	started := &Controllers{processes: map[string]process.ID{}, cluster: c}
	for program, args := range arguments(c.Kubeconfig, d.socket) {
		id, err := process.Start(process.Command{
			Path: programs.Path(program), Args: args, Dir: filepath.Dir(c.Kubeconfig), Log: started.logFile(program), Tied: true,
			// For csi-provisioner the variable takes precedence over the argument.
			Env: []string{"KUBECONFIG=" + c.Kubeconfig},
		})
		if err != nil {
			return nil, errors.Join(err, started.Stop(ctx))
		}
		started.processes[program] = id
	}
	return started, nil
}

// arguments returns those of each controller. By default they send five requests a second, and wait minutes after failures.
func arguments(kubeconfig, socket string) map[string][]string {
	common := []string{
		"--kubeconfig=" + kubeconfig, "--kube-api-qps=200", "--kube-api-burst=400",
		"--retry-interval-start=500ms", "--retry-interval-max=5s",
	}
	of := func(more ...string) []string { return append(more, common...) }
	address := "--csi-address=" + socket
	// Otherwise both wait up to a minute for the definitions of group snapshots.
	const noGroups = "--feature-gates=CSIVolumeGroupSnapshot=false"
	return map[string][]string{
		binaries.SnapshotController: of(noGroups),
		binaries.Snapshotter:        of(address, noGroups),
		binaries.Provisioner:        of(address, "--extra-create-metadata", "--default-fstype=ext4"),
	}
}

func (c *Controllers) logFile(program string) string {
	return filepath.Join(filepath.Dir(c.cluster.Kubeconfig), program+".log")
}

// PIDs returns the numbers of the processes, by program.
func (c *Controllers) PIDs() map[string]int {
	out := map[string]int{}
	for program, id := range c.processes {
		out[program] = id.PID
	}
	return out
}

// Stop ends the controllers. The error names those that ended by themselves.
func (c *Controllers) Stop(ctx context.Context) error {
	failed := make([]error, 0, 2*len(c.processes))
	for program, id := range c.processes {
		if id.State() == process.Gone {
			failed = append(failed, fmt.Errorf("%s ended by itself: see %q", program, c.logFile(program)))
		}
		failed = append(failed, id.Kill(ctx))
	}
	return errors.Join(failed...)
}
