package faults_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/e2e/faults"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
)

// notYet is how long a test waits for what must not happen.
const notYet = 300 * time.Millisecond

// wire is a proxy in front of a server that counts what reaches it, with a client of one
// protocol.
type wire struct {
	*faults.Proxy
	client  *http.Client
	reached atomic.Int32
	// token holds the last Authorization header.
	token atomic.Value
}

func newWire(t *testing.T, http2 bool) *wire {
	t.Helper()
	w := &wire{}
	upstream := httptest.NewUnstartedServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.reached.Add(1)
		w.token.Store(r.Header.Get("Authorization"))
		_, _ = io.WriteString(out, "to hub/v1")
	}))
	upstream.EnableHTTP2 = true
	upstream.StartTLS()
	t.Cleanup(upstream.Close)
	w.Proxy = faults.Start(t, faults.Target{
		Server:    upstream.URL,
		Authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: upstream.Certificate().Raw}),
	})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(w.Target().Authority)
	protocols := &http.Protocols{}
	protocols.SetHTTP1(!http2)
	protocols.SetHTTP2(http2)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, Protocols: protocols}
	t.Cleanup(transport.CloseIdleConnections)
	w.client = &http.Client{Transport: transport}
	return w
}

// answer is a response to a client.
type answer struct {
	code                    int
	proto, retryAfter, body string
}

// patch patches a Deployment.
func (w *wire) patch(ctx context.Context) (answer, error) {
	const path = "/apis/apps/v1/namespaces/shop/deployments/web?fieldManager=hub"
	request, err := http.NewRequestWithContext(ctx, http.MethodPatch, w.Target().Server+path, strings.NewReader("{}"))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Authorization", "Bearer t")
	request.Header.Set("User-Agent", "hub/v1")
	response, err := w.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	body, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Proto, response.Header.Get("Retry-After"), string(body)},
		errors.Join(err, response.Body.Close())
}

// TestWire runs each action over both protocols.
func TestWire(t *testing.T) {
	tests := map[string]func(*testing.T, *wire, bool){
		"forwarded": testForwarded, "delay": testDelay, "blackhole": testBlackhole, "reset": testReset,
		"reset stream": testResetStream, "trickle": testTrickle, "drop response": testDropResponse,
		"answer": testAnswer, "partition": testPartition, "match": testMatch,
	}
	for protocol, http2 := range map[string]bool{"HTTP1.1": false, "HTTP2": true} {
		for name, test := range tests {
			t.Run(protocol+"/"+name, func(t *testing.T) { test(t, newWire(t, http2), http2) })
		}
	}
}

func testForwarded(t *testing.T, w *wire, http2 bool) {
	t.Helper()
	got, err := w.patch(t.Context())
	if err != nil || got.code != http.StatusOK || got.body != "to hub/v1" {
		t.Fatalf("got %+v, error %v", got, err)
	}
	if (got.proto == "HTTP/2.0") != http2 {
		t.Errorf("spoke %s", got.proto)
	}
	if token := w.token.Load(); token != "Bearer t" {
		t.Errorf("the credentials became %v", token)
	}
	journal := w.Journal()
	if len(journal) != 1 {
		t.Fatalf("journal %v", journal)
	}
	e := journal[0]
	if e.Received.IsZero() || e.Fault != "" {
		t.Errorf("entry %+v", e)
	}
	want := []string{"patch", "apps", "v1", "deployments", "", "shop", "web", "hub/v1"}
	if diff := cmp.Diff(want, []string{e.Verb, e.Group, e.Version, e.Resource, e.Subresource, e.Namespace, e.Name, e.UserAgent}); diff != "" {
		t.Error(diff)
	}
	fleettest.Eventually(t, "the status in the journal", func(context.Context) error {
		if code := w.Journal()[0].Code; code != http.StatusOK {
			return errors.New("no status")
		}
		return nil
	})
}

func testDelay(t *testing.T, w *wire, _ bool) {
	t.Helper()
	w.Inject(faults.Match{}, faults.Delay(notYet))
	began := time.Now()
	if _, err := w.patch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < notYet {
		t.Errorf("took %s, want at least %s", took, notYet)
	}
}

func testBlackhole(t *testing.T, w *wire, _ bool) {
	t.Helper()
	fault := w.Inject(faults.Match{}, faults.Blackhole())
	w.wantSilence(t)
	fault.Remove()
	if _, err := w.patch(t.Context()); err != nil {
		t.Errorf("after the end of the fault: %v", err)
	}
	if n := w.reached.Load(); n != 1 {
		t.Errorf("%d requests reached the server, want the last one alone", n)
	}
}

