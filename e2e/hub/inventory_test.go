package hub_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testInventory checks copies that the status of no application lists.
func (s *suite) testInventory(t *testing.T) {
	deleted, recovered := small("deleted"), small("recovered", "us-1")
	s.Create(t, deleted)
	s.awaitCopies(t, deleted, "eu-1", "us-1")
	s.Create(t, recovered)
	s.awaitCopies(t, recovered, "us-1")
	s.freeze(t)
	t.Run("deletion without an inventory waits for members that may hold a copy", func(t *testing.T) { s.testDeletionWithoutInventory(t, deleted) })
	t.Run("inventory that was wiped during an outage is recovered", func(t *testing.T) { s.testInventoryRecovery(t, recovered) })
	t.Run("new application does not wait for members without a copy", s.testCreationDuringOutage)
	s.thaw(t)
	s.awaitGone(t, deleted, "us-1")
	s.awaitGone(t, recovered, "us-1")
	s.AwaitMembers(t, "us-1")
	t.Run("status of members that was wiped moves no application", s.testWipedMembers)
	t.Run("orphans are counted and kept", s.testOrphans)
}

// testDeletionWithoutInventory deletes an application whose status was wiped while a member
// does not answer.
func (s *suite) testDeletionWithoutInventory(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	s.wipe(t, app)
	if err := s.Hub.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	s.awaitHeld(t, app, "us-1")
	if err := framework.Gone(t.Context(), s.Members["eu-1"], app.DeepCopy()); err != nil {
		t.Errorf("eu-1: %v", err)
	}
}

// testInventoryRecovery wipes the status of an application that runs only in a member that does not respond, and
// lets the hub write another before it is deleted.
func (s *suite) testInventoryRecovery(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	s.AwaitApp(t, app, "us-1 to be stale", func(status *v1.EcommerceAppStatus) error {
		if !framework.Cluster(status, "us-1").Stale {
			return errors.New("not yet")
		}
		return nil
	})
	s.wipe(t, app)
	s.AwaitApp(t, app, "the inventory to list us-1 again", func(status *v1.EcommerceAppStatus) error {
		if c := framework.Cluster(status, "us-1"); !c.Stale || c.Phase != v1.PhaseUnknown || status.Phase != v1.PhaseUnknown {
			return fmt.Errorf("us-1 is %+v", c)
		}
		return nil
	})
	if err := s.Hub.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	s.awaitHeld(t, app, "us-1")
}

// testWipedMembers wipes the status of an application that is placed by region, and those of
// its members, one of which does not respond when the hub starts. Another application keeps its
// status.
func (s *suite) testWipedMembers(t *testing.T) {
	app, kept := small("unmoved"), small("unmoved-too")
	for _, app := range []*v1.EcommerceApp{app, kept} {
		app.Spec.Placement = v1.Placement{ClusterCriteria: v1.ClusterCriteria{Regions: []string{eu, us}}}
		s.Create(t, app)
		s.AwaitRunning(t, app, eu, us)
	}
	before := framework.MarkSettled(t, s.Fleet, app.Namespace, config.HubServiceAccount)
	s.StopHub()
	s.freeze(t)
	s.wipe(t, app)
	for _, name := range memberNames() {
		member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		framework.Await(t, s.Hub, member, "the status to be wiped", func(*v1.MemberCluster) error {
			member.Status = v1.MemberClusterStatus{}
			return s.Hub.Status().Update(t.Context(), member)
		})
	}
	s.StartHub(t)
	s.AwaitMembers(t, "asia-1", "eu-1")
	s.AwaitApp(t, app, "it to wait for us-1", func(status *v1.EcommerceAppStatus) error {
		if status.Phase != v1.PhaseUnknown || !strings.Contains(status.Message, "may run the application: us-1;") {
			return fmt.Errorf("says %q", status.Message)
		}
		return nil
	})
	s.AwaitApp(t, kept, "it to stay in us-1", func(status *v1.EcommerceAppStatus) error {
		if c := framework.Cluster(status, "us-1"); !c.Stale || c.Phase != v1.PhaseUnknown {
			return fmt.Errorf("us-1 is %+v", c)
		}
		return nil
	})
	s.thaw(t)
	s.AwaitMembers(t, "us-1")
	s.AwaitRunning(t, app, eu, us)
	s.AwaitRunning(t, kept, eu, us)
	for _, name := range memberNames() {
		if writes := s.Since(t, before, s.Fleet.Member(name)).Writes().In(app.Namespace).Succeeded(); len(writes) > 0 {
			t.Errorf("%s: the copies did not change:\n%s", name, writes)
		}
	}
	s.Delete(t, app)
	s.Delete(t, kept)
}

// testCreationDuringOutage makes and deletes an application while a member is known to be
// out of reach.
func (s *suite) testCreationDuringOutage(t *testing.T) {
	app := small("new")
	s.Create(t, app)
	s.awaitCopies(t, app, "eu-1")
	s.Delete(t, app)
}

// freeze makes us-1 unreachable.
func (s *suite) freeze(t *testing.T) {
	t.Helper()
	if err := s.Fleet.Member("us-1").Freeze(t.Context(), fleet.APIServer); err != nil {
		t.Fatal(err)
	}
}

// thaw makes us-1 reachable again.
func (s *suite) thaw(t *testing.T) {
	t.Helper()
	if err := s.Fleet.Member("us-1").Thaw(t.Context(), fleet.APIServer); err != nil {
		t.Fatal(err)
	}
}

// wipe takes the status of an application away, by hand.
func (s *suite) wipe(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	framework.Await(t, s.Hub, app, "the status to be wiped", func(*v1.EcommerceApp) error {
		app.Status = v1.EcommerceAppStatus{}
		return s.Hub.Status().Update(t.Context(), app)
	})
}

// awaitCopies waits until members hold the copies of an application.
func (s *suite) awaitCopies(t *testing.T, app *v1.EcommerceApp, members ...string) {
	t.Helper()
	framework.Eventually(t, "the copies of "+app.Name, func(ctx context.Context) error {
		for _, name := range members {
			copied := &v1.EcommerceApp{}
			if err := s.Members[name].Get(ctx, client.ObjectKeyFromObject(app), copied); err != nil {
				return err
			}
			if got := copied.Annotations[v1.HubAppUIDAnnotation]; got != string(app.UID) {
				return fmt.Errorf("the copy in %s is one of %q, want %q", name, got, app.UID)
			}
		}
		return nil
	})
}

// awaitHeld waits until a deletion waits for a member alone, and says so.
func (s *suite) awaitHeld(t *testing.T, app *v1.EcommerceApp, member string) {
	t.Helper()
	s.AwaitApp(t, app, "the deletion to wait for "+member, func(status *v1.EcommerceAppStatus) error {
		ready := framework.Condition(status.Conditions, v1.ConditionReady)
		if status.Phase != v1.PhaseDeleting || len(status.Clusters) != 1 || !framework.Cluster(status, member).Stale ||
			ready.Reason != v1.ReasonClusterUnreachable || !strings.Contains(ready.Message, member) {
			return errors.New("not yet")
		}
		return nil
	})
}

// awaitGone waits until neither the hub nor a member has an application.
func (s *suite) awaitGone(t *testing.T, app *v1.EcommerceApp, member string) {
	t.Helper()
	framework.Eventually(t, app.Name+" to be gone", func(ctx context.Context) error {
		return errors.Join(framework.Gone(ctx, s.Hub, app), framework.Gone(ctx, s.Members[member], app.DeepCopy()))
	})
}
