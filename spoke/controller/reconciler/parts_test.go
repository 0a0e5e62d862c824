package reconciler

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
)

func errTerminating() error {
	err := apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "web", errors.New("it is being terminated"))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: corev1.NamespaceTerminatingCause})
	return err
}

func TestClassify(t *testing.T) {
	resource := schema.GroupResource{Group: "apps", Resource: "statefulsets"}
	tests := map[string]struct {
		err      error
		class    class
		reason   string
		message  string
		blocking bool
	}{
		"stranger": {&apply.ConflictError{Key: component.Key{GroupKind: schema.GroupKind{Kind: "Service"}, Name: "web"}},
			blocked, v1.ReasonConflict, `annotate Service "web" with`, true},
		"lost password": {&apply.LostError{Key: component.Key{GroupKind: schema.GroupKind{Kind: "Secret"}, Name: "db"}, Data: "data-db-0"},
			blocked, v1.ReasonCredentialsMissing, `restore Secret "db", which the data in claim data-db-0`, true},
		"newer object":   {apierrors.NewConflict(resource, "db", errors.New("newer")), quiet, "", "", false},
		"lost race":      {apierrors.NewAlreadyExists(resource, "db"), quiet, "", "", false},
		"not allowed":    {apierrors.NewForbidden(resource, "db", errors.New(`cannot patch resource "statefulsets"`)), blocked, v1.ReasonForbidden, `cannot patch resource "statefulsets"`, true},
		"ending":         {errTerminating(), blocked, v1.ReasonNamespaceTerminating, "the namespace is being deleted", true},
		"invalid":        {apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "web", nil), invalid, v1.ReasonInvalidSpec, `Service "web" is invalid`, true},
		"bad request":    {apierrors.NewBadRequest("what?"), invalid, v1.ReasonInvalidSpec, "what?", true},
		"no such kind":   {&meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "policy", Kind: "PodDisruptionBudget"}}, blocked, v1.ReasonApplyFailed, "the cluster has no PodDisruptionBudget.policy", true},
		"server trouble": {apierrors.NewInternalError(errors.New("0xc000123456")), transient, v1.ReasonApplyFailed, "writing failed: InternalError", false},
		"no answer":      {context.DeadlineExceeded, transient, v1.ReasonApplyFailed, "writing failed: the API server did not answer in time", false},
		"no way":         {&net.OpError{Op: "dial", Err: errors.New("refused: 10.0.0.1:43561")}, transient, v1.ReasonApplyFailed, "writing failed: the API server cannot be reached", false},
		"anything else":  {errors.New("port 43561"), transient, v1.ReasonApplyFailed, "writing failed: see the log", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			class, problem := classify(fmt.Errorf("applying something: %w", tt.err))
			if class != tt.class || problem.Reason != tt.reason || !strings.Contains(problem.Message, tt.message) || problem.Blocking != tt.blocking {
				t.Errorf("got class %d, %+v", class, problem)
			}
			if strings.Contains(problem.Message, "43561") || strings.Contains(problem.Message, "0xc000") {
				t.Errorf("the message %q differs from time to time", problem.Message)
			}
		})
	}
}

func TestResult(t *testing.T) {
	options := Settings{RetryAfter: 30 * time.Second, Resync: 10 * time.Minute}
	around := func(d time.Duration) [2]time.Duration { return [2]time.Duration{d * 4 / 5, d * 6 / 5} }
	tests := map[string]struct {
		errs  []error
		due   time.Duration
		after [2]time.Duration
		fails bool
	}{
		"all is well":          {nil, 0, around(options.Resync), false},
		"status held back":     {nil, time.Second, [2]time.Duration{time.Second, time.Second}, false},
		"conflict":             {[]error{apierrors.NewConflict(schema.GroupResource{}, "x", nil)}, 0, around(conflictRetry), false},
		"blocked":              {[]error{errTerminating()}, 0, around(options.RetryAfter), false},
		"invalid":              {[]error{apierrors.NewBadRequest("x")}, 0, [2]time.Duration{0, 0}, false},
		"invalid and blocked":  {[]error{apierrors.NewBadRequest("x"), errTerminating()}, 0, around(options.RetryAfter), false},
		"transient and others": {[]error{errTerminating(), errors.New("x")}, time.Second, [2]time.Duration{0, 0}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := &pass[*v1.EcommerceApp]{statusDue: tt.due}
			for _, err := range tt.errs {
				p.fail("web", err)
			}
			got, err := p.result(options)
			if (err != nil) != tt.fails || got.RequeueAfter < tt.after[0] || got.RequeueAfter > tt.after[1] {
				t.Errorf("got %v and %v, want between %v and %v", got.RequeueAfter, err, tt.after[0], tt.after[1])
			}
		})
	}
}

