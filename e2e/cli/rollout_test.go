package cli

import (
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

var errRollout = errors.New("the rollout is not that far")

// testRollout steers the rollouts of an EcommerceApp by the commands for that.
func (s *suite) testRollout(t *testing.T) {
	t.Helper()
	app := framework.Small("production", "steered", "eu-1")
	s.Create(t, app)
	s.AwaitRunning(t, app, "eu-west-1")
	command := func(name string, args ...string) framework.Outcome {
		return s.run(t, append([]string{name, "steered", "-n", "production"}, args...)...)
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
	command("rollback").Want(t, framework.Failed, "it has no rollout", "kubectl explain eapp.spec.rollout")
	command("history").Want(t, framework.Done, "has no revisions")
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) {
		a.Spec.Rollout = &v1.Rollout{Soak: &metav1.Duration{Duration: time.Second}}
	})
	await(v1.RolloutComplete, 1)
	command("rollback").Want(t, framework.Failed, "no other revision was healthy")
	command("approve").Want(t, framework.Failed, "its rollout does not wait for an approval")
	command("pause").Want(t, framework.Done, "ecommerceapp.ecommerce.io/steered paused")
	command("pause").Want(t, framework.Done, "already paused")
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) { a.Spec.Image = "shop:v2" })
	await(v1.RolloutPaused, 2)
	command("status").Want(t, framework.Done, "revision 2 is rolled out to 0 of 1 cluster")
	command("resume", "--dry-run=server").Want(t, framework.Done, "resumed (server dry run)")
	command("resume").Want(t, framework.Done, "steered resumed")
	await(v1.RolloutComplete, 2)
	command("history").Want(t, framework.Done, "shop:v2", "in the spec, Complete", "previous")
	command("rollback", "--to-revision", "9").Want(t, framework.Failed, "choosing revision 9", "kubectl shopfleet history steered")
	command("rollback", "--to-revision", "-1").Want(t, framework.Misused, "must not be negative")
	command("rollback", "--timeout", "1m").Want(t, framework.Done, "steered rolling back", "RolledBack")
	command("rollback").Want(t, framework.Done, "steered already rolled back to revision 1")
	command("status", "-o", "wide").Want(t, framework.Done, "REVISION")
	command("history", "-o", "jsonpath={.items[*].revision}").Want(t, framework.Done, "1 2")
	command("rollback", "--to-revision", "2", "--timeout", "1m").Want(t, framework.Done, "Complete")
	command("rollback", "--timeout", "1m").Want(t, framework.Done, "RolledBack")
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) { a.Spec.Image = "shop:v1" })
	await(v1.RolloutComplete, 1)
	command("rollback").Want(t, framework.Failed, "is the one that was healthy before", "Choose one with --to-revision", "kubectl shopfleet history steered")
	s.run(t, "rollback", "none", "-n", "production").Want(t, framework.Failed, `getting EcommerceApp "none"`)
	s.run(t, "history", "none", "-n", "production").Want(t, framework.Failed, `getting EcommerceApp "none"`)
	s.Delete(t, app)
}
