package hub_test

import (
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
)

// testSnapshot restores etcd of the hub from a snapshot, after applications were edited, moved,
// deleted and created, a member was unregistered, and another got a new token.
func (s *suite) testSnapshot(t *testing.T) {
	edited, moved, deleted, created := small("edited", "eu-1"), small("moved", "eu-1"), small("deleted", "eu-1"), small("created", "eu-1")
	away := small("away", "asia-1")
	for _, app := range []*v1.EcommerceApp{edited, moved, deleted} {
		s.Create(t, app)
		s.AwaitRunning(t, app, eu)
	}
	s.Create(t, away)
	s.AwaitRunning(t, away, asia)
	snapshot := filepath.Join(t.TempDir(), "etcd")
	if err := s.Fleet.Hub().Snapshot(t.Context(), snapshot); err != nil {
		t.Fatal(err)
	}

	framework.Edit(t, s.Hub, edited, func(app *v1.EcommerceApp) { app.Spec.Image = "shop:v2" })
	s.AwaitRunning(t, edited, eu)
	s.ExpectDeletes(invariants.Expected{Cluster: "eu-1", Resource: "ecommerceapps", Namespace: moved.Namespace, Name: moved.Name})
	framework.Edit(t, s.Hub, moved, func(app *v1.EcommerceApp) { app.Spec.Placement.ClusterNames = []string{"us-1"} })
	s.AwaitRunning(t, moved, us)
	s.Delete(t, deleted)
	s.Create(t, created)
	s.AwaitRunning(t, created, eu)
	registration := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "asia-1"}}
	if err := s.Hub.Delete(t.Context(), registration); err != nil {
		t.Fatal(err)
	}
	registration.Name = "us-1"
	framework.Edit(t, s.Hub, registration, func(secret *corev1.Secret) {
		secret.Data[v1.KubeconfigKey] = framework.Kubeconfig(t, s.Fleet.Member("us-1"), config.HubServiceAccount)
	})

	framework.MarkSettled(t, s.Fleet, edited.Namespace, config.HubServiceAccount) // What the former hub owes is not the restored one's.
	s.StopHub()
	s.Restore(t, snapshot)
	before := s.Mark(t)
	s.StartHub(t)
	s.AwaitMembers(t, memberNames()...)
	s.awaitReason(t, edited, "eu-1", v1.ReasonNewerInMember)
	s.awaitReason(t, moved, "eu-1", v1.ReasonNewerElsewhere)
	s.awaitReason(t, deleted, "eu-1", v1.ReasonDeletedInMember)
	s.awaitOrphans(t, 1)
	s.AwaitRunning(t, away, asia)
	framework.Canary(t, s.Hub, eu, asia, us)
	for _, name := range memberNames() {
		of := func(e audit.Event) bool { return e.Namespace == edited.Namespace && e.Resource != "events" }
		if writes := s.Since(t, before, s.Fleet.Member(name)).Writes().Where(of); len(writes) > 0 {
			t.Errorf("%s: the restored hub wrote:\n%s", name, writes)
		}
	}

	// The change of the placement is made once more, and then another one.
	framework.Edit(t, s.Hub, moved, func(app *v1.EcommerceApp) { app.Spec.Placement.ClusterNames = []string{"us-1"} })
	s.AwaitRunning(t, moved, us)
	framework.Edit(t, s.Hub, moved, func(app *v1.EcommerceApp) { app.Spec.Placement.ClusterNames = []string{"eu-1", "us-1"} })
	s.AwaitRunning(t, moved, eu, us)
	s.restoreApproved(t, deleted)
	for _, app := range []*v1.EcommerceApp{edited, moved, deleted, away} {
		s.Delete(t, app)
	}
}

// restoreApproved creates an application again that was deleted in eu-1, deletes it once more, and restores the hub
// from a snapshot with the approval, which does not cover that.
func (s *suite) restoreApproved(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	s.settle(t, app, "overwrite")
	s.AwaitRunning(t, app, eu)
	snapshot := filepath.Join(t.TempDir(), "etcd")
	if err := s.Fleet.Hub().Snapshot(t.Context(), snapshot); err != nil {
		t.Fatal(err)
	}
	s.Delete(t, app)
	s.StopHub()
	s.Restore(t, snapshot)
	s.StartHub(t)
	s.AwaitMembers(t, memberNames()...)
	s.awaitReason(t, app, "eu-1", v1.ReasonDeletedInMember)
	if err := framework.Gone(t.Context(), s.Members["eu-1"], app.DeepCopy()); err != nil {
		t.Errorf("an approval of the first deletion created the application after the second: %v", err)
	}
}
