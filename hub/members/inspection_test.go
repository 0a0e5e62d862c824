package members

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/hub/members/connect"
	"github.com/shopfleet/shopfleet/hub/members/ownership"
)

const (
	rulesPath  = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
	accessPath = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	recordPath = "/api/v1/namespaces/default/configmaps/unreadable"

	noRules    = `{"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "status": {"incomplete": true}}`
	denied     = `{"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "status": {"allowed": false}}`
	undecided  = `{"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "status": {"allowed": false, "evaluationError": "no answer"}}`
	unreadable = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "unreadable", "namespace": "default"}, "data": {"epoch": "x"}}`
)

// TestInspections counts the inspections in a row that it takes to lose a member: two that find
// a permission denied or the record damaged, and three that fail.
func TestInspections(t *testing.T) {
	cluster := fleettest.Start(t, fleet.Options{Members: []fleet.ClusterSpec{{Name: "a", APIServerOnly: true}}}).Member("a")
	for name, tt := range map[string]struct {
		path   string
		bodies map[string]string
		losing int
		reason string
	}{
		"denied":     {accessPath, map[string]string{rulesPath: noRules, accessPath: denied}, 2, v1.ReasonPermissionsMissing},
		"unreadable": {recordPath, map[string]string{recordPath: unreadable}, 2, v1.ReasonSetupFailed},
		"undecided":  {accessPath, map[string]string{rulesPath: noRules, accessPath: undecided}, 3, v1.ReasonProbeFailed},
		"errors":     {accessPath, map[string]string{rulesPath: noRules}, 3, v1.ReasonSetupFailed},
		"unread":     {"/api/v1/namespaces/default/configmaps/unread", nil, 3, v1.ReasonSetupFailed},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProbed(t, cluster)
			p.path, p.bodies = tt.path, tt.bodies
			long := fleettest.Timeout
			f := start(t, Options{
				HubUID: "hub", Record: client.ObjectKey{Namespace: "default", Name: name},
				Timeouts: Timeouts{Dial: long, Request: long, Probe: long, Review: long, Prepare: long, Sync: long},
				Periods:  Periods{Inspect: 10 * time.Millisecond},
				Profile:  Profile{Permissions: []authorizationv1.ResourceAttributes{{Verb: "list", Resource: "secrets"}}},
			})
			expect := p.watch(t, f)
			inspections := p.answer(true)
			f.Set("a", Target{Kubeconfig: p.kubeconfig, Health: Health{Period: 10 * time.Millisecond}})
			expect("connected", true, inspections)
			p.answer(slices.Repeat([]bool{false}, tt.losing-1)...)
			p.answer(true, true, false, true)
			inspections = p.answer(slices.Repeat([]bool{false}, tt.losing)...)
			expect("lost", false, inspections)
			if state, _ := f.State("a"); state.Ready.Reason != tt.reason {
				t.Errorf("lost for %+v, want %s", state.Ready, tt.reason)
			}
		})
	}
}

// TestHastenInspection checks that informers hasten the next inspection, but not the repetition of a failed one.
func TestHastenInspection(t *testing.T) {
	t.Parallel()
	for failed, want := range map[int]time.Duration{0: inspectNow, 1: time.Minute} {
		now := clocktesting.NewFakeClock(time.Unix(1000, 0))
		l := &loop{
			fleet: &Fleet{settings: &connect.Settings{Clock: now}}, connection: &connect.Connection{},
			failedInspections: failed,
		}
		l.schedule(taskInspect, time.Minute)
		l.hastenInspection()
		if got := l.due[taskInspect].Sub(now.Now()); got != want {
			t.Errorf("after %d failed inspections: the next one follows in %s, want %s", failed, got, want)
		}
	}
}

// TestFirstInspection checks that a member whose admission policies are not in force when it is connected is looked at again
// soon, once.
func TestFirstInspection(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		restricted *bool
		period     time.Duration
		soon       bool
	}{
		"in force":         {new(true), 15 * time.Second, false},
		"not known":        {nil, 15 * time.Second, false},
		"not in force":     {new(false), 15 * time.Second, true},
		"a shorter period": {new(false), time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := clocktesting.NewFakeClock(time.Unix(1000, 0))
			l := &loop{fleet: &Fleet{settings: &connect.Settings{Clock: now}, periods: Periods{Inspect: tt.period}}}
			l.inspected.Restricted = tt.restricted
			regular := time.Duration(float64(inspectFactor*tt.period) * (1 - spread))
			l.scheduleFirstInspection()
			if got := l.due[taskInspect].Sub(now.Now()); tt.soon != (got < regular) || tt.soon && got < min(inspectSoon, tt.period) {
				t.Errorf("the first follows in %s", got)
			}
			l.scheduleInspection()
			if got := l.due[taskInspect].Sub(now.Now()); got < regular {
				t.Errorf("the second follows in %s, want %s at least", got, regular)
			}
		})
	}
}

// TestTakeoverBehindErrors makes another hub take a member over whose inspections fail.
func TestTakeoverBehindErrors(t *testing.T) {
	cluster := fleettest.Start(t, fleet.Options{Members: []fleet.ClusterSpec{{Name: "a", APIServerOnly: true}}}).Member("a")
	p := newProbed(t, cluster)
	p.path, p.bodies = accessPath, map[string]string{rulesPath: noRules}
	long := fleettest.Timeout
	f := start(t, Options{
		HubUID: "hub", Record: client.ObjectKey{Namespace: "default", Name: "taken"},
		Timeouts: Timeouts{Dial: long, Request: long, Probe: long, Review: long, Prepare: long, Sync: long},
		Periods:  Periods{Inspect: 10 * time.Millisecond},
		Profile:  Profile{Permissions: []authorizationv1.ResourceAttributes{{Verb: "list", Resource: "secrets"}}},
	})
	expect := p.watch(t, f)
	f.Set("a", Target{Kubeconfig: p.kubeconfig, Health: Health{Period: 10 * time.Millisecond, FailureThreshold: 50}})
	expect("connected", true, p.answer(true))
	other := ownership.Record{}.Claim(ownership.Process{Hub: "other", ID: "p"}, time.Unix(1000, 0))
	const taken = "/api/v1/namespaces/default/configmaps/taken"
	admin, err := kubernetes.NewForConfig(cluster.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{"data": other.Data()})
	if err != nil {
		t.Fatal(err)
	}
	if err := admin.CoreV1().RESTClient().Patch(types.MergePatchType).AbsPath(taken).Body(body).Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	p.answer(slices.Repeat([]bool{false}, 20)...)
	state := await(t, f, "a", func(s State) bool { return !s.Engaged })
	if state.Ready.Reason != v1.ReasonManagedByAnotherHub {
		t.Errorf("lost for %+v", state.Ready)
	}
}
