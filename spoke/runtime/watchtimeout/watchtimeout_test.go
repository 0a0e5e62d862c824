package watchtimeout_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shopfleet/shopfleet/spoke/runtime/watchtimeout"
)

// TestSilence reads streams that receive one byte every so often, and then no more.
func TestSilence(t *testing.T) {
	t.Parallel()
	const watch = "https://127.0.0.1/api/v1/pods?watch=true&allowWatchBookmarks=true"
	for name, tt := range map[string]struct {
		url         string
		bytes, read int
		every       time.Duration
		ends        bool
	}{
		"silent at once":      {watch, 0, 0, 0, true},
		"silent after events": {watch, 3, 3, time.Minute, true},
		"bookmarks":           {watch, 120, 119, time.Minute, false},
		"no bookmarks":        {"https://127.0.0.1/api/v1/pods?watch=true", 0, 0, 0, false},
		"bookmarks off":       {"https://127.0.0.1/api/v1/pods?watch=true&allowWatchBookmarks=false", 0, 0, 0, false},
		"log":                 {"https://127.0.0.1/api/v1/namespaces/a/pods/b/log?follow=true", 0, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				body := open(t, tt.url, &server{bytes: tt.bytes, every: tt.every})
				if _, err := io.ReadFull(body, make([]byte, tt.read)); err != nil {
					t.Fatal(err)
				}
				checkEnd(t, body, tt.ends)
			})
		})
	}
}

// open begins to read from a server. Both end with the test.
func open(t *testing.T, url string, s *server) io.Reader {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := watchtimeout.Wrap(watchtimeout.Silence)(s).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = response.Body.Close()
		cancel()
	})
	return response.Body
}

// checkEnd checks that a stream that is silent from now on ends with a timeout after 75 s
// to 90 s, or that it does not end in that time.
func checkEnd(t *testing.T, body io.Reader, ends bool) {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		_, err := body.Read(make([]byte, 1))
		ended <- err
	}()
	early, late := time.After(watchtimeout.Silence-1), time.After(90*time.Second)
	var err error
	select {
	case err = <-ended:
		if err != nil {
			t.Fatalf("the stream ended before 75 s: %v", err)
		}
	case <-early:
		select {
		case err = <-ended:
		case <-late:
		}
	}
	if timeout, ok := errors.AsType[net.Error](err); ends != (ok && timeout.Timeout()) {
		t.Errorf("reading for 90 s ended with %v, want a timeout: %t", err, ends)
	}
}

// server responds with a stream of some bytes that ends when the request is canceled.
type server struct {
	bytes int
	every time.Duration
}

func (s *server) RoundTrip(request *http.Request) (*http.Response, error) {
	body, w := io.Pipe()
	go func() {
		for range s.bytes {
			<-time.After(s.every)
			_, _ = w.Write([]byte("x"))
		}
	}()
	context.AfterFunc(request.Context(), func() { _ = w.CloseWithError(context.Canceled) })
	return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
}
