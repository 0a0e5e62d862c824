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

// tick is the period at which ages are redrawn on a terminal.
const tick = time.Second

// Display shows a text that changes: in place on a terminal, appended elsewhere. The
// caller must close it. It is safe for concurrent use.
type Display struct {
	out, errOut io.Writer
	clock       clock.WithTicker
	// size returns the width and height of the terminal; nil if out is none.
	size func() (width, height int, err error)

	mu      sync.Mutex
	render  func(now time.Time) string
	shown   string
	lines   int
	err     error
	stop    chan struct{}
	stopped chan struct{}
}

// New returns a display that writes texts to out, and errors to errOut if out is not a
// terminal.
func New(out, errOut io.Writer, c clock.WithTicker) *Display {
	d := &Display{out: out, errOut: errOut, clock: c}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		d.size = func() (int, int, error) { return term.GetSize(int(file.Fd())) }
		d.stop, d.stopped = make(chan struct{}), make(chan struct{})
		go d.run()
	}
	return d
}

// run redraws the ages until the display is closed.
func (d *Display) run() {
	defer close(d.stopped)
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

// Close stops redrawing. The last text remains.
func (d *Display) Close() {
	if d.stop != nil {
		close(d.stop)
		<-d.stopped
	}
}

// Show replaces the text by that which render returns.
func (d *Display) Show(render func(now time.Time) string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.render = render
	if d.size != nil {
		d.draw()
		return
	}
	// Without ages: a text that only grew older is not new.
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

// SetError shows the error for which the text may be outdated; nil removes it.
func (d *Display) SetError(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	was := d.err
	d.err = err
	switch {
	case d.size != nil:
		d.draw()
	case err != nil && was == nil:
		_, _ = fmt.Fprintf(d.errOut, "outdated, retrying: %v\n", err)
	case err == nil && was != nil:
		_, _ = fmt.Fprintln(d.errOut, "up to date again")
	}
}

// draw replaces the text on a terminal. The caller holds the lock.
func (d *Display) draw() {
	if d.render == nil {
		return
	}
	text := d.render(d.clock.Now())
	if d.err != nil {
		text += fmt.Sprintf("outdated, retrying: %v\n", d.err)
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

// fit cuts a text to a terminal, so that each line takes one row and the first line
// remains visible.
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
