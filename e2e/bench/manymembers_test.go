package bench_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/setup"
	"github.com/shopfleet/shopfleet/spoke/runtime/manager"
)

const (
	// gateMembers and gateShops are the size of the fleet of TestManyMembers.
	gateMembers = 12
	gateShops   = 3
	// looksPerShop bounds how often the hub looks at each application of a member that is lost and
	// returns: a few times for each state of the member, and for the statuses that are written.
	looksPerShop = 10
)

// TestManyMembers counts what a hub does that has many members: after a restart it writes nothing,
// and when one member is lost and returns, it looks at what is placed there alone.
func TestManyMembers(t *testing.T) {
	level, log := &manager.Level{}, newLog(t)
	c := newCrowd(t, gateMembers, gateShops, framework.Options{Hub: func(o *setup.Options) {
		o.Timeouts, o.Logger = framework.Timeouts(), manager.NewLogger(log, level)
	}})
	c.log, c.verbosity = log.Name(), func(t testing.TB, n int) {
		t.Helper()
		if err := level.Set(n); err != nil {
			t.Error(err)
		}
	}
	c.StartHub(t)
	started := gathered(t)
	c.reconciles = func(context.Context) (map[string]float64, error) { return since(started, gathered(t)), nil }
	c.register(t, framework.Health())
	c.createEach(t)
	c.settled(t)

	written, claims := c.writes(t)
	c.StopHub()
	marked := c.Mark(t)
	started = gathered(t)
	c.StartHub(t)
	c.awaitReconciled(t)
	c.settled(t)
	now, claimed := c.writes(t)
	if added := more(written, now); len(added) > 0 {
		t.Errorf("the hub wrote to members after a restart: %v", added)
	}
	if claimed -= claims; claimed != gateMembers {
		t.Errorf("the hub claimed members %d times, want once each of %d", claimed, gateMembers)
	}
	if onHub := marked.By(t, c.Fleet.Hub(), config.HubServiceAccount).Writes().Except("events", "leases"); len(onHub) > 0 {
		t.Errorf("the hub wrote to its own API server after a restart:\n%s", onHub)
	}

	flap := c.flap(t, c.names[0])
	t.Logf("a flap of a member with %d shops: the hub looked at applications %d times, and at copies in other members %d times", gateShops, flap.looks, flap.elsewhere)
	if diff := cmp.Diff(flap.placed, flap.looked); diff != "" || len(flap.placed) != gateShops {
		t.Errorf("the hub looked at other applications than the %d that run in the member (-want +got):\n%s", gateShops, diff)
	}
	if flap.looks > looksPerShop*gateShops {
		t.Errorf("the hub looked at applications %d times, want at most %d for %d shops", flap.looks, looksPerShop*gateShops, gateShops)
	}
	if flap.elsewhere > 0 {
		t.Errorf("the hub looked at copies in other members %d times", flap.elsewhere)
	}
}

// newLog returns a file for the log of a hub.
func newLog(t *testing.T) *os.File {
	t.Helper()
	log, err := os.Create(filepath.Join(t.TempDir(), "hub.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return log
}

// gathered returns how often controllers of this process have reconciled something.
func gathered(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	totals := map[string]float64{}
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, series := range family.GetMetric() {
			totals[controllerOf(series)] += series.GetCounter().GetValue()
		}
	}
	return totals
}

func controllerOf(series *dto.Metric) string {
	for _, label := range series.GetLabel() {
		if label.GetName() == "controller" {
			return label.GetValue()
		}
	}
	return ""
}

// since returns what was added to totals. Those of a member begin anew when it is engaged again.
func since(before, after map[string]float64) map[string]float64 {
	added := map[string]float64{}
	for name, n := range after {
		if !strings.HasPrefix(name, copyController) {
			n -= before[name]
		}
		added[name] = n
	}
	return added
}
