package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Snapshot copies the data of etcd into a new folder. etcd is frozen meanwhile: the copy is
// what a killed etcd leaves.
func (c *Cluster) Snapshot(ctx context.Context, dir string) error {
	if err := c.Freeze(ctx, Etcd); err != nil {
		return err
	}
	err := copyData(dir, c.path(folderEtcd))
	// It must go on in any case.
	if err := errors.Join(err, c.Thaw(context.WithoutCancel(ctx), Etcd)); err != nil {
		return fmt.Errorf("taking a snapshot of cluster %q: %w", c.spec.Name, err)
	}
	return nil
}

// Restore kills the cluster, replaces the data of etcd by a snapshot, and restarts the cluster.
// Resource versions go back, so that clients with caches must start anew.
func (c *Cluster) Restore(ctx context.Context, dir string) error {
	if err := c.Kill(ctx); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(c.path(folderEtcd)), copyData(c.path(folderEtcd), dir)); err != nil {
		return fmt.Errorf("restoring cluster %q: %w", c.spec.Name, err)
	}
	return c.Restart(ctx)
}

func copyData(to, from string) error {
	if err := os.Mkdir(to, privateFolder); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(from))
}