// wantSilence sends a request that has no answer.
func (w *wire) wantSilence(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), notYet)
	defer cancel()
	if _, err := w.patch(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want no answer", err)
	}
}

func testReset(t *testing.T, w *wire, _ bool) {
	t.Helper()
	fault := w.Inject(faults.Match{Times: 1}, faults.Reset())
	// It may be reset while the body is sent.
	reset := []error{syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF}
	if _, err := w.patch(t.Context()); !slices.ContainsFunc(reset, func(each error) bool { return errors.Is(err, each) }) {
		t.Errorf("got %v, want a reset connection", err)
	}
	if fault.Fired() != 1 || w.reached.Load() != 0 {
		t.Errorf("fired %d times, %d requests reached the server", fault.Fired(), w.reached.Load())
	}
	if _, err := w.patch(t.Context()); err != nil {
		t.Errorf("the next request: %v", err)
	}
}

func testResetStream(t *testing.T, w *wire, _ bool) {
	t.Helper()
	w.Inject(faults.Match{Times: 1}, faults.ResetStream())
	if got, err := w.patch(t.Context()); err == nil {
		t.Errorf("got %+v, want an error", got)
	}
	if _, err := w.patch(t.Context()); err != nil || w.reached.Load() != 1 {
		t.Errorf("the next request: %v, %d reached the server", err, w.reached.Load())
	}
}

func testTrickle(t *testing.T, w *wire, _ bool) {
	t.Helper()
	const between = 20 * time.Millisecond
	w.Inject(faults.Match{}, faults.Trickle(between))
	began := time.Now()
	got, err := w.patch(t.Context())
	if err != nil || got.body != "to hub/v1" {
		t.Fatalf("got %+v, error %v", got, err)
	}
	if took, least := time.Since(began), between*time.Duration(len(got.body)-1); took < least {
		t.Errorf("took %s, want at least %s", took, least)
	}
}

func testDropResponse(t *testing.T, w *wire, _ bool) {
	t.Helper()
	w.Inject(faults.Match{Times: 1}, faults.DropResponse())
	if got, err := w.patch(t.Context()); err == nil {
		t.Errorf("got %+v, want no response", got)
	}
	if n := w.reached.Load(); n != 1 {
		t.Errorf("%d requests reached the server, want 1", n)
	}
}

func testAnswer(t *testing.T, w *wire, _ bool) {
	t.Helper()
	for _, code := range []int{401, 403, 409, 410, 429, 500, 503, 504} {
		fault := w.Inject(faults.Match{}, faults.Answer(code, 2*time.Second))
		got, err := w.patch(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got.code != code || got.retryAfter != "2" || !strings.Contains(got.body, `"kind":"Status"`) {
			t.Errorf("%d: got %+v", code, got)
		}
		fault.Remove()
	}
	if n := w.reached.Load(); n != 0 {
		t.Errorf("%d requests reached the server", n)
	}
}

func testPartition(t *testing.T, w *wire, _ bool) {
	t.Helper()
	w.Partition()
	w.wantSilence(t)
	if conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(w.Target().Server, "https://")); err != nil {
		t.Errorf("connecting: %v", err)
	} else if err := conn.Close(); err != nil {
		t.Error(err)
	}
	w.Heal()
	if _, err := w.patch(t.Context()); err != nil {
		t.Errorf("after the end of the partition: %v", err)
	}
}

func testMatch(t *testing.T, w *wire, _ bool) {
	t.Helper()
	const code = http.StatusConflict
	for name, test := range map[string]struct {
		match faults.Match
		want  []int
	}{
		"all":            {faults.Match{}, []int{code, code, code}},
		"second":         {faults.Match{Skip: 1, Times: 1}, []int{200, code, 200}},
		"object":         {faults.Match{Verbs: []string{"patch"}, Resource: "deployments", Namespace: "shop", Name: "web", Times: 1}, []int{code, 200, 200}},
		"group":          {faults.Match{Resource: "*.apps", UserAgent: "hub/"}, []int{code, code, code}},
		"other group":    {faults.Match{Resource: "*.batch"}, []int{200, 200, 200}},
		"other verb":     {faults.Match{Verbs: []string{"get", "update"}}, []int{200, 200, 200}},
		"other agent":    {faults.Match{UserAgent: "spoke/"}, []int{200, 200, 200}},
		"other name":     {faults.Match{Name: "we"}, []int{200, 200, 200}},
		"of the status":  {faults.Match{Subresource: "status"}, []int{200, 200, 200}},
		"other location": {faults.Match{Namespace: "shops"}, []int{200, 200, 200}},
	} {
		fault := w.Inject(test.match, faults.Answer(code, 0))
		var got []int
		for range test.want {
			each, err := w.patch(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, each.code)
		}
		fault.Remove()
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}
