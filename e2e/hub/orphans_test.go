package hub_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
)

// testOrphans makes copies in a member by hand that belong to no application.
func (s *suite) testOrphans(t *testing.T) {
	s.orphan(t, "one")
	zero := s.orphan(t, "zero")
	s.ExpectDeletes(invariants.Expected{Namespace: zero.Namespace, Name: zero.Name + "*"})
	s.awaitOrphans(t, 2)
	framework.CLI(t, s.Fleet.Hub(), "recover", "delete", "zero", "-n", "small", "--dry-run=client").
		Want(t, framework.Done, "ecommerceapp.ecommerce.io/zero deleted in eu-1 (dry run)")
	s.StopHub()
	// Ctrl-C ends the command, and not the deletion.
	framework.Session{StopAt: "waiting for the orphan"}.CLI(t, s.Fleet.Hub(), "recover", "delete", "zero", "-n", "small", "--yes").
		Want(t, framework.Stopped, "The deletion continues on the hub. To see what is left: kubectl shopfleet recover list -A")
	two := s.orphan(t, "two")
	s.StartHub(t)
	s.awaitOrphans(t, 2)
	if err := s.Members["eu-1"].Delete(t.Context(), two); err != nil {
		t.Fatal(err)
	}
	s.awaitOrphans(t, 1)
	list := framework.CLI(t, s.Fleet.Hub(), "recover", "list", "-A").Want(t, framework.Done, "small", "one", "eu-1", "Orphan")
	if strings.Contains(list.Out, "two") {
		t.Error("a deleted copy is listed")
	}
	framework.CLI(t, s.Fleet.Hub(), "recover", "list", "-n", "small", "-o", "name").Want(t, framework.Done, "ecommerceapp.ecommerce.io/one")
	framework.CLI(t, s.Fleet.Hub(), "recover", "delete", "two", "-n", "small").Want(t, framework.Failed, "not found", "kubectl shopfleet recover list -A")
	if err := framework.Gone(t.Context(), s.Members["eu-1"], zero); err != nil {
		t.Error(err)
	}
	// An application of its name takes an orphan over.
	for mode, text := range map[string]string{"client": "adopted in eu-1 (dry run)", "server": "adopted in eu-1 (server dry run)"} {
		framework.CLI(t, s.Fleet.Hub(), "recover", "adopt", "one", "-n", "small", "--dry-run="+mode).Want(t, framework.Done, text)
	}
	framework.CLI(t, s.Fleet.Hub(), "recover", "adopt", "one", "-n", "small").
		Want(t, framework.Done, "ecommerceapp.ecommerce.io/one adopted in eu-1")
	app := small("one", "eu-1")
	if err := s.Hub.Get(t.Context(), client.ObjectKeyFromObject(app), app); err != nil {
		t.Fatal(err)
	}
	s.awaitOrphans(t, 0)
	framework.CLI(t, s.Fleet.Hub(), "recover", "list", "-A").Want(t, framework.Done, "No decision is pending.")
	s.awaitCopies(t, app, "eu-1")
	if err := s.Hub.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	s.awaitGone(t, app, "eu-1")

	three := s.orphan(t, "three")
	s.ExpectDeletes(invariants.Expected{Namespace: three.Namespace, Name: three.Name + "*"})
	s.awaitOrphans(t, 1)
	framework.CLI(t, s.Fleet.Hub(), "recover", "delete", "three", "-n", "small", "--yes").
		Want(t, framework.Done, "ecommerceapp.ecommerce.io/three deleted in eu-1")
	if err := framework.Gone(t.Context(), s.Members["eu-1"], three); err != nil {
		t.Error(err)
	}
	s.awaitOrphans(t, 0)
}

func (s *suite) orphan(t *testing.T, name string) *v1.EcommerceApp {
	t.Helper()
	app := small(name)
	app.Labels = map[string]string{v1.ManagedByLabel: v1.ManagedBy}
	app.Annotations = map[string]string{v1.HubAppUIDAnnotation: "that-of-no-application", v1.RestartedAtAnnotation: "2026-11-23T08:00:00Z"}
	framework.Create(t, s.Members["eu-1"], app)
	return app
}

func (s *suite) awaitOrphans(t *testing.T, want int32) {
	t.Helper()
	member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}}
	framework.Await(t, s.Hub, member, "eu-1 to count orphans", func(m *v1.MemberCluster) error {
		if got := m.Status.OrphanCount; got != want {
			return fmt.Errorf("counts %d, want %d", got, want)
		}
		return nil
	})
}
