package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
)

// restore is the command that creates a Restore.
type restore struct {
	*Program
	output       *output
	spec         v1.RestoreSpec
	confirmation confirmation
	wait         waitFlags
	dryRun       dryRun
}

func (p *Program) restoreCommand() *cobra.Command {
	c := &restore{Program: p}
	cmd := &cobra.Command{
		Use:   "restore BACKUP",
		Short: "Restore a Backup in its cluster or in another one, or verify it",
		Long: `Restore a Backup in its cluster or in another one, or verify it.

Creates a Restore, and waits until it is complete.

From snapshots the CSI driver of the cluster creates volumes, and the hub binds them to the
PersistentVolumeClaims of the database. If the database is running, you must allow that with --overwrite: it is
stopped meanwhile, and its old volumes are retained. The cluster must have the provider
and the account of the Backup, in a region with a snapshot or a copy of it.

A dump is loaded into the database while nothing else uses it: from its volume in the
cluster of the Backup, from the bucket in another one. If the database is not empty, you
must allow that with --overwrite: its data is replaced, and not retained.

With --overwrite the command asks for a confirmation. Without a terminal it requires --yes.

With --verify the Backup is restored into the namespace shopfleet-verify of the cluster,
the engine recovers or loads the data and reads all of it there, and everything is deleted again. The
EcommerceApp is not affected. The Backup then shows when it was verified, and where.

A volume that was replaced is put back with kubectl shopfleet restore undo. A Backup of the
name undo is restored by a manifest.

See where Backups are stored: kubectl shopfleet backup list -o wide`,
		Example: `  kubectl shopfleet restore shop-eu-1-20261121-0200 --overwrite
  kubectl shopfleet restore shop-eu-1-20261121-0200 --overwrite --dry-run=server
  kubectl shopfleet restore shop-eu-1-20261121-0200 --member us-1
  kubectl shopfleet restore shop-eu-1-20261121-0200 --verify`,
		Args:              usage(cobra.ExactArgs(1)),
		ValidArgsFunction: p.completeBackups,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.output = newOutput(cmd)
	cmd.Flags().StringVar(&c.spec.ClusterRef.Name, "member", "", "`MEMBER` to restore to; default: the one of the Backup")
	cmd.Flags().StringVar(&c.spec.Zone, "zone", "", "Zone of the volumes from snapshots; default: that of a node on which the database may run")
	cmd.Flags().BoolVar(&c.spec.Overwrite, "overwrite", false, "Replace the volumes of a running database, or the data of one that is not empty")
	cmd.Flags().BoolVar(&c.spec.Verify, "verify", false, "Only verify that the Backup can be restored; the EcommerceApp is not affected")
	c.confirmation.add(cmd, " of --overwrite")
	c.wait.add(cmd, backupTimeout, "the database runs with the restored data, or the verification is done")
	c.dryRun.add(cmd)
	cmd.AddCommand(p.restoreUndoCommand())
	return cmd
}

func (r *restore) check() error {
	if r.spec.Overwrite && r.spec.Verify {
		return usagef("--verify replaces nothing, so it cannot be used with --overwrite")
	}
	return errors.Join(r.output.check(), r.wait.check())
}

func (r *restore) run(ctx context.Context, name string) error {
	if err := r.check(); err != nil {
		return err
	}
	namespace, err := r.namespaceFlag()
	if err != nil {
		return err
	}
	hub, err := r.hub()
	if err != nil {
		return err
	}
	// The hub waits for a Backup that does not exist yet. Here it is a typing error.
	backup := &v1.Backup{}
	if err := hub.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, backup); err != nil {
		return hint.IfNotFound(fmt.Errorf("getting Backup %q: %w", name, err), "List all: kubectl shopfleet backup list -A")
	}
	if confirmed, err := r.confirm(ctx, backup); err != nil || !confirmed {
		return err
	}
	r.spec.BackupRef.Name = name
	created := &v1.Restore{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: restoreName(name, r.clock.Now())},
		Spec:       r.spec,
	}
	err = r.create(ctx, hub, creation{r.output, r.dryRun, created})
	if err != nil || !r.wait.enabled || r.dryRun != dryRunNone {
		return err
	}
	return r.await(ctx, hub, awaiting{
		resource: "restore", list: &v1.RestoreList{}, namespace: namespace, names: []string{created.Name}, wait: r.wait,
		progress: restoreProgress,
	})
}

// confirm asks before data is replaced.
func (r *restore) confirm(ctx context.Context, backup *v1.Backup) (bool, error) {
	lost := "its volumes are replaced, and retained; replicas copy the data again"
	if backup.Spec.Method == v1.BackupDump {
		lost = "its data is lost"
	}
	what := fmt.Sprintf("replace the database of EcommerceApp %s/%s in member %s by Backup %s: %s",
		backup.Namespace, backup.Spec.AppRef.Name, cmp.Or(r.spec.ClusterRef.Name, backup.Spec.ClusterRef.Name), backup.Name, lost)
	return r.confirmation.confirm(ctx, r.Program, question{"restore", what, r.spec.Overwrite, r.dryRun})
}

// restoreName returns a name of at most 63 characters that is unique per second.
func restoreName(backup string, now time.Time) string {
	suffix := "-r" + now.UTC().Format("060102150405")
	return strings.TrimRight(backup[:min(len(backup), 63-len(suffix))], "-.") + suffix
}
