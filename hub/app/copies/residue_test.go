package copies

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
	"github.com/shopfleet/shopfleet/hub/app/recovery/store"
)

// testResidue cleans up after applications that were deleted while the member was away.
func testResidue(t *testing.T, m *member) {
	t.Helper()
	m.storeRecords(t)
	m.reconcile(t)
	uid, entries := m.app.UID, m.app.Status.Clusters
	m.app.Status.Clusters = nil

	m.record(t, recovery.Residue{App: "another"})
	m.app.UID = ""
	m.reconcile(t)
	m.expect(t, "a record of another application", 0, false)

	m.record(t, recovery.Residue{App: uid, ClusterUID: "another"})
	m.reconcile(t)
	m.expect(t, "a record about another cluster of the name", 1, false)
	if err := m.queue.options.Residue.Remove(t.Context(), "a", uid); err != nil {
		t.Fatal(err)
	}

	m.record(t, recovery.Residue{App: uid})
	m.app.UID = "anew"
	m.reconcile(t)
	m.expect(t, "an application that was created anew", 0, false)

	m.record(t, recovery.Residue{App: uid})
	m.app.UID, m.app.DeletionTimestamp, m.app.Status.Clusters = uid, &metav1.Time{}, nil
	m.reconcile(t)
	m.expect(t, "an application that waits for other members", 1, true)
	m.app.UID, m.app.DeletionTimestamp = "", nil
	m.reconcile(t)
	m.expect(t, "a copy whose finalizer holds it", 1, true)
	m.release(t)
	if n := m.recorded(t); n != 0 {
		t.Errorf("%d records of a copy that is gone", n)
	}

	testOrphan(t, m, entries)

	// Once: what carries the same mark later is left alone.
	m.app.UID, m.app.Status.Clusters = uid, entries
	m.reconcile(t)
	m.app.UID, m.app.Status.Clusters = "", nil
	m.reconcile(t)
	m.expect(t, "a copy without a record", 0, false)

	m.record(t, recovery.Residue{App: uid})
	m.record(t, recovery.Residue{App: "moved", ClusterUID: "another"})
	m.app.UID, m.app.Status.Clusters, m.app.Spec.Paused = "newer", entries, true
	m.reconcile(t)
	m.expect(t, "a copy that a paused application of the name does not take over yet", 2, false)
	m.app.Spec.Paused = false
	m.reconcile(t)
	m.expect(t, "a copy that another application of the name takes over", 1, false)
}

// testOrphan deletes, as a user, an orphan whose application on the hub was created anew.
func testOrphan(t *testing.T, m *member, entries []v1.ClusterStatus) {
	t.Helper()
	m.app.UID, m.app.Status.Clusters = "anew", entries
	m.reconcile(t)
	m.app.Status.Clusters, m.app.Status.ClusterCount = nil, 1
	m.record(t, recovery.Residue{App: "anew", Copy: m.live(t).UID})
	m.reconcile(t)
	m.expect(t, "a copy of an application that lost its inventory", 1, false)
	m.app.Status.ClusterCount, m.app.Generation = 0, m.app.Generation-1
	m.reconcile(t)
	m.expect(t, "a copy that the application adopted later", 1, false)
	m.app.Generation++
	m.reconcile(t)
	m.expect(t, "a copy that a user wants to be deleted", 1, true)
	m.release(t)
}

// storeRecords gives the queue a store in a namespace of the test's own: all tests are about a member of the same name.
func (m *member) storeRecords(t *testing.T) {
	t.Helper()
	namespace := "hub-of-" + m.app.Name
	if err := m.queue.ensureNamespace(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	m.queue.options.Residue = store.New(m.WithWatch, namespace)
}

// release removes the finalizers of the copy, and reconciles.
func (m *member) release(t *testing.T) {
	t.Helper()
	if err := m.Patch(t.Context(), m.live(t), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	m.reconcile(t)
}

// record records the copy of the application, as one that another application left behind.
func (m *member) record(t *testing.T, r recovery.Residue) {
	t.Helper()
	r.Namespace, r.Name = m.app.Namespace, m.app.Name
	for _, want := range []bool{true, false} {
		if added, err := m.queue.options.Residue.Add(t.Context(), "a", r); err != nil || added != want {
			t.Fatalf("recording %+v: %t, %v; want %t", r, added, err, want)
		}
	}
}

func (m *member) recorded(t *testing.T) int {
	t.Helper()
	records, err := m.queue.options.Residue.List(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	return len(records)
}

// expect checks the number of records, and whether the copy is being deleted.
func (m *member) expect(t *testing.T, what string, records int, deleting bool) {
	t.Helper()
	if got := m.recorded(t); got != records {
		t.Errorf("%s: %d records, want %d", what, got, records)
	}
	live := &v1.EcommerceApp{}
	key := client.ObjectKey{Namespace: m.app.Namespace, Name: m.app.Name}
	if err := m.WithWatch.Get(t.Context(), key, live); err != nil || (live.DeletionTimestamp != nil) != deleting {
		t.Errorf("%s: deletion of the copy at %v, error %v; want deletion %t", what, live.DeletionTimestamp, err, deleting)
	}
}
