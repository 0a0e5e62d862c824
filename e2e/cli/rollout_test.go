package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

var errRollout = errors.New("the rollout is not that far")

// testRollout steers the rollouts of an EcommerceApp by the commands for that.
func (s *suite) testRollout(t *testing.T) {
	t.Helper()
	app := framework.Small("production", "steered", "eu-1")
	app.Labels = map[string]string{"team": "test"}
	s.Create(t, app)
	s.AwaitRunning(t, app, "eu-west-1")
	command := func(name string, args ...string) framework.Outcome {
		return s.run(t, append(append(strings.Fields(name), "steered", "-n", "production"), args...)...)
	}
	await := func(state v1.RolloutState, revision int64) {
		t.Helper()
		s.AwaitApp(t, app, fmt.Sprintf("revision %d to be %s", revision, state), func(status *v1.EcommerceAppStatus) error {
			if r := status.Rollout; r == nil || r.State != state || r.Revision != revision {
				return fmt.Errorf("%w: %+v", errRollout, r)
			}
			return nil
		})
	}
	command("rollout undo").Want(t, framework.Failed, "it has no rollout", "kubectl explain eapp.spec.rollout")
	command("rollout history").Want(t, framework.Done, "has no revisions")
	framework.Session{StopAt: "has no revisions"}.CLI(t, s.hub, "rollout", "history", "steered", "-n", "production", "-w").Want(t, framework.Stopped)
	s.testRequests(t, app)
	command("rollout status", "--timeout", fleettest.Timeout.String()).Want(t, framework.Done, "steered Running")
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) {
		a.Spec.Rollout = &v1.Rollout{Soak: &metav1.Duration{Duration: time.Second}}
	})
	await(v1.RolloutComplete, 1)
	command("rollout undo").Want(t, framework.Failed, "no other revision was healthy")
	command("rollout approve").Want(t, framework.Failed, "its rollout does not wait for an approval")
	command("rollout pause", "--dry-run=client", "-o", "jsonpath={.metadata.annotations}").Want(t, framework.Done, v1.RolloutPausedAnnotation)
	command("rollout pause").Want(t, framework.Done, "ecommerceapp.ecommerce.io/steered paused")
	command("rollout pause").Want(t, framework.Done, "already paused")
	s.run(t, "rollout", "pause", "-l", "none=there", "-n", "production").Want(t, framework.Done, "No resources found.")
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) { a.Spec.Image = "shop:v2" })
	await(v1.RolloutPaused, 2)
	command("status").Want(t, framework.Done, "revision 2 is rolled out to 0 of 1 cluster")
	command("rollout resume", "--dry-run=server").Want(t, framework.Done, "resumed (server dry run)")
	command("rollout resume").Want(t, framework.Done, "steered resumed")
	await(v1.RolloutComplete, 2)
	command("rollout history").Want(t, framework.Done, "shop:v2", "in the spec, Complete", "previous")
	command("rollout history", "-l", "none=there").Want(t, framework.Done, "has no revisions")
	command("rollout undo", "--to-revision", "9").Want(t, framework.Failed, "choosing revision 9", "kubectl shopfleet rollout history steered")
	command("rollout undo", "--to-revision", "-1").Want(t, framework.Misused, "must not be negative")
	command("rollout undo", "--timeout", fleettest.Timeout.String()).Want(t, framework.Done, "steered rolling back", "RolledBack")
	command("rollout undo").Want(t, framework.Done, "steered already rolled back to revision 1")
	command("rollout status", "--timeout", fleettest.Timeout.String()).Want(t, framework.Failed, "ecommerceapp steered: failed")
	command("status", "-o", "wide").Want(t, framework.Done, "REVISION")
	command("rollout history", "-o", "jsonpath={.items[*].revision}").Want(t, framework.Done, "1 2")
	command("rollout undo", "--to-revision", "2", "--timeout", fleettest.Timeout.String()).Want(t, framework.Done, "Complete")
	command("rollout undo", "--timeout", fleettest.Timeout.String()).Want(t, framework.Done, "RolledBack")
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) { a.Spec.Image = "shop:v1" })
	await(v1.RolloutComplete, 1)
	command("rollout undo").Want(t, framework.Failed, "is the one that was healthy before", "Choose one with --to-revision", "kubectl shopfleet rollout history steered")
	s.run(t, "rollout", "undo", "none", "-n", "production").Want(t, framework.Failed, `getting EcommerceApp "none"`)
	s.run(t, "rollout", "history", "none", "-n", "production").Want(t, framework.Failed, `getting EcommerceApp "none"`)
	s.testDeleteMany(t, app)
}

// testRequests asks for a restart and for a comparison, which need no rollout.
func (s *suite) testRequests(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	command := func(args ...string) framework.Outcome {
		return s.run(t, append([]string{"rollout", "-n", "production"}, args...)...)
	}
	command("restart", app.Name, "--dry-run=server").Want(t, framework.Done, "steered restarting (server dry run)")
	command("restart", app.Name).Want(t, framework.Done, "steered restarting")
	command("reconcile", app.Name).Want(t, framework.Done, "steered reconciling")
	s.AwaitApp(t, app, "both to be handled", func(status *v1.EcommerceAppStatus) error {
		if status.LastHandledImageUpdate == "" || status.LastHandledReconcileAt == "" {
			return errRollout
		}
		return nil
	})
}

// testDeleteMany deletes an EcommerceApp with another one of its label. One name that is wrong keeps all from it.
func (s *suite) testDeleteMany(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	other := framework.Small("production", "other", "eu-1")
	other.Labels = app.Labels
	s.Create(t, other)
	s.AwaitRunning(t, other, "eu-west-1")
	s.run(t, "delete", app.Name, "none", "-n", "production", "--yes").Want(t, framework.Failed, `getting EcommerceApp "none"`)
	const action = "delete 2 EcommerceApps of namespace production in all their clusters: other, steered"
	s.run(t, "delete", "-l", "team=test", "-n", "production").Want(t, framework.Misused, action)
	framework.Session{In: strings.NewReader("y\n")}.CLI(t, s.hub, "delete", "-l", "team=test", "-n", "production").
		Want(t, framework.Done, action, "other: eu-1: deleted", "steered: eu-1: deleted", "ecommerceapp.ecommerce.io/other deleted", "ecommerceapp.ecommerce.io/steered deleted")
	for _, each := range []*v1.EcommerceApp{app, other} {
		if err := framework.Gone(t.Context(), s.Hub, each.DeepCopy()); err != nil {
			t.Error(err)
		}
	}
	s.run(t, "delete", "-l", "team=test", "-n", "production").Want(t, framework.Done, "No resources found.")
}
