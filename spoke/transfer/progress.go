package transfer

import (
	"fmt"
	"io"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// sayEvery is the time between two lines, and saySteps the steps in which a file is
	// told of that takes less.
	sayEvery = 10 * time.Second
	saySteps = 10
)

// progress counts bytes and tells of them. It is safe for concurrent use: what is sent is
// read in the transport's time.
type progress struct {
	out   io.Writer
	clock clock.PassiveClock

	mu         sync.Mutex
	what       string
	moved, all int64
	said       time.Time
	step       int64
}

// begin starts to count anew, towards a number of bytes.
func (p *progress) begin(what string, all int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what, p.moved, p.all, p.said, p.step = what, 0, all, p.clock.Now(), 0
}

func (p *progress) done() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.moved
}

// rewind goes to what was done when an attempt began, or is without it.
func (p *progress) rewind(moved int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved = moved
}

func (p *progress) add(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved += int64(n)
	step, now := p.moved*saySteps/max(p.all, 1), p.clock.Now()
	if step <= p.step && now.Sub(p.said) < sayEvery {
		return
	}
	p.step, p.said = max(step, p.step), now
	p.line(fmt.Sprintf("%s %d of %d bytes, %d%%", p.what, p.moved, p.all, p.moved*100/max(p.all, 1)))
}

func (p *progress) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.line(text)
}

// line writes a line; that nobody can read it stops nothing.
func (p *progress) line(text string) { _, _ = io.WriteString(p.out, text+"\n") }

// reader reads until it is stopped, and counts.
type reader struct {
	stopped  func() error
	from     io.Reader
	progress *progress
}

func (r *reader) Read(b []byte) (int, error) {
	if err := r.stopped(); err != nil {
		return 0, err
	}
	n, err := r.from.Read(b)
	r.progress.add(n)
	return n, err
}

// writer remembers that it failed, and not who read.
type writer struct {
	to  io.Writer
	err error
}

func (w *writer) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	if err != nil {
		w.err = err
	}
	return n, err
}
