package faults

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"k8s.io/utils/clock"
)

// Op is the suite's name of an operation, the same for all providers.
type Op string

// The operations. A provider may need several requests for one operation; the script
// counts each.
const (
	OpAny            Op = ""
	OpDescribeVolume Op = "DescribeVolume"
	OpCreateSnapshot Op = "CreateSnapshot"
	OpCopySnapshot   Op = "CopySnapshot"
	OpGetSnapshot    Op = "GetSnapshot"
	OpListSnapshots  Op = "ListSnapshots"
	OpDeleteSnapshot Op = "DeleteSnapshot"
	OpIdentity       Op = "Identity"
	OpOther          Op = "Other" // Tokens, operations, preflight.

	OpPutObject    Op = "PutObject"
	OpGetObject    Op = "GetObject" // Its properties too.
	OpListObjects  Op = "ListObjects"
	OpDeleteObject Op = "DeleteObject"
)

// Mutates reports whether an operation changes the state of the cloud.
func (o Op) Mutates() bool {
	switch o {
	case OpCreateSnapshot, OpCopySnapshot, OpDeleteSnapshot, OpPutObject, OpDeleteObject:
		return true
	default:
		return false
	}
}

// Kind is the kind of a fault.
type Kind string

// The kinds.
const (
	// Refuse returns Fault.Answer without asking the server.
	Refuse Kind = "Refuse"
	// DropBefore closes the connection before the server receives the request.
	DropBefore Kind = "DropBefore"
	// DropAfter sends the request and drops the response.
	DropAfter Kind = "DropAfter"
	// Truncate drops the second half of the response.
	Truncate Kind = "Truncate"
	// Garble returns an HTML page with status 200.
	Garble Kind = "Garble"
	// Hang blocks until the context of the request is done.
	Hang Kind = "Hang"
)

// Answer is a response in the provider's format.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Fault describes a fault and the calls that it affects.
type Fault struct {
	Op Op
	// Skip is the number of calls of the operation before the first fault, Times the
	// number of faults; 0 is one, -1 is all.
	Skip, Times int
	Kind        Kind
	Answer      Answer
}

// Call records a call.
type Call struct {
	Op Op
	// Fault is the fault of the call, empty if there was none.
	Fault Kind
	// Request is the request as it was sent, without the credentials in its headers.
	Request string
}

// Script injects faults and records calls. It is safe for concurrent use.
type Script struct {
	mu     sync.Mutex
	faults []Fault
	calls  []Call
	chance func(Op) (Fault, bool)
}

// Add appends faults.
func (s *Script) Add(f ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, f...)
}

// Clear removes all faults.
func (s *Script) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.chance = nil, nil
}

// Chance sets a function that decides about each call without a fault.
func (s *Script) Chance(decide func(Op) (Fault, bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chance = decide
}

// Calls returns the calls so far.
func (s *Script) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// Count returns how often an operation was called, with and without a fault.
func (s *Script) Count(op Op) int {
	n := 0
	for _, c := range s.Calls() {
		if op == OpAny || c.Op == op {
			n++
		}
	}
	return n
}

// Next records a call and returns its fault, if any.
func (s *Script) Next(op Op, request string) (Fault, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fault, wrong := s.next(op)
	s.calls = append(s.calls, Call{Op: op, Fault: fault.Kind, Request: request})
	return fault, wrong
}

func (s *Script) next(op Op) (Fault, bool) {
	for i := range s.faults {
		f := &s.faults[i]
		if f.Op != OpAny && f.Op != op || f.Times == -2 {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		fault := *f
		switch {
		case f.Times > 1:
			f.Times--
		case f.Times >= 0:
			f.Times = -2 // Used up.
		}
		return fault, true
	}
	if s.chance != nil {
		return s.chance(op)
	}
	return Fault{}, false
}

// errDropped is the error of a dropped connection.
var errDropped = errors.New("connection reset by peer")

// Transport injects the faults of a Script into HTTP requests.
type Transport struct {
	// Next sends the requests without a fault.
	Next http.RoundTripper
	// Classify returns the operation of a request with this body.
	Classify func(*http.Request, []byte) Op
	Script   *Script
	// Clock sets the Date header of responses; nil leaves it unchanged.
	Clock clock.PassiveClock
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := drain(r)
	if err != nil {
		return nil, err
	}
	fault, wrong := t.Script.Next(t.Classify(r, body), r.Method+" "+r.URL.RequestURI()+"\n"+string(body))
	if !wrong {
		return t.send(r)
	}
	switch fault.Kind {
	case Refuse:
		return t.answer(r, fault.Answer), nil
	case Hang:
		<-r.Context().Done()
		return nil, r.Context().Err()
	case Garble:
		return t.answer(r, Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/html"}}, Body: "<html><body>captive portal"}), nil
	case DropAfter, Truncate:
		return t.spoil(r, fault.Kind)
	default:
		return nil, errDropped
	}
}

// spoil sends the request and drops the response, or its second half.
func (t *Transport) spoil(r *http.Request, kind Kind) (*http.Response, error) {
	response, err := t.send(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	whole, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the response: %w", err)
	}
	if kind == DropAfter {
		return nil, errDropped
	}
	half := io.MultiReader(bytes.NewReader(whole[:len(whole)/2]), broken{})
	response.Body = io.NopCloser(half)
	return response, nil
}

func (t *Transport) send(r *http.Request) (*http.Response, error) {
	response, err := t.Next.RoundTrip(r)
	if err == nil && t.Clock != nil {
		response.Header.Set("Date", t.Clock.Now().UTC().Format(http.TimeFormat))
	}
	return response, err
}

func (t *Transport) answer(r *http.Request, a Answer) *http.Response {
	header := a.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	if t.Clock != nil {
		header.Set("Date", t.Clock.Now().UTC().Format(http.TimeFormat))
	}
	return &http.Response{
		StatusCode: a.Status, Status: fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, Request: r,
		Body: io.NopCloser(strings.NewReader(a.Body)), ContentLength: int64(len(a.Body)),
	}
}

// drain reads the body of a request and puts it back.
func drain(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	_ = r.Body.Close()
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, nil
}

// broken is a reader whose connection was closed.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
