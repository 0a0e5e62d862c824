package agent_test

import (
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// awaitPending blocks until the shop's status on the hub lists a change in us.
func (s *suite) awaitPending(t *testing.T, kind string, action v1.PendingAction) {
	t.Helper()
	s.AwaitApp(t, s.shop, fmt.Sprintf("%s of %s to be pending", action, kind), func(status *v1.EcommerceAppStatus) error {
		for _, c := range status.PendingChanges {
			if c.Cluster == us && c.Kind == kind && c.Action == action {
				return nil
			}
		}
		return fmt.Errorf("pending are %d: %+v", status.PendingChangeCount, status.PendingChanges)
	})
}

// scale edits the shop on the hub.
func (s *suite) scale(t *testing.T, replicas int32) {
	t.Helper()
	framework.Edit(t, s.Hub, s.shop, func(app *v1.EcommerceApp) { app.Spec.Frontend.Replicas = &replicas })
}

// testPausedApp breaks a paused shop: the agent reports what it would write, also after a restart,
// and writes it after the pause.
func (s *suite) testPausedApp(t *testing.T) {
	t.Helper()
	framework.Edit(t, s.Hub, s.shop, func(app *v1.EcommerceApp) { app.Spec.Paused = true })
	copied := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: s.shop.Namespace, Name: s.shop.Name}}
	framework.Await(t, s.Members[us], copied, "the agent to report the pause", func(app *v1.EcommerceApp) error {
		if !app.Spec.Paused || app.Status.Phase != v1.PhasePaused {
			return fmt.Errorf("paused %t, %s", app.Spec.Paused, app.Status.Phase)
		}
		return nil
	})
	before := framework.MarkSettled(t, s.Fleet, s.shop.Namespace, config.HubServiceAccount, config.SpokeServiceAccount)
	frontend := s.deleteFrontend(t)
	s.scale(t, 5)
	s.awaitPending(t, "Deployment", v1.PendingCreate)
	s.awaitPending(t, "EcommerceApp", v1.PendingUpdate)
	s.stopAgent[us]()
	s.startAgent(t, us)
	s.awaitReady(t, us, v1.ModeAgent)
	s.canary(t)
	s.awaitPending(t, "Deployment", v1.PendingCreate)
	for _, e := range s.writes(t, before, us).In(s.shop.Namespace) {
		if e.Subresource != "status" {
			t.Errorf("written while the application is paused: %s", e)
		}
	}
	framework.Edit(t, s.Hub, s.shop, func(app *v1.EcommerceApp) { app.Spec.Paused = false })
	framework.Await(t, s.Members[us], frontend, "the frontend to be made again", func(*appsv1.Deployment) error { return nil })
	s.AwaitRunning(t, s.shop, euRegion, usRegion)
	if s.shop.Status.PendingChangeCount != 0 {
		t.Errorf("still pending: %+v", s.shop.Status.PendingChanges)
	}
}

// testPausedMember pauses a member with an agent: the hub writes nothing there, and the agent goes on
// with the copy that it has.
func (s *suite) testPausedMember(t *testing.T) {
	t.Helper()
	member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: us}}
	framework.Edit(t, s.Hub, member, func(m *v1.MemberCluster) { m.Spec.Paused = true })
	s.awaitMember(t, us, "to be paused", func(ready, agent metav1.Condition) error {
		if ready.Status != metav1.ConditionTrue || ready.Reason != v1.ReasonPaused || agent.Status != metav1.ConditionTrue {
			return errors.New("is not")
		}
		return nil
	})
	before := s.Mark(t)
	frontend := s.deleteFrontend(t)
	old := frontend.UID
	s.scale(t, 2)
	framework.Await(t, s.Members[us], frontend, "the agent to make the frontend again", func(d *appsv1.Deployment) error {
		if d.UID == old {
			return errors.New("is the deleted one")
		}
		return nil
	})
	s.awaitPending(t, "EcommerceApp", v1.PendingUpdate)
	s.StopHub()
	s.StartHub(t)
	framework.Canary(t, s.Hub, euRegion) // A paused member is not chosen.
	s.awaitPending(t, "EcommerceApp", v1.PendingUpdate)
	if writes := s.Since(t, before, s.Fleet.Member(us)).Writes(); len(writes) > 0 {
		t.Errorf("the hub wrote to a member that is paused:\n%s", writes)
	}
	if got := s.copyIn(t, us).Spec.Frontend.Replicas; got == nil || *got == 2 {
		t.Errorf("the copy has %v replicas", got)
	}
	if got := s.copyIn(t, eu).Spec.Frontend.Replicas; got == nil || *got != 2 {
		t.Errorf("the copy in the other member has %v replicas", got)
	}
	framework.Edit(t, s.Hub, member, func(m *v1.MemberCluster) { m.Spec.Paused = false })
	s.AwaitRunning(t, s.shop, euRegion, usRegion)
}
