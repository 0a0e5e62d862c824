package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

func options(handler http.Handler, log io.Writer) Options {
	return Options{
		Version: "v2.0.0", Handler: handler, Ready: func(context.Context) error { return nil },
		Log: slog.New(slog.NewJSONHandler(log, nil)), Registry: prometheus.NewRegistry(), Timeout: time.Minute,
	}
}

func get(t *testing.T, s *Server, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	s.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w
}

func TestProbes(t *testing.T) {
	var away error
	o := options(http.NotFoundHandler(), io.Discard)
	o.Ready = func(context.Context) error { return away }
	s := New(o)
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200, "/else": 404} {
		if got := get(t, s, path).Code; got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	away = errors.New("password: hidden")
	w := get(t, s, "/readyz")
	if w.Code != http.StatusServiceUnavailable || strings.Contains(w.Body.String(), "hidden") {
		t.Errorf("/readyz without a database: %d %s", w.Code, w.Body)
	}
	if got := get(t, s, "/healthz").Code; got != 200 {
		t.Errorf("/healthz without a database: %d", got)
	}
}

func TestObserved(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /things/{id}", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, RequestID(r.Context()))
	})
	var log bytes.Buffer
	s := New(options(mux, &log))
	w := get(t, s, "/things/17?token=hidden")
	get(t, s, "/nothing/18")
	if id := w.Header().Get(RequestHeader); id == "" || w.Body.String() != id {
		t.Errorf("the request's id is %q inside and %q outside", w.Body, id)
	}
	metrics := get(t, s, "/metrics").Body.String()
	for _, want := range []string{
		`shop_http_requests_total{code="200",route="GET /things/{id}"} 1`,
		`shop_http_requests_total{code="404",route="other"} 1`,
		`shop_http_request_duration_seconds_count{route="GET /things/{id}"} 1`,
		`shop_build_info{version="v2.0.0"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %s in the metrics", want)
		}
	}
	lines := bufio.NewScanner(&log)
	if !lines.Scan() {
		t.Fatal("nothing logged")
	}
	var line map[string]any
	if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
		t.Fatalf("not a line of JSON: %s", lines.Text())
	}
	if line["path"] != "/things/17" || line["code"] != float64(200) || line["request_id"] != w.Body.String() {
		t.Errorf("logged %v", line)
	}
	if strings.Contains(lines.Text(), "hidden") {
		t.Errorf("the query is in the log: %s", lines.Text())
	}
}

func TestRequestIDOfTheCaller(t *testing.T) {
	s := New(options(http.NotFoundHandler(), io.Discard))
	for given, kept := range map[string]bool{"abcdefgh-1": true, "a b c d e f g": false} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set(RequestHeader, given)
		s.Handler().ServeHTTP(w, r)
		if got := w.Header().Get(RequestHeader) == given; got != kept {
			t.Errorf("%q kept: %v, want %v", given, got, kept)
		}
	}
}

func TestDeadline(t *testing.T) {
	o := options(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		w.WriteHeader(http.StatusTeapot)
	}), io.Discard)
	o.Timeout = time.Millisecond
	if got := get(t, New(o), "/").Code; got != http.StatusTeapot {
		t.Errorf("code %d", got)
	}
}

// TestStop follows a request that is pending when the process is stopped.
func TestStop(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			once.Do(func() { close(begun) })
			<-release
		}
		if r.Context().Err() != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	o := options(handler, io.Discard)
	o.Drain, o.Grace = 3*time.Second, time.Minute
	s := New(o)
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, listener) }()
	url := "http://" + listener.Addr().String()
	slow := make(chan int, 1)
	go func() { slow <- code(t, url+"/slow") }()
	<-begun
	stop()
	await(t, "/readyz fails", func() bool { return code(t, url+"/readyz") == http.StatusServiceUnavailable })
	if got := code(t, url+"/"); got != http.StatusOK {
		t.Errorf("a request while draining: code %d", got)
	}
	await(t, "the server to stop", func() bool { return code(t, url+"/readyz") == 0 })
	select {
	case err := <-ended:
		t.Fatalf("ended before the request: %v", err)
	default:
	}
	close(release)
	if got := <-slow; got != http.StatusOK {
		t.Errorf("the request under way: code %d", got)
	}
	if err := <-ended; err != nil {
		t.Errorf("stopping: %v", err)
	}
}

func await(t *testing.T, what string, met func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !met() {
		select {
		case <-ctx.Done():
			t.Fatalf("waiting until %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// code returns the status code of the response to a GET; 0 without a response.
func code(t *testing.T, url string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Error(err)
		return 0
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}
