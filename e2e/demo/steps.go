package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

const (
	// reminder is after how long a step that shows nothing says that it goes on.
	reminder = 30 * time.Second
	// tick is the interval at which a terminal shows the duration of a step.
	tick = time.Second
)

// steps prints each step and its duration.
type steps struct {
	mu  sync.Mutex
	out io.Writer
	// terminal reports whether a line can be overwritten.
	terminal bool
	// current is the line of the current step while it has no end yet.
	current string
}

// step is a step of the demo, and a text to read meanwhile.
type step struct {
	what string
	do   func(ctx context.Context, progress io.Writer) error
}

// all does the steps, up to the first that fails.
func (s *steps) all(ctx context.Context, list []step) error {
	for _, step := range list {
		if err := s.run(step.what, func(progress io.Writer) error { return step.do(ctx, progress) }); err != nil {
			return err
		}
	}
	return nil
}

// ending holds the message and the cleanup for steps that failed or were interrupted.
type ending struct {
	// existed reports whether something ran before the steps.
	existed bool
	// command removes everything; remove removes what the steps have started.
	command string
	remove  func() error
}

// stopped keeps what failed, for inspection, and removes what was interrupted.
func (s *steps) stopped(ctx context.Context, err error, e ending) error {
	switch {
	case ctx.Err() == nil:
		return fmt.Errorf("%w\nThings stay as they are, to be looked at; end them with: %s", err, e.command)
	case e.existed:
		s.line("interrupted; what ran before goes on, end it with: " + e.command)
		return context.Cause(ctx)
	}
	s.line("interrupted; removing what was started")
	return errors.Join(context.Cause(ctx), e.remove())
}

// run shows a step while it runs.
func (s *steps) run(what string, step func(progress io.Writer) error) error {
	begin := time.Now()
	s.mu.Lock()
	s.current = title(what)
	_, _ = fmt.Fprint(s.out, s.current)
	s.mu.Unlock()

	done, said := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(said)
		s.count(begin, done)
	}()
	err := step(&indented{steps: s})
	close(done)
	<-said

	s.mu.Lock()
	defer s.mu.Unlock()
	took := fmt.Sprintf("%.1fs", time.Since(begin).Seconds())
	switch {
	case err != nil:
		_, _ = fmt.Fprintln(s.out)
	case s.current == "":
		_, _ = fmt.Fprintf(s.out, "  done in %s\n", took)
	case s.terminal:
		_, _ = fmt.Fprintf(s.out, "\r%s%8s\n", s.current, took)
	default:
		_, _ = fmt.Fprintf(s.out, "%8s\n", took)
	}
	s.current = ""
	return err
}

// title returns the beginning of the line of a step.
func title(what string) string { return fmt.Sprintf("%-46s", what) }

// done shows a step that is over.
func (s *steps) done(what string, took time.Duration) {
	_, _ = fmt.Fprintf(s.out, "%s%8s\n", title(what), fmt.Sprintf("%.1fs", took.Seconds()))
}

// count prints from time to time how long the step has taken.
func (s *steps) count(begin time.Time, done <-chan struct{}) {
	period := reminder
	if s.terminal {
		period = tick
	}
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	for {
		select {
		case <-done:
			return
		case <-ticker.C:
			elapsed := time.Since(begin).Round(time.Second).String()
			if !s.terminal {
				s.line("... " + elapsed)
				continue
			}
			s.mu.Lock()
			if s.current != "" {
				_, _ = fmt.Fprintf(s.out, "\r%s%8s", s.current, elapsed)
			}
			s.mu.Unlock()
		}
	}
}

// line shows a line below the step.
func (s *steps) line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current != "" {
		_, _ = fmt.Fprintln(s.out)
		s.current = ""
	}
	_, _ = fmt.Fprintln(s.out, "  "+text)
}

// indented writes whole lines below the step.
type indented struct {
	steps *steps
	rest  []byte
}

func (i *indented) Write(p []byte) (int, error) {
	i.rest = append(i.rest, p...)
	for {
		line, rest, whole := bytes.Cut(i.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		i.rest = rest
		i.steps.line(strings.TrimRight(string(line), " \r"))
	}
}
