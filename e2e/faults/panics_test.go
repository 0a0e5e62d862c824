package faults_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// poison panics in the goroutine that sends a request which it matches, as a mistake in the
// hub would. It is safe for concurrent use.
type poison struct {
	mu   sync.Mutex
	hits map[target]int
}

// target matches the requests of one method to one server with a part of a path.
type target struct{ method, host, path string }

// set replaces what is matched.
func (p *poison) set(targets ...target) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hits = map[target]int{}
	for _, each := range targets {
		p.hits[each] = 0
	}
}

// least returns the number of hits of the target that was hit least.
func (p *poison) least() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Min(slices.Collect(maps.Values(p.hits)))
}

func (p *poison) matches(r *http.Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for each := range p.hits {
		if r.Method == each.method && r.URL.Host == each.host && strings.Contains(r.URL.Path, each.path) {
			p.hits[each]++
			return true
		}
	}
	return false
}

func (p *poison) wrap(next http.RoundTripper) http.RoundTripper { return poisoned{p, next} }

type poisoned struct {
	*poison
	next http.RoundTripper
}

func (p poisoned) RoundTrip(r *http.Request) (*http.Response, error) {
	if p.matches(r) {
		panic(framework.Poison(r.Method + " " + r.URL.Path))
	}
	return p.next.RoundTrip(r)
}

// hostOf returns the address by which the hub knows a cluster.
func (s *suite) hostOf(cluster string) string {
	return strings.TrimPrefix(s.proxies[cluster].Target().Server, "https://")
}

// testPanics makes the hub panic about three applications, each in another step (F48): others
// are not affected, their status says so, and they go on when the cause is gone.
func (s *suite) testPanics(t *testing.T) {
	t.Helper()
	other := s.newApp(t, "beside")
	before := panicsCounted(t)
	decided, copied, rendered := framework.Small(namespace, "decided"), framework.Small(namespace, "copied"), framework.Small(namespace, "rendered")
	s.poison.set(
		target{http.MethodPatch, s.hostOf(hub), "/ecommerceapps/decided"},
		target{http.MethodPatch, s.hostOf(eu), "/ecommerceapps/copied"},
		target{http.MethodPatch, s.hostOf(eu), "/deployments/rendered-frontend"},
	)
	t.Cleanup(func() { s.poison.set() })
	all := []*v1.EcommerceApp{decided, copied, rendered}
	for _, app := range all {
		s.Create(t, app)
		s.deleteAfter(t, app)
	}
	framework.Eventually(t, "the hub to panic and to try again", func(context.Context) error {
		if n := s.poison.least(); n < 2 {
			return fmt.Errorf("%d times", n)
		}
		return nil
	})
	s.scale(t, other, 2)
	s.awaitRunning(t, other)
	for _, app := range all[1:] { // The status of the first is what cannot be written.
		s.AwaitApp(t, app, "the failure to be shown", func(status *v1.EcommerceAppStatus) error {
			if c := framework.Cluster(status, eu); c.Reason != v1.ReasonApplyFailed || !strings.Contains(c.Message, "see its log") {
				return fmt.Errorf("%+v", c)
			}
			if !framework.Cluster(status, us).Ready {
				return errors.New("the other member is not ready")
			}
			return nil
		})
	}
	if got := panicsCounted(t) - before; got < 2*float64(len(all)) {
		t.Errorf("%v panics are counted, want at least two for each application", got)
	}
	s.poison.set()
	for _, app := range all {
		s.awaitRunning(t, app)
	}
}

// testPanickingProbe makes the hub panic in the probes of a member, which no queue runs (F48).
func (s *suite) testPanickingProbe(t *testing.T) {
	t.Helper()
	transitions := s.readiness(t)
	s.poison.set(target{http.MethodGet, s.hostOf(eu), "/api/v1/namespaces/" + metav1.NamespaceSystem})
	t.Cleanup(func() { s.poison.set() })
	s.awaitReady(t, metav1.ConditionFalse)
	s.poison.set()
	s.awaitReady(t, metav1.ConditionTrue)
	if all := transitions(us); len(all) > 1 {
		t.Errorf("the other member was %v", all)
	}
}

// panicsCounted returns how many panics the controllers of this process have counted.
func panicsCounted(t *testing.T) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() != "controller_runtime_reconcile_panics_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			sum += m.GetCounter().GetValue()
		}
	}
	return sum
}
