package bench_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

const (
	// membersVariable is the environment variable with the number of fake members, and
	// memberShopsVariable with the number of shops in each of them.
	membersVariable     = "SHOPFLEET_BENCH_MEMBERS"
	memberShopsVariable = "SHOPFLEET_BENCH_MEMBER_SHOPS"
	defaultMembers      = 200
	defaultMemberShops  = 10
)

// measureMembers measures a hub with many members, which are fake, and shops in each. There is no
// baseline: what the figures are compared with is one another.
func (f *fixture) measureMembers(b *testing.B) {
	b.Helper()
	c := newCrowd(b, number(b, membersVariable, defaultMembers), number(b, memberShopsVariable, defaultMemberShops), framework.Options{})
	own := &fixture{b: b, binary: f.binary, logs: f.logs, Environment: c.Environment}
	c.reconciles = func(ctx context.Context) (map[string]float64, error) { return own.process.reconciles(ctx) }
	own.startHub(b)
	b.Cleanup(func() { own.process.stop() })
	began := time.Now()
	c.register(b, v1.Health{})
	size := fmt.Sprintf("%d members", len(c.names))
	f.value(b, size+" registered at once → all Ready", "%s", seconds(time.Since(began)))
	empty := own.process.memory(b)
	f.value(b, size+" without shops: live heap, resident memory, goroutines for each member", "%s", empty.forEach(len(c.names)))
	began, used := time.Now(), own.process.cpu(b)
	c.create(b)
	size += fmt.Sprintf(" × %d shops", c.shops)
	f.value(b, size+" created → all Running, processor time of the hub", "%s, %s", seconds(time.Since(began)), seconds(own.process.cpu(b)-used))
	f.measureCrowdRestart(b, own, c)
	began, used = time.Now(), own.process.cpu(b)
	apps, elsewhere := c.flap(b, c.names[0])
	f.value(b, fmt.Sprintf("one of %d members is lost and returns: looks at applications, of %d there", len(c.names), c.shops), "%d", apps)
	f.value(b, "… looks at copies in other members", "%d", elsewhere)
	f.value(b, "… processor time of the hub, in", "%s, %s", seconds(own.process.cpu(b)-used), seconds(time.Since(began)))
}

// measureCrowdRestart restarts the hub of a crowd. The restart has ended when the hub has looked at
// each application, and in each member at each copy.
func (f *fixture) measureCrowdRestart(b *testing.B, own *fixture, c *crowd) {
	b.Helper()
	c.settled(b)
	written, claims := c.writes(b)
	own.process.stop()
	from := c.Mark(b)
	own.startHub(b)
	framework.Eventually(b, "the hub to serve metrics", func(ctx context.Context) error {
		_, err := own.process.reconciles(ctx)
		return err
	})
	done := own.process.profile(b)
	took := c.awaitReconciled(b).Sub(own.process.started)
	used := own.process.cpu(b)
	c.settled(b)
	all := own.process.cpu(b)
	done()
	now, claimed := c.writes(b)
	added := more(written, now)
	for request, n := range added {
		b.Logf("written to members after the restart: %d × %s", n, request)
	}
	onHub := from.By(b, c.Fleet.Hub(), config.HubServiceAccount).Writes().Except("events", "leases")
	if len(onHub) > 0 {
		b.Logf("written to the hub after the restart:\n%s", onHub)
	}
	name := fmt.Sprintf("restart with %d members × %d shops", len(c.names), c.shops)
	f.value(b, name+" → each copy is looked at", "%s", seconds(took))
	f.value(b, "… processor time of the hub until then, until it is idle", "%s, %s", seconds(used), seconds(all))
	f.value(b, "… writes to members, claims of their records, writes to the hub", "%d, %d, %d", sum(added), claimed-claims, len(onHub))
	f.value(b, "… live heap, resident memory, goroutines for each member", "%s", own.process.memory(b).forEach(len(c.names)))
}

func sum(counts map[string]int) (n int) {
	for _, each := range counts {
		n += each
	}
	return n
}

// forEach returns the sizes, and the number of goroutines for each of n members.
func (m memory) forEach(n int) string {
	return fmt.Sprintf("%.0f MiB, %.0f MiB, %.1f", m.live, m.rss, float64(m.goroutines)/float64(n))
}

// reconciles returns how often each controller of the process has reconciled something. Unlike get, it
// returns an error while the process starts.
func (p *process) reconciles(ctx context.Context) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.debug+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	return reconcileTotals(string(raw))
}

// reconcileTotals parses controller_runtime_reconcile_total.
func reconcileTotals(metrics string) (map[string]float64, error) {
	totals := map[string]float64{}
	series := regexp.MustCompile(`(?m)^controller_runtime_reconcile_total\{controller="([^"]*)",result="[^"]*"\} (\S+)$`)
	for _, found := range series.FindAllStringSubmatch(metrics, -1) {
		n, err := strconv.ParseFloat(found[2], 64)
		if err != nil {
			return nil, fmt.Errorf("parsing the metrics: %w", err)
		}
		totals[found[1]] += n
	}
	return totals, nil
}
