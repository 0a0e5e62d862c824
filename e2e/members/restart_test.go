package members_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/members"
	"github.com/shopfleet/shopfleet/hub/members/controller"
)

func awaitEngaged(t *testing.T, hub *hubProcess, name string) {
	t.Helper()
	fleettest.Eventually(t, name+" to be engaged", func(context.Context) error {
		if !hub.engaged.has(name) {
			return errors.New("not engaged")
		}
		return nil
	})
}

func (s *suite) testRestart(t *testing.T) {
	s.awaitGone(t)
	eu := s.Member("eu-1")
	hub := s.startHub(t)
	s.register(t, "eu-1", s.kubeconfig(t, eu))
	s.register(t, "bad", []byte("no"))
	good, _ := s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	bad, _ := s.await(t, "bad", v1.ConditionReady, metav1.ConditionFalse, "")
	// Events are written in the background, after the status: this hub's must not count as the next one's.
	s.awaitEvent(t, good, corev1.EventTypeNormal, controller.EventConnected)
	s.awaitEvent(t, bad, corev1.EventTypeWarning, controller.EventNotReady)
	s.awaitPodsListed(t, good)
	hub.stop()

	m := framework.Mark(t, s.Fleet)
	hub = s.startHub(t)
	awaitEngaged(t, hub, "eu-1")
	fleettest.Eventually(t, "the bad one to be looked at", func(context.Context) error {
		if state, ok := hub.fleet.State("bad"); !ok || !state.Known {
			return fmt.Errorf("state %+v", state)
		}
		return nil
	})
	// Whatever a reconciliation would have written is written before this one's effect.
	s.register(t, "after", []byte("no"))
	s.await(t, "after", v1.ConditionReady, metav1.ConditionFalse, "")
	for _, c := range []*fleet.Cluster{s.Hub(), eu} {
		writes := m.By(t, c, config.HubServiceAccount).Writes().Where(func(event audit.Event) bool {
			return event.Name != "after" && !strings.HasPrefix(event.Name, "after.") // Events about it are named so.
		})
		if len(writes) > 0 {
			t.Errorf("the restart wrote to %s:\n%s", c.Name(), writes)
		}
	}
	s.unregister(t, "eu-1", "bad", "after")
	hub.stop()
}

// awaitPodsListed waits until the status of a member says what its pods request, which are listed last and at a time by
// chance.
func (e *environment) awaitPodsListed(t *testing.T, m *v1.MemberCluster) {
	t.Helper()
	framework.Await(t, e.hub, m, "the requests of the pods of "+m.Name, func(m *v1.MemberCluster) error {
		if m.Status.Requested == nil {
			return errors.New("are not known")
		}
		return nil
	})
}

// unregister takes registrations back and waits until they are gone, while the hub
// still runs.
func (e *environment) unregister(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		e.delete(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
		e.delete(t, &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	e.awaitGone(t)
}

func (s *suite) testRestartFrozen(t *testing.T) {
	s.awaitGone(t)
	eu := s.Member("eu-1")
	hub := s.startHub(t)
	s.registerProbed(t, "eu-1")
	before, _ := s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	hub.stop()
	if err := eu.Freeze(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := eu.Thaw(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	m := framework.Mark(t, s.Fleet)
	hub = s.startHub(t)
	begun := time.Now()
	after, _ := s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionFalse, v1.ReasonProbeFailed)
	took := time.Since(begun)
	t.Logf("lost %s after the restart", took)
	// It may take longer to look, but not less than three attempts that time out.
	if shortest := 3 * framework.Timeouts().Dial; took < shortest {
		t.Errorf("lost after %s: a restart took a member for lost before its time", took)
	}
	if took > lossBound {
		t.Errorf("lost after %s, more than %s", took, lossBound)
	}
	var writes audit.Log
	// What a write changed may be read before the write is answered and logged.
	read := func() { writes = m.By(t, s.Hub(), config.HubServiceAccount).Writes().Succeeded().Of("memberclusters") }
	framework.Eventually(t, "the write of the status", func(context.Context) error {
		if read(); len(writes) == 0 {
			return errors.New("not logged yet")
		}
		return nil
	})
	if len(writes) != 1 {
		t.Errorf("%d writes, want one:\n%s", len(writes), writes)
	}
	if !after.Status.LastObservedTime.Equal(before.Status.LastObservedTime) {
		t.Errorf("observed %s, was %s: nothing was observed since", after.Status.LastObservedTime, before.Status.LastObservedTime)
	}
	hub.stop()
	hub = s.restartBesideLost(t, after)
	if err := eu.Thaw(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	s.unregister(t, "eu-1")
	hub.stop()
}

// restartBesideLost starts a hub while a member is lost, and checks that its conditions and the times
// of their transitions stay.
func (s *suite) restartBesideLost(t *testing.T, before *v1.MemberCluster) *hubProcess {
	t.Helper()
	m := framework.Mark(t, s.Fleet)
	hub := s.startHub(t)
	fleettest.Eventually(t, "the lost member to be looked at", func(context.Context) error {
		if state, ok := hub.fleet.State(before.Name); !ok || !state.Known {
			return fmt.Errorf("state %+v", state)
		}
		return nil
	})
	// Whatever a reconciliation would have written is written before this one's effect.
	s.register(t, "after", []byte("no"))
	s.await(t, "after", v1.ConditionReady, metav1.ConditionFalse, "")
	after, _ := s.await(t, before.Name, v1.ConditionReady, metav1.ConditionFalse, v1.ReasonProbeFailed)
	if diff := cmp.Diff(before.Status.Conditions, after.Status.Conditions); diff != "" {
		t.Errorf("conditions before and after the restart (-want +got):\n%s", diff)
	}
	writes := m.By(t, s.Hub(), config.HubServiceAccount).Writes().Of("memberclusters").Where(func(event audit.Event) bool { return event.Name == before.Name })
	if len(writes) > 0 {
		t.Errorf("the restart wrote:\n%s", writes)
	}
	s.delete(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "after"}})
	s.delete(t, &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "after"}})
	return hub
}

// testGoroutines connects and removes a member many times.
func (s *suite) testGoroutines(t *testing.T) {
	s.awaitGone(t)
	const rounds, slack = 100, 10
	kubeconfig := s.kubeconfig(t, s.Member("eu-1"))
	before := runtime.NumGoroutine()
	f := s.newFleet(t)
	engaged := newEngagements()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- f.Start(ctx, engaged) }()
	changed := make(chan struct{}, 1)
	defer f.OnChange(func(string) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})()
	timeout := time.After(4 * fleettest.Timeout)
	for round := range rounds {
		f.Set("eu-1", members.Target{Kubeconfig: kubeconfig})
		for {
			if state, _ := f.State("eu-1"); state.Engaged {
				break
			}
			select {
			case <-changed:
			case <-timeout:
				t.Fatalf("round %d: not engaged", round)
			}
		}
		f.Remove("eu-1")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if n := engaged.times("eu-1"); n != rounds {
		t.Errorf("engaged %d times, want %d", n, rounds)
	}
	fleettest.Eventually(t, "goroutines to end", func(context.Context) error {
		if now := runtime.NumGoroutine(); now > before+slack {
			stacks := make([]byte, 1<<20)
			return fmt.Errorf("%d goroutines, %d before:\n%s", now, before, stacks[:runtime.Stack(stacks, true)])
		}
		return nil
	})
	t.Logf("%d goroutines before, %d after %d rounds", before, runtime.NumGoroutine(), rounds)
}
