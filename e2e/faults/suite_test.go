package faults_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/faults"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/setup"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	// hub, eu and us are the clusters, and the last two have the regions euRegion and usRegion.
	hub, eu, us        = "hub", "eu-1", "us-1"
	euRegion, usRegion = "eu-west-1", "us-central1"
	// namespace is that of all applications here.
	namespace = "faults"
	// shortWait is a bound of the hub's waits for what waits for minutes otherwise.
	shortWait = 3 * time.Second
	// leaseDuration is that of the hub. On a busy machine the hub's API server takes almost as long
	// to restart as a leader goes on without a renewal by default.
	leaseDuration = time.Minute
	// agent is the beginning of the hub's user agents.
	agent = "shopfleet-hub"
)

func TestMain(m *testing.M) {
	framework.Silence()
	os.Exit(m.Run())
}

// suite is a hub and two members, each behind a proxy.
type suite struct {
	*framework.Environment
	proxies map[string]*faults.Proxy
	poison  poison
	// seed is that of the choice of cases, for cases that choose what they inject.
	seed uint64
	// silence is the time after which the hub ends a silent watch of a member, unwatched that after
	// which it loses a member whose lists and watches are refused, longest bounds all its waits,
	// resyncs included; 0 is its default. They are read when the hub starts.
	silence, unwatched, longest time.Duration
}

// TestFaults runs the chosen classes of faults one after the other. Each has an application of its
// own, and ends with what it injected gone.
func TestFaults(t *testing.T) {
	c := choice{variable: os.Getenv(casesVariable), seed: fleettest.Seed(t, seedVariable)}
	t.Cleanup(func() { t.Logf("The same cases again: %s", c) })
	s := &suite{proxies: map[string]*faults.Proxy{}, longest: shortWait, seed: c.seed}
	chosen, err := c.take(s.cases())
	if err != nil {
		t.Fatal(err)
	}
	s.start(t)
	ran := false
	for _, each := range chosen {
		t.Run(each.name, func(t *testing.T) {
			ran = true
			each.test(t)
		})
	}
	if !ran && c.variable != everything { // Otherwise, a case that did not run would seem to pass.
		t.Errorf("-run matches none of the chosen cases: set %s=%s", casesVariable, everything)
	}
}

// cases returns all cases. Every second one is a sample, and both samples take about as long. The
// last two change the hub's waits for all that follow.
func (s *suite) cases() []faultCase {
	return []faultCase{
		{"throttled hub", s.testThrottledHub},
		{"quota", s.testQuota},
		{"etcd of a member is full", s.testNoSpace},
		{"conflicts", s.testConflicts},
		{"errors and resets", s.testBurst},
		{"lost events, then 410", s.testLostEvents},
		{"throttled member", s.testThrottledMember},
		{"older list of a member after a restart", s.testOlderListOfMember},
		{"late events", s.testLateEvents},
		{"hub API server and etcd restart", s.testHubOutage},
		{"all watches expire", s.testExpiry},
		{"slow member", s.testSlowMember},
		{"older list after a restart", s.testOlderList},
		{"member that refuses", s.testRefusals},
		{"member behind a blackhole", s.testPartition},
		{"flapping member", s.testFlapping},
		{"controller managers restart", s.testControllerManagers},
		{"etcd of the hub is full", s.testHubNoSpace},
		{"frozen processes", s.testFrozenProcesses},
		{"etcd of a member restarts", s.testMemberEtcd},
		{"panics", s.testPanics},
		{"panic in a probe", s.testPanickingProbe},
		{"lost responses", s.testLostResponses},
		{"silent watch", s.testSilentWatch},
		{"refused watches", s.testRefusedWatches},
	}
}

// start starts the fleet and its hub.
func (s *suite) start(t *testing.T) {
	t.Helper()
	s.Environment = framework.New(t, framework.Options{
		Fleet: fleet.Options{Hub: fleet.ClusterSpec{Name: hub}, Members: []fleet.ClusterSpec{
			{Name: eu, Provider: fleet.AWS, Region: euRegion, Nodes: 1},
			{Name: us, Provider: fleet.GCP, Region: usRegion, Nodes: 1},
		}},
		Health: framework.Health(),
		Hub: func(o *setup.Options) {
			o.Waits, o.Timeouts = retry.Waits{Longest: s.longest}, framework.Timeouts()
			o.Timeouts.Watch, o.Timeouts.Unwatched = s.silence, s.unwatched
			o.LeaderElect, o.LeaseDuration, o.Wrap = true, leaseDuration, s.poison.wrap
		},
		Kubeconfig: func(t testing.TB, cluster string, kubeconfig []byte) []byte {
			t.Helper()
			through, err := s.proxies[cluster].Kubeconfig(kubeconfig)
			if err != nil {
				t.Fatal(err)
			}
			return through
		},
	})
	for _, c := range s.Fleet.Clusters() {
		s.proxies[c.Name()] = faults.Start(t, faults.Target{Server: c.Server(), Authority: c.AdminConfig().CAData})
	}
	framework.CreateNamespace(t, s.Hub, namespace)
	s.StartHub(t)
	s.Register(t, eu, us)
	s.AwaitMembers(t, eu, us)
}

