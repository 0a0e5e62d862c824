package copies

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
)

// testLasting checks that a failure of the member's API server that lasts waits for a user.
func testLasting(t *testing.T, m *member) {
	t.Helper()
	clock := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	m.queue.options.Clock = clock
	m.app.Status.Clusters[0].Phase, m.denied = v1.PhaseDeleting, apierrors.NewInternalError(errors.New("broken"))
	m.handOver()
	for _, lasting := range []bool{false, true} {
		if _, err := m.queue.Reconcile(t.Context(), controller.RequestFor(m.app)); err == nil {
			t.Error("an internal error is not tried again")
		}
		found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID)
		if found.Failure == nil || found.Failure.Lasting != lasting {
			t.Errorf("the failure is %+v, want one that lasts: %t", found.Failure, lasting)
		}
		clock.SetTime(clock.Now().Add(state.LastingAfter))
	}
}

// testQuiet checks that a conflict is no news, so that what was reported before of the same order stays.
func testQuiet(t *testing.T, m *member) {
	t.Helper()
	m.reconcile(t)
	m.cached = m.live(t)
	other := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"changed":"since"}}}`))
	if err := m.Patch(t.Context(), m.live(t), other); err != nil {
		t.Fatal(err)
	}
	m.app.DeletionTimestamp = &metav1.Time{}
	m.handOver()
	hash := m.dispatcher.DecisionOf(m.app, &m.app.Status).Order("a").Hash
	for _, same := range []bool{true, false} {
		before := state.Result{App: m.app.UID, Failure: &aggregate.Failure{Reason: v1.ReasonForbidden, Message: "no"}}
		if same {
			before.Hash = hash
		}
		m.queue.memory.End(keyOf(m.app), &before)
		if result := m.reconcile(t); result.RequeueAfter == 0 {
			t.Error("a conflict is not tried again")
		}
		if found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID); (found.Failure != nil) != same {
			t.Errorf("the same order %t: a conflict leaves the report %+v", same, found.Failure)
		}
	}
	if m.live(t).DeletionTimestamp != nil {
		t.Error("a version of the copy was deleted that the queue has not seen")
	}
}
