package members_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/members"
	"github.com/shopfleet/shopfleet/hub/members/record"
)

var errUnexpected = errors.New("not as expected")

// rival is a hub that competes for eu-1.
type rival struct {
	fleet   *members.Fleet
	engaged *engagements
	stop    func()
}

func (e *environment) startRival(t *testing.T, uid string) *rival {
	t.Helper()
	options := e.fleetOptions(t)
	options.HubUID = uid
	options.Record = client.ObjectKey{Namespace: config.Namespace, Name: config.HubRecord}
	r := &rival{fleet: members.New(options), engaged: newEngagements()}
	r.fleet.Set("eu-1", members.Target{Kubeconfig: e.kubeconfig(t, e.Member("eu-1"))})
	r.stop = e.env.Run(uid, func(ctx context.Context) error { return r.fleet.Start(ctx, r.engaged) })
	t.Cleanup(r.stop)
	return r
}

// await blocks until the member is Ready, or is not for a reason.
func (r *rival) await(t *testing.T, reason string) {
	t.Helper()
	framework.Eventually(t, "Ready with "+reason, func(context.Context) error {
		state, _ := r.fleet.State("eu-1")
		if state.Ready.Reason != reason || r.engaged.has("eu-1") != (reason == v1.ReasonConnected) {
			return fmt.Errorf("%+v: %w", state.Ready, errUnexpected)
		}
		return nil
	})
}

// testRecord lets hubs, and processes of one hub, compete for a member.
func (e *environment) testRecord(t *testing.T) {
	eu := e.Member("eu-1")
	admin := framework.Admin(t, eu)
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: config.HubRecord}}
	expect := func(epoch int64) {
		t.Helper()
		framework.Await(t, admin, kept, "the record", func(c *corev1.ConfigMap) error {
			r, err := record.Parse(c.Data)
			if err == nil && (r.Hub != "hub" || r.Epoch != epoch) {
				err = fmt.Errorf("%+v: %w", r, errUnexpected)
			}
			return err
		})
	}
	writes := func(m framework.Marks) audit.Log {
		return m.By(t, eu, config.HubServiceAccount).Writes()
	}
	before := framework.Mark(t, e.Fleet)
	first := e.startRival(t, "hub")
	first.await(t, v1.ReasonConnected)
	expect(1)
	if log := writes(before).Of("configmaps"); len(log) != 1 {
		t.Errorf("taking over cost:\n%s", log)
	}

	before = framework.Mark(t, e.Fleet)
	other := e.startRival(t, "another-hub")
	other.await(t, v1.ReasonManagedByAnotherHub)
	other.stop()
	if log := writes(before); len(log) > 0 || first.engaged.times("eu-1") != 1 {
		t.Errorf("the first hub was engaged %d times, and hubs wrote:\n%s", first.engaged.times("eu-1"), log)
	}

	if err := admin.Delete(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	expect(2)

	before = framework.Mark(t, e.Fleet)
	successor := e.startRival(t, "hub")
	successor.await(t, v1.ReasonConnected)
	first.await(t, v1.ReasonManagedByAnotherHub)
	expect(3)
	successor.await(t, v1.ReasonConnected)
	if log := writes(before); len(log) != 1 {
		t.Errorf("the takeover cost:\n%s", log)
	}
}
