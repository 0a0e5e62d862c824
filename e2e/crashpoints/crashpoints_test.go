package crashpoints_test

import (
	"flag"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

func TestMain(m *testing.M) {
	framework.Silence()
	// The groups wait most of the time: all run at the same time.
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(len(allGroups()))); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// group is a set of workloads that share a fleet.
type group struct {
	name      string
	workloads []workload
}

// allGroups returns all workloads in groups that take about as long as each other.
func allGroups() []group {
	return []group{
		{name: "applications", workloads: appWorkloads()},
		{name: "rollouts and members", workloads: slices.Concat(rolloutWorkloads(), memberWorkloads())},
		{name: "data", workloads: dataWorkloads()},
	}
}

// TestCrashPoints kills the hub at its writes.
func TestCrashPoints(t *testing.T) {
	chosen := choice{variable: os.Getenv(pointsVariable), seed: fleettest.Seed(t, seedVariable)}
	t.Cleanup(func() { t.Logf("The same points again: %s", chosen) })
	groups, err := chosen.groups()
	if err != nil {
		t.Fatal(err)
	}
	sum := newTable()
	t.Run("in", func(t *testing.T) {
		for _, g := range groups {
			t.Run(g.name, func(t *testing.T) {
				t.Parallel()
				g.test(t, chosen, sum)
			})
		}
	})
	t.Logf("Seconds of a point: %s. In all: %s", sum.phases(), sum.elapsed())
	t.Logf("\n%s", sum)
}

// test tests the chosen points of the group's workloads.
func (g group) test(t *testing.T, chosen choice, sum *table) {
	t.Helper()
	s := newSuite(t, g, sum)
	refs := s.references(t)
	points, err := chosen.points(refs)
	if err != nil {
		t.Fatal(err)
	}
	s.testAll(t, refs, points)
}

// references executes the workloads once without a crash, those about applications at the same
// time.
func (s *suite) references(t *testing.T) map[string]*reference {
	t.Helper()
	var all []*reference
	var members, others []workload
	for _, w := range s.group.workloads {
		if w.fleetwide {
			members = append(members, w)
		} else {
			others = append(others, w)
		}
	}
	// The first one joins the member that the others need.
	for i, w := range members {
		all = append(all, s.refer(t, w)...)
		if i == 0 && len(others) > 0 {
			all = append(all, s.refer(t, others...)...)
		}
	}
	if len(members) == 0 {
		all = s.refer(t, others...)
	}
	byName := map[string]*reference{}
	for _, ref := range all {
		byName[ref.name] = ref
		s.sum.refer(ref)
		t.Logf("%s: %d writes:\n%s", ref.name, len(ref.sites), keys(ref.sites))
	}
	return byName
}

// testAll tests points, and prints how far it is.
func (s *suite) testAll(t *testing.T, refs map[string]*reference, all []point) {
	t.Helper()
	done := 0
	for points := range slices.Chunk(all, sampleSize) {
		// Those about members are alone: they change what the others need.
		apart := slices.IndexFunc(points, func(p point) bool { return refs[p.workload].fleetwide })
		if apart < 0 {
			apart = len(points)
		}
		s.testPoints(t, refs, points[:apart])
		for _, p := range points[apart:] {
			s.testPoints(t, refs, []point{p})
		}
		done += len(points)
		t.Logf("%s: %d of %d points after %s", s.group.name, done, len(all), s.sum.elapsed())
	}
	if s.has(usMember) {
		s.ensureMember(t)
	}
	s.awaitEmpty(t)
}

// testPoints tests points of which the applications are created at once.
func (s *suite) testPoints(t *testing.T, refs map[string]*reference, points []point) {
	t.Helper()
	var runs []*run
	for _, p := range points {
		runs = append(runs, s.newRun(t, refs[p.workload].workload))
	}
	for _, r := range runs {
		r.start(t)
	}
	for _, r := range runs {
		if r.before != nil {
			r.awaitReady(t) // No crash before the step of any.
		}
	}
	for i, p := range points {
		s.sum.add(p, s.test(t, refs[p.workload], p, runs[i]))
	}
}
