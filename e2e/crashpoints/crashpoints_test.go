package crashpoints_test

import (
	"context"
	"net/url"
	"os"
	"slices"
	"testing"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/queues"
	"github.com/shopfleet/shopfleet/hub/setup"
)

func TestMain(m *testing.M) {
	framework.Silence()
	os.Exit(m.Run())
}

const (
	hubName            = "hub"
	euMember, usMember = "eu-1", "us-1"
	eu, us             = "eu-west-1", "us-central1"
)

const (
	// leaseDuration is how long a new process waits for the Lease of a killed one.
	leaseDuration = time.Second
	// longestWait bounds the waits of the hub, resyncs included, without the chance that it
	// adds; quiet is how long nothing may be written after a workload has converged.
	longestWait = 3 * time.Second
	quiet       = time.Second
	// progressPeriod is shorter than by default, because workloads end with progress.
	progressPeriod = 300 * time.Millisecond
)

// suite is a fleet with a hub that is killed again and again.
type suite struct {
	*framework.Environment
	hub *hub
	// runs counts the namespaces.
	runs int
	// left has the runs whose applications are being deleted.
	left []*run
	// canary is an application that no workload is about.
	canary *v1.EcommerceApp
	// last marks the end of what was read of the audit logs.
	last framework.Marks
}

func newSuite(t *testing.T) *suite {
	t.Helper()
	s := &suite{Environment: framework.New(t, framework.Options{
		Fleet: fleet.Options{
			Hub: fleet.ClusterSpec{Name: hubName, APIServerOnly: true},
			Members: []fleet.ClusterSpec{
				{Name: euMember, Provider: fleet.AWS, Region: eu, Nodes: 2},
				{Name: usMember, Provider: fleet.GCP, Region: us, Nodes: 2},
			},
		},
	})}
	s.hub = &hub{clusters: map[string]string{}, options: setup.Options{
		Kubeconfig: s.KubeconfigFile(t, s.Fleet.Hub(), config.HubServiceAccount),
		Namespace:  config.Namespace, Version: "test", Options: framework.ProcessOptions(t),
		Waits: queues.Waits{Scale: 0.1, Longest: longestWait}, Timeouts: framework.Timeouts(),
		ProgressPeriod: progressPeriod,
	}}
	s.hub.options.LeaderElect, s.hub.options.LeaseDuration = true, leaseDuration
	for _, c := range s.Fleet.Clusters() {
		server, err := url.Parse(c.Server())
		if err != nil {
			t.Fatal(err)
		}
		s.hub.clusters[server.Host] = c.Name()
	}
	s.Run("the hub", func(ctx context.Context) error { return s.hub.run(ctx, t) })
	s.Register(t, euMember)
	s.AwaitMembers(t, euMember)
	s.canary = framework.Small("canary", "canary", euMember)
	s.Create(t, s.canary)
	return s
}

// references executes workloads once without a crash, all of them if only is empty. The
// member that the others need joins first.
func (s *suite) references(t *testing.T, only string) map[string]*reference {
	t.Helper()
	members, others := memberWorkloads(), appWorkloads()
	all := s.refer(t, members[0])
	if only != "" {
		unwanted := func(w workload) bool { return w.name != only }
		members, others = slices.DeleteFunc(members[1:], unwanted), slices.DeleteFunc(others, unwanted)
	} else {
		members = members[1:]
	}
	all = append(all, s.refer(t, others...)...)
	for _, w := range members {
		all = append(all, s.refer(t, w)...)
	}
	byName := map[string]*reference{}
	for _, ref := range all {
		byName[ref.name] = ref
		t.Logf("%s: %d writes:\n%s", ref.name, len(ref.sites), keys(ref.sites))
	}
	return byName
}

// testPoints tests points of which the applications are created at once.
func (s *suite) testPoints(t *testing.T, refs map[string]*reference, points []point, sum table) {
	t.Helper()
	var runs []*run
	for _, p := range points {
		runs = append(runs, s.newRun(t, refs[p.workload].workload))
	}
	for i, p := range points {
		sum.add(p, s.test(t, refs[p.workload], p, runs[i]))
	}
}

// TestCrashPoints kills the hub at its writes.
func TestCrashPoints(t *testing.T) {
	chosen := choice{variable: os.Getenv(pointsVariable), seed: seedOf(t, os.Getenv(seedVariable))}
	t.Cleanup(func() { t.Logf("The same points again: %s", chosen) })
	one, isOne, err := chosen.one()
	if err != nil {
		t.Fatal(err)
	}
	s := newSuite(t)
	refs := s.references(t, one.workload)
	points := []point{one}
	if !isOne {
		points = chosen.points(refs)
	}
	s.testAll(t, refs, points)
}

// testAll tests points and logs the table of the outcomes.
func (s *suite) testAll(t *testing.T, refs map[string]*reference, all []point) {
	t.Helper()
	sum := table{}
	for points := range slices.Chunk(all, sampleSize) {
		// Those about members are alone: they change what the others need.
		apart := slices.IndexFunc(points, func(p point) bool { return refs[p.workload].fleetwide })
		if apart < 0 {
			apart = len(points)
		}
		s.testPoints(t, refs, points[:apart], sum)
		for _, p := range points[apart:] {
			s.testPoints(t, refs, []point{p}, sum)
		}
	}
	s.ensureMember(t)
	s.awaitEmpty(t)
	t.Logf("\n%s", sum)
}
