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

// Op is an operation as the suite names it, whatever the provider calls it.
type Op string

// The operations. A provider may need several requests for one; each counts.
const (
	OpAny            Op = ""
	OpDescribeVolume Op = "DescribeVolume"
	OpCreateSnapshot Op = "CreateSnapshot"
	OpCopySnapshot   Op = "CopySnapshot"
	OpGetSnapshot    Op = "GetSnapshot"
	OpListSnapshots  Op = "ListSnapshots"
	OpDeleteSnapshot Op = "DeleteSnapshot"
	OpCreateVolume   Op = "CreateVolume"
	OpDeleteVolume   Op = "DeleteVolume"
	OpIdentity       Op = "Identity"
	OpOther          Op = "Other" // Tokens, operations, preflight.

	OpPutObject    Op = "PutObject"
	OpGetObject    Op = "GetObject" // Its properties too.
	OpListObjects  Op = "ListObjects"
	OpDeleteObject Op = "DeleteObject"
)

// Mutates reports whether an operation changes anything.
func (o Op) Mutates() bool {
	switch o {
	case OpCreateSnapshot, OpCopySnapshot, OpDeleteSnapshot, OpCreateVolume, OpDeleteVolume, OpPutObject, OpDeleteObject:
		return true
	default:
		return false
	}
}

// Kind is how a call goes wrong.
type Kind string

// The kinds.
const (
	// Refuse answers with Fault.Answer instead of asking the server.
	Refuse Kind = "Refuse"
	// DropBefore cuts the connection before the server is asked.
	DropBefore Kind = "DropBefore"
	// DropAfter asks the server and loses its answer.
	DropAfter Kind = "DropAfter"
	// Truncate loses the second half of the answer.
	Truncate Kind = "Truncate"
	// Garble answers with a page of HTML and status 200.
	Garble Kind = "Garble"
	// Hang waits until the caller gives up.
	Hang Kind = "Hang"
)

// Answer is a provider's refusal, made by what knows its wire.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Fault is one thing that goes wrong.
type Fault struct {
	Op Op
	// Skip is how many calls of the operation go right before, Times how many go
	// wrong; 0 is one, -1 is all.
	Skip, Times int
	Kind        Kind
	Answer      Answer
}

// Call is a call that was made.
type Call struct {
	Op Op
	// Fault is how it went wrong, empty if it did not.
	Fault Kind
	// Request records the request as it was sent, without the credentials in its headers.
	Request string
}

// Script decides about calls and remembers them. Its methods may be called at the same time.
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

// Clear ends all faults.
func (s *Script) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.chance = nil, nil
}

// Chance asks a function about each call that no fault is about.
func (s *Script) Chance(decide func(Op) (Fault, bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.chance = decide
}

// Calls returns what was called so far.
func (s *Script) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// Count returns how often an operation was called, whatever came of it.
func (s *Script) Count(op Op) int {
	n := 0
	for _, c := range s.Calls() {
		if op == OpAny || c.Op == op {
			n++
		}
	}
	return n
}

// Next takes note of a call and says how it goes wrong, if it does.
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
			f.Times = -2 // Spent.
		}
		return fault, true
	}
	if s.chance != nil {
		return s.chance(op)
	}
	return Fault{}, false
}

// errDropped is the error that a caller receives when its connection was cut.
var errDropped = errors.New("connection reset by peer")

// Transport applies a script to HTTP.
type Transport struct {
	// Next sends what goes right.
	Next http.RoundTripper
	// Classify says which operation a request is; its body may be read.
	Classify func(*http.Request, []byte) Op
	Script   *Script
	// Clock is the server's, for the Date of its answers; nil leaves them as they are.
	Clock clock.PassiveClock
}

// RoundTrip sends a request, or not.
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

// spoil asks the server and loses its answer, or the second half of it.
func (t *Transport) spoil(r *http.Request, kind Kind) (*http.Response, error) {
	response, err := t.send(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	whole, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
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

// broken is a connection that ends in the middle.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
