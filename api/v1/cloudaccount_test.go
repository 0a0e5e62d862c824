package v1

import "testing"

// TestGroupOf: one resource group serves every region, and of several each its own.
func TestGroupOf(t *testing.T) {
	t.Parallel()
	one := &AzureAccount{ResourceGroups: map[string]ResourceGroup{"westeurope": "all"}}
	each := &AzureAccount{ResourceGroups: map[string]ResourceGroup{"westeurope": "eu", "eastus": "us"}}
	for _, tt := range []struct {
		account *AzureAccount
		region  string
		want    string
	}{
		{one, "westeurope", "all"}, {one, "eastus", "all"}, {each, "westeurope", "eu"}, {each, "eastus", "us"}, {each, "southeastasia", ""}, {&AzureAccount{}, "eastus", ""},
	} {
		if got := tt.account.GroupOf(tt.region); got != tt.want {
			t.Errorf("group of %s among %v: %q, want %q", tt.region, tt.account.ResourceGroups, got, tt.want)
		}
	}
}
