package cloud

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestIntent(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	sent := Intent{Attempt: 2}.Sending(now)
	if sent.MaySend(now.Add(VisibilityWindow-time.Second)) || !sent.MaySend(now.Add(VisibilityWindow)) {
		t.Error("a request may be sent again when the window is over, and not before")
	}
	if wait := sent.Wait(now.Add(30 * time.Second)); wait != VisibilityWindow-30*time.Second {
		t.Errorf("wait %s", wait)
	}
	of := func(c Class) error { return fmt.Errorf("backing up: %w", &Error{Class: c}) }
	known := Intent{Attempt: 2, SentAt: now}
	tests := map[string]struct {
		before Intent
		state  State
		err    error
		want   Intent
	}{
		"found, maybe not visible yet": {sent, StateCreating, nil, known},
		"found by looking":             {known, StateTaken, nil, known},
		"failed after acceptance":      {sent, StateFailed, nil, Intent{Attempt: 3}},
		"refused":                      {sent, "", of(ClassThrottled), Intent{Attempt: 2}},
		"refused to look":              {known, "", of(ClassThrottled), known},
		"looked, nothing there":        {known, "", of(ClassAmbiguous), known},
		"answer lost":                  {sent, "", of(ClassAmbiguous), known},
		"an error of our own":          {sent, "", errors.New("context canceled"), known},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.before.After(tt.state, tt.err)); diff != "" {
				t.Errorf("intent (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	name := Name("hub", "app", "claim", "2026-03-01T02:00:00Z", "snapshot")
	if len(name) != 29 || name != Name("hub", "app", "claim", "2026-03-01T02:00:00Z", "snapshot") {
		t.Errorf("name %q", name)
	}
	if Name("a", "bc") == Name("ab", "c") {
		t.Error("parts run into one another")
	}
}

func TestOwns(t *testing.T) {
	t.Parallel()
	tags := Tags{TagHub: "h", TagApp: "a"}
	tests := map[string]struct {
		owner Owner
		tags  Tags
		want  bool
	}{
		"the hub's":            {Owner{Hub: "h"}, tags, true},
		"the application's":    {Owner{Hub: "h", App: "a"}, tags, true},
		"another application":  {Owner{Hub: "h", App: "b"}, tags, false},
		"another hub's":        {Owner{Hub: "g"}, tags, false},
		"stripped of its tags": {Owner{Hub: "h"}, nil, false},
		"an owner of nothing":  {Owner{}, Tags{TagHub: ""}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.owner.Owns(tt.tags); got != tt.want {
				t.Errorf("owns: %t, want %t", got, tt.want)
			}
		})
	}
}
