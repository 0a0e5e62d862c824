package hub_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// detection is how soon a member that stopped answering must be known to have.
const detection = 40 * time.Second

// testOutage freezes one member and kills another, edits the shop meanwhile, and lets
// both return.
func (s *suite) testOutage(t *testing.T) {
	t.Helper()
	usAPI, asiaAPI := s.Fleet.Member("us-1"), s.Fleet.Member("asia-1")
	if err := errors.Join(usAPI.Freeze(t.Context(), fleet.APIServer), asiaAPI.Kill(t.Context(), fleet.APIServer)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // Where the test ends early, the next ones need both.
		ctx := context.WithoutCancel(t.Context())
		if err := errors.Join(usAPI.Thaw(ctx, fleet.APIServer), asiaAPI.Restart(ctx)); err != nil {
			t.Error(err)
		}
	})
	began := time.Now()
	fleettest.Within(t, detection, "both regions to be Unknown", func(ctx context.Context) error {
		if err := s.Hub.Get(ctx, client.ObjectKeyFromObject(s.shop), s.shop); err != nil {
			return err
		}
		for _, name := range []string{us, asia} {
			if r := framework.Region(&s.shop.Status, name); r.Phase != v1.PhaseUnknown || r.ReadyClusters != 0 || r.ReadyReplicas != 0 {
				return fmt.Errorf("region %s: %+v; %s", name, r, framework.Brief(s.shop))
			}
		}
		return nil
	})
	t.Logf("both outages were known after %s", time.Since(began).Round(time.Second))
	s.checkLost(t, began)
	lost := s.unready(t)
	s.RestartHub(t)

	// A change that only our controllers act on: those of Kubernetes take long to recover
	// from such an outage.
	framework.Edit(t, s.Hub, s.shop, func(app *v1.EcommerceApp) {
		app.Spec.Ingress.Annotations = map[string]string{"example.com/edited": "meanwhile"}
	})
	s.AwaitApp(t, s.shop, "the edit to reach the member that works", func(status *v1.EcommerceAppStatus) error {
		if c := framework.Cluster(status, "eu-1"); !c.Ready || c.AppliedGeneration != s.shop.Generation {
			return fmt.Errorf("eu-1 is at generation %d", c.AppliedGeneration)
		}
		return nil
	})
	if diff := cmp.Diff(lost, s.unready(t)); diff != "" {
		t.Errorf("not ready before and after a restart of the hub (-want +got):\n%s", diff)
	}
	if err := errors.Join(usAPI.Thaw(t.Context(), fleet.APIServer), asiaAPI.Restart(t.Context())); err != nil {
		t.Fatal(err)
	}
	s.AwaitRunning(t, s.shop, eu, asia, us)
	for _, c := range s.shop.Status.Clusters {
		if c.Stale || c.AppliedGeneration != s.shop.Generation {
			t.Errorf("%s did not catch up: %+v", c.Name, c)
		}
	}
}

// unready returns since when the shop and the lost members are not ready.
func (s *suite) unready(t *testing.T) map[string]metav1.Condition {
	t.Helper()
	if err := s.Hub.Get(t.Context(), client.ObjectKeyFromObject(s.shop), s.shop); err != nil {
		t.Fatal(err)
	}
	since := map[string]metav1.Condition{"shop": framework.Condition(s.shop.Status.Conditions, v1.ConditionReady)}
	for _, name := range []string{"us-1", "asia-1"} {
		m := &v1.MemberCluster{}
		if err := s.Hub.Get(t.Context(), client.ObjectKey{Name: name}, m); err != nil {
			t.Fatal(err)
		}
		since[name] = framework.Condition(m.Status.Conditions, v1.ConditionReady)
	}
	for name, c := range since {
		since[name] = metav1.Condition{Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime}
	}
	return since
}

// checkLost checks what the status says about two members that are lost and one
// that works.
func (s *suite) checkLost(t *testing.T, began time.Time) {
	t.Helper()
	status := &s.shop.Status
	if r := framework.Region(status, eu); r.Phase != v1.PhaseRunning || r.ReadyClusters != 1 {
		t.Errorf("the region that works is %+v", r)
	}
	c := framework.Cluster(status, "us-1")
	if !c.Stale || c.Reason != v1.ReasonClusterUnreachable || c.LastObservedTime == nil || c.LastObservedTime.After(began.Add(framework.Lag)) {
		t.Errorf("us-1 is %+v, last observed %s, frozen at %s", c, c.LastObservedTime, began)
	}
	ready := framework.Condition(status.Conditions, v1.ConditionReady)
	if status.Phase != v1.PhaseUnknown || ready.Reason != v1.ReasonClusterUnreachable ||
		framework.Condition(status.Conditions, v1.ConditionDegraded).Status != "True" {
		t.Errorf("the shop is %s", framework.Brief(s.shop))
	}
}

// testDeletion deletes the shop while one member does not answer.
func (s *suite) testDeletion(t *testing.T) {
	t.Helper()
	before := s.Mark(t)
	frozen := s.Fleet.Member("us-1")
	if err := frozen.Freeze(t.Context(), fleet.APIServer); err != nil {
		t.Fatal(err)
	}
	if err := s.Hub.Delete(t.Context(), s.shop); err != nil {
		t.Fatal(err)
	}
	s.AwaitApp(t, s.shop, "the deletion to wait for us-1 alone", func(status *v1.EcommerceAppStatus) error {
		c := framework.Cluster(status, "us-1")
		ready := framework.Condition(status.Conditions, v1.ConditionReady)
		if status.Phase != v1.PhaseDeleting || len(status.Clusters) != 1 || !c.Stale ||
			c.Reason != v1.ReasonClusterUnreachable || ready.Reason != v1.ReasonClusterUnreachable {
			return errors.New("not yet")
		}
		return nil
	})
	copied := &v1.EcommerceApp{}
	copied.Namespace, copied.Name = s.shop.Namespace, s.shop.Name
	for _, name := range []string{"asia-1", "eu-1"} {
		if err := framework.Gone(t.Context(), s.Members[name], copied.DeepCopy()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		checkOrder(t, name, s.Since(t, before, s.Fleet.Member(name)))
	}
	if err := frozen.Thaw(t.Context(), fleet.APIServer); err != nil {
		t.Fatal(err)
	}
	framework.Eventually(t, "the shop to be gone", func(ctx context.Context) error {
		return errors.Join(framework.Gone(ctx, s.Hub, s.shop), framework.Gone(ctx, s.Members["us-1"], copied.DeepCopy()))
	})
	checkOrder(t, "us-1", s.Since(t, before, frozen))
}

// checkOrder checks that a shop was taken down from the outside in.
func checkOrder(t *testing.T, member string, log audit.Log) {
	t.Helper()
	var order []string
	for _, e := range log.Deletes().Succeeded() {
		switch {
		case e.Resource == "ingresses", e.Resource == "deployments" && e.Name == "my-ecommerce-app-frontend",
			e.Resource == "deployments" && e.Name == "my-ecommerce-app-backend", e.Resource == "statefulsets":
			order = append(order, e.Resource+"/"+e.Name)
		}
		if e.Resource == "persistentvolumeclaims" || e.Resource == "namespaces" {
			t.Errorf("%s: deleted %s", member, e)
		}
	}
	want := []string{
		"ingresses/my-ecommerce-app-ingress", "deployments/my-ecommerce-app-frontend",
		"deployments/my-ecommerce-app-backend", "statefulsets/my-ecommerce-app-database",
	}
	if !slices.Equal(order, want) {
		t.Errorf("%s: deleted %v, want %v", member, order, want)
	}
}
