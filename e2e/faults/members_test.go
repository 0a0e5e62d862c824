package faults_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/faults"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// recoveryBound is how soon a member that responds again must be known to be back and have what was
// changed meanwhile: two probes, one second apart, a list of each kind, and what a busy machine adds.
const recoveryBound = 20 * time.Second

// testRefusals answers all requests to a member in one way until the member is lost: with
// errors, with a denial, with a rejection of the credentials, or too late (F13, F16, F21).
func (s *suite) testRefusals(t *testing.T) {
	t.Helper()
	for name, action := range map[string]faults.Action{
		"errors": faults.Answer(http.StatusInternalServerError, 0), "denials": faults.Answer(http.StatusForbidden, 0),
		"rejected credentials": faults.Answer(http.StatusUnauthorized, 0), "latency": faults.Delay(2 * framework.Timeouts().Probe),
	} {
		t.Run(name, func(t *testing.T) { s.testRefusal(t, action) })
	}
}

func (s *suite) testRefusal(t *testing.T, action faults.Action) {
	t.Helper()
	app := s.newApp(t, "refusal")
	marked := s.Mark(t)
	f := s.inject(t, eu, faults.Match{UserAgent: agent}, action)
	s.scale(t, app, 2)
	s.awaitUnaffected(t, app)
	s.AwaitApp(t, app, "the region to be Unknown", func(status *v1.EcommerceAppStatus) error {
		if r := framework.Region(status, euRegion); r.Phase != v1.PhaseUnknown {
			return fmt.Errorf("it is %s", r.Phase)
		}
		return nil
	})
	f.Remove()
	fleettest.Within(t, recoveryBound, "the member to be back with the edit", func(ctx context.Context) error {
		if err := s.Hub.Get(ctx, client.ObjectKeyFromObject(app), app); err != nil {
			return err
		}
		if c := framework.Cluster(&app.Status, eu); !c.Ready || c.AppliedGeneration != app.Generation {
			return fmt.Errorf("%+v", c)
		}
		return nil
	})
	s.awaitRunning(t, app)
	s.wantNoDeletes(t, marked, hub, eu, us)
}

// testOlderListOfMember restarts the hub in front of a member whose API server lags: the first
// lists are from before the application was created. Nothing is made twice, replaced or deleted (F5).
func (s *suite) testOlderListOfMember(t *testing.T) {
	t.Helper()
	var older []*faults.Snapshot
	for _, resource := range []string{"ecommerceapps", "deployments"} {
		snapshot, err := s.proxies[eu].Snapshot(t.Context(), faults.Match{Resource: resource})
		if err != nil {
			t.Fatal(err)
		}
		older = append(older, snapshot)
	}
	app := s.newApp(t, "lagging")
	before := s.identities(t, app)
	s.StopHub()
	marked := s.Mark(t)
	var lists, events []*faults.Fault
	for i, resource := range []string{"ecommerceapps", "deployments"} {
		lists = append(lists, s.inject(t, eu, faults.Match{Resource: resource, Verbs: []string{"list", "watch"}}, faults.ServeSnapshot(older[i])))
		events = append(events, s.inject(t, eu, faults.Match{Resource: resource, Verbs: []string{"watch"}}, faults.Hold()))
	}
	s.StartHub(t)
	for _, f := range lists {
		awaitFired(t, f, 2)
	}
	s.AwaitMembers(t, eu, us)
	// The hub may now do what the past asks for.
	framework.Pause(t, 2*time.Second)
	for _, f := range events {
		f.Remove()
	}
	s.scale(t, app, 2)
	s.awaitRunning(t, app)
	s.wantNoDeletes(t, marked, hub, eu, us)
	for name, uid := range s.identities(t, app) {
		if uid != before[name] {
			t.Errorf("%s was made again", name)
		}
	}
	for _, f := range lists {
		f.Remove()
	}
}

// identities returns the UIDs of an application's copy and Deployments in eu, by name.
func (s *suite) identities(t *testing.T, app *v1.EcommerceApp) map[string]string {
	t.Helper()
	copied := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}
	if err := s.Members[eu].Get(t.Context(), client.ObjectKeyFromObject(copied), copied); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{"the copy": string(copied.UID)}
	deployments := &appsv1.DeploymentList{}
	if err := s.Members[eu].List(t.Context(), deployments, client.InNamespace(app.Namespace)); err != nil {
		t.Fatal(err)
	}
	for i := range deployments.Items {
		found[deployments.Items[i].Name] = string(deployments.Items[i].UID)
	}
	return found
}
