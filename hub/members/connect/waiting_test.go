package connect

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/shopfleet/shopfleet/hub/members/ownership"
)

// TestDeletionsShareWrites checks that deletions that arrive during a write are written together.
func TestDeletionsShareWrites(t *testing.T) {
	t.Parallel()
	const later = 8
	s := &server{data: ownership.Record{Hub: "hub", Epoch: 3, Process: "p"}.Data()}
	r := s.open(t)
	all := make([]ownership.Deletion, 1+later)
	for i := range all {
		all[i] = ownership.Deletion{App: types.UID(strconv.Itoa(i)), At: time.Unix(1000, 0)}
	}
	failed := make(chan error)
	s.before = func() {
		for _, deletion := range all[1:] {
			go func() { failed <- r.Delete(t.Context(), deletion) }()
		}
		for len(r.waiting.all()) < len(all) {
			runtime.Gosched()
		}
	}
	go func() { failed <- r.Delete(t.Context(), all[0]) }()
	for range all {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
	stored, malformed := ownership.Parse(s.data)
	for _, deletion := range all {
		if malformed != nil || !stored.Includes(deletion) {
			t.Errorf("%s is not recorded: %v", deletion.App, malformed)
		}
	}
	if s.version != 2 || len(r.waiting.all()) != 0 {
		t.Errorf("%d writes of %d deletions, want 2; %v still wait", s.version, len(all), r.waiting.all())
	}
}
