package hub_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testPaused pauses an application, a member and the whole hub.
func (s *suite) testPaused(t *testing.T) {
	t.Run("application", s.testPausedApp)
	t.Run("member and safe mode", s.testPausedMember)
}

// awaitPending blocks until a number of changes of the kind and action are held back in a cluster.
func (s *suite) awaitPending(t *testing.T, app *v1.EcommerceApp, want v1.PendingChange) {
	t.Helper()
	s.AwaitApp(t, app, fmt.Sprintf("%+v to be pending", want), func(status *v1.EcommerceAppStatus) error {
		for _, c := range status.PendingChanges {
			if c.Cluster == want.Cluster && c.Kind == want.Kind && c.Action == want.Action {
				return nil
			}
		}
		return fmt.Errorf("pending are %d: %+v", status.PendingChangeCount, status.PendingChanges)
	})
}

// noWrites checks that the hub wrote nothing to a member but statuses, if those are allowed.
func (s *suite) noWrites(t *testing.T, before framework.Marks, member string, statuses bool) {
	t.Helper()
	for _, e := range s.Since(t, before, s.Fleet.Member(member)).Writes() {
		if !statuses || e.Subresource != "status" {
			t.Errorf("%s: %s", member, e)
		}
	}
}

func (s *suite) deleteService(t *testing.T, member string, app *v1.EcommerceApp) *corev1.Service {
	t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-frontend"}}
	if err := s.Members[member].Delete(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	return service
}

// testPausedApp edits a paused application, and deletes a child of it.
func (s *suite) testPausedApp(t *testing.T) {
	app := small("paused", "eu-1")
	s.Create(t, app)
	s.AwaitRunning(t, app, eu)
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) { a.Spec.Paused = true })
	copied := app.DeepCopy()
	framework.Await(t, s.Members["eu-1"], copied, "the copy to be paused", func(c *v1.EcommerceApp) error {
		if !c.Spec.Paused || c.Status.Phase != v1.PhasePaused {
			return fmt.Errorf("paused %t, %s", c.Spec.Paused, c.Status.Phase)
		}
		return nil
	})
	before := framework.MarkSettled(t, s.Fleet, app.Namespace, "shopfleet-hub")
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) { a.Spec.Image = "shop:v2" })
	service := s.deleteService(t, "eu-1", app)
	s.awaitPending(t, app, v1.PendingChange{Cluster: "eu-1", Kind: "EcommerceApp", Action: v1.PendingUpdate})
	s.awaitPending(t, app, v1.PendingChange{Cluster: "eu-1", Kind: "Service", Action: v1.PendingCreate})
	framework.AwaitCondition(t, s.Hub, app, metav1.Condition{Type: v1.ConditionProgressing, Status: metav1.ConditionFalse, Reason: v1.ReasonPaused})
	if app.Status.Phase != v1.PhasePaused {
		t.Errorf("phase %s", app.Status.Phase)
	}
	s.RestartHub(t)
	framework.Canary(t, s.Hub, eu, asia, us)
	for _, e := range s.Since(t, before, s.Fleet.Member("eu-1")).Writes().In(app.Namespace) {
		if e.Subresource != "status" {
			t.Errorf("written while paused: %s", e)
		}
	}
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) { a.Spec.Paused = false })
	framework.Await(t, s.Members["eu-1"], service, "the Service to be back", func(*corev1.Service) error { return nil })
	s.AwaitRunning(t, app, eu)
	if len(app.Status.PendingChanges) > 0 || app.Status.PendingChangeCount != 0 {
		t.Errorf("still pending: %+v", app.Status.PendingChanges)
	}
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) { a.Spec.Paused = true })
	s.Delete(t, app)
}

// testPausedMember pauses one member while another goes on, and then all of them.
func (s *suite) testPausedMember(t *testing.T) {
	app := small("held", "eu-1", "us-1")
	s.Create(t, app)
	s.AwaitRunning(t, app, eu, us)
	member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}}
	framework.Edit(t, s.Hub, member, func(m *v1.MemberCluster) { m.Spec.Paused = true })
	framework.AwaitCondition(t, s.Hub, member, metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1.ReasonPaused})
	before := s.Mark(t)
	service := s.deleteService(t, "eu-1", app)
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) { a.Spec.Image = "shop:v2" })
	s.awaitPending(t, app, v1.PendingChange{Cluster: "eu-1", Kind: "EcommerceApp", Action: v1.PendingUpdate})
	s.awaitPending(t, app, v1.PendingChange{Cluster: "eu-1", Kind: "Service", Action: v1.PendingCreate})
	copied := app.DeepCopy()
	framework.Await(t, s.Members["us-1"], copied, "the other copy to go on", func(c *v1.EcommerceApp) error {
		if c.Spec.Image != "shop:v2" {
			return fmt.Errorf("image %s", c.Spec.Image)
		}
		return nil
	})
	s.noWrites(t, before, "eu-1", false)

	s.StopHub()
	s.safeMode = true
	s.StartHub(t)
	for _, name := range memberNames() {
		m := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		framework.AwaitCondition(t, s.Hub, m, metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1.ReasonPaused})
	}
	safe := s.Mark(t)
	fresh := small("fresh", "us-1")
	s.Create(t, fresh)
	framework.AwaitCondition(t, s.Hub, fresh, metav1.Condition{Type: v1.ConditionPlaced, Status: metav1.ConditionFalse})
	s.deleteService(t, "us-1", app)
	s.awaitPending(t, app, v1.PendingChange{Cluster: "us-1", Kind: "Service", Action: v1.PendingCreate})
	if err := s.Hub.Delete(t.Context(), app.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	framework.AwaitCondition(t, s.Hub, app, metav1.Condition{Type: v1.ConditionDeleting, Status: metav1.ConditionTrue, Reason: v1.ReasonPaused})
	for _, name := range memberNames() {
		s.noWrites(t, safe, name, false)
	}
	s.noWrites(t, before, "eu-1", false)

	s.safeMode = false
	s.RestartHub(t)
	framework.Edit(t, s.Hub, member, func(m *v1.MemberCluster) { m.Spec.Paused = false })
	framework.AwaitGone(t, s.Hub, app)
	framework.AwaitGone(t, s.Members["eu-1"], app)
	s.AwaitRunning(t, fresh, us)
	s.Delete(t, fresh)
	if err := framework.Gone(t.Context(), s.Members["eu-1"], service); client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
}
