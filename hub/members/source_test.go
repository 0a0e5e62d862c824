package members

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestConnections checks that changes of nodes are no changes of the connection.
func TestConnections(t *testing.T) {
	f := New(Options{})
	f.Set("a", Target{})
	var calls []string
	doing := ""
	stop := f.Connections().OnChange(func(name string) { calls = append(calls, doing+" "+name) })
	member := f.accessor("a")
	report := func(what string, change func(*State)) {
		doing = what
		state := member.current()
		change(&state)
		if member.setState(state) {
			f.notify("a")
		}
	}
	report("nodes at first", func(s *State) { s.Info.Nodes = 1 })
	report("more nodes", func(s *State) { s.Info.Nodes = 2 })
	report("engaged", func(s *State) { s.Engaged = true })
	report("fewer nodes", func(s *State) { s.Info.Nodes = 1 })
	report("permissions", func(s *State) { s.Authorized.Reason = "Reviewed" })
	report("credentials", func(s *State) { s.Info.CredentialsExpireAt = time.Unix(1, 0) })
	doing = "removed"
	f.Remove("a")
	stop()
	f.notify("a")
	want := []string{"nodes at first a", "engaged a", "permissions a", "credentials a", "removed a"}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
