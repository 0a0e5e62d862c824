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

	"github.com/shopfleet/shopfleet/spoke/watchtimeout"
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
				server := &server{bytes: tt.bytes, every: tt.every, canceled: make(chan struct{})}
				ctx, cancel := context.WithCancel(t.Context())
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, tt.url, http.NoBody)
				if err != nil {
					t.Fatal(err)
				}
				response, err := watchtimeout.Wrap(watchtimeout.Silence)(server).RoundTrip(request)
				if err != nil {
					t.Fatal(err)
				}
				silent, err := read(response.Body, tt.read)
				if ended := err != nil; ended != tt.ends {
					t.Fatalf("after %v of silence: error %v, want one: %t", silent, err, tt.ends)
				}
				if timeout, ok := errors.AsType[net.Error](err); tt.ends && (!ok || !timeout.Timeout()) {
					t.Errorf("the stream ended with %v, want a timeout", err)
				}
				if tt.ends && (silent < watchtimeout.Silence || silent > 90*time.Second) {
					t.Errorf("the stream ended after %v, want 75 s to 90 s", silent)
				}
				_ = response.Body.Close()
				cancel()
				<-server.canceled
			})
		})
	}
}

// read reads n bytes, and then waits two minutes for another one. It returns how long it
// waited, and the error of the stream.
func read(body io.Reader, n int) (time.Duration, error) {
	if _, err := io.ReadFull(body, make([]byte, n)); err != nil {
		return 0, err
	}
	last := time.Now()
	ended := make(chan error, 1)
	go func() {
		_, err := body.Read(make([]byte, 1))
		ended <- err
	}()
	select {
	case err := <-ended:
		return time.Since(last), err
	case <-time.After(2 * time.Minute):
		return time.Since(last), nil
	}
}

// server responds with a stream of some bytes that ends when the request is canceled.
type server struct {
	bytes    int
	every    time.Duration
	canceled chan struct{}
}

func (s *server) RoundTrip(request *http.Request) (*http.Response, error) {
	body, w := io.Pipe()
	go func() {
		for range s.bytes {
			time.Sleep(s.every)
			_, _ = w.Write([]byte("x"))
		}
	}()
	go func() {
		<-request.Context().Done()
		_ = w.CloseWithError(request.Context().Err())
		close(s.canceled)
	}()
	return &http.Response{StatusCode: http.StatusOK, Body: body}, nil
}
