package hub_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
)

// testResidue checks copies in members that are away while their applications are deleted.
func (s *suite) testResidue(t *testing.T) {
	t.Run("annotation releases a deletion and the member is cleaned up", s.testSkipUnreachable)
	t.Run("application that is deleted after its member was detached leaves an orphan", s.testDetachedBefore)
	t.Run("timeout releases a deletion and an application created anew keeps its copy", s.testUnreachableTimeout)
}

// testSkipUnreachable leaves a copy behind, and replaces the hub before the member returns.
func (s *suite) testSkipUnreachable(t *testing.T) {
	app := small("left", "eu-1", "us-1")
	s.Create(t, app)
	s.awaitCopies(t, app, "eu-1", "us-1")
	before := s.Mark(t)
	s.testUndeleted(t, app)
	s.freeze(t)
	// Ctrl-C ends the command, and not the deletion.
	framework.Session{In: strings.NewReader("y\n"), StopAt: "us-1: " + v1.ReasonClusterUnreachable}.
		CLI(t, s.Fleet.Hub(), "delete", app.Name, "-n", app.Namespace).
		Want(t, framework.Stopped, "Not deleted yet in", "us-1. The deletion continues on the hub. To follow it, run the command again.")
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
	framework.CLI(t, s.Fleet.Hub(), "delete", app.Name, "-n", app.Namespace, "--yes", "--timeout", "5s").
		Want(t, framework.NotReady, "us-1: ClusterUnreachable", "kubectl shopfleet delete left -n small --skip-unreachable")
	framework.CLI(t, s.Fleet.Hub(), "delete", app.Name, "-n", app.Namespace, "--skip-unreachable", "--yes").
		Want(t, framework.Done, "us-1: cannot be reached; the hub deletes the copy when it returns", "ecommerceapp.ecommerce.io/left deleted")
	if err := framework.Gone(t.Context(), s.Hub, app.DeepCopy()); err != nil {
		t.Error(err)
	}
	if r := s.records(t); len(r) != 1 || r[0].Key() != client.ObjectKeyFromObject(app) || r[0].App != app.UID {
		t.Errorf("recorded %+v, want the copy of %s", r, app.Name)
	}
	s.awaitResidue(t, 1)
	s.RestartHub(t)
	// The record outlives the registration.
	framework.CLI(t, s.Fleet.Hub(), "unjoin", "us-1", "--yes").Want(t, framework.Done, "us-1 left the fleet")
	s.thaw(t)
	s.Register(t, "us-1")
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

// testUndeleted runs commands that do not delete an application.
func (s *suite) testUndeleted(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	silent, typing := io.Pipe()
	defer func() { _ = typing.Close() }()
	for name, tt := range map[string]struct {
		session framework.Session
		args    []string
		code    int
		says    string
	}{
		"declined":           {framework.Session{In: strings.NewReader("n\n")}, []string{app.Name}, framework.Done, "deletion is cancelled"},
		"not answered":       {framework.Session{In: strings.NewReader("")}, []string{app.Name}, framework.Done, "deletion is cancelled"},
		"without a terminal": {framework.Session{}, []string{app.Name}, framework.Misused, "confirm it with --yes"},
		"Ctrl-C":             {framework.Session{In: silent, StopAt: "(y/N)"}, []string{app.Name}, framework.Stopped, "deletion is cancelled"},
		"dry run":            {framework.Session{}, []string{app.Name, "--dry-run=client"}, framework.Done, "ecommerceapp.ecommerce.io/left deleted (dry run)"},
		"server dry run":     {framework.Session{}, []string{app.Name, "--skip-unreachable", "--dry-run=server"}, framework.Done, "deleted (server dry run)"},
		"other dry run":      {framework.Session{}, []string{app.Name, "--dry-run=yes"}, framework.Misused, "Invalid dry-run value (yes)"},
		"not found":          {framework.Session{}, []string{"none"}, framework.Failed, `ecommerceapps.ecommerce.io "none" not found`},
		"not found is fine":  {framework.Session{}, []string{"none", "--ignore-not-found"}, framework.Done, ""},
	} {
		t.Run(name, func(t *testing.T) {
			tt.session.CLI(t, s.Fleet.Hub(), append([]string{"delete", "-n", app.Namespace}, tt.args...)...).Want(t, tt.code, tt.says)
		})
	}
	if err := s.Hub.Get(t.Context(), client.ObjectKeyFromObject(app), app); err != nil || app.DeletionTimestamp != nil || app.Annotations[v1.SkipUnreachableAnnotation] != "" {
		t.Errorf("deleted %v, annotations %v: %v", app.DeletionTimestamp, app.Annotations, err)
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

// testDetachedBefore detaches a member, which keeps what runs there, before it deletes the
// application: the copy is not part of that deletion.
func (s *suite) testDetachedBefore(t *testing.T) {
	app := small("parted", "eu-1")
	s.Create(t, app)
	s.awaitCopies(t, app, "eu-1")
	framework.CLI(t, s.Fleet.Hub(), "unjoin", "eu-1", "--yes").Want(t, framework.Done, "eu-1 left the fleet")
	s.AwaitApp(t, app, "eu-1 to be gone from it", func(status *v1.EcommerceAppStatus) error {
		if len(status.Clusters) > 0 {
			return fmt.Errorf("clusters %+v", status.Clusters)
		}
		return nil
	})
	before := s.Mark(t)
	s.Delete(t, app)
	s.Register(t, "eu-1")
	s.awaitOrphans(t, 1)
	if deleted := s.Since(t, before, s.Fleet.Member("eu-1")).Deletes(); len(deleted) > 0 {
		t.Errorf("eu-1: deleted %v that no user asked for", deleted)
	}
	framework.CLI(t, s.Fleet.Hub(), "recover", "delete", app.Name, "-n", app.Namespace, "--yes").
		Want(t, framework.Done, "ecommerceapp.ecommerce.io/parted deleted in eu-1")
	s.awaitGone(t, app, "eu-1")
	s.awaitOrphans(t, 0)
}

// records returns what stayed behind in us-1.
func (s *suite) records(t *testing.T) []recovery.Residue {
	t.Helper()
	found := &corev1.ConfigMap{}
	if err := s.Hub.Get(t.Context(), client.ObjectKey{Namespace: config.Namespace, Name: recovery.Name("us-1")}, found); err != nil {
		t.Fatal(err)
	}
	records, invalid := recovery.Decode(found.Data)
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
