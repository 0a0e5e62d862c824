package faults_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// frontendOf returns the frontend of an application, to read into.
func frontendOf(app *v1.EcommerceApp) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-frontend"}}
}

// testHubNoSpace makes etcd of the hub refuse all writes for less time than the Lease lasts (F34).
// The hub goes on with what needs no write on the hub.
func (s *suite) testHubNoSpace(t *testing.T) {
	t.Helper()
	app := s.newApp(t, "hub-no-space")
	before := app.DeepCopy()
	if err := s.Hub.Get(t.Context(), client.ObjectKeyFromObject(app), before); err != nil {
		t.Fatal(err)
	}
	frontend := frontendOf(app)
	if err := s.Members[eu].Get(t.Context(), client.ObjectKeyFromObject(frontend), frontend); err != nil {
		t.Fatal(err)
	}
	former := frontend.UID
	holder := s.holder(t)
	marked := s.Mark(t)
	restore := s.fill(t, s.Fleet.Hub())
	if err := s.Hub.Create(t.Context(), framework.Small(namespace, "refused")); !apierrors.IsInternalError(err) {
		t.Errorf("an object was created with %v, want etcd to have no space", err)
	}
	if err := s.Members[eu].Delete(t.Context(), frontend); err != nil {
		t.Fatal(err)
	}
	framework.Eventually(t, "the frontend to be repaired while the hub is read-only", func(ctx context.Context) error {
		if err := s.Members[eu].Get(ctx, client.ObjectKeyFromObject(frontend), frontend); err != nil {
			return err
		}
		if frontend.UID == former {
			return errors.New("it is the former one")
		}
		return nil
	})
	restore()
	s.scale(t, app, 2)
	s.awaitRunning(t, app)
	s.wantNoDeletes(t, marked, hub, eu, us)
	if app.UID != before.UID || s.holder(t) != holder {
		t.Error("the application or the leader is another one")
	}
}

// fill makes etcd of a cluster refuse all writes until the returned function is called, at the
// latest until the test ends.
func (s *suite) fill(t *testing.T, c *fleet.Cluster) (restore func()) {
	t.Helper()
	restore = func() {
		if err := c.SetNoSpace(context.WithoutCancel(t.Context()), false); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(restore)
	if err := c.SetNoSpace(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	return restore
}

// testControllerManagers kills the controller managers of the hub and of a member, and starts
// them again. Without the latter, what the hub applies in the member has no effect.
func (s *suite) testControllerManagers(t *testing.T) {
	t.Helper()
	app := s.newApp(t, "controller-managers")
	marked := s.Mark(t)
	for _, c := range []*fleet.Cluster{s.Fleet.Hub(), s.Fleet.Member(eu)} {
		if err := c.Kill(t.Context(), fleet.ControllerManager); err != nil {
			t.Fatal(err)
		}
		s.restartAfter(t, c)
	}
	s.scale(t, app, 2)
	s.AwaitApp(t, app, "one member to run and the other to wait", func(status *v1.EcommerceAppStatus) error {
		one, other := framework.Cluster(status, us), framework.Cluster(status, eu)
		if !one.Ready || one.AppliedGeneration != app.Generation || other.AppliedGeneration != app.Generation {
			return fmt.Errorf("%+v, %+v", one, other)
		}
		if other.Ready {
			return errors.New("a Deployment that no controller has seen counts as ready")
		}
		return nil
	})
	for _, c := range []*fleet.Cluster{s.Fleet.Hub(), s.Fleet.Member(eu)} {
		if err := c.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	s.awaitRunning(t, app)
	s.wantNoDeletes(t, marked, hub, eu, us)
}

// testMemberEtcd kills etcd of a member, whose API server goes on, and starts it again.
func (s *suite) testMemberEtcd(t *testing.T) {
	t.Helper()
	app := s.newApp(t, "member-etcd")
	transitions := s.readiness(t)
	marked := s.Mark(t)
	c := s.Fleet.Member(eu)
	if err := c.Kill(t.Context(), fleet.Etcd); err != nil {
		t.Fatal(err)
	}
	s.restartAfter(t, c)
	s.scale(t, app, 2)
	s.awaitUnaffected(t, app)
	if err := c.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.awaitReady(t, metav1.ConditionTrue)
	s.awaitRunning(t, app)
	s.wantNoDeletes(t, marked, hub, eu, us)
	if all := transitions(us); len(all) > 1 {
		t.Errorf("the other member was %v", all)
	}
}

// testFrozenProcesses stops one process after the other for a moment, and edits an application
// meanwhile or right after that.
func (s *suite) testFrozenProcesses(t *testing.T) {
	t.Helper()
	const moment = 500 * time.Millisecond
	app := s.newApp(t, "frozen-processes")
	holder := s.holder(t)
	marked := s.Mark(t)
	replicas := int32(1)
	for _, each := range []struct {
		cluster   *fleet.Cluster
		component fleet.Component
	}{
		{s.Fleet.Hub(), fleet.Etcd},
		{s.Fleet.Hub(), fleet.APIServer},
		{s.Fleet.Hub(), fleet.ControllerManager},
		{s.Fleet.Member(eu), fleet.Etcd},
		{s.Fleet.Member(eu), fleet.APIServer},
		{s.Fleet.Member(eu), fleet.ControllerManager},
		{s.Fleet.Member(eu), fleet.Scheduler},
	} {
		s.restartAfter(t, each.cluster)
		if err := each.cluster.Freeze(t.Context(), each.component); err != nil {
			t.Fatal(err)
		}
		replicas++
		if each.cluster == s.Fleet.Hub() {
			framework.Pause(t, moment)
			s.thaw(t, each.cluster)
			s.scale(t, app, replicas)
		} else {
			s.scale(t, app, replicas)
			s.awaitUnaffected(t, app)
			s.thaw(t, each.cluster)
		}
		s.awaitRunning(t, app)
	}
	s.wantNoDeletes(t, marked, hub, eu, us)
	if now := s.holder(t); now != holder {
		t.Errorf("%s leads, and not %s: a moment is shorter than the Lease", now, holder)
	}
}

func (s *suite) thaw(t *testing.T, c *fleet.Cluster) {
	t.Helper()
	if err := c.Thaw(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// restartAfter resumes and starts what a test has left frozen or killed in a cluster.
func (s *suite) restartAfter(t *testing.T, c *fleet.Cluster) {
	t.Helper()
	t.Cleanup(func() {
		if err := c.Restart(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
}
