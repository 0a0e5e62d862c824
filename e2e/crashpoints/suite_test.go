package crashpoints_test

import (
	"context"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/setup"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	hubName            = "hub"
	euMember, usMember = "eu-1", "us-1"
	eu, us             = "eu-west-1", "us-central1"
)

const (
	// leaseDuration is how long a new process waits for the Lease of a killed one.
	leaseDuration = time.Second
	// longestWait bounds the waits of the hub, resyncs included, without the chance that it
	// adds; quiet is how long nothing is written in the end after a workload has converged.
	longestWait = 3 * time.Second
	quiet       = time.Second
	// progressPeriod is shorter than by default, because workloads end with progress, which must be written within quiet.
	// While many are executed at the same time it may wait for six periods.
	progressPeriod = 100 * time.Millisecond
)

// suite is a fleet with a hub that is killed again and again.
type suite struct {
	*framework.Environment
	group group
	sum   *table
	hub   *hub
	// aws is the cloud of the member euMember; nil if no workload needs one.
	aws *account
	// runs counts the namespaces.
	runs int
	// left has the runs whose applications are being deleted.
	left []*run
	// canary is an application that no workload is about.
	canary *v1.EcommerceApp
	// epochs are those of the members' records before a takeover.
	epochs map[string]int64
}

// newSuite starts the clusters that the workloads of a group need.
func newSuite(t *testing.T, g group, sum *table) *suite {
	t.Helper()
	s := &suite{group: g, sum: sum}
	members := []fleet.ClusterSpec{{Name: euMember, Provider: fleet.AWS, Region: eu, Nodes: 1, Driverless: s.needsCloud()}}
	if s.has(usMember) {
		members = append(members, fleet.ClusterSpec{Name: usMember, Provider: fleet.GCP, Region: us, Nodes: 2})
	}
	s.Environment = framework.New(t, framework.Options{
		Fleet: fleet.Options{Hub: fleet.ClusterSpec{Name: hubName, APIServerOnly: true}, Members: members},
	})
	s.hub = s.newHub(t)
	if s.needsCloud() {
		s.aws = newAccount(t)
		s.playDriver(t, s.Fleet.Member(euMember))
	}
	s.Run("the hub", func(ctx context.Context) error { return s.hub.run(ctx, t) })
	s.Register(t, euMember)
	s.AwaitMembers(t, euMember)
	if s.aws != nil {
		s.useAccount(t)
	}
	s.canary = framework.Small("canary", "canary", euMember)
	s.Create(t, s.canary)
	if s.has(usMember) && !slices.ContainsFunc(g.workloads, func(w workload) bool { return w.fleetwide }) {
		s.ensureMember(t)
	}
	return s
}

// newHub returns a hub that does not run yet.
func (s *suite) newHub(t *testing.T) *hub {
	t.Helper()
	skipping := &skippingClock{}
	h := &hub{clusters: map[string]string{}, clock: skipping, options: setup.Options{
		Kubeconfig: s.KubeconfigFile(t, s.Fleet.Hub(), config.HubServiceAccount),
		Namespace:  config.Namespace, Version: "test", Options: framework.ProcessOptions(t),
		Waits: retry.Waits{Scale: 0.1, Longest: longestWait}, Timeouts: framework.Timeouts(),
		ProgressPeriod: progressPeriod, Registry: prometheus.NewRegistry(), Clock: skipping,
	}}
	h.options.LeaderElect, h.options.LeaseDuration = true, leaseDuration
	for _, c := range s.Fleet.Clusters() {
		server, err := url.Parse(c.Server())
		if err != nil {
			t.Fatal(err)
		}
		h.clusters[server.Host] = c.Name()
	}
	return h
}

// has reports whether a workload needs a member.
func (s *suite) has(member string) bool {
	return slices.ContainsFunc(s.group.workloads, func(w workload) bool {
		return slices.Contains(w.clusters, member) || slices.Contains(w.regions, us) && member == usMember
	})
}

// needsCloud reports whether a workload needs volumes in a cloud.
func (s *suite) needsCloud() bool {
	return slices.ContainsFunc(s.group.workloads, func(w workload) bool { return w.database })
}
