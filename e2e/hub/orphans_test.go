package hub_test

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testOrphans makes copies in a member by hand that belong to no application.
func (s *suite) testOrphans(t *testing.T) {
	s.orphan(t, "one")
	s.awaitOrphans(t, 1)
	s.StopHub()
	two := s.orphan(t, "two")
	s.StartHub(t)
	s.awaitOrphans(t, 2)
	if err := s.Members["eu-1"].Delete(t.Context(), two); err != nil {
		t.Fatal(err)
	}
	s.awaitOrphans(t, 1)
	// An application of its name takes an orphan over.
	app := small("one", "eu-1")
	s.Create(t, app)
	s.awaitOrphans(t, 0)
	s.awaitCopies(t, app, "eu-1")
	if err := s.Hub.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	s.awaitGone(t, app, "eu-1")
}

func (s *suite) orphan(t *testing.T, name string) *v1.EcommerceApp {
	t.Helper()
	app := small(name)
	app.Labels = map[string]string{v1.ManagedByLabel: v1.ManagedBy}
	app.Annotations = map[string]string{v1.HubAppUIDAnnotation: "that-of-no-application"}
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
