package faults_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/faults"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// lossBound is how soon a member that does not answer must be known to be lost: three
// probes of at most 3 s, one second apart, and what a busy machine adds.
const lossBound = 30 * time.Second

// testHubOutage kills the hub's API server and etcd, and starts them again (F9).
func (s *suite) testHubOutage(t *testing.T) {
	t.Helper()
	app := s.newApp(t, "hub-outage")
	marked := s.Mark(t)
	c := s.Fleet.Hub()
	if err := c.Kill(t.Context(), fleet.APIServer, fleet.Etcd); err != nil {
		t.Fatal(err)
	}
	framework.Pause(t, time.Second)
	if err := c.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.scale(t, app, 2)
	s.awaitRunning(t, app)
	s.wantNoDeletes(t, marked, eu, us)
}

// testPartition lets no byte pass to and from a member (F11).
func (s *suite) testPartition(t *testing.T) {
	t.Helper()
	app := s.newApp(t, "partition")
	transitions := s.readiness(t)
	marked := s.Mark(t)
	s.proxies[eu].Partition()
	t.Cleanup(s.proxies[eu].Heal)
	began := time.Now()
	s.scale(t, app, 2)
	s.awaitUnaffected(t, app)
	fleettest.Within(t, lossBound, "the region to be Unknown", func(ctx context.Context) error {
		if err := s.Hub.Get(ctx, client.ObjectKeyFromObject(app), app); err != nil {
			return err
		}
		if r := framework.Region(&app.Status, euRegion); r.Phase != v1.PhaseUnknown {
			return fmt.Errorf("it is %s", r.Phase)
		}
		return nil
	})
	t.Logf("Unknown after %s", time.Since(began).Round(time.Millisecond))
	if r := framework.Region(&app.Status, usRegion); r.Phase == v1.PhaseUnknown {
		t.Error("so is the other region")
	}
	s.proxies[eu].Heal()
	s.awaitReady(t, metav1.ConditionTrue)
	s.awaitRunning(t, app)
	s.wantNoDeletes(t, marked, hub, eu, us)
	if all := transitions(us); len(all) > 1 {
		t.Errorf("the other member was %v", all)
	}
}

// testSlowMember delays all requests to a member (F13). It guards no single line, but that
// deadlines and thresholds together tolerate a slow member.
func (s *suite) testSlowMember(t *testing.T) {
	t.Helper()
	app := s.newApp(t, "slow")
	transitions := s.readiness(t)
	f := s.inject(t, eu, faults.Match{}, faults.Delay(time.Second))
	s.scale(t, app, 2)
	s.awaitUnaffected(t, app)
	s.awaitRunning(t, app)
	f.Remove()
	for _, name := range []string{eu, us} {
		if all := transitions(name); len(all) > 1 {
			t.Errorf("%s was %v: slow is not lost", name, all)
		}
	}
}

// testFlapping lets two of three probes of a member fail, again and again: too few in a row
// to lose it (F14).
func (s *suite) testFlapping(t *testing.T) {
	t.Helper()
	const rounds = 2
	transitions := s.readiness(t)
	for range rounds {
		failing := probes()
		failing.Times = 2
		f := s.inject(t, eu, failing, faults.Answer(http.StatusServiceUnavailable, 0))
		awaitFired(t, f, failing.Times)
		s.awaitProbe(t, f)
	}
	if all := transitions(eu); len(all) > 1 {
		t.Errorf("the member was %v", all)
	}
	s.testLosses(t)
}

