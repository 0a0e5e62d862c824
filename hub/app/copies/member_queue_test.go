package copies

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
)

// TestMemberQueue checks what the queue of a member does about the copies that it finds.
func TestMemberQueue(t *testing.T) {
	c := fleettest.Start(t, fleet.Options{Members: []fleet.ClusterSpec{{Name: "a", APIServerOnly: true}}}).Member("a")
	if err := c.ApplyFolder(t.Context(), "../../../config/crd/bases"); err != nil {
		t.Fatal(err)
	}
	admin, err := client.NewWithWatch(c.AdminConfig(), client.Options{Scheme: schemeOf(t)})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]func(*testing.T, *member){
		"conflict": testConflicts,
		"manager":  testManager,
		"mode":     testMode,
		"quiet":    testQuiet,
		"denied":   testDenied,
		"slow":     testSlow,
		"stranger": testStranger,
		"absence":  testAbsence,
		"lookup":   testLookup,
		"unasked":  testUnasked,
		"update":   testUpdate,
		"lasting":  testLasting,
		"over":     testOver,
		"newer":    testNewer,
		"deleted":  testDeleted,
		"again":    testDeletedAgain,
		"by-hand":  testDeletedByHand,
		"left":     testLeft,
		"moved":    testMoved,
		"back":     testBack,
		"confirm":  testConfirm,
		"compared": testCompared,
		"behind":   testBehind,
		"space":    testNamespace,
		"left-as":  testLeaveCopy,
		"unseen":   testUnobserved,
		"dry-run":  testDryRun,
		"dry-end":  testDryRunDeletion,
		"volumes":  testVolumes,
		"held":     testHeld,
		"residue":  testResidue,
		"kept":     testKept,
		"reason":   testLeaveOthers,
		"refused":  testRefused,
	} {
		t.Run(name, func(t *testing.T) { test(t, newMember(t, name, admin)) })
	}
}

// testManager checks that the hub owns what it writes as the hub, or another manager could take it over without a
// conflict.
func testManager(t *testing.T, m *member) {
	t.Helper()
	m.reconcile(t)
	var managers []string
	for _, entry := range m.live(t).ManagedFields {
		managers = append(managers, entry.Manager+" "+string(entry.Operation))
	}
	if diff := cmp.Diff([]string{v1.HubFieldManager + " Apply"}, managers); diff != "" {
		t.Errorf("field managers of the copy (-want +got):\n%s", diff)
	}
}

// testStranger checks that an application that is not the copy is neither written nor deleted.
func testStranger(t *testing.T, m *member) {
	t.Helper()
	stranger := &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: m.app.Namespace, Name: m.app.Name},
		Spec:       v1.EcommerceAppSpec{Image: "other:v1"},
	}
	m.namespace(t)
	if err := m.Create(t.Context(), stranger); err != nil {
		t.Fatal(err)
	}
	for name, cached := range map[string]*v1.EcommerceApp{"cached": stranger, "not cached": nil} {
		m.cached, m.app.DeletionTimestamp = cached, nil
		m.reconcile(t)
		if found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID); found.Failure == nil || found.Failure.Reason != v1.ReasonConflict {
			t.Errorf("%s: reported %+v, want a conflict", name, found.Failure)
		}
		m.app.DeletionTimestamp = &metav1.Time{}
		m.reconcile(t)
		if found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID); !found.Gone {
			t.Errorf("%s: the deletion of the application waits for an object that is not its copy", name)
		}
		entries := m.app.Status.Clusters
		m.app.Status.Clusters = nil
		m.reconcile(t)
		m.app.Status.Clusters = entries
		if live := m.live(t); live.ResourceVersion != stranger.ResourceVersion {
			t.Errorf("%s: an application that is not a copy was changed: %+v", name, live.ObjectMeta)
		}
	}
}

