package faults

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"
)

func TestScript(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		faults []Fault
		want   []Kind // Of five calls to list, after one to get.
	}{
		"nothing":          {nil, []Kind{"", "", "", "", ""}},
		"once":             {[]Fault{{Op: OpListSnapshots, Kind: Hang}}, []Kind{Hang, "", "", "", ""}},
		"twice":            {[]Fault{{Op: OpListSnapshots, Kind: Hang, Times: 2}}, []Kind{Hang, Hang, "", "", ""}},
		"always":           {[]Fault{{Op: OpListSnapshots, Kind: Hang, Times: -1}}, []Kind{Hang, Hang, Hang, Hang, Hang}},
		"the third":        {[]Fault{{Op: OpListSnapshots, Kind: Hang, Skip: 2}}, []Kind{"", "", Hang, "", ""}},
		"from the second":  {[]Fault{{Op: OpListSnapshots, Kind: Hang, Skip: 1, Times: -1}}, []Kind{"", Hang, Hang, Hang, Hang}},
		"another's":        {[]Fault{{Op: OpDeleteSnapshot, Kind: Hang, Times: -1}}, []Kind{"", "", "", "", ""}},
		"one, then two":    {[]Fault{{Op: OpListSnapshots, Kind: Hang}, {Op: OpListSnapshots, Kind: Garble, Times: 2}}, []Kind{Hang, Garble, Garble, "", ""}},
		"any, spent by it": {[]Fault{{Kind: Hang}}, []Kind{"", "", "", "", ""}},
		"any, twice":       {[]Fault{{Kind: Hang, Times: 2}}, []Kind{Hang, "", "", "", ""}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s Script
			s.Add(tt.faults...)
			s.Next(OpGetSnapshot, "get")
			var got []Kind
			for range tt.want {
				fault, wrong := s.Next(OpListSnapshots, "list")
				if wrong != (fault.Kind != "") {
					t.Errorf("wrong %t with kind %q", wrong, fault.Kind)
				}
				got = append(got, fault.Kind)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("kinds (-want +got):\n%s", diff)
			}
			if s.Count(OpListSnapshots) != 5 || s.Count(OpAny) != 6 || s.Calls()[1].Request != "list" || s.Calls()[1].Fault != got[0] {
				t.Errorf("calls %+v", s.Calls())
			}
		})
	}
}

// server responds, and counts requests.
type server struct{ asked int }

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.asked++
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("answer to " + string(body)))}, nil
}

// transported is a request through a Transport, and its result.
type transported struct {
	fault  *Fault
	asked  int
	status int
	body   string
	lost   bool // No answer at all.
	broken bool // An answer that ends early.
}

func TestTransport(t *testing.T) {
	t.Parallel()
	tests := map[string]transported{
		"goes right":     {nil, 1, http.StatusOK, "answer to question", false, false},
		"refused":        {&Fault{Kind: Refuse, Answer: Answer{Status: http.StatusTooManyRequests, Body: "later"}}, 0, http.StatusTooManyRequests, "later", false, false},
		"cut before":     {&Fault{Kind: DropBefore}, 0, 0, "", true, false},
		"cut after":      {&Fault{Kind: DropAfter}, 1, 0, "", true, false},
		"truncated":      {&Fault{Kind: Truncate}, 1, http.StatusOK, "answer to", false, true},
		"garbled":        {&Fault{Kind: Garble}, 0, http.StatusOK, "<html><body>captive portal", false, false},
		"hangs":          {&Fault{Kind: Hang}, 0, 0, "", true, false},
		"no known fault": {&Fault{Kind: "Else"}, 0, 0, "", true, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.check(t)
		})
	}
}

func (tr transported) check(t *testing.T) {
	t.Helper()
	next, script := &server{}, &Script{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if tr.fault != nil {
		script.Add(*tr.fault)
		if tr.fault.Kind == Hang {
			cancel()
		}
	}
	transport := &Transport{
		Next: next, Script: script, Clock: testclock.NewFakePassiveClock(time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)),
		Classify: func(_ *http.Request, body []byte) Op { return Op(body) },
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://cloud.test/path?a=b", strings.NewReader("question"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if next.asked != tr.asked || tr.lost != (err != nil) {
		t.Fatalf("asked %d times, error %v", next.asked, err)
	}
	if call := script.Calls()[0]; call.Op != "question" || call.Request != "POST /path?a=b\nquestion" {
		t.Errorf("recorded %+v", call)
	}
	if err != nil {
		return
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if string(body) != tr.body || response.StatusCode != tr.status || errors.Is(err, io.ErrUnexpectedEOF) != tr.broken {
		t.Errorf("status %d, body %q, %v", response.StatusCode, body, err)
	}
	if date := response.Header.Get("Date"); date != "Sun, 01 Mar 2026 02:00:00 GMT" {
		t.Errorf("date %q, want the clock's", date)
	}
}
