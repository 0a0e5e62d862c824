package aggregate

import (
	"strings"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestRefusal names the clusters whose entries the API server refuses, and no other ones for a field
// that has none.
func TestRefusal(t *testing.T) {
	t.Parallel()
	status := &v1.EcommerceAppStatus{Clusters: []v1.ClusterStatus{{Name: "b"}, {Name: "a"}}}
	for _, test := range []struct {
		fields []string
		want   string
	}{
		{nil, "what a cluster reports"},
		{[]string{"status.clusters[0].message"}, "what b reports"},
		{[]string{"status.clusters[1].message"}, "what a reports"},
		{[]string{"status.clusters[0].message", "status.clusters[1].reason", "status.clusters[1].message"}, "what a, b reports"},
		{[]string{"status.clusters[2].message"}, "what a cluster reports"},
		{[]string{"status.clusters[-1].message"}, "what a cluster reports"},
		{[]string{"status.regions[0].name", "status.clusters"}, "what a cluster reports"},
	} {
		if got := Refusal(status, test.fields, "too long"); !strings.Contains(got, test.want) || !strings.HasSuffix(got, "(too long)") {
			t.Errorf("%q: %q, want %q", test.fields, got, test.want)
		}
	}
}
