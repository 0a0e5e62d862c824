package backup

import (
	"strings"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestAllowed checks that a Backup that the provider of the cluster does not support is refused.
func TestAllowed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		provider v1.Provider
		method   v1.BackupMethod
		regions  []string
		want     string
	}{
		"two regions on AWS":             {v1.ProviderAWS, v1.BackupSnapshot, []string{"a", "b"}, ""},
		"a region on Google Cloud":       {v1.ProviderGCP, v1.BackupSnapshot, []string{"a"}, ""},
		"two regions on Google Cloud":    {v1.ProviderGCP, v1.BackupSnapshot, []string{"a", "b"}, v1.ReasonInvalidSpec},
		"snapshots of another provider":  {v1.ProviderOther, v1.BackupSnapshot, nil, v1.ReasonCloudRefused},
		"copies of another provider":     {v1.ProviderOther, v1.BackupSnapshot, []string{"a"}, v1.ReasonCloudRefused},
		"a region for a dump":            {v1.ProviderAWS, v1.BackupDump, []string{"a"}, v1.ReasonInvalidSpec},
		"the provider is not known, yet": {"", v1.BackupSnapshot, []string{"a", "b"}, v1.ReasonProviderUnknown},
	} {
		b := &v1.Backup{Spec: v1.BackupSpec{Method: tt.method, CopyToRegions: tt.regions}}
		app := &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Database: &v1.Database{}}}
		member := &v1.MemberCluster{
			Spec:   v1.MemberClusterSpec{CloudAccountRef: &v1.ObjectReference{Name: "prod"}},
			Status: v1.MemberClusterStatus{Provider: tt.provider, Region: "c"},
		}
		if tt.provider == "" {
			member.Status.Region = ""
		}
		if result := canBackUp(b, app, member); result.Reason != tt.want {
			t.Errorf("%s: %+v, want the reason %q", name, result, tt.want)
		} else if result.Fatal && !strings.Contains(result.Message, ": ") {
			t.Errorf("%s: %q names no remedy", name, result.Message)
		}
	}
}
