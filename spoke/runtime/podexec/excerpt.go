package podexec

import (
	"strings"
	"sync"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// errorBytes bounds the text of an error.
const errorBytes = 1 << 10

// excerpt keeps the first bytes of a stream. It is safe for concurrent use: the stream may go on when
// its reader does not wait any more.
type excerpt struct {
	limit int

	mu   sync.Mutex
	read []byte
}

// Write takes all, and keeps a part of it.
func (e *excerpt) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.read = append(e.read, p[:min(len(p), e.limit-len(e.read))]...)
	return len(p), nil
}

// String returns what was kept.
func (e *excerpt) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return string(e.read)
}

// oneLine converts an untrusted text for a message.
func oneLine(text string, limit int) string {
	return v1.Excerpt(strings.Join(strings.Fields(text), " "), limit)
}
