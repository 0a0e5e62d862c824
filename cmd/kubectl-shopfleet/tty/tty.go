package tty

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
	"k8s.io/utils/clock"
)

// tick is how often ages are counted on a terminal. It costs no request.
const tick = time.Second

// Screen shows a text that changes: in place on a terminal, one after the other
// elsewhere. It must be closed.
type Display struct {
	out, errOut io.Writer
	clock       clock.WithTicker
	// size returns the width and height of the terminal; nil when there is none.
	size func() (width, height int, err error)

	mu      sync.Mutex
	render  func(now time.Time) string
	shown   string
	lines   int
	trouble error
	stop    chan struct{}
	ended   chan struct{}
}

// New returns a screen that shows texts on out, and trouble on errOut where out is
// no terminal.
func New(out, errOut io.Writer, c clock.WithTicker) *Display {
	d := &Display{out: out, errOut: errOut, clock: c}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		d.size = func() (int, int, error) { return term.GetSize(int(file.Fd())) }
		d.stop, d.ended = make(chan struct{}), make(chan struct{})
		go d.run()
	}
	return d
}

// run counts ages.
func (d *Display) run() {
	defer close(d.ended)
	ticker := d.clock.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-d.stop:
			return
		case <-ticker.C():
			d.mu.Lock()
			d.draw()
			d.mu.Unlock()
		}
	}
}

// Close leaves what is shown.
func (d *Display) Close() {
	if d.stop != nil {
		close(d.stop)
		<-d.ended
	}
}

// Show shows what render makes, from now on.
func (d *Display) Show(render func(now time.Time) string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.render = render
	if d.size != nil {
		d.draw()
		return
	}
	// Without ages: that time has passed is no news.
	text := render(time.Time{})
	if text == d.shown {
		return
	}
	if d.shown != "" {
		_, _ = fmt.Fprintln(d.out)
	}
	d.shown = text
	_, _ = io.WriteString(d.out, render(d.clock.Now()))
}

// SetTrouble says that what is shown may be old, until there is none.
func (d *Display) SetTrouble(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.trouble
	d.trouble = err
	switch {
	case d.size != nil:
		d.draw()
	case err != nil && was == nil:
		_, _ = fmt.Fprintf(d.errOut, "not current, trying again: %v\n", err)
	case err == nil && was != nil:
		_, _ = fmt.Fprintln(d.errOut, "current again")
	}
}

// draw replaces what is shown on a terminal. The lock is held.
func (d *Display) draw() {
	if d.render == nil {
		return
	}
	text := d.render(d.clock.Now())
	if d.trouble != nil {
		text += fmt.Sprintf("not current, trying again: %v\n", d.trouble)
	}
	width, height, err := d.size()
	if err == nil {
		text = fit(text, width, height)
	}
	if text == d.shown {
		return
	}
	up := ""
	if d.lines > 0 {
		up = fmt.Sprintf("\x1b[%dA\x1b[J", d.lines)
	}
	d.shown, d.lines = text, strings.Count(text, "\n")
	_, _ = io.WriteString(d.out, up+text)
}

// fit cuts a text to a terminal, so that each line takes one row and the first is
// still to be seen.
func fit(text string, width, height int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if rows := height - 1; rows > 1 && len(lines) > rows {
		more := len(lines) - rows + 1
		lines = append(lines[:rows-1], fmt.Sprintf("... %d more lines", more))
	}
	for i, line := range lines {
		if width > 0 && utf8.RuneCountInString(line) > width {
			lines[i] = string([]rune(line)[:width])
		}
	}
	return strings.Join(lines, "\n") + "\n"
}
