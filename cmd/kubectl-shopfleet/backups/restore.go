package backups

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

// restoring is the command that restores a backup.
type restoring struct {
	Session
	spec v1.RestoreSpec
	wait time.Duration
}

func (s Session) restore() *cobra.Command {
	c := &restoring{Session: s}
	cmd := &cobra.Command{
		Use:   "restore BACKUP",
		Short: "Restore a backup, where it was made or in another cluster",
		Long: `Restore a backup, where it was made or in another cluster.

Makes a Restore and follows it.

Of snapshots volumes are made and bound to the claims that the database has in the
cluster. A database that runs there is stopped meanwhile, and its volume is put aside
and kept; that takes --overwrite. The cluster must be of the same provider and account,
in a region where the backup has a snapshot or a copy.

A dump is loaded into the database, while nothing that uses it runs: where it was made
from its volume, in another cluster from the bucket that it was sent to. What is in the
database goes, and nothing of it is kept; that takes --overwrite, unless it is empty.
kubectl shopfleet backups --wide shows where backups are.`,
		Example: `  kubectl shopfleet restore shop-eu-1-20261121-0200 --overwrite
  kubectl shopfleet restore shop-eu-1-20261121-0200 --cluster us-1`,
		Args: s.Usage(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().StringVar(&c.spec.ClusterRef.Name, "cluster", "", "Cluster to restore to; default: the one that was backed up")
	cmd.Flags().StringVar(&c.spec.Zone, "zone", "", "Zone of volumes made from snapshots; default: that of the volume that is replaced, else the cluster's first")
	cmd.Flags().BoolVar(&c.spec.Overwrite, "overwrite", false, "Put the restored volume in the place of the one that the database has, or a dump in the place of its data")
	cmd.Flags().DurationVar(&c.wait, "wait", patience, "How long to wait until the database runs on the restored data; 0 does not wait")
	return cmd
}

func (c *restoring) run(ctx context.Context, backup string) error {
	namespace, err := c.place()
	if err != nil {
		return err
	}
	at, err := c.Connect()
	if err != nil {
		return err
	}
	// The hub waits for a backup that is not there yet: here it is a slip of the pen.
	if err := at.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: backup}, &v1.Backup{}); err != nil {
		return fmt.Errorf("getting backup %q: %w", backup, err)
	}
	c.spec.BackupRef.Name = backup
	r := &v1.Restore{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: restoreName(backup, c.Clock.Now())},
		Spec:       c.spec,
	}
	if err := at.Client.Create(ctx, r); err != nil {
		return fmt.Errorf("asking for the restore: %w", err)
	}
	_, _ = fmt.Fprintf(c.Streams.Out, "restore.ecommerce.io/%s created\n", r.Name)
	if c.wait == 0 {
		return nil
	}
	return c.During("waiting for the restore", func() error {
		return c.follow(ctx, following{
			query: at.Query, list: &v1.RestoreList{}, namespace: namespace,
			names: map[string]bool{r.Name: true}, state: restoreState, wait: c.wait,
		})
	})
}

// restoreName is a name of at most 63 characters that tells restores of a backup apart.
func restoreName(backup string, now time.Time) string {
	suffix := "-r" + now.UTC().Format("060102150405")
	return strings.TrimRight(backup[:min(len(backup), 63-len(suffix))], "-.") + suffix
}

func restoreState(o client.Object) state {
	r, ok := o.(*v1.Restore)
	if !ok {
		return state{}
	}
	return state{
		text:   line(string(r.Status.Phase), r.Status.Message),
		done:   r.Status.Phase == v1.RestoreCompleted || r.Status.Phase == v1.RestoreFailed,
		failed: r.Status.Phase == v1.RestoreFailed,
	}
}