// testAbsence checks that a copy that the cache does not have yet is deleted, and not forgotten.
func testAbsence(t *testing.T, m *member) {
	t.Helper()
	m.reconcile(t)
	m.app.DeletionTimestamp = &metav1.Time{}
	m.reconcile(t)
	if found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID); found.Gone {
		t.Error("a copy that exists is reported to be gone")
	}
	if m.live(t).DeletionTimestamp == nil {
		t.Error("the copy is not deleted")
	}
	if err := m.Patch(t.Context(), m.live(t), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	m.denied = apierrors.NewForbidden(v1.GroupVersion.WithResource("ecommerceapps").GroupResource(), m.app.Name, errors.New("denied"))
	m.reconcile(t)
	if found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID); found.Gone || found.Failure == nil {
		t.Error("a copy that cannot be read is reported to be gone, or without a failure")
	}
	m.denied = nil
	m.reconcile(t)
	if found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID); !found.Gone {
		t.Error("a copy that does not exist is not reported to be gone")
	}
}

// testMode checks that the managed-by mode is not written over a version that the queue has not seen.
func testMode(t *testing.T, m *member) {
	t.Helper()
	m.queue.managedBy = v1.ManagedByAgent
	m.reconcile(t)
	m.cached = m.live(t)
	other := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"changed":"since"}}}`))
	if err := m.Patch(t.Context(), m.live(t), other); err != nil {
		t.Fatal(err)
	}
	m.queue.managedBy = v1.ManagedByHub
	m.app.Status.Clusters = nil
	if result := m.reconcile(t); result.RequeueAfter == 0 {
		t.Error("a conflict is not tried again")
	}
	if got := m.live(t).ManagedByMode(); got != v1.ManagedByAgent {
		t.Errorf("the copy is managed by %s, want no change", got)
	}
	m.cached = m.live(t)
	m.reconcile(t)
	if got := m.live(t).ManagedByMode(); got != v1.ManagedByHub {
		t.Errorf("the copy is managed by %s, want %s", got, v1.ManagedByHub)
	}
}

// testUpdate checks that neither a copy that is created nor one that is updated has an event.
func testUpdate(t *testing.T, m *member) {
	t.Helper()
	recorder, ok := m.queue.options.Recorder.(*events.FakeRecorder)
	if !ok {
		t.Fatalf("the recorder is a %T", m.queue.options.Recorder)
	}
	m.reconcile(t)
	m.cached = m.live(t)
	m.app.Generation++
	m.app.Spec.Image = "shop:v2"
	m.reconcile(t)
	if got := m.live(t).Spec.Image; got != m.app.Spec.Image {
		t.Errorf("the copy has image %s, want %s", got, m.app.Spec.Image)
	}
	if len(recorder.Events) != 0 {
		t.Errorf("event of a copy that was written: %s", <-recorder.Events)
	}
}

// testDenied checks that a copy that a policy of the member denies is tried again, since no watch reports that the
// policy is lifted.
func testDenied(t *testing.T, m *member) {
	t.Helper()
	m.namespace(t)
	trial := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: m.app.Namespace, Name: "trial"}, Spec: m.app.Spec}
	lift := fleettest.Deny(t, m.WithWatch, trial)
	result := m.reconcile(t)
	if least := apierror.BlockedWait; result.RequeueAfter < least || result.RequeueAfter > least*13/10 {
		t.Errorf("a copy that is denied is tried again after %s, want %s to %s", result.RequeueAfter, least, least*13/10)
	}
	found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID)
	if found.Failure == nil || found.Failure.Reason != v1.ReasonInvalidSpec || !strings.Contains(found.Failure.Message, fleettest.Denial) {
		t.Errorf("reported %+v, want %s and what the policy says", found.Failure, v1.ReasonInvalidSpec)
	}
	lift()
	m.reconcile(t)
	if found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID); found.Failure != nil {
		t.Errorf("reported %+v after the policy was lifted", found.Failure)
	}
	if !m.live(t).IsCopy() {
		t.Error("what was created is not a copy")
	}
}

// testOver checks that nothing is reported about a member whose connection has ended.
func testOver(t *testing.T, m *member) {
	t.Helper()
	m.namespace(t)
	ctx, end := context.WithCancel(t.Context())
	end()
	m.handOver()
	if _, err := m.queue.Reconcile(ctx, controller.RequestFor(m.app)); err != nil {
		t.Error(err)
	}
	if found, known := m.queue.memory.Result(keyOf(m.app), m.app.UID); known {
		t.Errorf("reported %+v", found.Failure)
	}
	if err := m.queue.lookUp(ctx, keyOf(m.app), m.app.UID); err != nil {
		t.Error(err)
	}
	if got := m.queue.Find(m.app); got != recovery.NotLooked {
		t.Errorf("found %d, want that no member was read", got)
	}
}

// testLookup looks for the copy of an application that lost its inventory.
func testLookup(t *testing.T, m *member) {
	t.Helper()
	look := func(want recovery.Presence) {
		t.Helper()
		m.queue.Find(m.app)
		if err := m.queue.lookUp(t.Context(), keyOf(m.app), m.app.UID); err != nil {
			t.Fatal(err)
		}
		if got := m.queue.Find(m.app); got != want {
			t.Errorf("found %d, want %d", got, want)
		}
	}
	m.namespace(t)
	look(recovery.Absent)
	m.reconcile(t)
	look(recovery.Present)
	live := m.live(t)
	before := live.DeepCopy()
	live.Labels, live.Annotations = nil, nil
	if err := m.Patch(t.Context(), live, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	look(recovery.Absent) // It is not a copy.
	before.ResourceVersion = live.ResourceVersion
	if err := m.Patch(t.Context(), before, client.MergeFrom(live)); err != nil {
		t.Fatal(err)
	}
	if err := m.Delete(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	look(recovery.Terminating)
	m.denied = errors.New("denied")
	m.queue.Find(m.app)
	if _, err := m.queue.Reconcile(t.Context(), controller.RequestFor(m.app)); !errors.Is(err, m.denied) {
		t.Errorf("a lookup that is denied: %v", err)
	}
	if got := m.queue.Find(m.app); got != recovery.Uncertain {
		t.Errorf("found %d, want that it is not known", got)
	}
}

// testLeaveOthers checks that what is no copy is left as it is, whatever keeps a copy from being made, and is not held.
func testLeaveOthers(t *testing.T, m *member) {
	t.Helper()
	m.reconcile(t)
	live := m.live(t)
	stranger := live.DeepCopy()
	stranger.Labels, stranger.Annotations = nil, nil
	m.queue.managedBy = v1.ManagedByAgent
	cause := errors.New("no")
	for name, tt := range map[string]struct {
		live  *v1.EcommerceApp
		holds bool
	}{"none": {nil, false}, "of a user": {stranger, false}, "the copy": {live, true}} {
		m.cached = tt.live
		if err := m.queue.leaveCopy(t.Context(), m.app, tt.live, cause); !errors.Is(err, cause) {
			t.Errorf("%s: error %v", name, err)
		}
		if changed := m.live(t).ResourceVersion != live.ResourceVersion; changed != tt.holds || m.queue.HasCopy(t.Context(), m.app) != tt.holds {
			t.Errorf("%s: changed %t, held %t", name, changed, !tt.holds)
		}
		live = m.live(t)
	}
}

// testUnasked checks that a new application has no inventory yet, and its copy is not looked for until the reconciler
// asks.
func testUnasked(t *testing.T, m *member) {
	t.Helper()
	m.app.Status = v1.EcommerceAppStatus{}
	m.denied = errors.New("the API server was asked")
	m.reconcile(t)
	m.denied = nil
	for _, want := range []recovery.Presence{recovery.NotLooked, recovery.Absent} {
		if got := m.queue.Find(m.app); got != want {
			t.Errorf("found %d, want %d", got, want)
		}
		m.reconcile(t)
	}
}
