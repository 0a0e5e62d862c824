package hub_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/residue"
)

// testResidue is about copies in members that are away while their applications are deleted.
func (s *suite) testResidue(t *testing.T) {
	t.Run("annotation releases a deletion and the member is cleaned up", s.testOrphanAnnotation)
	t.Run("timeout releases a deletion and an application created anew keeps its copy", s.testUnreachableTimeout)
}

// testOrphanAnnotation leaves a copy behind, and replaces the hub before the member returns.
func (s *suite) testOrphanAnnotation(t *testing.T) {
	app := small("left", "eu-1", "us-1")
	s.Create(t, app)
	s.awaitCopies(t, app, "eu-1", "us-1")
	before := s.Mark(t)
	s.freeze(t)
	if err := s.Hub.Delete(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	s.awaitHeld(t, app, "us-1")
	for kind, want := range map[string]metav1.ConditionStatus{
		v1.ConditionDeleting: metav1.ConditionTrue, v1.ConditionProgressing: metav1.ConditionTrue,
		v1.ConditionApplied: metav1.ConditionFalse, v1.ConditionPlaced: metav1.ConditionFalse,
	} {
		if c := framework.Condition(app.Status.Conditions, kind); c.Status != want {
			t.Errorf("condition %+v, want %s", c, want)
		}
	}
	deleting := framework.Condition(app.Status.Conditions, v1.ConditionDeleting)
	if deleting.Reason != v1.ReasonClusterUnreachable || !strings.Contains(deleting.Message, "us-1") || strings.Contains(deleting.Message, "eu-1") {
		t.Errorf("the deletion waits for %+v, want us-1 alone", deleting)
	}
	framework.CLI(t, s.Fleet.Hub(), "delete", app.Name, "-n", app.Namespace, "--wait", "1s").
		Want(t, framework.NotReady, "us-1: ClusterUnreachable", "kubectl shopfleet delete left -n small --orphan")
	framework.CLI(t, s.Fleet.Hub(), "delete", app.Name, "-n", app.Namespace, "--orphan").
		Want(t, framework.Done, "us-1: cannot be reached; the hub deletes the copy when it returns", "ecommerceapp.ecommerce.io/left deleted")
	if err := framework.Gone(t.Context(), s.Hub, app.DeepCopy()); err != nil {
		t.Error(err)
	}
	if r := s.records(t); len(r) != 1 || r[0].Key() != client.ObjectKeyFromObject(app) || r[0].App != app.UID {
		t.Errorf("recorded %+v, want the copy of %s", r, app.Name)
	}
	s.awaitResidue(t, 1)
	s.RestartHub(t)
	s.thaw(t)
	s.awaitGone(t, app, "us-1")
	s.awaitResidue(t, 0)
	if r := s.records(t); len(r) > 0 {
		t.Errorf("%+v are recorded, and cleaned up", r)
	}
	for _, e := range s.Since(t, before, s.Fleet.Member("us-1")).Deletes().Succeeded() {
		if e.Namespace != app.Namespace || !strings.HasPrefix(e.Name, app.Name) {
			t.Errorf("us-1: deleted %s", e)
		}
	}
}

// testUnreachableTimeout creates an application anew while the copy of a former one is left
// behind.
func (s *suite) testUnreachableTimeout(t *testing.T) {
	app := small("anew", "us-1")
	app.Spec.Deletion.UnreachableTimeout = &metav1.Duration{Duration: time.Second}
	s.Create(t, app)
	s.AwaitRunning(t, app, us)
	before := s.Mark(t)
	s.freeze(t)
	s.Delete(t, app)
	s.awaitResidue(t, 1)
	next := small("anew", "us-1")
	s.Create(t, next)
	s.thaw(t)
	s.AwaitRunning(t, next, us)
	s.awaitCopies(t, next, "us-1")
	s.awaitResidue(t, 0)
	if deleted := s.Since(t, before, s.Fleet.Member("us-1")).Deletes().Succeeded(); len(deleted) > 0 {
		t.Errorf("us-1: deleted %v, want nothing", deleted)
	}
	s.Delete(t, next)
}

// records returns what stayed behind in us-1.
func (s *suite) records(t *testing.T) []residue.Record {
	t.Helper()
	found := &corev1.ConfigMap{}
	if err := s.Hub.Get(t.Context(), client.ObjectKey{Namespace: config.Namespace, Name: residue.Name("us-1")}, found); err != nil {
		t.Fatal(err)
	}
	records, invalid := residue.Decode(found.Data)
	if len(invalid) > 0 {
		t.Errorf("invalid records %v", invalid)
	}
	return records
}

// awaitResidue waits until us-1 counts what stayed behind.
func (s *suite) awaitResidue(t *testing.T, want int32) {
	t.Helper()
	framework.Eventually(t, "us-1 to count what stayed behind", func(ctx context.Context) error {
		m := &v1.MemberCluster{}
		if err := s.Hub.Get(ctx, client.ObjectKey{Name: "us-1"}, m); err != nil {
			return err
		}
		if got := m.Status.ResidueCount; got != want {
			return fmt.Errorf("counts %d, want %d", got, want)
		}
		return nil
	})
}
