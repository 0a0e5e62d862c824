package copies

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/ownership"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// testNewer checks that a copy of a later generation stays, whether the cache has it or not, until the user accepts
// that it is overwritten.
func testNewer(t *testing.T, m *member) {
	t.Helper()
	m.app.Generation = 9
	m.reconcile(t)
	later := m.live(t)
	m.app.Generation, m.app.Spec.Image = 3, "shop:v0"
	for name, cached := range map[string]*v1.EcommerceApp{"cached": later, "not cached": nil} {
		m.cached = cached
		m.reconcile(t)
		if found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID); found.Failure == nil || found.Failure.Reason != v1.ReasonNewerInMember {
			t.Errorf("%s: reported %+v", name, found.Failure)
		}
		if live := m.live(t); live.ResourceVersion != later.ResourceVersion {
			t.Errorf("%s: the copy was changed: %+v", name, live.Spec)
		}
		m.app.Status.Clusters[0].Phase = v1.PhaseDeleting
		m.reconcile(t)
		m.app.Status.Clusters[0].Phase = ""
		if live := m.live(t); live.DeletionTimestamp != nil {
			t.Fatalf("%s: the copy was deleted, because the hub wants to leave the member", name)
		}
	}
	m.panicOnce(t)
	// Edits reach the generation: neither this process nor the next takes that as an answer, also
	// after a panic.
	m.app.Generation, m.cached = 9, later
	for name, forget := range map[string]func(){
		"this process": func() {},
		"the next": func() {
			m.app.Status.Clusters[0].UnknownOrigin = v1.OriginOf(later.Annotations).String()
			m.reconnect()
		},
	} {
		forget()
		m.reconcile(t)
		if live := m.live(t); live.ResourceVersion != later.ResourceVersion {
			t.Errorf("%s overwrites the copy: %+v", name, live.Spec)
		}
	}
	m.app.Generation = 3
	m.app.Annotations = map[string]string{v1.RecoverAnnotation: string(m.app.UID) + "/9"}
	m.reconcile(t)
	if live := m.live(t); live.Spec.Image != "shop:v0" || live.Annotations[v1.HubGenerationAnnotation] != "3" {
		t.Errorf("after it was accepted the copy is %+v", live.Spec)
	}
}

// panicOnce lets one attempt panic.
func (m *member) panicOnce(t *testing.T) {
	t.Helper()
	deletedAt := m.kept.deletedAt
	m.kept.deletedAt = func(types.UID) time.Time { panic("poison") }
	defer func() {
		m.kept.deletedAt = deletedAt
		if recover() == nil {
			t.Error("the panic does not reach the queue")
		}
	}()
	m.reconcile(t)
}

// testDeleted checks that what was deleted is recorded first, and not created again.
func testDeleted(t *testing.T, m *member) {
	t.Helper()
	kept := m.keepRecord(t)
	m.reconcile(t)
	first := m.deleteApp(t, time.Hour)
	if !kept.DeletedAt(m.app.UID).Equal(first) {
		t.Fatalf("recorded %+v", kept.Deleted)
	}
	m.reconcile(t)
	m.expectDeleted(t, first)
	recorded := *kept
	kept.Deleted = nil // The record has aged, or is damaged.
	m.reconcile(t)
	m.expectDeleted(t, first)
	*kept = recorded
	m.accept(v1.DeletionOrigin(m.app.UID, first.Add(-time.Hour)))
	m.reconcile(t)
	m.expectDeleted(t, first)
	m.accept(v1.DeletionOrigin(m.app.UID, first))
	m.reconcile(t)
	m.cached = m.live(t)
	if len(kept.Deleted) > 0 {
		t.Errorf("%+v is recorded of an application that was created again", kept.Deleted)
	}
	// A manifest without the approval is applied, or the hub gets new UIDs.
	m.app.Annotations = nil
	m.reconcile(t)
	if found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID); found.Failure != nil {
		t.Errorf("reported %+v without the approval", found.Failure)
	}
	m.app.UID, m.app.Spec.Image = "u-2", "shop:v0"
	m.reconcile(t)
	if found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID); found.Failure == nil || found.Failure.Reason != v1.ReasonNewerInMember {
		t.Errorf("reported %+v of a copy that was created again", found.Failure)
	}
}

// testDeletedAgain checks that the approval of a deletion does not count for a later one of the same application,
// although a backup, or a manifest, has it.
func testDeletedAgain(t *testing.T, m *member) {
	t.Helper()
	kept := m.keepRecord(t)
	m.reconcile(t)
	first := m.deleteApp(t, time.Hour)
	m.accept(v1.DeletionOrigin(m.app.UID, first))
	m.reconcile(t)
	second := m.deleteApp(t, 2*time.Hour)
	if first.Equal(second) || !kept.DeletedAt(m.app.UID).Equal(second) {
		t.Fatalf("recorded %+v", kept.Deleted)
	}
	m.reconcile(t)
	m.expectDeleted(t, second)
	m.accept(v1.DeletionOrigin(m.app.UID, first) + "," + v1.DeletionOrigin(m.app.UID, second))
	m.reconcile(t)
	m.live(t)
}

