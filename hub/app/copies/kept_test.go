package copies

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/state"
)

// TestFollows checks that the generation of a copy is a lower bound of those that it has, without gaps.
func TestFollows(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		// from is the generation of the copy, applied the one in the entry.
		from, applied int64
		uid           types.UID
		waiting       string
		noEntry       bool
		want          bool
	}{
		"made from the one before":      {from: 6, applied: 6, want: true},
		"not observed yet":              {from: 6, applied: 5, want: true},
		"applied for the one before":    {from: 3, applied: 6, want: true},
		"applied for the present one":   {from: 3, applied: 7, want: true},
		"one between was not applied":   {from: 5, applied: 5},
		"kept, and one was not applied": {from: 3, applied: 5},
		"the present one":               {from: 7, applied: 7},
		"a later one":                   {from: 8, applied: 7},
		"of another application":        {from: 6, applied: 6, uid: "u-2"},
		"waits for the user":            {from: 6, applied: 6, waiting: "u-1/6"},
		"without an entry":              {from: 6, noEntry: true},
		"came back":                     {from: 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := shop(7, 7, "a")
			live := &v1.EcommerceApp{}
			live.Annotations = map[string]string{
				v1.HubAppUIDAnnotation: string(app.UID), v1.HubGenerationAnnotation: string(rune('0' + tt.from)),
			}
			if tt.uid != "" {
				app.UID = tt.uid
			}
			app.Status.Clusters[0].AppliedGeneration = tt.applied
			if tt.noEntry {
				app.Status.Clusters = nil
			}
			d := DecisionOf(app, &app.Status, state.Sources{})
			followed := task{Decision: d, order: d.Order("a"), waiting: tt.waiting}
			if got := followed.isNextOf(live); got != tt.want {
				t.Errorf("follows: %t, want %t", got, tt.want)
			}
		})
	}
}

// testKept checks that a generation that does not change the copy writes nothing, and the copy counts for it.
func testKept(t *testing.T, m *member) {
	t.Helper()
	m.reconcile(t)
	first := m.live(t)
	m.cached, m.app.Status.Clusters[0].AppliedGeneration = first, 1
	for generation := range int64(3) {
		m.app.Generation = generation + 2
		m.app.Spec.Placement.MaxClusters = int32(m.app.Generation)
		m.expectCounted(t, "before the queue is done", m.app.Generation)
		m.reconcile(t)
		m.expectCounted(t, "afterwards", m.app.Generation)
		if live := m.live(t); live.ResourceVersion != first.ResourceVersion {
			t.Fatalf("the copy was written for generation %d: %v", m.app.Generation, live.Annotations)
		}
		m.app.Status.Clusters[0].AppliedGeneration = m.app.Generation
	}
	// A hub that is restored to a generation between finds the copy that it would write.
	m.app.Generation = 2
	m.reconcile(t)
	if found, _ := m.queue.memory.Result(keyOf(m.app), m.app.UID); found.Failure != nil || m.live(t).ResourceVersion != first.ResourceVersion {
		t.Errorf("a restored hub reports %+v, and the copy has %v", found.Failure, m.live(t).Annotations)
	}
	m.app.Generation = 4
	m.app.Status.Clusters[0].AppliedGeneration = 4
	m.testKeptDrift(t)

	// What was between may have been another spec, which a backup of the hub has.
	m.app.Generation = 6
	m.expectCounted(t, "after a gap", 1)
	m.reconcile(t)
	m.expectWritten(t, "6")
	m.app.Generation, m.app.Spec.Image = 7, "shop:v7"
	m.expectCounted(t, "with another spec", 6)
	m.reconcile(t)
	m.expectWritten(t, "7")
	m.app.Generation = 8
	metav1.SetMetaDataAnnotation(&m.app.ObjectMeta, v1.ReconcileAtAnnotation, "now")
	m.reconcile(t)
	m.expectWritten(t, "8")
}

// testKeptDrift checks that a copy that was kept and then changed by hand is repaired.
func (m *member) testKeptDrift(t *testing.T) {
	t.Helper()
	changed := m.live(t)
	if err := m.Patch(t.Context(), changed, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"image":"other:v1"}}`))); err != nil {
		t.Fatal(err)
	}
	m.cached = m.live(t)
	m.reconcile(t)
	if live := m.live(t); live.Spec.Image != m.app.Spec.Image {
		t.Errorf("the copy has image %s", live.Spec.Image)
	}
	m.expectWritten(t, "1")
}

// expectWritten checks the generation of the copy, and has the cache catch up.
func (m *member) expectWritten(t *testing.T, generation string) {
	t.Helper()
	m.cached = m.live(t)
	if got := m.cached.Annotations[v1.HubGenerationAnnotation]; got != generation {
		t.Errorf("the copy is of generation %s, want %s", got, generation)
	}
}

// expectCounted checks the generation that the copy counts for.
func (m *member) expectCounted(t *testing.T, when string, want int64) {
	t.Helper()
	c := aggregate.Cluster{Name: "a"}
	if known, err := m.queue.Observe(t.Context(), facts(m.app), &c); err != nil || !known || c.Copy == nil || c.Copy.HubGeneration != want {
		t.Errorf("%s: known %t, error %v, copy %+v; want generation %d", when, known, err, c.Copy, want)
	}
}
