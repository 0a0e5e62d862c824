package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
)

// regions returns the regions in which to verify an account.
func (r *Reconciler) regions(ctx context.Context, account *v1.CloudAccount) ([]string, error) {
	members, apps := &v1.MemberClusterList{}, &v1.EcommerceAppList{}
	if err := r.client.List(ctx, members, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing member clusters: %w", err)
	}
	if err := r.client.List(ctx, apps, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing applications: %w", err)
	}
	return regionsInUse(account, members.Items, apps.Items), nil
}

// regionsInUse returns the regions of the members that use an account, and the regions that their
// databases' snapshots are copied to, sorted. Without any it returns a region of the spec, otherwise
// a default: credentials are verified before they are used.
func regionsInUse(account *v1.CloudAccount, members []v1.MemberCluster, apps []v1.EcommerceApp) []string {
	found, using := map[string]bool{}, map[string]bool{}
	for i := range members {
		m := &members[i]
		// A cluster of another provider uses only the bucket of the account. The provider is
		// unknown until the cluster was connected.
		uses := m.Status.Provider == account.Spec.Provider && m.Spec.CloudAccountRef != nil && m.Spec.CloudAccountRef.Name == account.Name
		if uses && m.Status.Region != "" {
			using[m.Name], found[m.Status.Region] = true, true
		}
	}
	if csi.CapabilitiesOf(account.Spec.Provider).Copy == csi.CopyByCopy {
		for i := range apps {
			for _, region := range copyRegions(&apps[i], using) {
				found[region] = true
			}
		}
	}
	allowed := account.Spec.Regions
	maps.DeleteFunc(found, func(region string, _ bool) bool { return len(allowed) > 0 && !slices.Contains(allowed, region) })
	switch {
	case len(found) > 0:
		return slices.Sorted(maps.Keys(found))
	case len(allowed) > 0:
		return []string{slices.Min(allowed)}
	default:
		return []string{anyRegion(&account.Spec)}
	}
}

// copyRegions returns the regions that snapshots of an application are copied to, if one of its
// clusters is among some.
func copyRegions(app *v1.EcommerceApp, clusters map[string]bool) []string {
	database := app.Spec.Database
	if database == nil || !database.Backup.Enabled || database.Backup.Method == v1.BackupDump {
		return nil
	}
	placed := slices.ContainsFunc(app.Status.Clusters, func(c v1.ClusterStatus) bool { return clusters[c.Name] })
	if !placed {
		return nil
	}
	return database.Backup.CopyToRegions
}

// anyRegion returns a region that is enabled in every account of a provider, and that has a resource group.
func anyRegion(account *v1.CloudAccountSpec) string {
	switch {
	case account.Provider == v1.ProviderAWS:
		return "us-east-1"
	case account.Provider == v1.ProviderGCP:
		return "us-central1"
	case account.Azure == nil || len(account.Azure.ResourceGroups) == 0:
		return "eastus"
	default:
		return slices.Min(slices.Collect(maps.Keys(account.Azure.ResourceGroups)))
	}
}
