package identity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials/downscope"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"github.com/shopfleet/shopfleet/cloud"
)

// source makes tokens that are called by their number, and expire when it says.
type source struct {
	made    int
	expires time.Time
	err     error
}

func (s *source) Token(context.Context) (*auth.Token, error) {
	if s.err != nil {
		return nil, s.err
	}
	s.made++
	// The credentials keep it by the machine's clock.
	return &auth.Token{Value: fmt.Sprintf("ya29.source-%d", s.made), Expiry: s.expires}, nil
}

// exchanger is a token service that answers in turn; the last answer stays.
type exchanger struct {
	answers []string
	status  int
	sent    []string
}

func (e *exchanger) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.ParseForm(); err != nil {
		return nil, err
	}
	e.sent = append(e.sent, r.URL.String()+" "+r.PostForm.Get("subject_token"))
	text := e.answers[0]
	if len(e.answers) > 1 {
		e.answers = e.answers[1:]
	}
	if text == "" {
		return nil, io.ErrUnexpectedEOF
	}
	status := http.StatusOK
	if strings.Contains(text, `"error"`) {
		status = e.status
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(text)), Request: r, Header: http.Header{}}, nil
}

// narrowing is an exchange, and what comes of it.
type narrowing struct {
	answers []string
	status  int
	// cached is true if the source has a token already.
	cached bool
	class  cloud.Class
	code   string
	lives  time.Duration
	// sent is how many exchanges there are, made how many tokens the source made.
	sent, made int
}

func TestNarrow(t *testing.T) {
	t.Parallel()
	good := func(seconds int) string {
		return fmt.Sprintf(`{"access_token": "ya29.narrow", "expires_in": %d}`, seconds)
	}
	tests := map[string]narrowing{
		"new":                          {[]string{good(3600)}, 0, false, "", "", time.Hour, 1, 1},
		"kept":                         {[]string{good(3600)}, 0, true, "", "", time.Hour, 1, 1},
		"kept and half over":           {[]string{good(1800)}, 0, true, "", "", 30 * time.Minute, 1, 1},
		"kept and more than half over": {[]string{good(1799), good(3599)}, 0, true, "", "", 3599 * time.Second, 2, 2},
		"new and short":                {[]string{good(60)}, 0, false, "", "", time.Minute, 1, 1},
		"new and too short":            {[]string{good(59)}, 0, false, cloud.ClassTransient, "TokenExpires", 0, 1, 1},
		"kept and always too short":    {[]string{good(59)}, 0, true, cloud.ClassTransient, "TokenExpires", 0, 2, 2},
		"a person's":                   {[]string{`{"access_token": "ya29.narrow"}`}, 0, false, "", "", 42 * time.Minute, 1, 1},
		"kept and refused":             {[]string{`{"error": "invalid_grant"}`, good(3600)}, 400, true, "", "", time.Hour, 2, 2},
		"kept and refused otherwise":   {[]string{`{"error": "invalid_request"}`, good(3600)}, 400, true, "", "", time.Hour, 2, 2},
		"refused":                      {[]string{`{"error": "invalid_grant", "error_description": "ya29.secret"}`}, 400, false, cloud.ClassAuthExpired, "invalid_grant", 0, 1, 1},
		"not narrowed":                 {[]string{`{"error": "invalid_request", "error_description": "ya29.secret"}`}, 400, false, cloud.ClassInvalid, "invalid_request", 0, 1, 1},
		"forbidden":                    {[]string{`{"error": {"status": "PERMISSION_DENIED"}}`}, 403, true, cloud.ClassDenied, "PERMISSION_DENIED", 0, 1, 1},
		"too many":                     {[]string{`{"error": "slow_down"}`}, 429, true, cloud.ClassThrottled, "slow_down", 0, 1, 1},
		"broken":                       {[]string{`{"error": "internal"}`}, 503, true, cloud.ClassTransient, "internal", 0, 1, 1},
		"no token":                     {[]string{`{"expires_in": 3600}`}, 0, true, cloud.ClassTransient, "", 0, 1, 1},
		"HTML":                         {[]string{`<html>`}, 0, true, cloud.ClassTransient, "", 0, 1, 1},
		"no answer":                    {[]string{""}, 0, true, cloud.ClassTransient, "", 0, 1, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.run(t)
		})
	}
}

func (n narrowing) run(t *testing.T) {
	t.Helper()
	now := clock.RealClock{}.Now()
	service := &exchanger{answers: n.answers, status: n.status}
	from := &source{expires: now.Add(42 * time.Minute)}
	c := newCredentials(from, nil)
	c.client = &http.Client{Transport: tokenTransport(service)}
	c.clock = testclock.NewFakePassiveClock(now)
	if n.cached {
		if _, _, err := c.Get(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got, err := c.Narrow(t.Context(), downscope.AccessBoundaryRule{
		AvailableResource: "//storage.googleapis.com/projects/_/buckets/b", AvailablePermissions: []string{"inRole:roles/r"},
	}, time.Hour)
	if len(service.sent) != n.sent || from.made != n.made {
		t.Errorf("exchanges %q of %d tokens, want %d of %d", service.sent, from.made, n.sent, n.made)
	}
	if n.class == "" {
		if err != nil || got.Value != "ya29.narrow" {
			t.Fatalf("token %v, %v", got, err)
		}
		// The SDK counts from the response, by the machine's clock.
		if late := got.Expiry.Sub(now) - n.lives; late < 0 || late > time.Minute/2 {
			t.Errorf("a token for %s, want one for %s", got.Expiry.Sub(now), n.lives)
		}
		return
	}
	var e *Error
	if !errors.As(err, &e) || e.Class != n.class || e.Code != n.code || got != nil {
		t.Fatalf("token %v, error %+v; want class %q and code %q", got, err, n.class, n.code)
	}
	if text := fmt.Sprintf("%v %+v", err, e); strings.Contains(text, "ya29") {
		t.Errorf("the error contains a token: %s", text)
	}
}

func TestNarrowWithoutToken(t *testing.T) {
	t.Parallel()
	service := &exchanger{answers: []string{"{}"}}
	c := newCredentials(&source{err: io.ErrUnexpectedEOF}, nil)
	c.client = &http.Client{Transport: tokenTransport(service)}
	c.clock = testclock.NewFakePassiveClock(clock.RealClock{}.Now())
	_, err := c.Narrow(t.Context(), downscope.AccessBoundaryRule{}, time.Hour)
	var e *Error
	if !errors.As(err, &e) || e.Class != cloud.ClassAuthExpired || len(service.sent) > 0 {
		t.Errorf("error %v after %d exchanges", err, len(service.sent))
	}
}

func TestParseEndpoint(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"https://storage.googleapis.com": true, "http://127.0.0.1:80": true, "http://[::1]:80": true, "http://localhost": true,
		"http://storage.googleapis.com": false, "ftp://127.0.0.1": false, "storage.googleapis.com": false, "https://": false,
		"https://a:b@h": false, "https://h?a=b": false, "https://h#a": false, "https://h\n": false, "": false,
	} {
		if _, ok := ParseEndpoint(text); ok != want {
			t.Errorf("%q: %t, want %t", text, ok, want)
		}
	}
}
