package backups

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
)

// errNoAccount tells that there is no account to look in.
var errNoAccount = errors.New("there is no CloudAccount")

// listing is the command that lists backups.
type listing struct {
	Session
	all, wide  bool
	rediscover bool
	ofHub      string
	wait       time.Duration
}

func (s Session) backups() *cobra.Command {
	c := &listing{Session: s}
	cmd := &cobra.Command{
		Use:   "backups [APP]",
		Short: "List backups, or find them again in the cloud",
		Long: `List backups, or find them again in the cloud.

With --wide it says in which regions the snapshots of a backup are, or in which claim of
its cluster a dump is, and in which bucket.

With --rediscover the hub looks through every CloudAccount, for snapshots with its tags
in the regions and for its dumps in the bucket, and makes a Backup of each that it does
not know: after its objects were lost, or deleted without spec.deletion: Delete. A hub that
was set up anew has another identity: --of-hub is the UID of the namespace kube-system
of the old one's cluster, as the tag shopfleet-hub of the snapshots has it, and the
names of dumps after shopfleet/.`,
		Example: `  kubectl shopfleet backups
  kubectl shopfleet backups shop --wide
  kubectl shopfleet backups --rediscover`,
		Args:              s.Usage(cobra.MaximumNArgs(1)),
		ValidArgsFunction: s.CompleteApps,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	cmd.Flags().BoolVarP(&c.all, "all-namespaces", "A", false, "List the backups of all namespaces")
	cmd.Flags().BoolVar(&c.wide, "wide", false, "Show more columns")
	cmd.Flags().BoolVar(&c.rediscover, "rediscover", false, "Find backups again that are in the cloud and not on the hub")
	cmd.Flags().StringVar(&c.ofHub, "of-hub", "", "With --rediscover: UID of a hub that is no more")
	cmd.Flags().DurationVar(&c.wait, "wait", patience, "With --rediscover: how long to wait for the answer")
	return cmd
}

func (c *listing) run(ctx context.Context, args []string) error {
	at, err := c.Connect()
	if err != nil {
		return err
	}
	if c.rediscover {
		if err := c.find(ctx, at); err != nil {
			return err
		}
	}
	namespace := ""
	if !c.all {
		if namespace, err = c.place(); err != nil {
			return err
		}
	}
	list := &v1.BackupList{}
	if err := at.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("listing backups: %w", err)
	}
	items := slices.DeleteFunc(list.Items, func(b v1.Backup) bool { return len(args) == 1 && b.Spec.AppRef.Name != args[0] })
	if len(items) == 0 {
		c.say("No backups: spec.database.backup of an application has them made, or kubectl shopfleet backup APP")
		return nil
	}
	text := printers.Backups(items, printers.Options{Now: c.Clock.Now(), Wide: c.wide, AllNamespaces: c.all}).Text()
	if _, err := fmt.Fprint(c.Streams.Out, text); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

// find asks the hub to look through all accounts, and waits for its answers.
func (c *listing) find(ctx context.Context, at Target) error {
	accounts := &v1.CloudAccountList{}
	if err := at.Client.List(ctx, accounts); err != nil {
		return fmt.Errorf("listing cloud accounts: %w", err)
	}
	if len(accounts.Items) == 0 {
		return hint.With(errNoAccount, "Backups are found in the accounts that the hub knows: make a CloudAccount first.")
	}
	token := c.Clock.Now().UTC().Format(time.RFC3339Nano)
	names := map[string]bool{}
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
		if err := at.Client.Patch(ctx, account, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("asking for the backups in %q: %w", account.Name, err)
		}
		names[account.Name] = true
	}
	return c.During("waiting for the hub to look through the cloud", func() error {
		return c.follow(ctx, following{
			query: at.Query, list: &v1.CloudAccountList{}, names: names, wait: c.wait,
			state: func(o client.Object) state {
				account, ok := o.(*v1.CloudAccount)
				if !ok || account.Status.LastHandledRediscoverAt != token {
					return state{text: "looking"}
				}
				return state{text: account.Status.Rediscovered, done: true}
			},
		})
	})
}
