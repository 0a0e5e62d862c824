package commands

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestSortedDecisions: --sort-by sorts what waits, and an orphan stays one.
func TestSortedDecisions(t *testing.T) {
	t.Parallel()
	app := func(name string) v1.EcommerceApp {
		return v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: name}}
	}
	for flag, want := range map[string][]string{
		"":                         {"c", "a", "d", "b", "us-1", "eu-1"},
		"--sort-by=.metadata.name": {"a", "c", "b", "d", "eu-1", "us-1"},
	} {
		found := decisions{
			apps: []v1.EcommerceApp{app("c"), app("a")}, orphans: []v1.EcommerceApp{app("d"), app("b")},
			members: []v1.MemberCluster{{ObjectMeta: metav1.ObjectMeta{Name: "us-1"}}, {ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}}},
		}
		l, _ := listing(t, flag)
		if err := found.sort(l.output); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, item := range found.list().Items {
			got = append(got, item.Object.(client.Object).GetName())
		}
		if diff := cmp.Diff(want, got); diff != "" || len(found.apps) != 2 || len(found.orphans) != 2 {
			t.Errorf("%q (-want +got):\n%s", flag, diff)
		}
	}
}
