package members

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestOldKubernetes checks that a member that is too old is refused by name, and nothing is written there, with the
// agent or without.
func TestOldKubernetes(t *testing.T) {
	t.Parallel()
	for _, mode := range []v1.Mode{v1.ModeAgentless, v1.ModeAgent} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			var writes atomic.Int32
			all := endpoints{}
			all.add("old", &fakeAPI{version: "v1.29.3-gke.100", fail: func(r *http.Request) int {
				if r.Method != http.MethodGet && !r.URL.Query().Has("dryRun") && !strings.Contains(r.URL.Path, "reviews") {
					writes.Add(1)
				}
				return 0
			}})
			all.add("new", &fakeAPI{version: "v1.30.0"})
			f := start(t, Options{HubUID: "hub", Wrap: all.wrap})
			for name := range all {
				member := strings.TrimSuffix(name, ".test")
				f.Set(member, Target{Kubeconfig: kubeconfigFor(t, "https://"+name, nil), Mode: mode})
			}
			state := await(t, f, "old", func(s State) bool { return s.Ready.Reason != v1.ReasonConnecting })
			const says = "the cluster runs Kubernetes v1.29.3-gke.100, and 1.30 is the oldest that is supported: upgrade the cluster; what runs there stays"
			if state.Engaged || state.Ready.Reason != v1.ReasonKubernetesTooOld || state.Ready.Message != says {
				t.Errorf("Ready is %+v, engaged %t", state.Ready, state.Engaged)
			}
			if n := writes.Load(); n > 0 {
				t.Errorf("%d writes to a member that is too old", n)
			}
			state = await(t, f, "new", func(s State) bool { return s.Ready.Reason != v1.ReasonConnecting })
			if state.Ready.Reason == v1.ReasonKubernetesTooOld {
				t.Errorf("the oldest version is refused: %s", state.Ready.Message)
			}
		})
	}
}
