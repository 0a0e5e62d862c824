package state

import (
	"testing"

	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestReportedStatuses checks that a status that is about to be written counts until the cache has another version of
// the copy. In a paused member it is not written, and counts until another one is handed over.
func TestReportedStatuses(t *testing.T) {
	t.Parallel()
	copied := func(version, message string) *v1.EcommerceApp {
		app := &v1.EcommerceApp{Status: v1.EcommerceAppStatus{Message: message}}
		app.Namespace, app.Name, app.UID, app.ResourceVersion = "ns", "shop", "c-1", version
		return app
	}
	for name, tt := range map[string]struct {
		paused  bool
		version string
		seen    []string
		// want holds the message of the status that counts for the version, and known how many are kept.
		want  string
		known int
	}{
		"about to be written":               {version: "5", want: "new", known: 1},
		"the cache is behind":               {version: "4"},
		"behind, and then not":              {version: "5", seen: []string{"4"}, known: 0},
		"the version that it replaces":      {version: "5", seen: []string{"5"}, want: "new", known: 1},
		"written":                           {version: "6", seen: []string{"6"}},
		"paused":                            {paused: true, version: "5", want: "new", known: 1},
		"paused, and written to by another": {paused: true, version: "6", seen: []string{"6"}, want: "new", known: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := New(clock.RealClock{}).Connect("a", tt.paused)
			r.SetStatus(copied("5", "new"))
			for _, version := range tt.seen {
				r.SeeStatus(copied(version, "old"))
			}
			got := ""
			if status := r.Status(copied(tt.version, "old")); status != nil {
				got = status.Message
			}
			known := r.statuses()
			if got != tt.want || tt.seen != nil && known != tt.known {
				t.Errorf("%q counts, and %d are kept; want %q and %d", got, known, tt.want, tt.known)
			}
			if r.DropStatus(key(), "c-1"); r.Status(copied("5", "old")) != nil {
				t.Error("it is known after it was forgotten")
			}
		})
	}
}

// statuses returns how many statuses are kept.
func (m *Member) statuses() int {
	kept := 0
	for _, c := range m.copies {
		if c.observed.status != nil {
			kept++
		}
	}
	return kept
}
