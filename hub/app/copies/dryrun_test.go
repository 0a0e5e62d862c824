package copies

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// testDryRun checks what would be written of a copy. That nothing is, the API server says.
func testDryRun(t *testing.T, m *member) {
	t.Helper()
	m.namespace(t)
	expect := func(when string, action v1.PendingAction) {
		t.Helper()
		got, err := m.queue.DryRun(t.Context(), m.app)
		if err != nil || got.Namespace != nil || actionOf(got.Changed) != action || got.Copy == nil {
			t.Fatalf("%s: %+v, error %v; want %q, and a namespace that is there", when, got, err, action)
		}
		if got.Copy.Name != m.app.Name || got.Copy.Namespace != m.app.Namespace || got.Copy.Spec.Image != m.app.Spec.Image {
			t.Errorf("%s: copy %s/%s with %s", when, got.Copy.Namespace, got.Copy.Name, got.Copy.Spec.Image)
		}
		if got.ManagedBy != v1.ManagedByHub {
			t.Errorf("%s: managed by %q", when, got.ManagedBy)
		}
	}
	expect("without a copy", v1.PendingCreate)
	expect("again, as nothing was written", v1.PendingCreate)
	m.denied = errors.New("denied")
	if _, err := m.queue.DryRun(t.Context(), m.app); !errors.Is(err, m.denied) {
		t.Errorf("a namespace that cannot be read: error %v", err)
	}
	m.denied = nil
	m.reconcile(t)
	m.cached = m.live(t)
	expect("as it is", "")
	delete(m.cached.Labels, v1.ClusterLabel)
	expect("a label is missing", v1.PendingUpdate)
	m.cached = m.live(t)
	m.app.Spec.Image, m.app.Generation = "shop:v2", 2
	got, err := m.queue.DryRun(t.Context(), m.app)
	if err != nil || actionOf(got.Changed) != v1.PendingUpdate || !strings.Contains(strings.Join(got.Changed.Fields, " "), "spec.image") {
		t.Errorf("an edit: %+v, error %v", got.Changed, err)
	}
	m.queue.hub = left{m}
	if _, err := m.queue.DryRun(t.Context(), m.app); !errors.Is(err, errLeaving) {
		t.Errorf("a member that leaves: error %v", err)
	}
}

// testDryRunDeletion checks what would be deleted of a copy.
func testDryRunDeletion(t *testing.T, m *member) {
	t.Helper()
	m.app.Generation = 9
	m.reconcile(t)
	live := m.live(t)
	stranger, ending, later := live.DeepCopy(), live.DeepCopy(), live.DeepCopy()
	stranger.Labels, stranger.Annotations = nil, nil
	ending.DeletionTimestamp = &metav1.Time{}
	later.Annotations[v1.HubGenerationAnnotation] = "10"
	m.app.Status.Clusters[0].Phase = v1.PhaseDeleting
	for name, tt := range map[string]struct {
		cached *v1.EcommerceApp
		fails  bool
	}{
		"none": {nil, false}, "of a user": {stranger, false}, "being deleted": {ending, false}, "a later one": {later, true},
	} {
		m.cached = tt.cached
		if got, err := m.queue.DryRun(t.Context(), m.app); (err != nil) != tt.fails || got.Changed != nil || got.Copy != nil {
			t.Errorf("%s: %+v, error %v", name, got, err)
		}
	}
	// Dry runs of deletions have a client of their own, which reaches nothing here.
	m.cached = live
	if _, err := m.queue.DryRun(t.Context(), m.app); err == nil || !strings.Contains(err.Error(), "deleting the copy") {
		t.Errorf("error %v, want that of a deletion", err)
	}
}

// left is a hub without members.
type left struct{ *member }

func (l left) Get(ctx context.Context, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
	if _, is := into.(*v1.MemberCluster); is {
		return apierrors.NewNotFound(v1.GroupVersion.WithResource("memberclusters").GroupResource(), key.Name)
	}
	return l.member.Get(ctx, key, into, opts...)
}

// actionOf returns the action of a change; empty if there is none.
func actionOf(c *v1.PendingChange) v1.PendingAction {
	if c == nil {
		return ""
	}
	return c.Action
}

// GetConfig returns an address at which nothing listens.
func (m *member) GetConfig() *rest.Config { return &rest.Config{Host: "https://127.0.0.1:1"} }

// GetHTTPClient returns a client for requests that are about to fail.
func (m *member) GetHTTPClient() *http.Client { return &http.Client{} }
