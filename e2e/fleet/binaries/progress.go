package binaries

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// task is something that takes long.
type task struct {
	what string
	// every is the time between two lines.
	every time.Duration
	// detail returns how far the task is.
	detail func() string
}

// report writes a line at once and then regularly until the returned function is
// called, which writes how long the task took.
func (t task) report(progress io.Writer) func() {
	start := time.Now()
	line := func(suffix string) {
		_, _ = fmt.Fprintf(progress, "%s: %s, %s %s\n", t.what, t.detail(), time.Since(start).Round(time.Second), suffix)
	}
	done, ended := make(chan struct{}), make(chan struct{})
	_, _ = fmt.Fprintln(progress, t.what)
	go func() {
		defer close(ended)
		ticker := time.NewTicker(t.every)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				line("in total")
				return
			case <-ticker.C:
				line("so far")
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// names lists programs for a message.
func names(list []program) string {
	all := make([]string, len(list))
	for i, p := range list {
		all[i] = p.name
	}
	return strings.Join(all, ", ")
}
