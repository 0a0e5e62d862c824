package members

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"
)

// fakeAPI is the API server of a cluster without nodes, as far as a fleet asks it. It serves
// HTTP, and is an http.RoundTripper that needs no network.
type fakeAPI struct {
	uid string
	// version is that of the server; empty for a supported one.
	version string
	// fail returns the status code with which a request fails, or 0; nil fails none.
	fail func(*http.Request) int
	// nodes is the number of nodes, each of which is listed after a pause; if it is negative, the
	// list does not end.
	nodes int
	pause time.Duration

	mu sync.Mutex
	// frozen is closed when the server goes on; nil unless it is frozen.
	frozen chan struct{}
}

// freeze makes all requests wait, and thaw ends that.
func (f *fakeAPI) freeze() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.frozen = make(chan struct{})
}

func (f *fakeAPI) thaw() {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.frozen)
	f.frozen = nil
}

// wait blocks while the server is frozen, and reports whether the request goes on.
func (f *fakeAPI) wait(r *http.Request) bool {
	f.mu.Lock()
	frozen := f.frozen
	f.mu.Unlock()
	if frozen == nil {
		return true
	}
	select {
	case <-frozen:
		return true
	case <-r.Context().Done():
		return false
	}
}

// ServeHTTP implements http.Handler.
func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !f.wait(r) {
		return
	}
	if f.fail != nil {
		if code := f.fail(r); code != 0 {
			http.Error(w, "", code)
			return
		}
	}
	w.Header().Set("Content-Type", "application/json")
	body, exists := map[string]any{
		probePath:       object("v1", "Namespace", map[string]any{"metadata": map[string]any{"name": "kube-system", "uid": f.uid}}),
		rulesPath:       object("authorization.k8s.io/v1", "SelfSubjectRulesReview", nil),
		"/version":      map[string]any{"gitVersion": cmp.Or(f.version, "v1.36.3")},
		"/apis":         object("v1", "APIGroupList", map[string]any{"groups": []any{}}),
		"/api":          object("v1", "APIVersions", map[string]any{"versions": []string{"v1"}}),
		"/api/v1/nodes": object("v1", "NodeList", map[string]any{"metadata": map[string]any{"resourceVersion": "1"}, "items": []any{}}),
		"/api/v1": object("v1", "APIResourceList", map[string]any{"groupVersion": "v1", "resources": []any{
			map[string]any{"name": "nodes", "singularName": "node", "kind": "Node", "verbs": []string{"list", "watch"}},
		}}),
		"/apis/networking.k8s.io/v1/ingressclasses": object("networking.k8s.io/v1", "IngressClassList", nil),
		"/apis/storage.k8s.io/v1/csidrivers":        object("storage.k8s.io/v1", "CSIDriverList", nil),
	}[r.URL.Path]
	if !exists {
		w.WriteHeader(http.StatusNotFound)
		body = object("v1", "Status", map[string]any{"status": "Failure", "reason": "NotFound", "code": http.StatusNotFound})
	}
	if !r.URL.Query().Has("watch") {
		_ = json.NewEncoder(w).Encode(body)
		return
	}
	if r.URL.Query().Has("sendInitialEvents") {
		f.listNodes(w, r)
		_ = json.NewEncoder(w).Encode(map[string]any{"type": "BOOKMARK", "object": object("v1", "Node", map[string]any{
			"metadata": map[string]any{"resourceVersion": "1", "annotations": map[string]string{"k8s.io/initial-events-end": "true"}},
		})})
	}
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// listNodes sends the initial events of a watch.
func (f *fakeAPI) listNodes(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).Flush()
	if f.nodes < 0 {
		<-r.Context().Done()
	}
	for i := range f.nodes {
		select {
		case <-r.Context().Done():
			return
		case <-time.After(f.pause):
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"type": "ADDED", "object": object("v1", "Node", map[string]any{
			"metadata": map[string]any{"name": fmt.Sprint(i), "resourceVersion": "1"},
		})})
		_ = http.NewResponseController(w).Flush()
	}
}

// object returns an object of the API with more fields.
func object(version, kind string, more map[string]any) map[string]any {
	o := map[string]any{"apiVersion": version, "kind": kind}
	maps.Copy(o, more)
	return o
}

// RoundTrip implements http.RoundTripper. It returns the response when the handler has sent the
// first part of the body, or all of it.
func (f *fakeAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	body, w := io.Pipe()
	recorder := &streamRecorder{header: http.Header{}, begun: make(chan struct{}), body: w, code: http.StatusOK}
	go func() {
		f.ServeHTTP(recorder, r)
		recorder.begin()
		_ = w.CloseWithError(r.Context().Err())
	}()
	select {
	case <-recorder.begun:
	case <-r.Context().Done():
		_ = body.Close()
		return nil, r.Context().Err()
	}
	return &http.Response{
		Status: http.StatusText(recorder.code), StatusCode: recorder.code, Header: recorder.header, Body: body, Request: r,
		Proto: "HTTP/2.0", ProtoMajor: 2,
	}, nil
}

// streamRecorder passes a response on while it is written.
type streamRecorder struct {
	header http.Header
	code   int
	once   sync.Once
	begun  chan struct{}
	body   *io.PipeWriter
}

func (s *streamRecorder) begin() { s.once.Do(func() { close(s.begun) }) }

// Header implements http.ResponseWriter.
func (s *streamRecorder) Header() http.Header { return s.header }

// WriteHeader implements http.ResponseWriter.
func (s *streamRecorder) WriteHeader(code int) { s.code = code }

// Write implements http.ResponseWriter.
func (s *streamRecorder) Write(p []byte) (int, error) {
	s.begin()
	return s.body.Write(p)
}

// Flush implements http.Flusher.
func (s *streamRecorder) Flush() { s.begin() }

// isProbe reports whether a request is a probe.
func isProbe(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, probePath) }
