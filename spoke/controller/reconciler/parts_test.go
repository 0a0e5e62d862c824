package reconciler

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

func errTerminating() error {
	err := apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "web", errors.New("it is being terminated"))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: corev1.NamespaceTerminatingCause})
	return err
}

// TestFail checks how a pass ends after an error; package apierror tests the classes and their waits.
func TestFail(t *testing.T) {
	t.Parallel()
	resource := schema.GroupResource{Group: "apps", Resource: "statefulsets"}
	unowned := &apply.ConflictError{Key: component.Key{GroupKind: schema.GroupKind{Kind: "Service"}, Name: "web"}}
	lost := &apply.LostError{Key: component.Key{GroupKind: schema.GroupKind{Kind: "Secret"}, Name: "db"}, Data: "data-db-0"}
	problem := func(reason, message string, blocking bool) []component.Problem {
		return []component.Problem{{Component: "web", Reason: reason, Message: message, Blocking: blocking}}
	}
	for name, tt := range map[string]struct {
		err  error
		want []component.Problem
		// goesOn means that the other components are processed.
		goesOn bool
	}{
		"unowned object": {unowned, problem(v1.ReasonConflict, unowned.Error(), true), true},
		"lost password":  {lost, problem(v1.ReasonCredentialsMissing, lost.Error(), true), true},
		"conflict":       {apierrors.NewConflict(resource, "db", errors.New("newer")), nil, true},
		"denied":         {apierrors.NewBadRequest("no"), problem(v1.ReasonInvalidSpec, "no", true), true},
		"throttled":      {apierrors.NewTooManyRequests("slow down", 1), problem(v1.ReasonApplyFailed, "the cluster throttles requests", false), false},
		"broken": {
			apierrors.NewGenericServerResponse(500, "patch", resource, "db", "", 0, true), problem(v1.ReasonApplyFailed, "the cluster answers InternalError", false), false,
		},
		"failed on": {
			apierrors.NewInternalError(errors.New("0xc000123456")), []component.Problem{{
				Component: "web", Reason: v1.ReasonApplyFailed, Lasting: true,
				Message: "repair what the cluster fails on, such as a webhook or a definition: Internal error occurred: (pointer)",
			}}, true,
		},
		"namespace ends": {errTerminating(), []component.Problem{{Reason: v1.ReasonNamespaceTerminating, Message: "the namespace is being deleted", Blocking: true}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &pass[*v1.EcommerceApp]{}
			goesOn := p.fail("web", fmt.Errorf("applying something: %w", tt.err))
			if diff := cmp.Diff(tt.want, p.problems); diff != "" || goesOn != tt.goesOn {
				t.Errorf("goes on: %t; problems (-want +got):\n%s", goesOn, diff)
			}
		})
	}
}

func TestResult(t *testing.T) {
	t.Parallel()
	around := func(d time.Duration) [2]time.Duration { return [2]time.Duration{d, d * 13 / 10} }
	conflict := apierrors.NewConflict(schema.GroupResource{}, "x", nil)
	denied := apierrors.NewBadRequest("x")
	invalid := &apierror.SpecError{Reason: v1.ReasonInvalidSpec, Err: errors.New("x")}
	for name, tt := range map[string]struct {
		errs  []error
		due   time.Duration
		after [2]time.Duration
		fails bool
	}{
		"no error":             {nil, 0, around(10 * time.Minute), false},
		"delayed status":       {nil, time.Second, [2]time.Duration{time.Second, time.Second}, false},
		"conflict is quiet":    {[]error{conflict}, 0, around(200 * time.Millisecond), false},
		"denied":               {[]error{denied}, 0, around(5 * time.Minute), false},
		"denied and ending":    {[]error{denied, errTerminating()}, 0, around(30 * time.Second), false},
		"failed on":            {[]error{apierrors.NewInternalError(errors.New("x")), denied}, 0, around(time.Minute), false},
		"invalid":              {[]error{invalid}, 0, [2]time.Duration{0, 0}, false},
		"invalid and denied":   {[]error{invalid, denied}, 0, around(5 * time.Minute), false},
		"transient":            {[]error{errors.New("x")}, 0, [2]time.Duration{0, 0}, true},
		"transient and others": {[]error{errTerminating(), errors.New("x")}, 0, around(30 * time.Second), true},
		"transient, and due":   {[]error{errTerminating(), errors.New("x")}, time.Second, [2]time.Duration{time.Second, time.Second}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &pass[*v1.EcommerceApp]{statusDue: tt.due}
			for _, err := range tt.errs {
				p.fail("web", err)
			}
			got, err := p.result(Settings{}, new(remembered[*v1.EcommerceApp]).afterConflict(p.conflicted))
			if (err != nil) != tt.fails || got.RequeueAfter < tt.after[0] || got.RequeueAfter > tt.after[1] {
				t.Errorf("got %v and %v, want between %v and %v", got.RequeueAfter, err, tt.after[0], tt.after[1])
			}
			if isResync := tt.after[0] == resync; (got.Priority != nil) != isResync {
				t.Errorf("of low priority: %t, want %t", !isResync, isResync)
			}
		})
	}
}

// TestNewest checks that the response to a write counts until the cache has a later version.
func TestNewest(t *testing.T) {
	t.Parallel()
	at := func(version string) *v1.EcommerceApp {
		return &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "app", ResourceVersion: version}}
	}
	r := &reconciler[*v1.EcommerceApp]{}
	is := func(cached, want string) {
		t.Helper()
		if got := r.newest(at(cached)).ResourceVersion; got != want {
			t.Errorf("the cache has %s: got %s, want %s", cached, got, want)
		}
	}
	r.keepWrite(at("1"), at("2"))
	r.newest(at("1")).Status.Message = "changed by a pass"
	if got := r.newest(at("1")).Status.Message; got != "" {
		t.Errorf("what a pass changed is remembered: %q", got)
	}
	is("1", "2")
	is("2", "2")
	is("1", "1")
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
	m.database(one, true)
	m.database(one, true)
	m.database(two, true)
	m.database(two, false)
	want := map[string]float64{
		"shopfleet_phase_transitions_total from=Creating kind=ecommerceapp to=Running": 1,
		"shopfleet_spoke_apps cluster=eu-1 kind=ecommerceapp phase=Running":            1,
		"shopfleet_spoke_apps cluster=us-1 kind=ecommerceapp phase=Running":            1,
		"shopfleet_spoke_databases_lost cluster=eu-1 kind=ecommerceapp":                1,
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
	none.database(one, true)
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