// awaitLong makes the hub wait as long as in production from now on: no resync repairs what an
// event or a retry should have.
func (s *suite) awaitLong(t *testing.T) {
	t.Helper()
	if s.longest != 0 {
		s.longest = 0
		s.RestartHub(t)
		s.AwaitMembers(t, eu, us)
	}
}

// inject injects a fault that ends with the test at the latest.
func (s *suite) inject(t *testing.T, cluster string, m faults.Match, a faults.Action) *faults.Fault {
	t.Helper()
	f := s.proxies[cluster].Inject(m, a)
	t.Cleanup(f.Remove)
	return f
}

// newApp creates an application that runs in both members. It is deleted after the test.
func (s *suite) newApp(t *testing.T, name string) *v1.EcommerceApp {
	t.Helper()
	app := framework.Small(namespace, name)
	s.Create(t, app)
	s.deleteAfter(t, app)
	s.awaitRunning(t, app)
	return app
}

// deleteAfter deletes an application after the test, and waits until it is gone everywhere.
func (s *suite) deleteAfter(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := client.IgnoreNotFound(s.Hub.Delete(ctx, app.DeepCopy())); err != nil {
			t.Error(err)
		}
		if !s.gone(ctx, app) {
			t.Errorf("%s is not gone", app.Name)
		}
	})
}

// gone blocks until no cluster has an application, and reports whether that came to pass
// before the context ended.
func (s *suite) gone(ctx context.Context, app *v1.EcommerceApp) bool {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := framework.Gone(ctx, s.Hub, app.DeepCopy())
		for _, m := range s.Members {
			err = errors.Join(err, framework.Gone(ctx, m, app.DeepCopy()))
		}
		if err == nil {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
	}
}

func (s *suite) awaitRunning(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	s.AwaitRunning(t, app, euRegion, usRegion)
}

// scale edits an application.
func (s *suite) scale(t *testing.T, app *v1.EcommerceApp, replicas int32) {
	t.Helper()
	framework.Edit(t, s.Hub, app, func(app *v1.EcommerceApp) { app.Spec.Frontend.Replicas = &replicas })
}

// awaitFired waits until a fault has met so many requests or events.
func awaitFired(t *testing.T, f *faults.Fault, times int) {
	t.Helper()
	framework.Eventually(t, "the fault to be met", func(context.Context) error {
		if got := f.Fired(); got < times {
			return fmt.Errorf("%d of %d times", got, times)
		}
		return nil
	})
}

// wantNoDeletes checks that the hub has deleted nothing in a cluster since a mark, except
// for Events.
func (s *suite) wantNoDeletes(t *testing.T, m framework.Marks, clusters ...string) {
	t.Helper()
	for _, c := range s.Fleet.Clusters() {
		for _, name := range clusters {
			if c.Name() == name {
				deletes := s.Since(t, m, c).Deletes().Where(isNoRecord)
				if len(deletes) > 0 {
					t.Errorf("%s: the hub deleted:\n%s", name, deletes)
				}
			}
		}
	}
}

// isNoRecord reports whether a request is not about what the hub knows of orphans, such as a copy whose application it does
// not see yet: that ends with the last of them.
func isNoRecord(e audit.Event) bool {
	return e.Resource != "configmaps" || !strings.HasPrefix(e.Name, "shopfleet-orphans-")
}

// readiness records each change of the Ready condition of the members.
func (s *suite) readiness(t *testing.T) (transitions func(member string) []metav1.ConditionStatus) {
	t.Helper()
	w, err := s.Hub.Watch(t.Context(), &v1.MemberClusterList{})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string][]metav1.ConditionStatus{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range w.ResultChan() {
			m, ok := e.Object.(*v1.MemberCluster)
			if !ok {
				continue
			}
			now := framework.Condition(m.Status.Conditions, v1.ConditionReady).Status
			if all := seen[m.Name]; len(all) == 0 || all[len(all)-1] != now {
				seen[m.Name] = append(all, now)
			}
		}
	}()
	return func(member string) []metav1.ConditionStatus {
		w.Stop()
		<-done
		return seen[member]
	}
}

// member returns a MemberCluster to read into.
func member(name string) *v1.MemberCluster {
	return &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// awaitReady waits until the Ready condition of the member that faults are injected into has a
// status.
func (s *suite) awaitReady(t *testing.T, want metav1.ConditionStatus) {
	t.Helper()
	framework.AwaitCondition(t, s.Hub, member(eu), metav1.Condition{Type: v1.ConditionReady, Status: want})
}

// holder returns the holder of the hub's Lease, and how often it changed.
func (s *suite) holder(t *testing.T) string {
	t.Helper()
	lease := &coordinationv1.Lease{}
	if err := s.Hub.Get(t.Context(), client.ObjectKey{Namespace: config.Namespace, Name: config.HubServiceAccount}, lease); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(ptr.Deref(lease.Spec.HolderIdentity, ""), ptr.Deref(lease.Spec.LeaseTransitions, 0))
}
