package commands

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// restore is the command that creates a Restore.
type restore struct {
	*Program
	output *output
	spec   v1.RestoreSpec
	wait   time.Duration
}

func (p *Program) restoreCommand() *cobra.Command {
	c := &restore{Program: p}
	cmd := &cobra.Command{
		Use:   "restore BACKUP",
		Short: "Restore a Backup in its cluster or in another one",
		Long: `Restore a Backup in its cluster or in another one.

Creates a Restore, and waits until it is complete.

From snapshots the hub creates volumes, and binds them to the PersistentVolumeClaims of
the database. If the database is running, you must allow that with --overwrite: it is
stopped meanwhile, and its old volumes are retained. The cluster must have the provider
and the account of the Backup, in a region with a snapshot or a copy of it.

A dump is loaded into the database while nothing else uses it: from its volume in the
cluster of the Backup, from the bucket in another one. If the database is not empty, you
must allow that with --overwrite: its data is replaced, and not retained.

See where Backups are stored: kubectl shopfleet backups -o wide`,
		Example: `  kubectl shopfleet restore shop-eu-1-20261121-0200 --overwrite
  kubectl shopfleet restore shop-eu-1-20261121-0200 --cluster us-1`,
		Args:              usage(cobra.ExactArgs(1)),
		ValidArgsFunction: p.completeBackups,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.output = newOutput(cmd)
	cmd.Flags().StringVar(&c.spec.ClusterRef.Name, "cluster", "", "MemberCluster to restore to; default: the one of the Backup")
	cmd.Flags().StringVar(&c.spec.Zone, "zone", "", "Zone of the volumes from snapshots; default: that of the volume to replace, else the first of the cluster")
	cmd.Flags().BoolVar(&c.spec.Overwrite, "overwrite", false, "Replace the volumes of a running database, or the data of one that is not empty")
	cmd.Flags().DurationVar(&c.wait, "wait", backupWait, "How long to wait until the database runs with the restored data; 0 does not wait")
	return cmd
}

func (c *restore) run(ctx context.Context, backup string) error {
	if err := c.output.check(); err != nil {
		return err
	}
	namespace, err := c.namespaceFlag()
	if err != nil {
		return err
	}
	hub, err := c.hub()
	if err != nil {
		return err
	}
	// The hub waits for a Backup that does not exist yet. Here it is a typing error.
	if err := hub.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: backup}, &v1.Backup{}); err != nil {
		return fmt.Errorf("getting Backup %q: %w", backup, err)
	}
	c.spec.BackupRef.Name = backup
	r := &v1.Restore{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: restoreName(backup, c.clock.Now())},
		Spec:       c.spec,
	}
	if err := c.create(ctx, hub, c.output, r); err != nil || c.wait == 0 {
		return err
	}
	return c.await(ctx, hub, awaiting{
		resource: "restore", list: &v1.RestoreList{}, namespace: namespace, names: []string{r.Name}, wait: c.wait,
		progress: func(o client.Object) progress {
			r, ok := o.(*v1.Restore)
			if !ok {
				return progress{}
			}
			return phase(string(r.Status.Phase), r.Status.Message, string(v1.RestoreCompleted), string(v1.RestoreFailed))
		},
	})
}

// restoreName returns a name of at most 63 characters that is unique per second.
func restoreName(backup string, now time.Time) string {
	suffix := "-r" + now.UTC().Format("060102150405")
	return strings.TrimRight(backup[:min(len(backup), 63-len(suffix))], "-.") + suffix
}
