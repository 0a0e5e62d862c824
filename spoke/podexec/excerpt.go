package podexec

import (
	"strings"
	"sync"
)

const (
	// excerptBytes bounds what an Excerpt keeps, errorBytes the text of an error.
	excerptBytes = 512
	errorBytes   = 1 << 10
)

// Excerpt keeps the beginning of a stream. It is safe for concurrent use.
type Excerpt struct {
	mu   sync.Mutex
	read []byte
}

// Write takes all, and keeps a part of it.
func (e *Excerpt) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.read = append(e.read, p[:min(len(p), excerptBytes-len(e.read))]...)
	return len(p), nil
}

// String returns what was kept as one line.
func (e *Excerpt) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return oneLine(string(e.read))
}

// oneLine converts an untrusted text for a message.
func oneLine(text string) string {
	printable := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	return strings.Join(strings.Fields(printable), " ")
}
