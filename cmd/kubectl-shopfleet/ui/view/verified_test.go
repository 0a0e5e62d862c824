package view

import (
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestVerifiedFrom checks what is said of where a verification ran, as far as that is known.
func TestVerifiedFrom(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		verified *v1.Verified
		want     string
	}{
		"by a hub of before": {nil, ""},
		"nowhere":            {&v1.Verified{}, ""},
		"no region":          {&v1.Verified{From: v1.VerifiedFrom{Cluster: "us-1"}}, "in us-1"},
		"all of it":          {&v1.Verified{From: v1.VerifiedFrom{Cluster: "us-1", Region: "us-east-1"}}, "from us-east-1 in us-1"},
	} {
		if got := verifiedFrom(tt.verified); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
