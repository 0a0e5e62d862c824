package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/hub/data/schedule"
)

// backupTimeout is the default of --timeout for backups and restores.
const backupTimeout = 30 * time.Minute

// Why an EcommerceApp is not backed up.
var (
	errNothingToBackUp = errors.New("nothing to back up")
	errNotPlaced       = errors.New("the EcommerceApp does not run in this cluster")
)

// backup is the command that creates Backups.
type backup struct {
	*Program
	output  *output
	members []string
	wait    waitFlags
	dryRun  dryRun
}

func (p *Program) backupCommand() *cobra.Command {
	return group(
		&cobra.Command{Use: "backup", Short: "Create and list Backups of databases, and find lost ones"},
		p.backupCreateCommand(), p.backupListCommand(), p.backupRediscoverCommand(),
	)
}

func (p *Program) backupCreateCommand() *cobra.Command {
	c := &backup{Program: p}
	cmd := &cobra.Command{
		Use:   "create APP",
		Short: "Back up the database of an EcommerceApp now",
		Long: `Back up the database of an EcommerceApp now.

Creates a Backup for each cluster in which the EcommerceApp runs, and waits until they
are complete: snapshots of the database's volumes, and their copies in the regions of
spec.database.backup.copyToRegions. In a cluster without snapshots a Backup is a dump.
It is complete when it is uploaded to the bucket of the CloudAccount, if that has one.
A Backup that can be restored where it is, but whose copy or upload failed, is an error.

The schedule is not affected. Retention counts these Backups like any other.`,
		Example: `  kubectl shopfleet backup create shop
  kubectl shopfleet backup create shop --member eu-1 --wait=false`,
		Args:              usage(cobra.ExactArgs(1)),
		ValidArgsFunction: p.completeApps,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.output = newOutput(cmd)
	cmd.Flags().StringSliceVar(&c.members, "member", nil, "Back up in this `MEMBER`; repeat it for more; default: all in which the EcommerceApp runs")
	c.wait.add(cmd, backupTimeout, "the Backups are complete")
	c.dryRun.add(cmd)
	return cmd
}

func (b *backup) run(ctx context.Context, name string) error {
	if err := errors.Join(b.output.check(), b.wait.check()); err != nil {
		return err
	}
	namespace, err := b.namespaceFlag()
	if err != nil {
		return err
	}
	hub, err := b.hub()
	if err != nil {
		return err
	}
	app := &v1.EcommerceApp{}
	if err := hub.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, app); err != nil {
		return hint.IfNotFound(fmt.Errorf("getting EcommerceApp %q: %w", name, err), "List all: kubectl shopfleet status -A")
	}
	clusters, err := clustersToBackUp(app, b.members)
	if err != nil {
		return err
	}
	var names []string
	now := b.clock.Now()
	for _, name := range clusters {
		member := &v1.MemberCluster{}
		if err := hub.client.Get(ctx, client.ObjectKey{Name: name}, member); err != nil {
			return hint.IfNotFound(fmt.Errorf("getting MemberCluster %q: %w", name, err), "List all: kubectl get memberclusters")
		}
		created := newBackup(app, member, now)
		if err := b.create(ctx, hub, creation{b.output, b.dryRun, created}); err != nil {
			return err
		}
		names = append(names, created.Name)
	}
	if !b.wait.enabled || b.dryRun != dryRunNone {
		return nil
	}
	return b.await(ctx, hub, awaiting{
		resource: "backup", list: &v1.BackupList{}, namespace: namespace, names: names, wait: b.wait,
		progress: backupProgress,
	})
}

func backupProgress(o client.Object) progress {
	b, ok := o.(*v1.Backup)
	if !ok {
		return progress{}
	}
	failed := v1.BackupFailed
	if b.Status.Phase == v1.BackupPartiallyCompleted {
		failed = b.Status.Phase // It can be restored, and not all that was asked for is done.
	}
	return phase(string(b.Status.Phase), b.Status.Message, string(v1.BackupCompleted), string(failed))
}

// creation is an object to create, and how it is printed.
type creation struct {
	output *output
	dryRun dryRun
	object client.Object
}

// create creates an object and prints it.
func (p *Program) create(ctx context.Context, hub *cluster, c creation) error {
	kind, err := hub.client.GroupVersionKindFor(c.object)
	if err == nil && c.dryRun != dryRunClient {
		err = c.dryRun.client(hub.client).Create(ctx, c.object)
	}
	if err != nil {
		return fmt.Errorf("creating %s %q: %w", kind.Kind, c.object.GetName(), err)
	}
	return c.output.printDone(p, c.object, hub.scheme, "created"+c.dryRun.suffix())
}

// clustersToBackUp returns those that the user named, else all in which the EcommerceApp runs.
func clustersToBackUp(app *v1.EcommerceApp, named []string) ([]string, error) {
	if app.Spec.Database == nil {
		return nil, hint.With(fmt.Errorf("EcommerceApp %q has no database: %w", app.Name, errNothingToBackUp),
			"Only databases are backed up. Set spec.database first.")
	}
	var placed []string
	for _, c := range app.Status.Clusters {
		if c.Phase != v1.PhaseDeleting {
			placed = append(placed, c.Name)
		}
	}
	if len(placed) == 0 {
		return nil, hint.With(fmt.Errorf("EcommerceApp %q runs in no cluster: %w", app.Name, errNothingToBackUp),
			"See why: kubectl shopfleet status "+app.Name+" -n "+app.Namespace)
	}
	for _, name := range named {
		if !slices.Contains(placed, name) {
			return nil, hint.With(fmt.Errorf("backing up EcommerceApp %q in MemberCluster %q: %w", app.Name, name, errNotPlaced),
				"Choose from these with --member: "+strings.Join(placed, ", "))
		}
	}
	if len(named) > 0 {
		return named, nil
	}
	return placed, nil
}

// newBackup returns the Backup to create, with the method that the cluster allows.
func newBackup(app *v1.EcommerceApp, member *v1.MemberCluster, now time.Time) *v1.Backup {
	policy := app.Spec.Database.Backup
	b := &v1.Backup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: app.Namespace, Name: schedule.ManualName(app.Name, member.Name, now),
			Labels: map[string]string{v1.InstanceLabel: app.Name, v1.ClusterLabel: member.Name},
		},
		Spec: v1.BackupSpec{
			AppRef: v1.ObjectReference{Name: app.Name}, ClusterRef: v1.ObjectReference{Name: member.Name}, Method: v1.BackupSnapshot,
			CopyToRegions: csi.Copyable(member.Status.Provider, member.Status.Region, policy.CopyToRegions), Deletion: v1.DeletionRetain,
		},
	}
	if !csi.BySnapshots(policy.Method, member) {
		b.Spec.Method, b.Spec.CopyToRegions = v1.BackupDump, nil
	}
	return b
}
