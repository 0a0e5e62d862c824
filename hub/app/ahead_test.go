package app

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
)

// inventoryOf returns a status of the first generation with entries for members.
func inventoryOf(members ...string) v1.EcommerceAppStatus { return shop(1, members...).Status }

// testWriteAhead: finalizer and clusters are one write, and clusters that are added later are
// another. What is recorded already costs none.
func testWriteAhead(t *testing.T, w *writer) {
	t.Helper()
	app := w.stored(t)
	for _, step := range []struct {
		next   []string
		writes int
		want   string
	}{
		{[]string{"a", "b"}, 1, "a,b"},
		{[]string{"a", "b"}, 0, "a,b"},
		{[]string{"a"}, 0, "a,b"},
		{[]string{"a", "c"}, 1, "a,c"},
	} {
		before := app.DeepCopy()
		if err := w.writeAhead(t.Context(), app, inventoryOf(step.next...)); err != nil {
			t.Fatal(err)
		}
		w.dispatcher.EndPlan(w.key)
		if changed := app.ResourceVersion != before.ResourceVersion; changed != (step.writes == 1) {
			t.Errorf("%v: written %t, want %d writes", step.next, changed, step.writes)
		}
		stored := w.stored(t)
		if got := stored.Annotations[v1.ClustersAnnotation]; got != step.want || !controllerutil.ContainsFinalizer(stored, v1.HubFinalizer) {
			t.Errorf("%v: %q is recorded, want %q and the finalizer in %v", step.next, got, step.want, stored.Finalizers)
		}
	}
	many := make([]string, maxRecorded+1)
	for i := range many {
		many[i] = strconv.Itoa(i)
	}
	if err := w.writeAhead(t.Context(), app, inventoryOf(many...)); err != nil {
		t.Fatal(err)
	}
	if _, recorded := w.stored(t).RecordedClusters(); recorded {
		t.Errorf("%d clusters are recorded, want that nothing is beyond %d", len(many), maxRecorded)
	}
}

// testFailedPlan: the queues work with the status of a new application before it is stored, and
// with what is stored if it is not written.
func testFailedPlan(t *testing.T, w *writer) {
	t.Helper()
	app, planned := w.stored(t), inventoryOf("a")
	cached := app.DeepCopy()
	if err := w.writeAhead(t.Context(), app, planned); err != nil {
		t.Fatal(err)
	}
	for name, cached := range map[string]*v1.EcommerceApp{"without the metadata": cached, "with it": w.stored(t)} {
		newest, ahead := w.dispatcher.Newest(cached)
		if diff := cmp.Diff(planned, newest.Status); !ahead || diff != "" {
			t.Errorf("a cache %s: ahead %t, status (-want +got):\n%s", name, ahead, diff)
		}
	}
	if !w.dispatcher.Planned(app) {
		t.Error("the status is not planned")
	}
	w.change(t)
	if _, err := w.report(t.Context(), app, aggregate.Input{}, planned); !apierrors.IsConflict(err) {
		t.Fatalf("writing the status: %v, want a conflict", err)
	}
	stored := w.stored(t)
	if newest, ahead := w.dispatcher.Newest(stored); ahead || !newest.InventoryLost() || w.dispatcher.Planned(app) {
		t.Error("a status that was planned for another version is still worked with")
	}
	if names, _ := stored.RecordedClusters(); strings.Join(names, ",") != "a" {
		t.Errorf("%v are recorded, want the cluster that may have a copy", names)
	}
}
