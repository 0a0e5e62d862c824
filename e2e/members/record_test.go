package members_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/members"
	"github.com/shopfleet/shopfleet/hub/members/ownership"
)

var errUnexpected = errors.New("not as expected")

// rival is a hub that competes for eu-1.
type rival struct {
	fleet   *members.Fleet
	engaged *engagements
	stop    func()
}

func (e *environment) startRival(t *testing.T, uid, replaces string) *rival {
	t.Helper()
	options := e.fleetOptions(t)
	options.HubUID = uid
	options.Record = client.ObjectKey{Namespace: config.Namespace, Name: config.HubRecord}
	r := &rival{fleet: members.New(options), engaged: newEngagements()}
	r.fleet.Set("eu-1", members.Target{Kubeconfig: e.kubeconfig(t, e.Member("eu-1")), Replaces: replaces})
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
	expect := func(hub string, epoch int64) {
		t.Helper()
		framework.Await(t, admin, kept, "the record", func(c *corev1.ConfigMap) error {
			r, err := ownership.Parse(c.Data)
			if err == nil && (r.Hub != hub || r.Epoch != epoch) {
				err = fmt.Errorf("%+v: %w", r, errUnexpected)
			}
			return err
		})
	}
	writes := func(m framework.Marks) audit.Log {
		return m.By(t, eu, config.HubServiceAccount).Writes()
	}
	before := framework.Mark(t, e.Fleet)
	first := e.startRival(t, "hub", "")
	first.await(t, v1.ReasonConnected)
	expect("hub", 1)
	if log := writes(before).Of("configmaps"); len(log) != 1 {
		t.Errorf("taking over cost:\n%s", log)
	}

	before = framework.Mark(t, e.Fleet)
	other := e.startRival(t, "another-hub", "hub/0")
	other.await(t, v1.ReasonManagedByAnotherHub)
	other.stop()
	if log := writes(before); len(log) > 0 || first.engaged.times("eu-1") != 1 {
		t.Errorf("the first hub was engaged %d times, and hubs wrote:\n%s", first.engaged.times("eu-1"), log)
	}

	// A record that is deleted by hand is restored by an inspection, with its deletions.
	deletion := ownership.Deletion{App: "deleted-app", At: time.Now()}
	if err := errors.Join(first.fleet.Record("eu-1").Delete(t.Context(), deletion), admin.Delete(t.Context(), kept)); err != nil {
		t.Fatal(err)
	}
	expect("hub", 2)
	if r, err := ownership.Parse(kept.Data); err != nil || !r.Includes(deletion) {
		t.Errorf("the record lost the deletion of an application: %+v, %v", r, err)
	}

	before = framework.Mark(t, e.Fleet)
	successor := e.startRival(t, "hub", "")
	successor.await(t, v1.ReasonConnected)
	first.await(t, v1.ReasonManagedByAnotherHub)
	expect("hub", 3)
	successor.await(t, v1.ReasonConnected)
	if log := writes(before); len(log) != 1 {
		t.Errorf("the takeover cost:\n%s", log)
	}
	e.testReplaced(t, successor, expect)
}

// testReplaced checks that a hub with epoch 3 learns that a user let another hub replace it, and does not come back
// by itself.
func (e *environment) testReplaced(t *testing.T, former *rival, expect func(hub string, epoch int64)) {
	t.Helper()
	replacement := e.startRival(t, "another-hub", "hub/3")
	replacement.await(t, v1.ReasonConnected)
	expect("another-hub", 4)
	former.await(t, v1.ReasonManagedByAnotherHub)
	if state, _ := former.fleet.State("eu-1"); state.OtherHub != "another-hub/4" {
		t.Errorf("the former hub sees %q", state.OtherHub)
	}
	replacement.await(t, v1.ReasonConnected)
}
