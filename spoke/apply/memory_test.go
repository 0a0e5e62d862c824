package apply_test

import (
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
)

// testEditedHash edits nothing but the hash of what was just written.
func testEditedHash(s *server) func(*testing.T) {
	return func(t *testing.T) {
		a, intent := s.applier(), configMap()
		intent.Name = "edited-hash"
		do(t, a, apply.Request{Intent: intent, Owned: labelled}, apply.Created)
		live := get(t, s, intent)
		want := live.Annotations[v1.SpecHashAnnotation]
		live.Annotations[v1.SpecHashAnnotation] = "edited"
		if err := s.Update(t.Context(), live); err != nil {
			t.Fatal(err)
		}
		do(t, a, apply.Request{Intent: intent, Live: live, Owned: labelled}, apply.Updated)
		if got := get(t, s, intent).Annotations[v1.SpecHashAnnotation]; got != want {
			t.Errorf("hash %q, want %q", got, want)
		}
	}
}
