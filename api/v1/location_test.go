package v1

import "testing"

// TestLocated: what is known of a member comes first, then its spec, then what an application has recorded.
func TestLocated(t *testing.T) {
	t.Parallel()
	entry := &ClusterStatus{Region: "entry", Provider: ProviderAWS}
	for name, tt := range map[string]struct {
		member   MemberCluster
		entry    *ClusterStatus
		region   string
		provider Provider
	}{
		"status":   {MemberCluster{Status: MemberClusterStatus{Region: "status", Provider: ProviderGCP}, Spec: MemberClusterSpec{Region: "spec"}}, entry, "status", ProviderGCP},
		"spec":     {MemberCluster{Spec: MemberClusterSpec{Region: "spec", Provider: ProviderAzure}}, entry, "spec", ProviderAzure},
		"entry":    {MemberCluster{}, entry, "entry", ProviderAWS},
		"of each":  {MemberCluster{Status: MemberClusterStatus{Provider: ProviderOther}}, entry, "entry", ProviderOther},
		"no entry": {MemberCluster{}, nil, "", ""},
	} {
		got := tt.member.Located(tt.entry).Status
		if got.Region != tt.region || got.Provider != tt.provider {
			t.Errorf("%s: region %q and provider %q", name, got.Region, got.Provider)
		}
	}
	lost := &MemberCluster{}
	if lost.Located(entry); lost.Status.Region != "" {
		t.Error("the member was changed")
	}
}
