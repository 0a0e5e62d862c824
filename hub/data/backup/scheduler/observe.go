package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// observe reads the input of the Decision about an application, which is nil once it is gone.
func (r *Reconciler) observe(ctx context.Context, key client.ObjectKey, app *v1.EcommerceApp) (input, error) {
	in := input{
		app: app, hub: r.options.HubUID, now: r.options.Clock.Now(), waits: r.options.Waits, safeMode: r.options.SafeMode,
		members: map[string]*v1.MemberCluster{}, compared: map[string]bool{}, copied: map[string]v1.CopiedServer{}, skews: map[string]time.Duration{},
		accounts: map[string]*v1.CloudAccount{}, buckets: map[string]bool{},
	}
	in.pastStart = in.now.Sub(r.started()) > startGrace
	if app != nil {
		for _, entry := range app.Status.Clusters {
			if err := r.observeCluster(ctx, &in, entry.Name); err != nil {
				return input{}, err
			}
		}
	}
	var err error
	if in.backups, err = r.backupsOf(ctx, key); err != nil {
		return input{}, err
	}
	for i := range in.backups {
		account := in.backups[i].Status.Account
		if ahead, known := r.options.Skew(account); known {
			in.skews[account] = ahead
		}
		if err := r.observeAccount(ctx, &in, account); err != nil {
			return input{}, err
		}
		// The cluster may have been left.
		if err := r.observeMember(ctx, &in, in.backups[i].Spec.ClusterRef.Name); err != nil {
			return input{}, err
		}
	}
	if err := r.observeRegions(ctx, &in); err != nil {
		return input{}, err
	}
	restores := &v1.RestoreList{}
	if err := r.client.List(ctx, restores, client.InNamespace(key.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return input{}, fmt.Errorf("listing restores: %w", err)
	}
	in.restores = restores.Items
	return in, nil
}

// backupsOf returns the Backups of an application, and of former ones of its name.
func (r *Reconciler) backupsOf(ctx context.Context, key client.ObjectKey) ([]v1.Backup, error) {
	list := &v1.BackupList{}
	if err := r.client.List(ctx, list, client.InNamespace(key.Namespace), client.MatchingFields{backupsByApp: key.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing backups: %w", err)
	}
	return list.Items, nil
}

// observeMember reads a member, unless it was read.
func (r *Reconciler) observeMember(ctx context.Context, in *input, cluster string) error {
	if in.members[cluster] != nil {
		return nil
	}
	member := &v1.MemberCluster{} // Only read.
	err := r.client.Get(ctx, client.ObjectKey{Name: cluster}, member, client.UnsafeDisableDeepCopy)
	switch {
	case err == nil:
		in.members[cluster] = member
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("getting member %q: %w", cluster, err)
	}
	return nil
}

// observeRegions reads the members in which copies can be verified.
func (r *Reconciler) observeRegions(ctx context.Context, in *input) error {
	if in.app == nil || in.app.Spec.Database == nil || in.app.Spec.Database.Backup.Verify.Schedule == "" {
		return nil
	}
	regions := map[string]bool{}
	for i := range in.backups {
		for _, region := range in.backups[i].Spec.CopyToRegions {
			regions[region] = true
		}
	}
	if len(regions) == 0 {
		return nil
	}
	list := &v1.MemberClusterList{}
	if err := r.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing members: %w", err)
	}
	for i := range list.Items {
		if regions[list.Items[i].Status.Region] {
			in.withCopies = append(in.withCopies, &list.Items[i])
		}
	}
	slices.SortFunc(in.withCopies, func(a, b *v1.MemberCluster) int { return strings.Compare(a.Name, b.Name) })
	return nil
}

// observeCluster reads what a Decision depends on in a cluster that the application is in.
func (r *Reconciler) observeCluster(ctx context.Context, in *input, cluster string) (err error) {
	if err := r.observeMember(ctx, in, cluster); err != nil {
		return err
	}
	if member := in.members[cluster]; member != nil {
		if in.buckets[cluster], err = r.hasBucket(ctx, member); err != nil {
			return err
		}
	}
	in.compared[cluster], in.copied[cluster], err = r.options.Compared(ctx, in.app, cluster)
	return err
}

// hasBucket reports whether the CloudAccount of a member has a bucket.
func (r *Reconciler) hasBucket(ctx context.Context, member *v1.MemberCluster) (bool, error) {
	if member.Spec.CloudAccountRef == nil {
		return false, nil
	}
	account := &v1.CloudAccount{} // Only read.
	err := r.client.Get(ctx, client.ObjectKey{Name: member.Spec.CloudAccountRef.Name}, account, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("getting CloudAccount %q: %w", member.Spec.CloudAccountRef.Name, err)
	}
	return err == nil && account.Spec.ObjectStorage != nil, nil
}

// observeAccount reads the account that has a Backup, unless it was read.
func (r *Reconciler) observeAccount(ctx context.Context, in *input, name string) error {
	if name == "" || in.accounts[name] != nil {
		return nil
	}
	account := &v1.CloudAccount{} // Only read.
	err := r.client.Get(ctx, client.ObjectKey{Name: name}, account, client.UnsafeDisableDeepCopy)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("getting CloudAccount %q: %w", name, err)
	}
	if err == nil {
		in.accounts[name] = account
	}
	return nil
}
