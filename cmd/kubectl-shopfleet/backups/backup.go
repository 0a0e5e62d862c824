package backups

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
	"github.com/shopfleet/shopfleet/hub/schedule"
)

// patience is how long a backup or a restore is followed where --wait does not say.
const patience = 30 * time.Minute

var (
	// errNowhere tells that an application runs in no cluster that could be backed up.
	errNowhere = errors.New("no cluster to back up")
	// errNotThere tells that an application does not run in a cluster that was named.
	errNotThere = errors.New("the application does not run there")
)

// backingUp is the command that makes backups at once.
type backingUp struct {
	Session
	clusters []string
	wait     time.Duration
}

func (s Session) backup() *cobra.Command {
	c := &backingUp{Session: s}
	cmd := &cobra.Command{
		Use:   "backup APP",
		Short: "Back up an application's database now",
		Long: `Back up an application's database now.

Makes a Backup for each cluster that the application runs in, and follows them until
they are complete: snapshots of the database's volumes, and copies of them in the
regions of spec.database.backup.copyToRegions. In clusters whose databases are dumped
it is a dump, complete when it is in the bucket of the cluster's account, if that has
one. The schedule goes on, and retention counts it like any other.`,
		Example: `  kubectl shopfleet backup shop
  kubectl shopfleet backup shop --cluster eu-1 --wait 0`,
		Args:              s.Usage(cobra.ExactArgs(1)),
		ValidArgsFunction: s.CompleteApps,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	cmd.Flags().StringSliceVar(&c.clusters, "cluster", nil, "Clusters to back up; default: all that the application runs in")
	cmd.Flags().DurationVar(&c.wait, "wait", patience, "How long to wait until the backups are complete; 0 does not wait")
	return cmd
}

func (c *backingUp) run(ctx context.Context, name string) error {
	namespace, err := c.place()
	if err != nil {
		return err
	}
	at, err := c.Connect()
	if err != nil {
		return err
	}
	app := &v1.EcommerceApp{}
	if err := at.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, app); err != nil {
		return fmt.Errorf("getting application %q: %w", name, err)
	}
	clusters, err := chosen(app, c.clusters)
	if err != nil {
		return err
	}
	names := map[string]bool{}
	now := c.Clock.Now()
	for _, cluster := range clusters {
		member := &v1.MemberCluster{}
		if err := at.Client.Get(ctx, client.ObjectKey{Name: cluster}, member); err != nil {
			return fmt.Errorf("getting cluster %q: %w", cluster, err)
		}
		b := requested(app, member, now)
		if err := at.Client.Create(ctx, b); err != nil {
			return fmt.Errorf("asking for a backup of %s: %w", cluster, err)
		}
		names[b.Name] = true
		_, _ = fmt.Fprintf(c.Streams.Out, "backup.ecommerce.io/%s created\n", b.Name)
	}
	if c.wait == 0 {
		return nil
	}
	return c.During("waiting for the backups", func() error {
		return c.follow(ctx, following{
			query: at.Query, list: &v1.BackupList{}, namespace: namespace, names: names, state: stateOf, wait: c.wait,
		})
	})
}

// chosen returns the clusters to back up: those that were named, else all.
func chosen(app *v1.EcommerceApp, named []string) ([]string, error) {
	if app.Spec.Database == nil {
		return nil, hint.With(fmt.Errorf("application %q has no database: %w", app.Name, errNowhere),
			"Backups are of databases: there is nothing to back up without spec.database.")
	}
	var runs []string
	for _, c := range app.Status.Clusters {
		if c.Phase != v1.PhaseDeleting {
			runs = append(runs, c.Name)
		}
	}
	if len(runs) == 0 {
		return nil, hint.With(fmt.Errorf("application %q: %w", app.Name, errNowhere),
			"It is placed on no cluster: kubectl shopfleet status "+app.Name+" says why.")
	}
	for _, name := range named {
		if !slices.Contains(runs, name) {
			return nil, hint.With(fmt.Errorf("cluster %q: %w", name, errNotThere), "It runs in "+strings.Join(runs, ", ")+".")
		}
	}
	if len(named) > 0 {
		return named, nil
	}
	return runs, nil
}

// requested returns the Backup that a person asks for, of the method of the cluster.
func requested(app *v1.EcommerceApp, member *v1.MemberCluster, now time.Time) *v1.Backup {
	policy := app.Spec.Database.Backup
	b := &v1.Backup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: app.Namespace, Name: schedule.ManualName(app.Name, member.Name, now),
			Labels: map[string]string{v1.InstanceLabel: app.Name, v1.ClusterLabel: member.Name},
		},
		Spec: v1.BackupSpec{
			AppRef: v1.ObjectReference{Name: app.Name}, ClusterRef: v1.ObjectReference{Name: member.Name}, Method: v1.BackupSnapshot,
			CopyToRegions: policy.CopyToRegions, Deletion: v1.DeletionRetain,
		},
	}
	if !csi.BySnapshots(policy.Method, member) {
		b.Spec.Method, b.Spec.CopyToRegions = v1.BackupDump, nil
	}
	return b
}

func stateOf(o client.Object) state {
	b, ok := o.(*v1.Backup)
	if !ok {
		return state{}
	}
	return state{
		text:   line(string(b.Status.Phase), b.Status.Message),
		done:   b.Status.Phase == v1.BackupCompleted || b.Status.Phase == v1.BackupFailed,
		failed: b.Status.Phase == v1.BackupFailed,
	}
}

// line is a phase and what there is to say to it.
func line(phase, message string) string {
	if message == "" {
		return phase
	}
	return phase + ": " + message
}
