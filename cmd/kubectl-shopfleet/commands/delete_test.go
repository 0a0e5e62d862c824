package commands

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func TestClusterProgress(t *testing.T) {
	t.Parallel()
	app := func(entries ...v1.ClusterStatus) *v1.EcommerceApp {
		a := &v1.EcommerceApp{}
		a.Namespace, a.Name = "shops", "shop"
		a.Status.Clusters = entries
		return a
	}
	running := func(name string) v1.ClusterStatus { return v1.ClusterStatus{Name: name, Phase: v1.PhaseRunning} }
	deleting := func(name string, stale bool) v1.ClusterStatus {
		c := v1.ClusterStatus{Name: name, Phase: v1.PhaseDeleting, Stale: stale, Reason: "Deleting", Message: "waiting"}
		if stale {
			c.Reason = "ClusterUnreachable"
		}
		return c
	}
	outcome := func(name string) string { return "outcome of " + name }
	p := newClusterProgress(app(running("eu"), running("us"), running("asia")))
	for _, step := range []struct {
		name string
		app  *v1.EcommerceApp
		want []string
	}{
		{"before the hub has seen it", app(running("eu"), running("us"), running("asia")), nil},
		{"in progress", app(deleting("eu", false), deleting("us", true), deleting("asia", false)),
			[]string{"asia: Deleting: waiting", "eu: Deleting: waiting", "us: ClusterUnreachable: waiting"}},
		{"no change", app(deleting("eu", false), deleting("us", true), deleting("asia", false)), nil},
		{"one is done", app(deleting("eu", false), deleting("us", true)), []string{"asia: outcome of asia"}},
		{"all are done", nil, []string{"eu: outcome of eu", "us: outcome of us"}},
	} {
		if diff := cmp.Diff(step.want, p.update(step.app, outcome)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
		if step.name == "one is done" {
			want := "To leave behind what cannot be reached: kubectl shopfleet delete shop -n shops --skip-unreachable"
			if got := (deletionProgress{p}).hint(); got != want {
				t.Errorf("hint %q, want %q", got, want)
			}
			if got, want := p.open(), "Not deleted yet in eu, us."; got != want {
				t.Errorf("open %q, want %q", got, want)
			}
		}
	}
}

// TestDeletionProgress: of several deletions each line names the application, and what is said to do is about those that
// wait for a cluster.
func TestDeletionProgress(t *testing.T) {
	t.Parallel()
	var apps []*v1.EcommerceApp
	for _, name := range []string{"cart", "shop"} {
		app := &v1.EcommerceApp{}
		app.Namespace, app.Name, app.Status.Clusters = "shops", name, []v1.ClusterStatus{{Name: "eu", Stale: name == "shop"}}
		apps = append(apps, app)
	}
	open := newDeletionProgress(apps)
	if got, want := open.open(), "cart: Not deleted yet in eu. shop: Not deleted yet in eu."; got != want {
		t.Errorf("open %q, want %q", got, want)
	}
	if got, want := open.hint(), "To leave behind what cannot be reached: kubectl shopfleet delete shop -n shops --skip-unreachable"; got != want {
		t.Errorf("hint %q, want %q", got, want)
	}
	if got, want := open[:1].hint(), "The deletion continues on the hub. See why: kubectl describe ecommerceapp cart -n shops"; got != want {
		t.Errorf("hint %q, want %q", got, want)
	}
}

// TestDeletionIsConfirmed: one question names all that is deleted.
func TestDeletionIsConfirmed(t *testing.T) {
	t.Parallel()
	app := func(name string, clusters ...string) *v1.EcommerceApp {
		a := &v1.EcommerceApp{}
		a.Namespace, a.Name = "shops", name
		for _, cluster := range clusters {
			a.Status.Clusters = append(a.Status.Clusters, v1.ClusterStatus{Name: cluster})
		}
		return a
	}
	for want, apps := range map[string][]*v1.EcommerceApp{
		"delete EcommerceApp shops/a in 2 clusters: eu, us":                     {app("a", "eu", "us")},
		"delete 2 EcommerceApps of namespace shops in all their clusters: a, b": {app("a", "eu"), app("b")},
	} {
		if got := deletionOf(apps); got != want {
			t.Errorf("the question is about %q, want %q", got, want)
		}
	}
}
