package quiesce

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"k8s.io/client-go/tools/remotecommand"

	"github.com/shopfleet/shopfleet/spoke/podexec"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// outputBytes bounds what is read of the standard output.
const outputBytes = 4 << 10

// stream runs a command in a pod.
type stream struct {
	input  *io.PipeWriter
	output *output
	errors *podexec.Excerpt
	cancel context.CancelFunc
	// ended is closed when the command has ended; failed then holds its error.
	ended  chan struct{}
	failed error
	once   sync.Once
	early  bool
}

// open starts a command, which ends with ctx, or soon after its own limit.
func open(ctx context.Context, run *podexec.Executor) *stream {
	ctx, cancel := context.WithTimeout(ctx, hold+grace)
	input, writer := io.Pipe()
	s := &stream{
		input: writer, output: &output{confirmed: make(chan struct{})}, errors: &podexec.Excerpt{},
		cancel: cancel, ended: make(chan struct{}),
	}
	go func() {
		defer close(s.ended)
		defer cancel()
		s.failed = run.Stream(ctx, remotecommand.StreamOptions{Stdin: input, Stdout: s.output, Stderr: s.errors})
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
	if text := s.errors.String(); text != "" {
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
