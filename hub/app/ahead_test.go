package app

import (
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// inventoryOf returns a status of the first generation with entries for members.
func inventoryOf(members ...string) v1.EcommerceAppStatus { return shop(1, members...).Status }

// testWriteAhead checks that one write adds the finalizer and the clusters, another write adds later clusters, and
// recorded clusters cost none.
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
		if _, err := w.writeAhead(t.Context(), before, app, inventoryOf(step.next...)); err != nil {
			t.Fatal(err)
		}
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
	if _, err := w.writeAhead(t.Context(), app.DeepCopy(), app, inventoryOf(many...)); err != nil {
		t.Fatal(err)
	}
	if _, recorded := w.stored(t).RecordedClusters(); recorded {
		t.Errorf("%d clusters are recorded, want that nothing is beyond %d", len(many), maxRecorded)
	}
}

// testOneWrite checks that one write records a restart and the clusters of a new application.
func testOneWrite(t *testing.T, w *writer) {
	t.Helper()
	request := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+v1.ImageUpdatedAnnotation+`":"`+v1.RestartNow+`"}}}`))
	if err := w.client.Patch(t.Context(), w.stored(t), request); err != nil {
		t.Fatal(err)
	}
	app := w.stored(t)
	before := app.DeepCopy()
	w.prepare(app)
	restart := app.Annotations[v1.RestartedAtAnnotation]
	if got := w.stored(t); restart == "" || got.ResourceVersion != before.ResourceVersion {
		t.Errorf("restart %q; version %s is written before the clusters are known", restart, got.ResourceVersion)
	}
	if _, err := w.writeAhead(t.Context(), before, app, inventoryOf("a")); err != nil {
		t.Fatal(err)
	}
	stored := w.stored(t)
	_, requested := stored.Annotations[v1.ImageUpdatedAnnotation]
	if names, _ := stored.RecordedClusters(); requested || stored.Annotations[v1.RestartedAtAnnotation] == "" || strings.Join(names, ",") != "a" {
		t.Errorf("annotations %v", stored.Annotations)
	}
	if w.prepare(app); app.Annotations[v1.RestartedAtAnnotation] != restart {
		t.Error("the restart is repeated")
	}
}

// testHandedOver checks that the copies of a new application are ordered before its status is stored, which waits for
// them for a second. If it is not written, nothing stands for it, and its clusters are recorded.
func testHandedOver(t *testing.T, w *writer) {
	t.Helper()
	app, next := w.stored(t), inventoryOf("a")
	in := &observation{isNew: true}
	if _, err := w.writeAhead(t.Context(), app.DeepCopy(), app, next); err != nil {
		t.Fatal(err)
	}
	if err := w.dispatcher.Engage(t.Context(), "a", idle{}); err != nil {
		t.Fatal(err)
	}
	result, err := w.carryOut(t.Context(), app, in, next)
	if order := w.state.Decision(w.key).Order("a"); err != nil || result.RequeueAfter != statusPeriod || order == nil {
		t.Errorf("the status waits for %s, %v; order %+v", result.RequeueAfter, err, order)
	}
	if stored := w.stored(t); w.hasLostInventory(stored) || w.state.Ahead(stored) == nil {
		t.Error("the clusters of a new application are looked for")
	}
	w.change(t)
	w.clock.Step(statusPeriod)
	if _, err := w.carryOut(t.Context(), app, in, next); !apierrors.IsConflict(err) {
		t.Fatalf("writing the status: %v, want a conflict", err)
	}
	stored := w.stored(t)
	if names, _ := stored.RecordedClusters(); strings.Join(names, ",") != "a" || !stored.InventoryLost() {
		t.Errorf("%v are recorded, want the cluster that may have a copy", names)
	}
}

// testGone checks that no copy is ordered of a new application that is deleted meanwhile.
func testGone(t *testing.T, w *writer) {
	t.Helper()
	app, next := w.stored(t), inventoryOf("a")
	if err := w.client.Delete(t.Context(), w.stored(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.writeAhead(t.Context(), app.DeepCopy(), app, next); err != nil {
		t.Fatal(err)
	}
	if _, err := w.carryOut(t.Context(), app, &observation{isNew: true}, next); err != nil {
		t.Fatal(err)
	}
	if d := w.state.Decision(w.key); d != nil && len(d.Orders) > 0 {
		t.Errorf("ordered %+v", d.Orders)
	}
}

// idle is a member whose queue does not run.
type idle struct{ cluster.Cluster }

func (idle) GetClient() client.Client    { return nil }
func (idle) GetAPIReader() client.Reader { return nil }