// keepRecord lets the queue use a record of deletions, and checks that the copy exists when one is recorded.
func (m *member) keepRecord(t *testing.T) *ownership.Record {
	t.Helper()
	kept := &ownership.Record{}
	m.kept.deletedAt = func(app types.UID) time.Time { return kept.DeletedAt(app) }
	m.kept.delete = func(ctx context.Context, d ownership.Deletion) error {
		live := &v1.EcommerceApp{}
		if err := m.WithWatch.Get(ctx, keyOf(m.app), live); err != nil || live.DeletionTimestamp != nil || d.Left != 0 {
			t.Errorf("recorded %+v of a copy deleted at %v, error %v", d, live.DeletionTimestamp, err)
		}
		if !kept.Includes(d) {
			*kept = kept.Delete(d)
		}
		return nil
	}
	m.kept.forget = func(_ context.Context, former ownership.Deletion) error {
		*kept = kept.Forget(former)
		return nil
	}
	return kept
}

// deleteApp deletes the application some time after the epoch, until its copy is gone, and then
// restores it on the hub.
func (m *member) deleteApp(t *testing.T, after time.Duration) time.Time {
	t.Helper()
	at := time.Unix(0, 0).UTC().Add(after)
	m.app.DeletionTimestamp = &metav1.Time{Time: at}
	m.reconcile(t)
	m.finish(t)
	m.app.DeletionTimestamp = nil
	return at
}

// accept sets the annotation by which the user settles what was found.
func (m *member) accept(origins string) {
	m.app.Annotations = map[string]string{v1.RecoverAnnotation: origins}
}

// expectDeleted checks that the application waits because of its deletion, without a copy.
func (m *member) expectDeleted(t *testing.T, at time.Time) {
	t.Helper()
	found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID)
	if found.Failure == nil || found.Failure.Reason != v1.ReasonDeletedInMember || found.Unknown != v1.DeletionOrigin(m.app.UID, at) {
		t.Errorf("reported %+v, and %q waits; want the deletion at %s", found.Failure, found.Unknown, at)
	}
	if err := m.WithWatch.Get(t.Context(), keyOf(m.app), &v1.EcommerceApp{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the copy was created again: %v", err)
	}
}

// testConfirm checks that the copy of another application is adopted only while this hub manages the member.
func testConfirm(t *testing.T, m *member) {
	t.Helper()
	m.reconcile(t)
	m.cached = m.live(t)
	m.app.UID = "u-2"
	m.kept.confirm = func(context.Context) error { return apierror.ErrNotConnected }
	m.reconcile(t)
	if live := m.live(t); live.ResourceVersion != m.cached.ResourceVersion {
		t.Errorf("a copy in the member of another hub was changed: %+v", live.ObjectMeta)
	}
	m.kept.confirm = func(context.Context) error { return nil }
	m.reconcile(t)
	if live := m.live(t); v1.OriginOf(live.Annotations).App != m.app.UID || live.Generation != m.cached.Generation {
		t.Errorf("the copy with the same spec was not adopted: %+v", live.ObjectMeta)
	}
}

// testBehind checks that a later copy that the hub's API server knows of is not one of a restored hub.
func testBehind(t *testing.T, m *member) {
	t.Helper()
	m.app.Generation = 9
	m.reconcile(t)
	m.cached = m.live(t)
	server := &caches{copied: m.app.DeepCopy()}
	m.queue.options.APIReader = server
	m.reconnect()
	m.app.Generation, m.app.Spec.Image = 3, "shop:v0"
	if result := m.reconcile(t); result.RequeueAfter == 0 {
		t.Error("it is not tried again when the cache of the hub is behind")
	}
	if origin := m.queue.stored(m.app).waiting; origin != "" {
		t.Errorf("%s waits for the user, and the cache of the hub is behind", origin)
	}
	server.copied.Generation = 3
	m.reconcile(t)
	if origin := m.queue.stored(m.app).waiting; origin != string(m.app.UID)+"/9" {
		t.Errorf("%q waits for the user in a hub that was restored", origin)
	}
	for _, paused := range []bool{true, false} {
		m.app.Spec.Paused = paused
		m.reconcile(t)
		if origin := m.queue.stored(m.app).waiting; origin != string(m.app.UID)+"/9" {
			t.Errorf("paused %t: %q waits for the user", paused, origin)
		}
	}
}
