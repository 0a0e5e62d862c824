package copies

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/members/ownership"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// testLeft checks that a copy that a change of the placement removed is not created again by a hub that does not know
// of the change, and at once by one that knows of a later one.
func testLeft(t *testing.T, m *member) {
	t.Helper()
	var generation int64
	m.kept.delete = func(_ context.Context, d ownership.Deletion) error {
		generation = d.Left
		return nil
	}
	m.kept.left = func(types.UID) int64 { return generation }
	m.app.Generation = 3
	m.reconcile(t)
	m.app.Generation, m.app.Status.Clusters[0].Phase = 4, v1.PhaseDeleting
	m.reconcile(t)
	if generation != 4 {
		t.Fatalf("recorded that it left by generation %d", generation)
	}
	m.finish(t)
	m.app.Generation, m.app.Status.Clusters[0].Phase = 3, ""
	m.reconcile(t)
	if found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID); found.Failure == nil || found.Failure.Reason != v1.ReasonNewerElsewhere {
		t.Errorf("reported %+v", found.Failure)
	}
	if err := m.WithWatch.Get(t.Context(), keyOf(m.app), &v1.EcommerceApp{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the copy was created again: %v", err)
	}
	m.app.Generation = 4 // An edit is no answer.
	m.reconcile(t)
	if err := m.WithWatch.Get(t.Context(), keyOf(m.app), &v1.EcommerceApp{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the copy was created again after an edit: %v", err)
	}
	m.app.Generation = 3
	m.accept(string(m.app.UID) + "/4") // That of a copy in another member.
	m.reconcile(t)
	if found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID); found.Unknown != v1.LeavingOrigin(m.app.UID, 4) {
		t.Errorf("%q waits for the user", found.Unknown)
	}
	generation = 0 // The record has aged.
	m.reconcile(t)
	if found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID); found.Unknown != v1.LeavingOrigin(m.app.UID, 4) {
		t.Errorf("%q waits for the user without the record", found.Unknown)
	}
	generation = 4
	m.app.Annotations = map[string]string{v1.RecoverAnnotation: v1.LeavingOrigin(m.app.UID, 4)}
	m.reconcile(t)
	m.cached = m.live(t)
	m.app.Annotations, m.app.Status.Clusters[0].Phase = nil, v1.PhaseDeleting
	m.reconcile(t)
	m.finish(t)
	m.app.Generation, m.app.Status.Clusters[0].Phase = 5, ""
	m.reconcile(t)
	m.live(t)
}

// testMoved checks that a copy that left a member without a new generation, because of the labels of members, is not
// created again by a hub that believes that it is there. One that knows of the move creates it, also if it is deleted
// by hand later.
func testMoved(t *testing.T, m *member) {
	t.Helper()
	kept := &ownership.Record{}
	m.kept.left = func(app types.UID) int64 { return kept.Left(app) }
	m.kept.delete = func(_ context.Context, d ownership.Deletion) error {
		*kept = kept.Delete(d)
		return nil
	}
	m.kept.forget = func(_ context.Context, former ownership.Deletion) error {
		*kept = kept.Forget(former)
		return nil
	}
	entry := &m.app.Status.Clusters[0]
	m.app.Generation = 5
	m.reconcile(t)
	entry.Phase = v1.PhaseDeleting
	m.reconcile(t)
	restored := func(when string) {
		t.Helper()
		entry.Phase, entry.AppliedGeneration = v1.PhaseRunning, 5
		m.reconnect()
		for range 2 {
			m.reconcile(t)
			if found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID); found.Failure == nil || found.Failure.Reason != v1.ReasonNewerElsewhere {
				t.Errorf("reported %+v %s", found.Failure, when)
			}
			entry.AppliedGeneration = 0 // The status follows.
		}
	}
	m.cached = m.live(t)
	restored("while the copy is being deleted")
	m.finish(t)
	restored("after the copy was deleted")

	m.reconnect()
	m.reconcile(t)
	if m.live(t); kept.Left(m.app.UID) != 0 {
		t.Errorf("recorded %+v of an application that came back", kept.Deleted)
	}
	entry.AppliedGeneration = 5
	if err := m.Delete(t.Context(), m.live(t)); err != nil {
		t.Fatal(err)
	}
	m.finish(t)
	m.reconcile(t)
	m.live(t)
}

// testBack checks that an application comes back while its copy is being deleted. What the cache still has of the
// copy does not show that the member has one, or the end of the copy would look like a departure that the hub does
// not know of.
func testBack(t *testing.T, m *member) {
	t.Helper()
	entry := &m.app.Status.Clusters[0]
	expect := func(when string, confirmed bool) {
		t.Helper()
		c := &aggregate.Cluster{}
		if processed, err := m.queue.Observe(t.Context(), facts(m.app), c); err != nil || !processed || c.Copy == nil || c.Unconfirmed == confirmed {
			t.Errorf("%s: observed %+v, %t, %v", when, c, processed, err)
		}
	}
	m.reconcile(t)
	m.cached = m.live(t)
	expect("applied", true)
	entry.Phase = v1.PhaseDeleting
	expect("leaving", false)
	m.handOver()
	entry.Phase = ""
	m.handOver()
	expect("back", false)
	m.reconcile(t)
	expect("back, and applied", true)
	entry.AppliedGeneration, entry.Phase = 1, v1.PhaseDeleting
	expect("leaving what the status has", false)
	entry.AppliedGeneration = 0
	m.reconcile(t)
	entry.Phase = ""
	expect("back after the deletion", false)
	m.handOver()
	expect("back after the deletion, as decided", false)
	m.finish(t)
}

// testDeletedByHand deletes, as a user, first the copy in the member and then the application, and checks that a
// restored hub knows of the deletion. A copy that was to leave the member is not recorded.
func testDeletedByHand(t *testing.T, m *member) {
	t.Helper()
	kept := m.keepRecord(t)
	m.kept.delete = func(_ context.Context, d ownership.Deletion) error {
		*kept = kept.Delete(d)
		return nil
	}
	m.reconcile(t)
	if err := m.Delete(t.Context(), m.live(t)); err != nil {
		t.Fatal(err)
	}
	entry := &m.app.Status.Clusters[0]
	check := func(name string, gone bool) {
		t.Helper()
		kept.Deleted, entry.Phase = nil, v1.PhaseDeleting
		m.reconcile(t)
		if len(kept.Deleted) > 0 {
			t.Errorf("%s: recorded %+v of an application that goes on", name, kept.Deleted)
		}
		entry.Phase, m.app.DeletionTimestamp = "", &metav1.Time{Time: time.Unix(3600, 0)}
		m.reconcile(t)
		found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID)
		if found.Gone != gone || !kept.DeletedAt(m.app.UID).Equal(time.Unix(3600, 0)) {
			t.Errorf("%s: recorded %+v, and that the copy is gone: %t", name, kept.Deleted, found.Gone)
		}
		m.app.DeletionTimestamp = nil
	}
	check("being deleted", false)
	m.finish(t)
	check("gone", true)
	m.kept.delete = func(context.Context, ownership.Deletion) error { return apierror.ErrNotConnected }
	m.app.DeletionTimestamp = &metav1.Time{Time: time.Unix(7200, 0)}
	m.reconcile(t)
	if found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID); found.Gone {
		t.Error("the application is released before its deletion is recorded")
	}
}

// finish removes the finalizer of the copy.
func (m *member) finish(t *testing.T) {
	t.Helper()
	if err := m.Patch(t.Context(), m.live(t), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	m.cached = nil
}
