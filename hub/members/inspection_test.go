package members

import (
	"context"
	"fmt"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
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

// TestInspections counts the inspections that it takes to lose a member: two that find
// a permission denied or the record damaged without one between them that does not, and none of
// what is not known.
func TestInspections(t *testing.T) {
	cluster := fleettest.Start(t, fleet.Options{Members: []fleet.ClusterSpec{{Name: "a", APIServerOnly: true}}}).Member("a")
	for name, tt := range map[string]struct {
		path   string
		bodies map[string]string
		lost   bool
	}{
		"denied":     {accessPath, map[string]string{rulesPath: noRules, accessPath: denied}, true},
		"undecided":  {accessPath, map[string]string{rulesPath: noRules, accessPath: undecided}, false},
		"unreadable": {recordPath, map[string]string{recordPath: unreadable}, true},
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
			p.answer(false, true, true, false, true)
			inspections = p.answer(false, false)
			if tt.lost {
				expect("lost", false, inspections)
				return
			}
			inspections = p.answer(true, true)
			fleettest.Eventually(t, "the inspections", func(context.Context) error {
				if n := int(p.answered.Load()); n < inspections {
					return fmt.Errorf("%d of %d", n, inspections)
				}
				return nil
			})
			if state, _ := f.State("a"); !state.Engaged {
				t.Errorf("lost: %+v", state)
			}
		})
	}
}
