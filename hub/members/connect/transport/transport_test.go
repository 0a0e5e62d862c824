package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

const (
	limit    = 50 * time.Millisecond
	patience = 30 * time.Second // far more than anything takes
)

// server serves TLS and HTTP/2, as an API server does.
func server(t *testing.T, handler http.HandlerFunc) (*httptest.Server, *rest.Config) {
	t.Helper()
	s := httptest.NewUnstartedServer(handler)
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, &rest.Config{
		Host: s.URL, BearerToken: "t", UserAgent: "hub",
		TLSClientConfig: rest.TLSClientConfig{CAData: pemOf(s), ServerName: "example.com"},
	}
}

func open(t *testing.T, config *rest.Config) *Transport {
	t.Helper()
	opened, err := Open(config, Timeouts{Dial: patience, Request: limit, Probe: limit, Watch: patience}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opened.Close)
	return opened
}

func answer(w http.ResponseWriter, uid string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"kube-system","uid":%q}}`, uid)
}

// TestWrap wraps the transport, as a test that injects faults does: the wrapper sees what is
// sent, with credentials.
func TestWrap(t *testing.T) {
	t.Parallel()
	_, config := server(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, "u1") })
	var seen []string
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			seen = append(seen, request.Method+" "+request.URL.Path+" "+request.Header.Get("Authorization"))
			return next.RoundTrip(request)
		})
	})
	opened, err := Open(config, Timeouts{Dial: patience, Request: patience, Probe: patience}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if _, err := opened.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"GET /api/v1/namespaces/kube-system Bearer t"}, seen); diff != "" {
		t.Errorf("requests through the wrapper (-want +got):\n%s", diff)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

func TestProbe(t *testing.T) {
	var asked *http.Request
	_, config := server(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.Clone(context.WithoutCancel(r.Context()))
		answer(w, "u1")
	})
	opened, err := Open(config, Timeouts{Dial: patience, Request: patience, Probe: patience, Watch: patience}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	uid, err := opened.Probe(t.Context())
	if err != nil || uid != "u1" {
		t.Fatalf("uid %q, error %v", uid, err)
	}
	if asked.ProtoMajor != 2 {
		t.Errorf("asked with HTTP/%d: a dead connection is found by pings of HTTP/2", asked.ProtoMajor)
	}
	if got := asked.Header.Get("Authorization"); got != "Bearer t" {
		t.Errorf("authorization %q", got)
	}
	if got := asked.UserAgent(); got != "hub" {
		t.Errorf("user agent %q", got)
	}
}

func TestEveryClientHasDeadlines(t *testing.T) {
	_, config := server(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("limit") { // Headers come, and the rest does not.
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
	})
	opened := open(t, config)
	// A client that knows nothing of the link but the configuration.
	core, err := corev1client.NewForConfig(opened.Config())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, noHeaders := core.Pods("a").Get(ctx, "b", metav1.GetOptions{})
	_, noBody := core.Pods("a").List(ctx, metav1.ListOptions{Limit: 1})
	noWatch := get(ctx, t, opened, config.Host+"/api/v1/pods?watch=true")
	_, noProbe := opened.Probe(ctx)
	for name, err := range map[string]error{"get": noHeaders, "list": noBody, "watch": noWatch, "probe": noProbe} {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		want := Fault{Reason: v1.ReasonProbeFailed, Message: "the cluster does not answer in time"}
		if got := Classify(err); got != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if ctx.Err() != nil {
		t.Error("it was the caller's context that ended the requests")
	}
}

// get asks without client-go, which tries a watch again by itself.
func get(ctx context.Context, t *testing.T, opened *Transport, address string) error {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := opened.Client().Do(request)
	if err == nil {
		return response.Body.Close()
	}
	return err
}

func TestWatchOutlivesTheDeadline(t *testing.T) {
	late := make(chan struct{})
	_, config := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-late
		_, _ = io.WriteString(w, `{"type":"ADDED","object":{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"a"}}}`)
	})
	opened := open(t, config)
	core, err := corev1client.NewForConfigAndClient(opened.Config(), opened.Client())
	if err != nil {
		t.Fatal(err)
	}
	watch, err := core.Namespaces().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	timer := time.AfterFunc(4*limit, func() { close(late) })
	defer timer.Stop()
	select {
	case event := <-watch.ResultChan():
		if namespace, ok := event.Object.(*corev1.Namespace); !ok || namespace.Name != "a" {
			t.Errorf("event %+v", event)
		}
	case <-time.After(patience):
		t.Error("nothing came")
	}
}

func TestRedirectsAreRefused(t *testing.T) {
	elsewhere, _ := server(t, func(w http.ResponseWriter, _ *http.Request) { answer(w, "elsewhere") })
	_, config := server(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", elsewhere.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	opened, err := Open(config, Timeouts{Dial: patience, Request: patience, Probe: patience, Watch: patience}, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if uid, err := opened.Probe(t.Context()); !errors.Is(err, errForeignHost) {
		t.Errorf("uid %q, error %v", uid, err)
	}
}

func TestCloseEndsConnections(t *testing.T) {
	gone := make(chan struct{})
	begun := make(chan struct{})
	_, config := server(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		close(begun)
		<-r.Context().Done()
		close(gone)
	})
	opened := open(t, config)
	core, err := corev1client.NewForConfigAndClient(opened.Config(), opened.Client())
	if err != nil {
		t.Fatal(err)
	}
	watch, err := core.Namespaces().Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	<-begun
	opened.Close()
	select {
	case <-gone:
	case <-time.After(patience):
		t.Error("the connection is still there")
	}
}
