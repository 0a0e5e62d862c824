package commands

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
)

// TestWatchOfOneApp: a watch of one EcommerceApp prints the clusters that have changed, and not those that were observed anew.
func TestWatchOfOneApp(t *testing.T) {
	t.Parallel()
	l, printed := listing(t, "--no-headers")
	l.render = func(objects []client.Object, now time.Time) *metav1.Table {
		return printers.Apps(itemsOf[v1.EcommerceApp](objects), now)
	}
	l.changes = (&status{regions: []string{"eu", "us"}}).changes()
	at := metav1.NewTime(l.clock.Now().Add(-time.Minute))
	app := func(version string, edit func(eu *v1.ClusterStatus)) client.Object {
		a := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "shop", ResourceVersion: version}}
		for _, region := range []string{"asia", "eu", "us"} {
			a.Status.Clusters = append(a.Status.Clusters, v1.ClusterStatus{
				Name: region + "-1", Region: region, Ready: true, Phase: v1.PhaseRunning, Replicas: 3, ReadyReplicas: 3, LastObservedTime: &at,
			})
		}
		edit(&a.Status.Clusters[1])
		return a
	}
	later := metav1.NewTime(l.clock.Now().Add(-time.Second))
	versions := map[string]string{}
	for _, object := range []client.Object{
		&v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "shop", ResourceVersion: "0"}},
		app("1", func(*v1.ClusterStatus) {}),
		app("2", func(eu *v1.ClusterStatus) { eu.LastObservedTime = &later }),
		app("3", func(eu *v1.ClusterStatus) { eu.Stale, eu.Reason = true, "ClusterUnreachable" }),
		app("4", func(*v1.ClusterStatus) {}),
	} {
		if err := l.printChanged([]client.Object{object}, versions); err != nil {
			t.Fatal(err)
		}
	}
	want := "shop   -     -     0     0     -     -\n" +
		"eu     eu-1   True   Running   3/3   60s   -\nus     us-1   True   Running   3/3   60s   -\n" +
		"eu     eu-1   False   Unknown   3/3   60s (stale)   ClusterUnreachable\neu     eu-1   True    Running   3/3   60s           -\n"
	if diff := cmp.Diff(want, printed()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}
