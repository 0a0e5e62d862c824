package commands

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestAccept: an approval names all clusters that it concerns, and drops what no cluster needs.
func TestAccept(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		former   string
		clusters []string
		want     []string
		accepted string
	}{
		"all":                  {"", nil, []string{"a", "b", "c"}, "u/8,u/9"},
		"one":                  {"", []string{"c"}, []string{"c"}, "u/9"},
		"one with the same":    {"", []string{"a"}, []string{"a", "b"}, "u/8"},
		"one that has nothing": {"", []string{"d"}, nil, ""},
		"over a former one":    {"u/3", []string{"c"}, []string{"c"}, "u/9"},
		"beside one in use":    {"u/8", []string{"c"}, []string{"c"}, "u/8,u/9"},
		"beside a deletion":    {"u/deleted/2026-11-01T08:00:00Z", []string{"c"}, []string{"c"}, "u/deleted/2026-11-01T08:00:00Z,u/9"},
	} {
		app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1.RecoverAnnotation: tt.former}}}
		app.Status.Clusters = []v1.ClusterStatus{{Name: "a", UnknownOrigin: "u/8"}, {Name: "b", UnknownOrigin: "u/8"}, {Name: "c", UnknownOrigin: "u/9"}, {Name: "d"}}
		clusters, accepted := (&overwrite{clusters: tt.clusters}).accept(app)
		if diff := cmp.Diff(tt.want, clusters); diff != "" || accepted != tt.accepted {
			t.Errorf("%s: %q, want %q; clusters (-want +got):\n%s", name, accepted, tt.accepted, diff)
		}
	}
}
