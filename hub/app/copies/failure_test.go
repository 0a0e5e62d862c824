package copies

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/apply"
)

// TestFailureOf checks reasons and messages; package apierror tests the classes.
func TestFailureOf(t *testing.T) {
	t.Parallel()
	resource := schema.GroupResource{Group: "ecommerce.io", Resource: "ecommerceapps"}
	unowned := &apply.ConflictError{}
	for name, tt := range map[string]struct {
		err  error
		want *aggregate.Failure
	}{
		"none":           {},
		"newer version":  {apierrors.NewConflict(resource, "shop", errors.New("newer")), nil},
		"unowned object": {unowned, &aggregate.Failure{Reason: v1.ReasonConflict, Message: unowned.Error()}},
		"denied":         {apierrors.NewBadRequest("no"), &aggregate.Failure{Reason: v1.ReasonInvalidSpec, Message: "no"}},
		"failed on": {apierrors.NewInternalError(errors.New(`failed calling webhook "a": Post "https://a.svc:443/?timeout=10s": refused`)), &aggregate.Failure{
			Reason: v1.ReasonApplyFailed, Message: "repair what the cluster fails on, such as a webhook or a definition: " +
				`Internal error occurred: failed calling webhook "a": refused`,
		}},
		"throttled": {apierrors.NewTooManyRequests("slow down", 1), &aggregate.Failure{Reason: v1.ReasonApplyFailed, Message: "the cluster throttles requests"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tt.err
			if err != nil {
				err = fmt.Errorf("writing the copy: %w", err)
			}
			if diff := cmp.Diff(tt.want, failureOf(err)); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEscalate checks that a copy that the API server of a member fails on waits for a user after some minutes, an
// API server that does not answer for none.
func TestEscalate(t *testing.T) {
	t.Parallel()
	failed, away := apierrors.NewInternalError(errors.New("failed calling webhook")), apierrors.NewServiceUnavailable("starting")
	now := time.Unix(10000, 0)
	since := func(d time.Duration) state.Result { return state.Result{App: "a", Revision: 2, Failing: now.Add(-d)} }
	for name, tt := range map[string]struct {
		err     error
		last    state.Result
		lasting bool
		failing time.Time
	}{
		"first":                {failed, state.Result{}, false, now},
		"a minute":             {failed, since(time.Minute), false, now.Add(-time.Minute)},
		"three minutes":        {failed, since(3 * time.Minute), true, now.Add(-3 * time.Minute)},
		"another revision":     {failed, state.Result{App: "a", Revision: 1, Failing: now.Add(-time.Hour)}, false, now},
		"another application":  {failed, state.Result{App: "b", Revision: 2, Failing: now.Add(-time.Hour)}, false, now},
		"another failure then": {failed, state.Result{App: "a", Revision: 2}, false, now},
		"an outage":            {away, since(time.Hour), false, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			next := state.Result{App: "a", Revision: 2, Failure: failureOf(tt.err)}
			if lasts(tt.err) {
				escalate(&next, tt.last, now, lastingAfter)
			}
			if next.Failure.Lasting != tt.lasting || !next.Failing.Equal(tt.failing) {
				t.Errorf("lasting: %t, want %t; failing since %v, want %v", next.Failure.Lasting, tt.lasting, next.Failing, tt.failing)
			}
		})
	}
}

// testLasting checks that a failure of the member's API server that lasts waits for a user.
func testLasting(t *testing.T, m *member) {
	t.Helper()
	clock := testingclock.NewFakePassiveClock(time.Unix(0, 0))
	m.queue.options.Clock = clock
	m.app.Status.Clusters[0].Phase, m.denied = v1.PhaseDeleting, apierrors.NewInternalError(errors.New("broken"))
	m.handOver()
	for _, lasting := range []bool{false, true} {
		if _, err := m.queue.Reconcile(t.Context(), requestFor(m.app)); err == nil {
			t.Error("an internal error is not tried again")
		}
		found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID)
		if found.Failure == nil || found.Failure.Lasting != lasting {
			t.Errorf("the failure is %+v, want one that lasts: %t", found.Failure, lasting)
		}
		clock.SetTime(clock.Now().Add(lastingAfter))
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
