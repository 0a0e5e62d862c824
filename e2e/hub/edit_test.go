package hub_test

import (
	"strconv"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// testEditFirst checks that the copies of an edit do not wait until the hub has stored that it saw the edit.
func (s *suite) testEditFirst(t *testing.T) {
	t.Helper()
	// A write of the status may take less time than a worker takes to begin, but not each time.
	for i := 0; !s.copiedFirst(t, s.editEnv(t, strconv.Itoa(i))); i++ {
		if i == 5 {
			t.Fatal("the copies wait for the status that says that the edit was seen")
		}
	}
	s.editEnv(t, "")
}

// editEnv gives the shop a variable, or none if the value is empty, waits until it runs everywhere, and
// returns when the edit was made.
func (s *suite) editEnv(t *testing.T, value string) framework.Marks {
	t.Helper()
	before := s.Mark(t)
	framework.Edit(t, s.Hub, s.shop, func(app *v1.EcommerceApp) {
		app.Spec.Frontend.Env = []v1.EnvVar{{Name: "EDIT", Value: value}}
		if value == "" {
			app.Spec.Frontend.Env = nil
		}
	})
	s.AwaitRunning(t, s.shop, eu, asia, us)
	return before
}

// copiedFirst reports whether a copy of the shop was written before the hub's first status since a mark
// was stored.
func (s *suite) copiedFirst(t *testing.T, before framework.Marks) bool {
	t.Helper()
	stored := s.Since(t, before, s.Fleet.Hub()).Of("ecommerceapps").Writes().In(s.shop.Namespace).Where(func(e audit.Event) bool {
		return e.Subresource == "status" && e.Name == s.shop.Name
	})
	for _, name := range memberNames() {
		copied := s.Since(t, before, s.Fleet.Member(name)).Of("ecommerceapps").Writes().In(s.shop.Namespace).Where(func(e audit.Event) bool {
			return e.Subresource == "" && e.Name == s.shop.Name
		})
		if len(stored) > 0 && len(copied) > 0 && copied[0].Received.Before(stored[0].Completed) {
			return true
		}
	}
	return false
}
