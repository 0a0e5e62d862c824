package dispatch

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apierror"
)

// TestKnownCopy is about what a hub finds that was restored from an older backup.
func TestKnownCopy(t *testing.T) {
	t.Parallel()
	deleted := func(uid types.UID) bool { return uid == "u-gone" }
	for name, tt := range map[string]struct {
		uid, generation, image string
		accepted               string
		refused                bool
	}{
		"older":                       {"u-1", "6", "shop:v1", "", false},
		"same":                        {"u-1", "7", "shop:v1", "", false},
		"newer":                       {"u-1", "8", "shop:v1", "", true},
		"newer, accepted":             {"u-1", "8", "shop:v1", "u-0/3, u-1/8", false},
		"newer than what is accepted": {"u-1", "9", "shop:v1", "u-1/8", true},
		"newer, of another accepted":  {"u-1", "8", "shop:v1", "u-0/8", true},
		"edited by hand":              {"u-1", "soon", "shop:v1", "", false},
		"stripped":                    {"", "9", "shop:v1", "", false},
		"of another":                  {"u-0", "1", "shop:v1", "", true},
		"of another, accepted":        {"u-0", "1", "shop:v1", "u-0/1", false},
		"of another, with this spec":  {"u-0", "1", "shop:v2", "", false},
		"of one that was deleted":     {"u-gone", "9", "shop:v1", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &v1.EcommerceApp{
				ObjectMeta: metav1.ObjectMeta{UID: "u-1", Generation: 7, Annotations: map[string]string{v1.RecoverAnnotation: tt.accepted}},
				Spec:       v1.EcommerceAppSpec{Image: "shop:v2"},
			}
			live := &v1.EcommerceApp{
				ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1.HubAppUIDAnnotation: tt.uid, v1.HubGenerationAnnotation: tt.generation}},
				Spec:       v1.EcommerceAppSpec{Image: tt.image},
			}
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live)
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range []error{
				knownCopy(app, app, live, deleted), knownCopy(app, app, &unstructured.Unstructured{Object: content}, deleted),
			} {
				if d := apierror.Decide(err); (d.Reason == v1.ReasonNewerInMember) != tt.refused {
					t.Errorf("got %v, want that it is refused: %t", err, tt.refused)
				}
				if tt.refused && !strings.Contains(err.Error(), v1.RecoverAnnotation+"="+tt.uid+"/"+tt.generation) {
					t.Errorf("%q does not say how to go on", err)
				}
			}
		})
	}
}

// testNewer: a copy of a later generation stays, whether the cache has it or not, until the
// user accepts that it is overwritten.
func testNewer(t *testing.T, m *member) {
	t.Helper()
	m.app.Generation = 9
	m.reconcile(t)
	later := m.live(t)
	m.app.Generation, m.app.Spec.Image = 3, "shop:v0"
	for name, cached := range map[string]*v1.EcommerceApp{"cached": later, "not cached": nil} {
		m.cached = cached
		m.reconcile(t)
		if found, _ := m.queue.reports.about(keyOf(m.app), m.app.UID); found.failure == nil || found.failure.Reason != v1.ReasonNewerInMember {
			t.Errorf("%s: reported %+v", name, found.failure)
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
	m.app.Annotations = map[string]string{v1.RecoverAnnotation: string(m.app.UID) + "/9"}
	m.reconcile(t)
	if live := m.live(t); live.Spec.Image != "shop:v0" || live.Annotations[v1.HubGenerationAnnotation] != "3" {
		t.Errorf("after it was accepted the copy is %+v", live.Spec)
	}
}

// testDeleted: what was deleted is recorded first, and not created again.
func testDeleted(t *testing.T, m *member) {
	t.Helper()
	var recorded types.UID
	m.queue.options.RecordDeletion = func(ctx context.Context, _ string, app types.UID) error {
		live := &v1.EcommerceApp{}
		if err := m.WithWatch.Get(ctx, keyOf(m.app), live); err != nil || live.DeletionTimestamp != nil {
			t.Errorf("the copy was deleted before that was recorded: %v", err)
		}
		recorded = app
		return nil
	}
	m.queue.options.Deleted = func(_ string, app types.UID) bool { return app == recorded }
	m.reconcile(t)
	m.app.DeletionTimestamp = &metav1.Time{}
	m.reconcile(t)
	if recorded != m.app.UID {
		t.Fatalf("the deletion of %q is recorded", recorded)
	}
	if err := m.Patch(t.Context(), m.live(t), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	m.app.DeletionTimestamp, m.cached = nil, nil
	m.reconcile(t)
	if found, _ := m.queue.reports.about(keyOf(m.app), m.app.UID); found.failure == nil || found.failure.Reason != v1.ReasonDeletedInMember {
		t.Errorf("reported %+v", found.failure)
	}
	if err := m.WithWatch.Get(t.Context(), keyOf(m.app), &v1.EcommerceApp{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the copy was created again: %v", err)
	}
	m.app.Annotations = map[string]string{v1.RecoverAnnotation: string(m.app.UID) + "/deleted"}
	m.reconcile(t)
	m.live(t)
}
