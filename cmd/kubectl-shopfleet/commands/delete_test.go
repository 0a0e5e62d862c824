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
	recorded := func(name string) bool { return name == "us" }
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
		{"one is done", app(deleting("eu", false), deleting("us", true)), []string{"asia: deleted"}},
		{"all are done", nil, []string{"eu: deleted", "us: cannot be reached; the hub deletes the copy when it returns"}},
	} {
		if diff := cmp.Diff(step.want, p.update(step.app, recorded)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.name, diff)
		}
		if step.name == "one is done" {
			want := "To leave behind what cannot be reached: kubectl shopfleet delete shop -n shops --orphan"
			if got := p.hint(step.app); got != want {
				t.Errorf("hint %q, want %q", got, want)
			}
		}
	}
}
