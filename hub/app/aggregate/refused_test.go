package aggregate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestStatusRejection names the clusters whose entries the API server refuses, and no other ones for a field
// that has none.
func TestStatusRejection(t *testing.T) {
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
		if got := StatusRejection(status, test.fields, "too long"); !strings.Contains(got, test.want) || !strings.HasSuffix(got, "(too long)") {
			t.Errorf("%q: %q, want %q", test.fields, got, test.want)
		}
	}
}

// TestWithoutReports checks that the hub's own conclusions stay in an entry, such as why a cluster does not respond.
func TestWithoutReports(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ entry, want v1.ClusterStatus }{
		"no reason":      {v1.ClusterStatus{Message: "m", Ready: true}, v1.ClusterStatus{Ready: true}},
		"of the cluster": {v1.ClusterStatus{Reason: "R", Replicas: 2}, v1.ClusterStatus{Reason: v1.ReasonStatusRejected}},
		"of the hub":     {v1.ClusterStatus{Reason: "R", Stale: true}, v1.ClusterStatus{Reason: "R", Stale: true}},
		"degraded":       {v1.ClusterStatus{DegradedReason: "R"}, v1.ClusterStatus{DegradedReason: v1.ReasonStatusRejected}},
	} {
		entries := []v1.ClusterStatus{test.entry}
		withoutReports(entries)
		if diff := cmp.Diff(test.want, entries[0]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
