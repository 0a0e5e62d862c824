package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestNextRendering follows a version of pod templates through a fleet.
func TestNextRendering(t *testing.T) {
	t.Parallel()
	now, before := metav1.NewTime(time.Unix(2000, 0)), metav1.NewTime(time.Unix(1000, 0))
	cluster := func(name, region, has, renders string, change func(*RenderingCluster)) RenderingCluster {
		c := RenderingCluster{Name: name, Region: region, Has: Rendering{Version: has}, Renders: renders, Copied: true, Reachable: true, Ready: true, Held: has != renders}
		if change != nil {
			change(&c)
		}
		return c
	}
	began := func(c *RenderingCluster) { c.Has.Start = &before }
	bad := func(c *RenderingCluster) { c.Ready = false }
	lost := func(c *RenderingCluster) { c.Reachable = false }
	for name, tt := range map[string]struct {
		clusters []RenderingCluster
		change   func(*RenderingRequest)
		want     map[string]Rendering
	}{
		"a new copy has no pods to replace": {
			[]RenderingCluster{{Name: "a", Reachable: true}}, nil, map[string]Rendering{"a": {Version: "2"}},
		},
		"one begins, in the order of regions": {
			[]RenderingCluster{cluster("a", "eu", "1", "2", nil), cluster("b", "us", "1", "2", nil)},
			func(r *RenderingRequest) { r.Order = []string{"us"} },
			map[string]Rendering{"a": {Version: "1"}, "b": {Version: "2", Start: &now}},
		},
		"others wait until it is ready": {
			[]RenderingCluster{cluster("a", "eu", "2", "2", func(c *RenderingCluster) { began(c); bad(c) }), cluster("b", "us", "1", "2", nil)}, nil,
			map[string]Rendering{"a": {Version: "2", Start: &before}, "b": {Version: "1"}},
		},
		"and while it has pods of the version before": {
			[]RenderingCluster{cluster("a", "eu", "2", "2", func(c *RenderingCluster) { began(c); c.Held = true }), cluster("b", "us", "1", "2", nil)}, nil,
			map[string]Rendering{"a": {Version: "2", Start: &before}, "b": {Version: "1"}},
		},
		"then the next begins": {
			[]RenderingCluster{cluster("a", "eu", "2", "2", began), cluster("b", "us", "1", "2", nil)}, nil,
			map[string]Rendering{"a": {Version: "2"}, "b": {Version: "2", Start: &now}},
		},
		"a cluster that fails for another reason delays none": {
			[]RenderingCluster{cluster("a", "eu", "2", "2", bad), cluster("b", "us", "1", "2", nil)}, nil,
			map[string]Rendering{"a": {Version: "2"}, "b": {Version: "2", Start: &now}},
		},
		"clusters that are not ready come last": {
			[]RenderingCluster{cluster("a", "eu", "1", "2", bad), cluster("b", "us", "1", "2", nil)}, nil,
			map[string]Rendering{"a": {Version: "1"}, "b": {Version: "2", Start: &now}},
		},
		"and then at once": {
			[]RenderingCluster{cluster("a", "eu", "1", "2", bad), cluster("b", "us", "2", "2", nil), cluster("c", "us", "1", "2", bad)}, nil,
			map[string]Rendering{"a": {Version: "2"}, "b": {Version: "2"}, "c": {Version: "2"}},
		},
		"a cluster that is lost is skipped, and delays none": {
			[]RenderingCluster{cluster("a", "eu", "1", "2", lost), cluster("b", "eu", "2", "2", func(c *RenderingCluster) { began(c); bad(c); lost(c) }), cluster("c", "us", "1", "2", nil)}, nil,
			map[string]Rendering{"a": {Version: "1"}, "b": {Version: "2", Start: &before}, "c": {Version: "2", Start: &now}},
		},
		"an agent renders its own": {
			[]RenderingCluster{cluster("a", "eu", "1", "1", nil), cluster("b", "us", "1", "2", nil)}, nil,
			map[string]Rendering{"a": {Version: "1"}, "b": {Version: "2", Start: &now}},
		},
		"a copy of an earlier release": {
			[]RenderingCluster{cluster("a", "eu", "", "", nil), cluster("b", "us", "", "2", nil)}, nil,
			map[string]Rendering{"a": {}, "b": {Version: "2", Start: &now}},
		},
		"none begins during a rollout": {
			[]RenderingCluster{cluster("a", "eu", "1", "2", nil), cluster("b", "us", "1", "2", bad)}, func(r *RenderingRequest) { r.Waits = true },
			map[string]Rendering{"a": {Version: "1"}, "b": {Version: "1"}},
		},
		"all at once, if the user asks for this version": {
			[]RenderingCluster{cluster("a", "eu", "1", "2", nil), cluster("b", "us", "1", "3", nil)}, func(r *RenderingRequest) { r.AllAtOnce, r.Waits = "2", true },
			map[string]Rendering{"a": {Version: "2"}, "b": {Version: "1"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := RenderingRequest{Clusters: tt.clusters, Version: "2", Now: now}
			if tt.change != nil {
				tt.change(&request)
			}
			if diff := cmp.Diff(tt.want, NextRendering(request)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
