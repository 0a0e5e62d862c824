package commands

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
)

var (
	errNoAccount = errors.New("there is no CloudAccount")
	errTakeOver  = errors.New("--take-over needs --of-hub")
)

// rediscover is the command that makes the hub search for backups.
type rediscover struct {
	*Program
	output   *output
	ofHub    string
	takeOver bool
	wait     waitFlags
	dryRun   dryRun
}

func (p *Program) backupRediscoverCommand() *cobra.Command {
	c := &rediscover{Program: p}
	cmd := &cobra.Command{
		Use:   "rediscover [CLOUDACCOUNT...]",
		Short: "Recover lost Backups from the snapshots and dumps in the cloud",
		Long: `Recover lost Backups from the snapshots and dumps in the cloud.

The hub searches the regions and the bucket of the CloudAccounts, by default of all, for its
snapshots and dumps, and creates a Backup for each that it does not know. Use it when
Backups were lost, or deleted with spec.deletion: Retain.

A hub that you installed anew has another identity. Name the old one with --of-hub: it is
the UID of the namespace kube-system of its cluster, the tag shopfleet-hub of its
snapshots, and the part of the names of its dumps that follows shopfleet/. With --take-over,
the hub claims its backups in the bucket of the CloudAccount: from then on retention here
deletes them when they expire, and the old hub, if it still runs, deletes none.`,
		Example: `  kubectl shopfleet backup rediscover
  kubectl shopfleet backup rediscover prod-aws --of-hub 7d3c2a52-1b7e-4c58-9f7e-3a2d8f0e6b11`,
		Args:              usage(cobra.ArbitraryArgs),
		ValidArgsFunction: p.completeAccounts,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.output = newOutput(cmd)
	cmd.Flags().StringVar(&c.ofHub, "of-hub", "", "`UID` of a hub that no longer exists; default: this hub")
	cmd.Flags().BoolVar(&c.takeOver, "take-over", false, "claim the backups of the hub of --of-hub, so that retention deletes them when they expire")
	c.wait.add(cmd, backupTimeout, "the hub has searched the CloudAccounts")
	c.dryRun.add(cmd)
	return cmd
}

func (r *rediscover) run(ctx context.Context, names []string) error {
	if err := errors.Join(r.output.check(), r.wait.check()); err != nil {
		return err
	}
	if r.takeOver && r.ofHub == "" {
		return hint.With(errTakeOver, "Name the hub: kubectl shopfleet backup rediscover --of-hub UID --take-over")
	}
	hub, err := r.hub()
	if err != nil {
		return err
	}
	accounts, err := r.accounts(ctx, hub, names)
	if err != nil {
		return err
	}
	token := r.clock.Now().UTC().Format(time.RFC3339Nano)
	for i := range accounts {
		if err := r.request(ctx, hub, &accounts[i], token); err != nil {
			return err
		}
	}
	operation := "rediscovery requested" + r.dryRun.suffix()
	if r.wait.enabled && r.dryRun == dryRunNone {
		operation = "rediscovered"
		if err := r.awaitSearch(ctx, hub, accounts, token); err != nil {
			return err
		}
	}
	for i := range accounts {
		if err := r.output.printDone(r.Program, &accounts[i], hub.scheme, operation); err != nil {
			return err
		}
	}
	return nil
}

// accounts returns the CloudAccounts to search, at least one.
func (r *rediscover) accounts(ctx context.Context, hub *cluster, names []string) ([]v1.CloudAccount, error) {
	list := &v1.CloudAccountList{}
	if err := hub.client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing CloudAccounts: %w", err)
	}
	if len(list.Items) == 0 {
		return nil, hint.With(fmt.Errorf("searching for backups: %w", errNoAccount),
			"Create a CloudAccount for each account that has backups, for example: kubectl apply --server-side -f config/samples/cloudaccount.yaml")
	}
	for _, name := range names {
		if !slices.ContainsFunc(list.Items, func(a v1.CloudAccount) bool { return a.Name == name }) {
			return nil, hint.With(fmt.Errorf("finding CloudAccount %q: %w", name, errNotFound), "List all: kubectl get cloudaccounts")
		}
	}
	return slices.DeleteFunc(list.Items, func(a v1.CloudAccount) bool {
		return len(names) > 0 && !slices.Contains(names, a.Name)
	}), nil
}

// request makes the hub search an account. The token is a value that the account has not had.
func (r *rediscover) request(ctx context.Context, hub *cluster, account *v1.CloudAccount, token string) error {
	before := account.DeepCopy()
	if account.Annotations == nil {
		account.Annotations = map[string]string{}
	}
	account.Annotations[v1.RediscoverAtAnnotation] = token
	delete(account.Annotations, v1.RediscoverHubAnnotation)
	delete(account.Annotations, v1.TakeOverHubAnnotation)
	if r.ofHub != "" {
		account.Annotations[v1.RediscoverHubAnnotation] = r.ofHub
	}
	if r.takeOver {
		account.Annotations[v1.TakeOverHubAnnotation] = r.ofHub
	}
	if r.dryRun == dryRunClient {
		return nil
	}
	if err := r.dryRun.client(hub.client).Patch(ctx, account, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("annotating CloudAccount %q: %w", account.Name, err)
	}
	return nil
}

func (r *rediscover) awaitSearch(ctx context.Context, hub *cluster, accounts []v1.CloudAccount, token string) error {
	names, former := make([]string, 0, len(accounts)), map[string]string{}
	for i := range accounts {
		names = append(names, accounts[i].Name)
		former[accounts[i].Name] = accounts[i].Status.Rediscovered
	}
	return r.await(ctx, hub, awaiting{
		resource: "cloudaccount", list: &v1.CloudAccountList{}, names: names, wait: r.wait,
		progress: func(o client.Object) progress {
			account, ok := o.(*v1.CloudAccount)
			switch {
			case !ok || account.Status.LastHandledRediscoverAt != token && account.Status.Rediscovered == former[account.Name]:
				return progress{text: "searching"}
			case account.Status.LastHandledRediscoverAt != token: // A region does not answer.
				return progress{text: "searching: " + account.Status.Rediscovered}
			default:
				return progress{text: account.Status.Rediscovered, done: true}
			}
		},
	})
}
