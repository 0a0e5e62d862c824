package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
)

var errNoAccount = errors.New("there is no CloudAccount")

// backups is the command that lists Backups.
type backups struct {
	*Program
	output        *output
	allNamespaces bool
	wide          bool
	rediscover    bool
	ofHub         string
	wait          time.Duration
}

func (p *Program) backupsCommand() *cobra.Command {
	c := &backups{Program: p}
	cmd := &cobra.Command{
		Use:   "backups [APP]",
		Short: "List Backups, or recover lost ones from the cloud",
		Long: `List Backups, or recover lost ones from the cloud.

-o wide shows where a Backup is stored: the regions of its snapshots, or the
PersistentVolumeClaim and the bucket of its dump.

With --rediscover the hub searches the regions and the bucket of every CloudAccount for
its snapshots and dumps, and creates a Backup for each that it does not know. Use it
when Backups were lost, or deleted with spec.deletion: Retain.

A hub that you installed anew has another identity. Name the old one with --of-hub: it is
the UID of the namespace kube-system of its cluster, the tag shopfleet-hub of its
snapshots, and the part of the names of its dumps that follows shopfleet/.`,
		Example: `  kubectl shopfleet backups
  kubectl shopfleet backups shop -o wide
  kubectl shopfleet backups --rediscover`,
		Args:              usage(cobra.MaximumNArgs(1)),
		ValidArgsFunction: p.completeApps,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.output = newOutput(cmd, wide)
	cmd.Flags().BoolVarP(&c.allNamespaces, "all-namespaces", "A", false, "List the Backups of all namespaces")
	cmd.Flags().BoolVar(&c.wide, "wide", false, "The same as -o wide")
	cmd.Flags().BoolVar(&c.rediscover, "rediscover", false, "Create Backups for snapshots and dumps in the cloud that the hub does not know")
	cmd.Flags().StringVar(&c.ofHub, "of-hub", "", "With --rediscover: UID of a hub that no longer exists")
	cmd.Flags().DurationVar(&c.wait, "wait", backupWait, "With --rediscover: how long to wait for the hub")
	return cmd
}

func (c *backups) run(ctx context.Context, args []string) error {
	if c.wide && c.output.text() {
		*c.output.flags.OutputFormat = wide
	}
	if err := c.output.check(); err != nil {
		return err
	}
	namespace := ""
	var err error
	if !c.allNamespaces {
		if namespace, err = c.namespaceFlag(); err != nil {
			return err
		}
	}
	hub, err := c.hub()
	if err != nil {
		return err
	}
	if c.rediscover {
		if err := c.search(ctx, hub); err != nil {
			return err
		}
	}
	show := &list{
		Program: c.Program, hub: hub, output: c.output, kind: &v1.BackupList{},
		options: []client.ListOption{client.InNamespace(namespace)},
		keep: func(o client.Object) bool {
			b, ok := o.(*v1.Backup)
			return ok && (len(args) == 0 || b.Spec.AppRef.Name == args[0])
		},
		empty: "No Backups. Create one with kubectl shopfleet backup APP, or set spec.database.backup.schedule of an EcommerceApp.",
		render: func(objects []client.Object, now time.Time) string {
			return printers.Backups(itemsOf[v1.Backup](objects),
				printers.Options{Now: now, Wide: c.output.wide(), AllNamespaces: c.allNamespaces})
		},
	}
	return show.run(ctx)
}

// search makes the hub search all CloudAccounts, and waits until it has.
func (c *backups) search(ctx context.Context, hub *cluster) error {
	accounts := &v1.CloudAccountList{}
	if err := hub.client.List(ctx, accounts); err != nil {
		return fmt.Errorf("listing CloudAccounts: %w", err)
	}
	if len(accounts.Items) == 0 {
		return hint.With(fmt.Errorf("searching for backups: %w", errNoAccount), "Create a CloudAccount for each account that has backups.")
	}
	token := c.clock.Now().UTC().Format(time.RFC3339Nano)
	var names []string
	for i := range accounts.Items {
		account := &accounts.Items[i]
		before := account.DeepCopy()
		if account.Annotations == nil {
			account.Annotations = map[string]string{}
		}
		account.Annotations[v1.RediscoverAtAnnotation] = token
		delete(account.Annotations, v1.RediscoverHubAnnotation)
		if c.ofHub != "" {
			account.Annotations[v1.RediscoverHubAnnotation] = c.ofHub
		}
		if err := hub.client.Patch(ctx, account, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("annotating CloudAccount %q: %w", account.Name, err)
		}
		names = append(names, account.Name)
	}
	return c.await(ctx, hub, awaiting{
		resource: "cloudaccount", list: &v1.CloudAccountList{}, names: names, wait: c.wait,
		progress: func(o client.Object) progress {
			account, ok := o.(*v1.CloudAccount)
			if !ok || account.Status.LastHandledRediscoverAt != token {
				return progress{text: "searching"}
			}
			return progress{text: account.Status.Rediscovered, done: true}
		},
	})
}
