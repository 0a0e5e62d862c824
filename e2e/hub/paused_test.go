package hub_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
)

// testPaused pauses an application, a member and the whole hub.
func (s *suite) testPaused(t *testing.T) {
	t.Run("application", s.testPausedApp)
	t.Run("member and safe mode", s.testPausedMember)
	t.Run("deletions in a member", s.testDeletionsInPausedMember)
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

// noWrites checks that the hub wrote nothing to a member.
func (s *suite) noWrites(t *testing.T, before framework.Marks, member string) {
	t.Helper()
	for _, e := range s.Since(t, before, s.Fleet.Member(member)).Writes() {
		t.Errorf("%s: %s", member, e)
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
	before := framework.MarkSettled(t, s.Fleet, app.Namespace, config.HubServiceAccount)
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
	s.noWrites(t, before, "eu-1")

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
		s.noWrites(t, safe, name)
	}
	s.noWrites(t, before, "eu-1")

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

// setPaused pauses a member, or ends its pause, and blocks until the member says so.
func (s *suite) setPaused(t *testing.T, name string, paused bool) {
	t.Helper()
	member, reason := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}, v1.ReasonConnected
	if paused {
		reason = v1.ReasonPaused
	}
	framework.Edit(t, s.Hub, member, func(m *v1.MemberCluster) { m.Spec.Paused = paused })
	framework.AwaitCondition(t, s.Hub, member, metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: reason})
}

// testDeletionsInPausedMember checks that deletions in a paused member wait for the end of the pause, and are carried
// out then.
func (s *suite) testDeletionsInPausedMember(t *testing.T) {
	deleted, moved, left := small("deleted", "eu-1", "us-1"), small("moved", "eu-1"), small("left", "eu-1")
	deleted.Spec.Deletion.UnreachableTimeout = &metav1.Duration{Duration: time.Second}
	apps := []*v1.EcommerceApp{deleted, moved, left}
	for _, app := range apps {
		s.Create(t, app)
	}
	s.ExpectDeletes(invariants.Expected{Cluster: "eu-1", Resource: "ecommerceapps", Namespace: moved.Namespace, Name: moved.Name})
	s.AwaitRunning(t, deleted, eu, us)
	s.AwaitRunning(t, moved, eu)
	s.AwaitRunning(t, left, eu)
	s.setPaused(t, "eu-1", true)
	before := framework.MarkSettled(t, s.Fleet, deleted.Namespace, config.HubServiceAccount)

	if err := s.Hub.Delete(t.Context(), deleted.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	c := framework.AwaitCondition(t, s.Hub, deleted, metav1.Condition{Type: v1.ConditionDeleting, Status: metav1.ConditionTrue, Reason: v1.ReasonPaused})
	if want := "the deletion in eu-1 is held back by spec.paused of MemberCluster eu-1"; !strings.HasPrefix(c.Message, want) {
		t.Errorf("message %q, want %q", c.Message, want)
	}
	s.awaitPending(t, deleted, v1.PendingChange{Cluster: "eu-1", Kind: "EcommerceApp", Action: v1.PendingDelete})
	framework.AwaitGone(t, s.Members["us-1"], deleted.DeepCopy())
	framework.Edit(t, s.Hub, moved, func(a *v1.EcommerceApp) { a.Spec.Placement.ClusterNames = []string{"us-1"} })
	s.awaitPending(t, moved, v1.PendingChange{Cluster: "eu-1", Kind: "EcommerceApp", Action: v1.PendingDelete})
	framework.Edit(t, s.Hub, left, func(a *v1.EcommerceApp) {
		metav1.SetMetaDataAnnotation(&a.ObjectMeta, v1.SkipUnreachableAnnotation, "true")
	})
	s.Delete(t, left)

	s.RestartHub(t)
	framework.Canary(t, s.Hub, asia, us) // A paused member is not chosen.
	s.awaitPending(t, deleted, v1.PendingChange{Cluster: "eu-1", Kind: "EcommerceApp", Action: v1.PendingDelete})
	s.noWrites(t, before, "eu-1")
	for _, app := range apps {
		copied := app.DeepCopy()
		if err := s.Members["eu-1"].Get(t.Context(), client.ObjectKeyFromObject(app), copied); err != nil || copied.DeletionTimestamp != nil {
			t.Errorf("%s: the copy was deleted during the pause: %v", app.Name, err)
		}
	}

	s.setPaused(t, "eu-1", false)
	framework.AwaitGone(t, s.Hub, deleted)
	s.AwaitRunning(t, moved, us)
	for _, app := range apps {
		framework.AwaitGone(t, s.Members["eu-1"], app.DeepCopy())
		frontend := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-frontend"}}
		if err := framework.Gone(t.Context(), s.Members["eu-1"], frontend); err != nil {
			t.Errorf("%s: %v", app.Name, err)
		}
	}
	s.Delete(t, moved)
}
