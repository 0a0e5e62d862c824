package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Action represents the effect of a fault on a request, or on the events of a watch.
type Action struct {
	name string
	// serve responds to a request. It is nil in actions on events.
	serve func(*exchange, *Fault)
	// swallow has events vanish; otherwise they are held. It belongs to actions on events.
	swallow bool
}

// Delay forwards requests after a time.
func Delay(d time.Duration) Action {
	return Action{name: "delay", serve: func(x *exchange, f *Fault) {
		x.wait(f, d)
		x.forward(x.writer)
	}}
}

// Blackhole accepts requests, does not forward them and never responds. Pings are answered.
func Blackhole() Action {
	return Action{name: "blackhole", serve: func(x *exchange, f *Fault) {
		x.wait(f, 0)
		x.abort()
	}}
}

// Reset ends the connection of a request with a TCP RST before the API server sees
// the request. Over HTTP/2, all other requests on the connection end with it.
func Reset() Action {
	return Action{name: "reset", serve: func(x *exchange, _ *Fault) { x.reset() }}
}

// ResetStream ends a request before the API server sees it: by RST_STREAM over HTTP/2, by
// the end of the connection over HTTP/1.1.
func ResetStream() Action {
	return Action{name: "reset stream", serve: func(x *exchange, _ *Fault) { x.abort() }}
}

// Trickle sends the body of a response byte by byte, with a time between two.
func Trickle(between time.Duration) Action {
	return Action{name: "trickle", serve: func(x *exchange, f *Fault) {
		x.forward(&trickle{statusWriter: x.writer, exchange: x, fault: f, between: between})
	}}
}

// DropResponse lets the API server carry a request out, and drops the response, as if the
// connection had ended in between.
func DropResponse() Action {
	return Action{name: "drop response", serve: func(x *exchange, _ *Fault) {
		x.request = x.request.WithContext(context.WithoutCancel(x.request.Context()))
		x.forward(httptest.NewRecorder())
		x.abort()
	}}
}

// Answer answers requests with an error of the API, without forwarding them. A
// retryAfter above 0 is sent as well, in whole seconds.
func Answer(code int, retryAfter time.Duration) Action {
	return Action{name: strconv.Itoa(code), serve: func(x *exchange, _ *Fault) {
		seconds := int(retryAfter / time.Second)
		e := x.entry.Event
		status := apierrors.NewGenericServerResponse(code, e.Verb, schema.GroupResource{Group: e.Group, Resource: e.Resource},
			e.Name, "injected", seconds, true).Status()
		x.answer(status)
	}}
}

// answer responds with a Status in JSON.
func (e *exchange) answer(status metav1.Status) {
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	raw, err := json.Marshal(status)
	if err != nil {
		panic(fmt.Errorf("encoding a status: %w", err))
	}
	header := e.writer.Header()
	header.Set("Content-Type", "application/json")
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		header.Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	e.writer.WriteHeader(int(status.Code))
	_, _ = e.writer.Write(raw)
}

// Hold holds the events of watches, those that are open included, until Remove or Expire
// of the fault. The streams stay open.
func Hold() Action { return Action{name: "hold"} }

// Swallow drops the events of watches, open ones included. A stream with a
// lost event stays open and silent until it ends, also after Remove.
func Swallow() Action { return Action{name: "swallow", swallow: true} }

// trickle writes byte by byte.
type trickle struct {
	*statusWriter
	exchange *exchange
	fault    *Fault
	between  time.Duration
}

// Write implements io.Writer.
func (t *trickle) Write(p []byte) (int, error) {
	for i := range p {
		if _, err := t.statusWriter.Write(p[i : i+1]); err != nil {
			return i, fmt.Errorf("writing a byte: %w", err)
		}
		if err := http.NewResponseController(t.statusWriter).Flush(); err != nil {
			return i, fmt.Errorf("flushing a byte: %w", err)
		}
		if !t.exchange.wait(t.fault, t.between) && t.exchange.request.Context().Err() != nil {
			return i, t.exchange.request.Context().Err()
		}
	}
	return len(p), nil
}
