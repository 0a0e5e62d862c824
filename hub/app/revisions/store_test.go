package revisions_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// history is a store on a real API server, and an application in it.
type history struct {
	*revisions.Store
	client client.Client
	app    *v1.EcommerceApp
}

func newHistory(t *testing.T) *history {
	t.Helper()
	hub := fleettest.Start(t, fleet.Options{Hub: fleet.ClusterSpec{Name: "hub", APIServerOnly: true}}).Hub()
	scheme := runtime.NewScheme()
	if err := errors.Join(hub.ApplyFolder(t.Context(), "../../../config/crd/bases"), v1.AddToScheme(scheme), appsv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(hub.AdminConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	h := &history{Store: revisions.New(c, c, nil), client: c, app: &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop"},
		Spec:       v1.EcommerceAppSpec{Image: "shop:v1", Rollout: &v1.Rollout{}},
	}}
	if err := c.Create(t.Context(), h.app); err != nil {
		t.Fatal(err)
	}
	return h
}

// resolve returns the revision of an image.
func (h *history) resolve(t *testing.T, image string) revisions.Resolved {
	t.Helper()
	h.app.Spec.Image = image
	found, err := h.Resolve(t.Context(), h.app)
	if err == nil {
		err = h.Store.Store(t.Context(), h.app, found)
	}
	if err != nil {
		t.Fatal(err)
	}
	// Stored, it is found again.
	if found, err = h.Resolve(t.Context(), h.app); err != nil {
		t.Fatal(err)
	}
	return found
}

// complete makes a revision a part of the history, while clusters have others.
func (h *history) complete(t *testing.T, revision int64, minutes int, used map[string]int64) {
	t.Helper()
	next := &v1.RolloutStatus{Revision: revision, CompletionTime: &metav1.Time{Time: time.Unix(int64(minutes*60), 0)}}
	if err := h.Complete(t.Context(), h.app, next, used); err != nil {
		t.Fatal(err)
	}
}

// stored returns the numbers of the revisions that exist.
func (h *history) stored(t *testing.T) []int64 {
	t.Helper()
	list := &appsv1.ControllerRevisionList{}
	if err := h.client.List(t.Context(), list, client.InNamespace("default")); err != nil {
		t.Fatal(err)
	}
	var numbers []int64
	for i := range list.Items {
		numbers = append(numbers, list.Items[i].Revision)
	}
	slices.Sort(numbers)
	return numbers
}

// TestStore resolves, completes and prunes the revisions of an application one after the other.
func TestStore(t *testing.T) {
	h := newHistory(t)
	first := h.resolve(t, "shop:v1")
	if first.Revision != 1 || first.Hash == "" || first.Healthy != 0 {
		t.Errorf("the first revision is %+v", first)
	}
	if again := h.resolve(t, "shop:v1"); again.Revision != 1 || again.Hash != first.Hash {
		t.Errorf("an equal spec has revision %+v, want %+v", again, first)
	}
	h.complete(t, 1, 1, nil)
	if second := h.resolve(t, "shop:v2"); second.Revision != 2 || second.Healthy != 1 {
		t.Errorf("the second revision is %+v, want 2 after 1", second)
	}
	if back := h.resolve(t, "shop:v1"); back.Revision != 1 {
		t.Errorf("the former spec has revision %d, want 1", back.Revision)
	}
	h.app.Status.Clusters = []v1.ClusterStatus{{Name: "a", Revision: 7}}
	if next := h.resolve(t, "shop:v3"); next.Revision != 8 {
		t.Errorf("revision %d follows one that a cluster has, want 8", next.Revision)
	}

	h.app.Spec.Replicas = new(int32(5))
	spec, err := h.Spec(t.Context(), h.app, 1)
	if err != nil || spec.Image != "shop:v1" || *spec.Replicas != 5 || spec.Rollout == nil {
		t.Errorf("revision 1: %+v, error %v; want the image of then, and what else the spec says", spec, err)
	}
	for revision, healthy := range map[int64]bool{1: true, 2: false, 3: false} {
		err := h.CheckHealthy(t.Context(), h.app, revision)
		refused, is := errors.AsType[*apierror.SpecError](err)
		if (err == nil) != healthy || !healthy && (!is || refused.Reason != v1.ReasonRevisionNotFound) {
			t.Errorf("revision %d: %v, want healthy %t", revision, err, healthy)
		}
	}
	_, err = h.Spec(t.Context(), h.app, 3)
	if refused, is := errors.AsType[*apierror.SpecError](err); !is || refused.Reason != v1.ReasonRevisionNotFound {
		t.Errorf("a revision that does not exist: %v", err)
	}

	h.complete(t, 8, 2, map[string]int64{"a": 8})
	if got := h.stored(t); !slices.Equal(got, []int64{1, 8}) {
		t.Errorf("%v are stored, want those that were healthy", got)
	}
}

// TestNoneIsHealthy keeps those in use of revisions that supersede each other before one is healthy.
func TestNoneIsHealthy(t *testing.T) {
	h := newHistory(t)
	h.app.Status.Clusters = []v1.ClusterStatus{{Name: "a", Revision: 2}}
	for i := range 6 {
		h.resolve(t, fmt.Sprintf("shop:v%d", i+1))
	}
	if got, want := h.stored(t), []int64{7, 8}; !slices.Equal(got, want) {
		t.Errorf("%v are stored, want the last two: %v", got, want)
	}
}

// TestHistoryLimit keeps ten revisions that were healthy, and those that are in use.
func TestHistoryLimit(t *testing.T) {
	h := newHistory(t)
	for i := range 13 {
		if i == 2 {
			h.app.Status.Clusters = []v1.ClusterStatus{{Name: "lost", Revision: 2}}
		}
		h.complete(t, h.resolve(t, fmt.Sprintf("shop:v%d", i+1)).Revision, i+1, map[string]int64{"lost": 2})
	}
	if got, want := h.stored(t), []int64{2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13}; !slices.Equal(got, want) {
		t.Errorf("%v are stored, want %v", got, want)
	}
	h.app.Status.Clusters = nil
	// One that is healthy once more is the newest.
	h.complete(t, h.resolve(t, "shop:v2").Revision, 20, nil)
	h.complete(t, h.resolve(t, "shop:v14").Revision, 21, nil)
	if got, want := h.stored(t), []int64{2, 6, 7, 8, 9, 10, 11, 12, 13, 14}; !slices.Equal(got, want) {
		t.Errorf("%v are stored, want %v", got, want)
	}
}
