package copies

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
)

// testConflicts checks that the wait grows while attempts about a copy end in conflicts, whatever they are about: the order
// about it, the process that reconciles it, or what a deleted application left behind. It begins anew after each success.
func testConflicts(t *testing.T, m *member) {
	t.Helper()
	m.storeRecords(t)
	m.reconcile(t)
	for i, step := range []struct {
		what   string
		change func()
	}{
		{"an order", func() { m.app.Generation, m.app.Spec.Image = 2, "shop:v2" }},
		{"the process, without an order", func() { m.queue.managedBy, m.app.Status.Clusters = v1.ManagedByAgent, nil }},
		{"a deletion, without an application", func() {
			m.record(t, recovery.Residue{App: m.app.UID})
			m.app.UID = ""
		}},
	} {
		step.change()
		m.handOver()
		m.cached = m.live(t)
		newer := fmt.Sprintf(`{"metadata":{"labels":{"changed":"since-%d"}}}`, i)
		if err := m.Patch(t.Context(), m.live(t), client.RawPatch(types.MergePatchType, []byte(newer))); err != nil {
			t.Fatal(err)
		}
		for _, want := range []time.Duration{200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, 0} {
			if want == 0 {
				m.cached = m.live(t)
			}
			got, err := m.queue.Reconcile(t.Context(), controller.RequestFor(m.app))
			if err != nil || got.RequeueAfter < want || got.RequeueAfter > want*13/10 {
				t.Errorf("%s: tried again after %s, error %v; want %s and up to 30 %% more", step.what, got.RequeueAfter, err, want)
			}
		}
	}
	if m.live(t).DeletionTimestamp == nil {
		t.Error("what the application left behind is not deleted")
	}
}