func TestNewest(t *testing.T) {
	at := func(version string) *v1.EcommerceApp {
		return &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "app", ResourceVersion: version}}
	}
	n := newest[*v1.EcommerceApp]{objects: make(map[types.NamespacedName]response[*v1.EcommerceApp])}
	is := func(cached, want string) {
		t.Helper()
		if got := n.of(at(cached)).ResourceVersion; got != want {
			t.Errorf("the cache has %s: got %s, want %s", cached, got, want)
		}
	}
	is("1", "1")
	n.keep(at("1"), at("2"))
	is("1", "2")
	n.keep(at("2"), at("3"))
	is("1", "3")
	// The cache moves on, if only to the first write: it is believed from then on.
	is("2", "2")
	is("1", "1")
	n.keep(at("4"), at("4"))
	is("4", "4")
	n.keep(at("4"), at("5"))
	n.forget(types.NamespacedName{Namespace: "shop", Name: "app"})
	is("4", "4")
}

func TestEnding(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(100, 0))
	e := newTerminating(clock)
	e.note("shop", errors.New("anything else"))
	if err := e.of("shop"); err != nil {
		t.Errorf("remembered %v", err)
	}
	e.note("shop", errTerminating())
	if e.of("shop") == nil || e.of("other") != nil {
		t.Error("the refusal of one namespace, and of no other, is to be remembered")
	}
	clock.SetTime(time.Unix(100, 0).Add(terminatingFor))
	if err := e.of("shop"); err != nil {
		t.Errorf("still remembered: %v", err)
	}
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	one := subject{cluster: "eu-1", kind: "ecommerceapp", name: types.NamespacedName{Name: "one"}}
	two := subject{cluster: "us-1", kind: "ecommerceapp", name: types.NamespacedName{Name: "two"}}
	m.observe(one, v1.PhaseCreating)
	m.observe(two, v1.PhaseRunning)
	m.observe(one, v1.PhaseRunning)
	m.transition("ecommerceapp", v1.PhaseCreating, v1.PhaseRunning)
	m.transition("ecommerceapp", v1.PhaseRunning, v1.PhaseRunning)
	want := map[string]float64{
		"shopfleet_phase_transitions_total from=Creating kind=ecommerceapp to=Running": 1,
		"shopfleet_spoke_apps cluster=eu-1 kind=ecommerceapp phase=Running":            1,
		"shopfleet_spoke_apps cluster=us-1 kind=ecommerceapp phase=Running":            1,
	}
	if diff := cmp.Diff(want, series(t, registry)); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	m.observe(one, "")
	m.Leave("us-1")
	want = map[string]float64{"shopfleet_phase_transitions_total from=Creating kind=ecommerceapp to=Running": 1}
	if diff := cmp.Diff(want, series(t, registry)); diff != "" {
		t.Errorf("series when all is gone (-want +got):\n%s", diff)
	}
	var none *Metrics
	none.observe(one, v1.PhaseRunning)
	none.transition("ecommerceapp", v1.PhasePending, v1.PhaseRunning)
	none.Leave("eu-1")
}

// series returns the value of each series, by its name and labels.
func series(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := make(map[string]float64)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetName() + "=" + label.GetValue()
			}
			values[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
		}
	}
	return values
}
