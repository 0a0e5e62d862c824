package app

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestBurst has twenty applications change at the beginning, and then others.
func TestBurst(t *testing.T) {
	t.Parallel()
	start := time.Unix(1000, 0)
	type change struct {
		after time.Duration
		app   string
		want  time.Duration
		// written means that the change is written if it need not wait.
		written bool
	}
	for name, tt := range map[string]struct {
		before  int
		changes []change
	}{
		"one change":                 {0, []change{{0, "a", 0, true}}},
		"the same application again": {0, []change{{0, "a", 0, true}, {time.Millisecond, "a", 0, true}}},
		"the twentieth":              {19, []change{{0, "a", 0, true}}},
		"the next waits":             {20, []change{{0, "a", time.Second, true}}},
		"until the end of the window": {20, []change{
			{300 * time.Millisecond, "a", 700 * time.Millisecond, true},
			{900 * time.Millisecond, "a", 100 * time.Millisecond, true},
			{time.Second, "a", 0, true},
		}},
		"one that was written waits when it changes again": {20, []change{
			{0, "a", time.Second, true}, {500 * time.Millisecond, "app-0", 500 * time.Millisecond, true},
		}},
		"after the window": {20, []change{{time.Second, "a", 0, true}}},
		"late, and not for another window": {20, []change{
			{0, "a", time.Second, true}, {0, "b", time.Second, true},
			{3 * time.Second, "a", 0, true}, {10 * time.Second, "b", 0, true},
		}},
		"a write that fails is tried again at once": {20, []change{
			{0, "a", time.Second, true}, {time.Second, "a", 0, false}, {1100 * time.Millisecond, "a", 0, true},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBurst()
			for i := range tt.before {
				b.wait(types.NamespacedName{Name: fmt.Sprintf("app-%d", i)}, start)
			}
			for i, c := range tt.changes {
				app := types.NamespacedName{Name: c.app}
				got := b.wait(app, start.Add(c.after))
				if got != c.want {
					t.Errorf("change %d of %s after %s waits for %s, want %s", i, c.app, c.after, got, c.want)
				}
				if got == 0 && c.written {
					b.settle(app)
				}
			}
			if len(b.due) > 0 && tt.changes[len(tt.changes)-1].want == 0 {
				t.Errorf("%v still wait", b.due)
			}
		})
	}
}

// TestHold: what waits for something waits for one window at most.
func TestHold(t *testing.T) {
	t.Parallel()
	start, app, b := time.Unix(1000, 0), types.NamespacedName{Name: "a"}, newBurst()
	for _, step := range []struct{ after, want time.Duration }{
		{0, burstWindow}, {burstWindow / 4, burstWindow * 3 / 4}, {burstWindow, 0}, {2 * burstWindow, 0},
	} {
		if got := b.hold(app, start.Add(step.after)); got != step.want {
			t.Errorf("after %s it waits for %s, want %s", step.after, got, step.want)
		}
	}
	b.settle(app)
	if got := b.hold(app, start.Add(3*burstWindow)); got != burstWindow {
		t.Errorf("another change waits for %s, want %s", got, burstWindow)
	}
}
