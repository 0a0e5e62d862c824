package copies

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// testCompared compares before and without any attempt to write.
func testCompared(t *testing.T, m *member) {
	t.Helper()
	m.app.Generation = 2
	m.reconcile(t)
	m.reconnect()
	expect := func(when, member string, want bool) {
		t.Helper()
		if got, _, err := m.dispatcher.Compared(t.Context(), m.app, member); got != want || err != nil {
			t.Errorf("%s: compared %t, want %t, error %v", when, got, want, err)
		}
	}
	expect("not engaged", "b", false)
	expect("without a copy in the cache", "a", true)
	m.cached = m.live(t)
	expect("the same generation", "a", true)
	m.app.Generation, m.app.Spec.Image = 3, "shop:v3"
	expect("an edit to be written", "a", true)
	m.app.Generation = 1
	expect("a later generation in the member", "a", false)
	m.accept(v1.OriginOf(m.cached.Annotations).String())
	expect("accepted by the user", "a", true)
	m.app.Annotations, m.cached = nil, nil
	m.kept.left = func(types.UID) int64 { return 2 }
	expect("an unknown departure", "a", false)
	m.app.Generation = 4
	expect("a former departure", "a", true)
	m.kept.deletedAt = func(types.UID) time.Time { return time.Unix(1, 0) }
	expect("a recorded deletion", "a", false)
}
