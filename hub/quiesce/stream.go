package quiesce

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/tools/remotecommand"

	"github.com/shopfleet/shopfleet/spoke/render/database"
)

const (
	// outputBytes and complaintBytes bound what is read of the standard output and the
	// standard error, errorBytes the text of an error.
	outputBytes    = 4 << 10
	complaintBytes = 512
	errorBytes     = 1 << 10
)

// stream runs a command in a pod.
type stream struct {
	input  *io.PipeWriter
	output *output
	errors *complaint
	cancel context.CancelFunc
	// ended is closed when the command has ended; failed then holds its error.
	ended  chan struct{}
	failed error
	once   sync.Once
	early  bool
}

// open starts a command, which ends with ctx, or soon after its own limit.
func open(ctx context.Context, run *executor) *stream {
	ctx, cancel := context.WithTimeout(ctx, hold+grace)
	input, writer := io.Pipe()
	s := &stream{
		input: writer, output: &output{confirmed: make(chan struct{})}, errors: &complaint{},
		cancel: cancel, ended: make(chan struct{}),
	}
	go func() {
		defer close(s.ended)
		defer cancel()
		s.failed = run.stream(ctx, remotecommand.StreamOptions{Stdin: input, Stdout: s.output, Stderr: s.errors})
		_ = writer.Close() // Always nil. A reader gets io.EOF.
	}()
	return s
}

// await blocks until the command confirms, or has ended.
func (s *stream) await(ctx context.Context) error {
	select {
	case <-s.output.confirmed:
		return nil
	case <-s.ended:
	case <-ctx.Done():
		return s.explain(context.Cause(ctx))
	}
	select {
	case <-s.output.confirmed: // It may have ended right after.
		return nil
	default:
	}
	if s.failed == nil {
		return s.explain(ErrSilent)
	}
	return s.explain(s.failed)
}

// explain adds the command's standard error to an error.
func (s *stream) explain(err error) error {
	if text := s.errors.text(); text != "" {
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// abandon ends the command like end, without waiting.
func (s *stream) abandon() {
	_ = s.input.Close() // Always nil.
	time.AfterFunc(grace, s.cancel)
}

// end closes the input of the command, which ends it, and waits for a short time. It
// reports whether the command had ended before. It may be called more than once.
func (s *stream) end() (early bool) {
	s.once.Do(func() {
		select {
		case <-s.ended:
			s.early = true
		default:
		}
		_ = s.input.Close() // Always nil.
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-s.ended:
		case <-timer.C:
		}
		s.cancel()
	})
	return s.early
}

// output finds the line with which the command confirms.
type output struct {
	confirmed chan struct{}
	read      []byte
	over      bool
}

// Write takes all, and keeps a part of it.
func (o *output) Write(p []byte) (int, error) {
	if o.over {
		return len(p), nil
	}
	o.read = append(o.read, p[:min(len(p), outputBytes-len(o.read))]...)
	if bytes.Contains(append([]byte("\n"), o.read...), []byte("\n"+database.Quiesced+"\n")) {
		o.over = true
		close(o.confirmed)
	}
	o.over = o.over || len(o.read) == outputBytes
	return len(p), nil
}

// complaint keeps the beginning of the standard error.
type complaint struct {
	mu   sync.Mutex
	read []byte
}

// Write takes all, and keeps a part of it.
func (c *complaint) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = append(c.read, p[:min(len(p), complaintBytes-len(c.read))]...)
	return len(p), nil
}

// text returns the standard error as one line.
func (c *complaint) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return oneLine(string(c.read))
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