// testLosses loses a member twice, for one transition each and one back. A single successful
// probe is too few to connect it again (F14).
func (s *suite) testLosses(t *testing.T) {
	t.Helper()
	transitions := s.readiness(t)
	s.proxies[eu].Partition()
	t.Cleanup(s.proxies[eu].Heal)
	s.awaitReady(t, metav1.ConditionFalse)
	s.proxies[eu].Heal()
	s.awaitReady(t, metav1.ConditionTrue)

	lost := s.inject(t, eu, faults.Match{UserAgent: agent}, faults.Reset())
	s.awaitReady(t, metav1.ConditionFalse)
	failing := probes()
	failing.Skip, failing.Times = 1, 1
	f := s.inject(t, eu, failing, faults.Answer(http.StatusServiceUnavailable, 0))
	lost.Remove()
	returned := time.Now()
	awaitFired(t, f, failing.Times)
	for _, e := range s.proxies[eu].Journal() {
		if !e.Received.Before(returned) && e.Fault != "" {
			break
		}
		if !e.Received.Before(returned) && e.Verb == "watch" {
			t.Errorf("connected after a single success: %s", e)
			break
		}
	}
	s.awaitReady(t, metav1.ConditionTrue)
	const most = 1 + 2*2 // The first is how it began.
	if all := transitions(eu); len(all) > most {
		t.Errorf("the member was %v", all)
	}
	if all := transitions(us); len(all) > 1 {
		t.Errorf("the other member was %v", all)
	}
}

// probes matches the requests by which the hub probes a member.
func probes() faults.Match {
	return faults.Match{Verbs: []string{"get"}, Resource: "namespaces", Name: metav1.NamespaceSystem, UserAgent: agent}
}

// awaitProbe waits until a probe succeeds, and removes the fault.
func (s *suite) awaitProbe(t *testing.T, f *faults.Fault) {
	t.Helper()
	began := time.Now()
	framework.Eventually(t, "a probe to succeed", func(context.Context) error {
		log := s.proxies[eu].Requests().Since(began).Verb("get").Of("namespaces").Code(http.StatusOK)
		if len(log) == 0 {
			return errors.New("none did")
		}
		return nil
	})
	f.Remove()
}

// testQuota allows fewer objects in a member than an application has, and then more (F24).
func (s *suite) testQuota(t *testing.T) {
	t.Helper()
	framework.CreateNamespace(t, s.Members[eu], "quota")
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: "quota", Name: "quota"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/services": resource.MustParse("0")}},
	}
	framework.Create(t, s.Members[eu], quota)
	framework.Await(t, s.Members[eu], quota, "the quota to be enforced", func(q *corev1.ResourceQuota) error {
		if len(q.Status.Hard) == 0 {
			return errors.New("not yet")
		}
		return nil
	})
	app := framework.Small("quota", "quota")
	s.Create(t, app)
	s.deleteAfter(t, app)
	s.AwaitApp(t, app, "the quota to be named", func(status *v1.EcommerceAppStatus) error {
		if c := framework.Cluster(status, eu); c.Reason != v1.ReasonForbidden {
			return errors.New("not yet")
		}
		if !framework.Cluster(status, us).Ready {
			return errors.New("the other member is not ready")
		}
		return nil
	})
	framework.Edit(t, s.Members[eu], quota, func(q *corev1.ResourceQuota) { q.Spec.Hard["count/services"] = resource.MustParse("10") })
	s.awaitRunning(t, app)
}

// testNoSpace makes etcd of a member refuse all writes (F34).
func (s *suite) testNoSpace(t *testing.T) {
	t.Helper()
	app := s.newApp(t, "no-space")
	marked := s.Mark(t)
	restore := s.fill(t, s.Fleet.Member(eu))
	s.scale(t, app, 2)
	s.awaitUnaffected(t, app)
	s.AwaitApp(t, app, "the failure to be shown", func(status *v1.EcommerceAppStatus) error {
		if c := framework.Cluster(status, eu); c.AppliedGeneration == app.Generation || c.Reason != v1.ReasonApplyFailed {
			return fmt.Errorf("%+v", c)
		}
		return nil
	})
	restore()
	s.awaitRunning(t, app)
	s.wantNoDeletes(t, marked, hub, eu, us)
}
