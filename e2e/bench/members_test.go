package bench_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

const (
	// fakeMembersVariable is the environment variable with the number of fake members, and
	// memberShopsVariable with the number of shops in each of them.
	fakeMembersVariable = "SHOPFLEET_BENCH_FAKE_MEMBERS"
	memberShopsVariable = "SHOPFLEET_BENCH_MEMBER_SHOPS"
	defaultFakeMembers  = 200
	defaultMemberShops  = 10
	// The mark of a member's goroutines is as many for each kind that is watched there, and these besides.
	goroutinesPerKind   = 10
	goroutinesPerMember = 20
)

// measureMembers measures a hub with many members, which are fake, and shops in each. There is no
// baseline: what the figures are compared with is one another.
func (f *fixture) measureMembers(b *testing.B) {
	b.Helper()
	c := newCrowd(b, number(b, fakeMembersVariable, defaultFakeMembers), number(b, memberShopsVariable, defaultMemberShops), framework.Options{})
	own := f.startCrowd(b, c)
	own.awaitQuiet(b)
	alone := own.process.memory(b)
	began := time.Now()
	c.register(b, v1.Health{})
	size := fmt.Sprintf("%d members", len(c.names))
	f.value(b, size+" registered at once → all Ready", "%s", seconds(time.Since(began)))
	empty := own.process.memory(b)
	f.value(b, size+" without shops: live heap, resident memory, goroutines for each member", "%s", empty.forEach(len(c.names), alone))
	kinds := float64(empty.kinds-alone.kinds) / float64(len(c.names))
	f.value(b, "… kinds watched in each member, goroutines that are their mark", "%.1f, %.0f", kinds, goroutinesPerKind*kinds+goroutinesPerMember)
	began, used := time.Now(), own.process.cpu(b)
	c.createEach(b)
	size += fmt.Sprintf(" × %d shops", c.shops)
	f.value(b, size+" created → all Running, processor time of the hub", "%s, %s", seconds(time.Since(began)), seconds(own.process.cpu(b)-used))
	f.measureCrowdRestart(b, own, c, alone)
	began, used = time.Now(), own.process.cpu(b)
	flap := c.flap(b, c.names[0])
	f.value(b, fmt.Sprintf("one of %d members is lost and returns: looks at applications", len(c.names)), "%d", flap.looks)
	f.value(b, fmt.Sprintf("… applications that were looked at, of %d there", len(flap.placed)), "%d", len(flap.looked))
	f.value(b, "… looks at copies in other members", "%d", flap.elsewhere)
	f.value(b, "… processor time of the hub, in", "%s, %s", seconds(own.process.cpu(b)-used), seconds(time.Since(began)))
}

// startCrowd starts the hub of a crowd, until the benchmark ends.
func (f *fixture) startCrowd(b *testing.B, c *crowd) *fixture {
	b.Helper()
	own := &fixture{b: b, binary: f.binary, logs: f.logs, Environment: c.Environment}
	c.reconciles = func(ctx context.Context) (map[string]float64, error) { return own.process.reconciles(ctx) }
	c.log, c.verbosity = filepath.Join(f.logs, hubLog), func(_ testing.TB, n int) { own.process.setVerbosity(b, n) }
	own.startHub(b)
	b.Cleanup(func() { own.process.stop() })
	return own
}

// measureCrowdRestart restarts the hub of a crowd. The restart has ended when the hub has looked at
// each application, and in each member at each copy.
func (f *fixture) measureCrowdRestart(b *testing.B, own *fixture, c *crowd, alone memory) {
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
	f.value(b, "… live heap, resident memory, goroutines for each member", "%s", own.process.memory(b).forEach(len(c.names), alone))
}

func sum(counts map[string]int) (n int) {
	for _, each := range counts {
		n += each
	}
	return n
}

// forEach returns the sizes in MB, as the marks are, and the number of goroutines for each of n members, less
// those of a hub alone.
func (m memory) forEach(n int, alone memory) string {
	const megabyte = 1e6 / (1 << 20)
	return fmt.Sprintf("%.0f MB, %.0f MB, %.1f", m.live/megabyte, m.rss/megabyte, float64(m.goroutines-alone.goroutines)/float64(n))
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
