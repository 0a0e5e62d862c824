package copies

import (
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
	"github.com/shopfleet/shopfleet/hub/app/state"
)

// TestFind checks that a lookup is asked for once: until it has ended.
func TestFind(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "a")
	m := f.Get("a")
	for _, tt := range []struct {
		answer recovery.Presence
		asks   int
	}{{recovery.NotLooked, 1}, {recovery.Absent, 0}} {
		m.memory.Answer(key(), "u-1", tt.answer)
		if got := m.Find(shop(1, 1)); got != tt.answer || f.queues[m].Len() != tt.asks {
			t.Errorf("found %d, want %d; %d requests, want %d", got, tt.answer, f.queues[m].Len(), tt.asks)
		}
		if tt.asks > 0 {
			request, _ := f.queues[m].Get()
			f.queues[m].Done(request)
		}
	}
}

// TestObservePauses checks that a pause of the cluster is observed, of the queue or of the MemberCluster.
func TestObservePauses(t *testing.T) {
	t.Parallel()
	for _, queue := range []bool{true, false} {
		for _, cluster := range []bool{true, false} {
			f := newFleet(t, "a")
			m := f.Get("a")
			m.cluster, m.paused = &caches{}, queue
			f.handOver(shop(1, 1, "a"))
			c := aggregate.Cluster{Paused: cluster}
			if known, err := m.Observe(t.Context(), facts(shop(1, 1, "a")), &c); known || err != nil {
				t.Errorf("observed before an attempt: %v", err)
			}
			f.act("a")
			if known, err := m.Observe(t.Context(), facts(shop(1, 1, "a")), &c); !known || err != nil || c.Paused != (queue || cluster) {
				t.Errorf("queue paused %t, cluster %t: observed %t, %v", queue, cluster, c.Paused, err)
			}
		}
	}
}

// TestObserveConfirms checks when an entry without a generation is known to have no copy.
func TestObserveConfirms(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		applied     int64
		isApplied   bool
		phase       v1.Phase
		unconfirmed bool
	}{
		"it had one":              {1, false, "", false},
		"it was applied":          {0, true, "", false},
		"neither":                 {0, false, "", true},
		"it had one, and is left": {1, true, v1.PhaseDeleting, true},
	} {
		f := newFleet(t, "a")
		m := f.Get("a")
		m.cluster = &caches{}
		app := shop(1, 1, "a")
		app.Status.Clusters[0].AppliedGeneration, app.Status.Clusters[0].Phase = tt.applied, tt.phase
		f.handOver(app)
		order := m.memory.Begin(key()).Order("a")
		m.memory.End(key(), &state.Result{App: "u-1", Hash: order.Hash, Applied: tt.isApplied})
		c := aggregate.Cluster{}
		if _, err := m.Observe(t.Context(), facts(app), &c); err != nil || c.Unconfirmed != tt.unconfirmed {
			t.Errorf("%s: unconfirmed %t, %v", name, c.Unconfirmed, err)
		}
	}
}

// TestObserveOthers checks that an object of the name that is not the copy is not observed.
func TestObserveOthers(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "a")
	m := f.Get("a")
	m.cluster = &caches{copied: shop(1, 0)}
	f.handOver(shop(1, 1, "a"))
	f.act("a")
	c := aggregate.Cluster{}
	if known, err := m.Observe(t.Context(), facts(shop(1, 1, "a")), &c); !known || err != nil || c.Copy != nil {
		t.Errorf("observed %+v, %v", c.Copy, err)
	}
}

// TestRevisit checks that a change of a member enqueues its copies there, and the applications that it may decide.
func TestRevisit(t *testing.T) {
	t.Parallel()
	f := newFleet(t, "a")
	f.handOver(shop(1, 1, "a", "away"))
	for member, queued := range map[string]int{"a": 1, "away": 0} {
		if got := f.Revisit(t.Context(), member); len(got) != 1 {
			t.Errorf("%s: %v, want the application", member, got)
		}
		if got := f.queues[f.Get("a")].Len(); member == "a" && got != queued {
			t.Errorf("%s: %d requests of the queue, want %d", member, got, queued)
		}
	}
	if got := f.Revisit(t.Context(), "other"); len(got) != 0 {
		t.Errorf("a member without applications: %v", got)
	}
}
