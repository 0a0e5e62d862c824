package tty

import (
	"bytes"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"
)

func TestDisplayOffTerminal(t *testing.T) {
	var out, errOut bytes.Buffer
	clock := testclock.NewFakeClock(time.Unix(100, 0))
	d := &Display{out: &out, errOut: &errOut, clock: clock}
	line := func(text string) func(time.Time) string {
		return func(now time.Time) string {
			if now.IsZero() {
				return text + "\n"
			}
			return fmt.Sprintf("%s %ds\n", text, now.Unix())
		}
	}
	d.Show(line("a"))
	clock.Step(time.Minute)
	d.Show(line("a")) // Only its age has changed.
	d.Show(line("b"))
	d.SetError(os.ErrClosed)
	d.SetError(os.ErrClosed)
	d.SetError(nil)
	d.Close()
	if diff := cmp.Diff("a 100s\n\nb 160s\n", out.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	if want := "outdated, retrying: file already closed\nup to date again\n"; errOut.String() != want {
		t.Errorf("errors %q, want %q", errOut.String(), want)
	}
}

func TestDisplayOnTerminal(t *testing.T) {
	var out bytes.Buffer
	d := &Display{out: &out, clock: testclock.NewFakeClock(time.Unix(100, 0)), size: func() (int, int, error) { return 80, 24, nil }}
	text := "one\ntwo\n"
	render := func(time.Time) string { return text }
	d.Show(render)
	d.Show(render) // Nothing new, nothing is drawn.
	text = "three\n"
	d.Show(render)
	d.SetError(os.ErrClosed)
	want := "one\ntwo\n" + "\x1b[2A\x1b[J" + "three\n" + "\x1b[1A\x1b[J" + "three\noutdated, retrying: file already closed\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("drawn (-want +got):\n%s", diff)
	}
}

func TestFit(t *testing.T) {
	tests := map[string]struct {
		text          string
		width, height int
		want          string
	}{
		"fits":           {"a\nb\n", 10, 10, "a\nb\n"},
		"too wide":       {"äbcdef\nxy\n", 3, 10, "äbc\nxy\n"},
		"too long":       {"1\n2\n3\n4\n5\n", 20, 4, "1\n2\n... 3 more lines\n"},
		"unknown height": {"1\n2\n", 0, 0, "1\n2\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, fit(test.text, test.width, test.height)); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}
