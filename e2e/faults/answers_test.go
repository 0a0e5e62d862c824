package faults_test

import (
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/e2e/faults"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// writes returns the verbs that change something.
func writes() []string { return []string{"create", "update", "patch"} }

// testConflicts answers the hub's writes with 409 for some seconds, as if another client wrote
// to the same objects all the time (F19).
func (s *suite) testConflicts(t *testing.T) {
	t.Helper()
	app := s.newApp(t, "conflicts")
	// The waits are 0.2, 0.4, 0.8, 1.6 s. Each attempt may write twice, because a change of the
	// status alone must not delay an update, and events may wake the hub in between.
	const storm, most = 3 * time.Second, 14
	var injected []*faults.Fault
	for _, cluster := range []string{hub, eu, us} {
		m := faults.Match{Verbs: writes(), Namespace: namespace, UserAgent: agent}
		injected = append(injected, s.inject(t, cluster, m, faults.Answer(http.StatusConflict, 0)))
	}
	began := time.Now()
	s.scale(t, app, 2)
	awaitFired(t, injected[1], 2)
	framework.Pause(t, storm)
	for _, fault := range injected {
		fault.Remove()
	}
	took := time.Since(began)
	allowed := most + 2*int(max(took-2*storm, 0)/time.Second) // A machine that pauses prolongs it: by one attempt a second, at most.
	for _, cluster := range []string{hub, eu, us} {
		attempts := map[string]int{}
		for _, e := range s.proxies[cluster].Requests().ByAgent(agent).In(namespace).Except("events").Code(http.StatusConflict) {
			if attempts[e.URI]++; attempts[e.URI] == allowed+1 {
				t.Errorf("%s: more than %d attempts in a storm of %s: %s", cluster, allowed, took, e)
			}
		}
	}
	s.awaitRunning(t, app)
}

// testThrottledHub lets the hub's own API server ask for a pause before each write, except to the
// Lease: API priority and fairness has a level of its own for leader election (F20). Client-go waits as
// long as it is told to: this guards no line of the hub, but that its transport keeps that.
func (s *suite) testThrottledHub(t *testing.T) {
	t.Helper()
	app := s.newApp(t, "throttled-hub")
	before := s.holder(t)
	s.inject(t, hub, faults.Match{Resource: "*.coordination.k8s.io"}, faults.Delay(0))
	f := s.throttle(t, hub, "", retryAfter)
	s.scale(t, app, 2)
	s.awaitPauses(t, hub, f)
	s.awaitRunning(t, app)
	if after := s.holder(t); after != before {
		t.Errorf("the holder of the Lease changed from %s to %s", before, after)
	}
}

// testThrottledMember lets a member refuse requests without naming a pause, so that the hub
// chooses one. The other member has the edit meanwhile (F20).
func (s *suite) testThrottledMember(t *testing.T) {
	t.Helper()
	s.awaitLong(t) // A resync may come at any time.
	app := s.newApp(t, "throttled-member")
	f := s.throttle(t, eu, namespace, 0)
	s.scale(t, app, 2)
	s.awaitUnaffected(t, app)
	s.awaitPauses(t, eu, f)
	s.awaitRunning(t, app)
}

// retryAfter is the pause that throttled requests ask for, and less than the hub's own.
const retryAfter = 2 * time.Second

// throttle refuses the hub's writes in a namespace, or in all if it is empty.
func (s *suite) throttle(t *testing.T, cluster, namespace string, pause time.Duration) *faults.Fault {
	t.Helper()
	return s.inject(t, cluster, faults.Match{Verbs: writes(), Namespace: namespace, UserAgent: agent}, faults.Answer(http.StatusTooManyRequests, pause))
}

// awaitPauses ends throttling, and checks that no request was repeated before its pause was over.
func (s *suite) awaitPauses(t *testing.T, cluster string, f *faults.Fault) {
	t.Helper()
	awaitFired(t, f, 2)
	f.Remove()
	type request struct{ verb, uri string }
	refused := map[request]time.Time{}
	for _, e := range s.proxies[cluster].Requests().ByAgent(agent).In(namespace).Writes() {
		r := request{e.Verb, e.URI}
		if since := e.Received.Sub(refused[r]); since < retryAfter && e.Resource != "events" {
			t.Errorf("repeated after %s, want at least %s: %s", since, retryAfter, e)
		}
		if e.Code == http.StatusTooManyRequests {
			refused[r] = e.Completed
		}
	}
}

// testBurst answers with errors, resets connections and loses responses, by a seeded choice,
// while the application changes (F2, F21). The seed is that of the choice of cases.
func (s *suite) testBurst(t *testing.T) {
	t.Helper()
	s.awaitLong(t)
	app := s.newApp(t, "burst")
	random := rand.New(rand.NewPCG(s.seed, 0))
	actions := []faults.Action{
		faults.Answer(http.StatusInternalServerError, 0), faults.Answer(http.StatusServiceUnavailable, 0), faults.Answer(http.StatusGatewayTimeout, 0),
		faults.Reset(), faults.ResetStream(), faults.DropResponse(),
	}
	// Few at a time: the wait between two attempts doubles.
	const rounds, most, each = 3, 3, 2
	var injected []*faults.Fault
	for round := range int32(rounds) {
		for _, cluster := range []string{hub, eu, us} {
			for _, i := range random.Perm(len(actions))[:each] {
				m := faults.Match{Verbs: writes(), Namespace: namespace, UserAgent: agent, Skip: random.IntN(most), Times: 1}
				injected = append(injected, s.inject(t, cluster, m, actions[i]))
			}
		}
		s.scale(t, app, round+2)
		s.awaitRunning(t, app)
	}
	fired := 0
	for _, f := range injected {
		f.Remove()
		fired += f.Fired()
	}
	t.Logf("%d requests met a fault", fired)
	if fired < rounds {
		t.Error("too few to show anything")
	}
}

// testLostResponses loses the response to one write of each kind in a member: a namespace is
// created, a copy is created by an apply, a child is updated, and the copy is deleted (F2).
func (s *suite) testLostResponses(t *testing.T) {
	t.Helper()
	s.awaitLong(t)
	lose := func(verb, resource string) {
		t.Helper()
		m := faults.Match{Verbs: []string{verb}, Resource: resource, UserAgent: agent, Times: 1}
		f := s.inject(t, eu, m, faults.DropResponse())
		t.Cleanup(func() {
			if f.Fired() != 1 {
				t.Errorf("no response to a %s of %s was lost", verb, resource)
			}
		})
	}
	lose("create", "namespaces")
	lose("patch", "ecommerceapps")
	app := framework.Small("lost-responses", "lost-responses")
	s.Create(t, app)
	s.deleteAfter(t, app)
	s.awaitRunning(t, app)
	lose("patch", "deployments")
	s.scale(t, app, 2)
	s.awaitRunning(t, app)
	lose("delete", "ecommerceapps")
	s.Delete(t, app)
}
