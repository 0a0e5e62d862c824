package server

import (
	"bytes"
	"fmt"
	"net/http"
	"time"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/page"
)

// tick is the time between two messages of a stream.
const tick = time.Second

// stream answers with the parts of a screen, again and again until the browser or the server ends.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, screen string) {
	w.Header().Set("Content-Type", "text/event-stream")
	ticker := s.options.Clock.NewTicker(tick)
	defer ticker.Stop()
	control := http.NewResponseController(w)
	var sent page.Parts
	for {
		next, err := s.page.Parts(s.request(r, screen))
		if err != nil {
			return // The template fails for the document too, which says so.
		}
		if _, err := w.Write(message(sent, next)); err != nil {
			return
		}
		if err := control.Flush(); err != nil {
			return
		}
		sent = next
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C():
		}
	}
}

// message returns an event with the parts that differ from those that were sent.
func message(sent, next page.Parts) []byte {
	var b bytes.Buffer
	for _, part := range []struct {
		target        string
		before, after []byte
	}{{"#bar", sent.Bar, next.Bar}, {"#view", sent.View, next.View}} {
		if !bytes.Equal(part.before, part.after) {
			fmt.Fprintf(&b, "<hx-partial hx-target=%q hx-swap=\"innerMorph\">%s</hx-partial>\n", part.target, part.after)
		}
	}
	var event bytes.Buffer
	for line := range bytes.Lines(b.Bytes()) {
		event.WriteString("data: ")
		event.Write(line)
	}
	event.WriteString("\n\n")
	return event.Bytes()
}
