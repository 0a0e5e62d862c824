package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestRegionOfAGroup checks that an account that is used nowhere is verified in a region that has a resource group.
func TestRegionOfAGroup(t *testing.T) {
	t.Parallel()
	grouped := &v1.CloudAccount{Spec: v1.CloudAccountSpec{Provider: v1.ProviderAzure, Azure: &v1.AzureAccount{
		ResourceGroups: map[string]v1.ResourceGroup{"westeurope": "eu", "southeastasia": "asia"},
	}}}
	if diff := cmp.Diff([]string{"southeastasia"}, regionsInUse(grouped, nil, nil)); diff != "" {
		t.Errorf("regions (-want +got):\n%s", diff)
	}
}

func TestRegionsInUse(t *testing.T) {
	t.Parallel()
	member := func(name, region, account string, provider v1.Provider) v1.MemberCluster {
		m := v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		m.Status.Provider, m.Status.Region = provider, region
		if account != "" {
			m.Spec.CloudAccountRef = &v1.ObjectReference{Name: account}
		}
		return m
	}
	app := func(cluster string, backup v1.BackupPolicy) v1.EcommerceApp {
		return v1.EcommerceApp{
			Spec:   v1.EcommerceAppSpec{Database: &v1.Database{Backup: backup}},
			Status: v1.EcommerceAppStatus{Clusters: []v1.ClusterStatus{{Name: cluster}}},
		}
	}
	policy := v1.BackupPolicy{Enabled: true, CopyToRegions: []string{"ap-south-1", "us-east-1"}}
	dumps, disabled := policy, policy
	dumps.Method, disabled.Enabled = v1.BackupDump, false
	eu := member("eu-1", "eu-west-1", "prod", v1.ProviderAWS)
	for name, tt := range map[string]struct {
		provider v1.Provider
		allowed  []string
		members  []v1.MemberCluster
		apps     []v1.EcommerceApp
		want     []string
	}{
		"no members":           {v1.ProviderAWS, nil, nil, nil, []string{"us-east-1"}},
		"no members, allowed":  {v1.ProviderAWS, []string{"eu-west-2", "eu-west-1"}, nil, nil, []string{"eu-west-1"}},
		"no members, on Azure": {v1.ProviderAzure, nil, nil, nil, []string{"eastus"}},
		"each region of members once": {
			v1.ProviderAWS, nil, []v1.MemberCluster{member("us-1", "us-west-2", "prod", v1.ProviderAWS), eu, member("eu-2", "eu-west-1", "prod", v1.ProviderAWS)}, nil,
			[]string{"eu-west-1", "us-west-2"},
		},
		"members of others": {
			v1.ProviderAWS, nil, []v1.MemberCluster{
				eu, member("a", "eu-central-1", "test", v1.ProviderAWS), member("b", "eu-north-1", "", v1.ProviderAWS),
				member("c", "europe-west1", "prod", v1.ProviderGCP), member("d", "", "prod", v1.ProviderAWS), member("e", "eu-south-1", "prod", ""),
			}, nil, []string{"eu-west-1"},
		},
		"copies":                       {v1.ProviderAWS, nil, []v1.MemberCluster{eu}, []v1.EcommerceApp{app("eu-1", policy)}, []string{"ap-south-1", "eu-west-1", "us-east-1"}},
		"copies of an allowed region":  {v1.ProviderAWS, []string{"us-east-1", "eu-west-1"}, []v1.MemberCluster{eu}, []v1.EcommerceApp{app("eu-1", policy)}, []string{"eu-west-1", "us-east-1"}},
		"copies of other clusters":     {v1.ProviderAWS, nil, []v1.MemberCluster{eu}, []v1.EcommerceApp{app("us-1", policy)}, []string{"eu-west-1"}},
		"dumps are not copied":         {v1.ProviderAWS, nil, []v1.MemberCluster{eu}, []v1.EcommerceApp{app("eu-1", dumps)}, []string{"eu-west-1"}},
		"no backups":                   {v1.ProviderAWS, nil, []v1.MemberCluster{eu}, []v1.EcommerceApp{app("eu-1", disabled), {}}, []string{"eu-west-1"}},
		"locations are no regions":     {v1.ProviderGCP, nil, []v1.MemberCluster{member("eu-1", "europe-west1", "prod", v1.ProviderGCP)}, []v1.EcommerceApp{app("eu-1", v1.BackupPolicy{Enabled: true, CopyToRegions: []string{"eu"}})}, []string{"europe-west1"}},
		"a member outside of the list": {v1.ProviderAWS, []string{"us-east-1"}, []v1.MemberCluster{eu}, nil, []string{"us-east-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			account := &v1.CloudAccount{ObjectMeta: metav1.ObjectMeta{Name: "prod"}, Spec: v1.CloudAccountSpec{Provider: tt.provider, Regions: tt.allowed}}
			if diff := cmp.Diff(tt.want, regionsInUse(account, tt.members, tt.apps)); diff != "" {
				t.Errorf("regions (-want +got):\n%s", diff)
			}
		})
	}
}
