package backup

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// maxClaimants bounds the claimants of a hub that a status names.
const maxClaimants = 20

// claims returns who claims the backups of this hub, and of those that have some in an account, by the hub. It
// returns nil if that is not known of all.
func (a *auditor) claims(ctx context.Context, account *v1.CloudAccount, backups []v1.Backup) []v1.HubClaim {
	bucket, err := a.options.Accounts.Bucket(ctx, account.Name)
	if err != nil {
		return nil
	}
	hubs := map[string]bool{a.options.HubUID: true}
	for i := range backups {
		if hub := backups[i].Status.HubUID; hub != "" {
			hubs[hub] = true
		}
	}
	found := []v1.HubClaim{}
	for _, hub := range slices.Sorted(maps.Keys(hubs)) {
		claimants, err := claimantsOf(ctx, bucket, hub)
		switch {
		case err != nil:
			log.FromContext(ctx).Info("The claims of backups are not known", "account", account.Name, "hub", hub, "cause", err.Error())
			return nil
		case len(claimants) > 0:
			found = append(found, v1.HubClaim{Hub: hub, Claimants: claimants})
		}
	}
	return found
}

// claimantsOf returns the hubs that claim the backups of a hub, sorted.
func claimantsOf(ctx context.Context, objects cloud.ObjectStore, hub string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, getTimeout)
	defer cancel()
	var claimants []string
	for o, err := range objects.ListObjects(ctx, dumps.ClaimsRoot(hub)) {
		if err != nil {
			return nil, err
		}
		if claimant := dumps.Claimant(hub, o.Key); claimant != "" && len(claimants) < maxClaimants {
			claimants = append(claimants, claimant)
		}
	}
	return claimants, nil
}

// writeAccount writes what has no Backup in an account, and who claims what is there, if that changed.
func (a *auditor) writeAccount(ctx context.Context, l *lists) error {
	if err := l.orphans.settle(ctx); err != nil {
		return err
	}
	next := l.account.DeepCopy()
	next.Status.Orphans = l.orphans.status()
	if l.claims != nil {
		next.Status.Claims = l.claims
	}
	if equality.Semantic.DeepEqual(l.account.Status, next.Status) {
		return nil
	}
	if err := a.client.Status().Patch(ctx, next, retry.MergeFromLocked(l.account)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("writing the status of cloud account %q: %w", l.account.Name, err)
	}
	return nil
}
