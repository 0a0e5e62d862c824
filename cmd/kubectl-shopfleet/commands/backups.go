package commands

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
)

// backups is the command that lists Backups.
type backups struct {
	*Program
	output        *output
	allNamespaces bool
}

func (p *Program) backupsCommand() *cobra.Command {
	c := &backups{Program: p}
	cmd := &cobra.Command{
		Use:   "backups [APP]",
		Short: "List Backups, and recover lost ones from the cloud",
		Long: `List Backups, and recover lost ones from the cloud.

-o wide shows where a Backup is stored: the regions of its snapshots, or the
PersistentVolumeClaim and the bucket of its dump.

A Backup that the hub does not know, and whose snapshots or dump are in the cloud, is
recovered with kubectl shopfleet backups rediscover.`,
		Example: `  kubectl shopfleet backups
  kubectl shopfleet backups shop -o wide
  kubectl shopfleet backups rediscover`,
		Args:              usage(cobra.MaximumNArgs(1)),
		ValidArgsFunction: p.completeApps,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.output = newOutput(cmd, wide)
	cmd.Flags().BoolVarP(&c.allNamespaces, "all-namespaces", "A", false, "List the Backups of all namespaces")
	cmd.AddCommand(p.rediscoverCommand())
	return cmd
}

func (b *backups) run(ctx context.Context, args []string) error {
	if err := b.output.check(); err != nil {
		return err
	}
	namespace := ""
	var err error
	if !b.allNamespaces {
		if namespace, err = b.namespaceFlag(); err != nil {
			return err
		}
	}
	hub, err := b.hub()
	if err != nil {
		return err
	}
	show := &list{
		Program: b.Program, hub: hub, output: b.output, kind: &v1.BackupList{},
		options: []client.ListOption{client.InNamespace(namespace)},
		keep: func(o client.Object) bool {
			each, ok := o.(*v1.Backup)
			return ok && (len(args) == 0 || each.Spec.AppRef.Name == args[0])
		},
		empty: "No Backups. Create one with kubectl shopfleet backup APP, or set spec.database.backup.schedule of an EcommerceApp.",
		render: func(objects []client.Object, now time.Time) string {
			return printers.Backups(itemsOf[v1.Backup](objects),
				printers.Options{Now: now, Wide: b.output.wide(), AllNamespaces: b.allNamespaces})
		},
	}
	return show.run(ctx)
}
