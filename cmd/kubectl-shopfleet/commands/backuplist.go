package commands

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
)

// backupList is the command that lists Backups.
type backupList struct {
	*Program
	output *output
	listFlags
}

func (p *Program) backupListCommand() *cobra.Command {
	c := &backupList{Program: p}
	cmd := &cobra.Command{
		Use:   "list [APP]",
		Short: "List Backups, the newest first",
		Long: `List Backups, the newest first.

-o wide shows where a Backup is stored: the regions of its snapshots, or the
PersistentVolumeClaim and the bucket of its dump.

A Backup that the hub does not know, and whose snapshots or dump are in the cloud, is
recovered with kubectl shopfleet backup rediscover.`,
		Example: `  kubectl shopfleet backup list
  kubectl shopfleet backup list shop -o wide`,
		Args:              usage(cobra.MaximumNArgs(1)),
		ValidArgsFunction: p.completeApps,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.output = newListOutput(cmd)
	c.add(cmd)
	return cmd
}

func (b *backupList) run(ctx context.Context, args []string) error {
	if err := b.output.check(); err != nil {
		return err
	}
	namespace, options, err := b.options(b.Program)
	if err != nil {
		return err
	}
	hub, err := b.hub()
	if err != nil {
		return err
	}
	show := &list{
		Program: b.Program, hub: hub, output: b.output, watch: b.watch, kind: &v1.BackupList{}, options: options, allNamespaces: b.allNamespaces,
		keep: func(o client.Object) bool {
			each, ok := o.(*v1.Backup)
			return ok && (len(args) == 0 || each.Spec.AppRef.Name == args[0])
		},
		empty: emptyBackups(namespace),
		render: func(objects []client.Object, now time.Time) *metav1.Table {
			found := itemsOf[v1.Backup](objects)
			if b.output.sortBy() == "" {
				printers.NewestFirst(found)
			}
			return printers.Backups(found, now)
		},
	}
	return show.run(ctx)
}

// emptyBackups says that there are no Backups in a namespace, or in all.
func emptyBackups(namespace string) string {
	const create = "Create one with kubectl shopfleet backup create APP -n NAMESPACE, or set spec.database.backup.schedule of an EcommerceApp."
	if namespace == "" {
		return "No Backups. " + create
	}
	return "No Backups in namespace \"" + namespace + "\". List those of all namespaces with -A. " + create
}
