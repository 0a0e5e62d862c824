package transfer

import (
	"fmt"
	"io"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// sayEvery is the time between two progress messages, saySteps the number of messages
	// for a transfer that takes less.
	sayEvery = 10 * time.Second
	saySteps = 10
)

// progress counts bytes and reports them. It is safe for concurrent use: the HTTP
// transport reads bodies concurrently.
type progress struct {
	out   io.Writer
	clock clock.PassiveClock

	mu         sync.Mutex
	what       string
	moved, all int64
	said       time.Time
	step       int64
}

// begin resets the count, with a new total.
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

// rewind resets the count to an earlier value, or sets it to the count of a skipped part.
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

// line writes a line and ignores errors.
func (p *progress) line(text string) { _, _ = io.WriteString(p.out, text+"\n") }

// reader counts the bytes read, and fails once it is stopped.
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

// writer records write errors, to distinguish them from read errors.
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
