package members

import (
	"context"
	"strings"
	"testing"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/health"
)

func at(minute int) time.Time { return time.Date(2030, 1, 1, 0, minute, 0, 0, time.UTC) }

type pin struct {
	name, uid string
	minute    int
}

// admission is a question to claims, and what was before it.
type admission struct {
	pins []pin
	// admitted were seen before, in this order.
	admitted  [][2]string
	name, uid string
	reason    string // of the refusal; none if empty
	names     string // the other member
}

func TestAdmit(t *testing.T) {
	tests := map[string]admission{
		"first of its name":   {pins: []pin{{"a", "", 1}}, name: "a", uid: "1"},
		"the one it was":      {pins: []pin{{"a", "1", 1}}, name: "a", uid: "1"},
		"the hub":             {pins: []pin{{"a", "", 1}}, name: "a", uid: "hub", reason: v1.ReasonHubItself},
		"another than pinned": {pins: []pin{{"a", "1", 1}}, name: "a", uid: "2", reason: v1.ReasonClusterIdentityChanged},
		"another than seen": {
			pins: []pin{{"a", "", 1}}, admitted: [][2]string{{"a", "1"}},
			name: "a", uid: "2", reason: v1.ReasonClusterIdentityChanged,
		},
		"registered by another": {
			pins: []pin{{"a", "1", 1}, {"b", "", 2}},
			name: "b", uid: "1", reason: v1.ReasonDuplicateCluster, names: "a",
		},
		"a pin is stronger than an earlier registration": {
			pins: []pin{{"a", "1", 2}, {"b", "", 1}},
			name: "b", uid: "1", reason: v1.ReasonDuplicateCluster, names: "a",
		},
	}
	for name, test := range tests {
		t.Run(name, test.check)
	}
}

func TestAdmitOneOfMany(t *testing.T) {
	tests := map[string]admission{
		"the earlier of two without pins, connected later": {
			pins: []pin{{"a", "", 1}, {"b", "", 2}}, admitted: [][2]string{{"b", "1"}},
			name: "a", uid: "1",
		},
		"the later of two without pins, connected later": {
			pins: []pin{{"a", "", 1}, {"b", "", 2}}, admitted: [][2]string{{"a", "1"}},
			name: "b", uid: "1", reason: v1.ReasonDuplicateCluster, names: "a",
		},
		"of the same time, the first by name": {
			pins: []pin{{"a", "", 1}, {"b", "", 1}}, admitted: [][2]string{{"b", "1"}, {"a", "1"}},
			name: "b", uid: "1", reason: v1.ReasonDuplicateCluster, names: "a",
		},
		"of two pins, the earlier": {
			pins: []pin{{"a", "1", 2}, {"b", "1", 1}},
			name: "a", uid: "1", reason: v1.ReasonDuplicateCluster, names: "b",
		},
		"of two pins of the same time, the first by name": {
			pins: []pin{{"a", "1", 1}, {"b", "1", 1}},
			name: "a", uid: "1",
		},
		"of three, the best is named": {
			pins: []pin{{"a", "", 3}, {"b", "1", 2}, {"c", "1", 1}},
			name: "a", uid: "1", reason: v1.ReasonDuplicateCluster, names: "c",
		},
	}
	for name, test := range tests {
		t.Run(name, test.check)
	}
}

func (a admission) check(t *testing.T) {
	t.Helper()
	claims := newClaims("hub")
	for _, p := range a.pins {
		claims.Pin(p.name, p.uid, at(p.minute))
	}
	for _, seen := range a.admitted {
		if f := claims.Admit(t.Context(), seen[0], seen[1]); f != nil {
			t.Fatalf("%s: %+v", seen[0], f)
		}
	}
	f := claims.Admit(t.Context(), a.name, a.uid)
	switch {
	case f == nil && a.reason != "":
		t.Errorf("admitted, want %s", a.reason)
	case f != nil && (f.Reason != a.reason || f.Step != health.StepIdentity):
		t.Errorf("refused with %+v, want %q", f, a.reason)
	case f != nil && a.names != "" && !strings.Contains(f.Message, `"`+a.names+`"`):
		t.Errorf("message %q does not name %q", f.Message, a.names)
	}
}

func TestForgetFreesTheCluster(t *testing.T) {
	claims := newClaims("hub")
	claims.Pin("a", "1", at(1))
	claims.Pin("b", "", at(2))
	if claims.Admit(t.Context(), "b", "1") == nil {
		t.Fatal("two names for one cluster")
	}
	claims.Forget("a")
	if f := claims.Admit(t.Context(), "b", "1"); f != nil {
		t.Errorf("refused: %+v", f)
	}
}

// TestAdmitAfterTheEnd checks that results of an ended member do not reach the next one of its name.
func TestAdmitAfterTheEnd(t *testing.T) {
	claims := newClaims("hub")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	claims.Pin("a", "", at(1))
	claims.Admit(ended, "a", "1")
	if f := claims.Admit(t.Context(), "a", "2"); f != nil {
		t.Errorf("refused: %+v", f)
	}
}
