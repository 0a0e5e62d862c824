package faults

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
)

var errNoAuthority = errors.New("no certificate in the authority")

// Target is the API server behind a proxy.
type Target struct {
	// Server is its URL, Authority the PEM of the authority that signed its certificate.
	Server    string
	Authority []byte
}

// Proxy is a server in front of one API server. It is safe for concurrent use.
type Proxy struct {
	server  *httptest.Server
	forward *httputil.ReverseProxy
	gate    *gate
	// done is closed when the proxy stops.
	done chan struct{}

	mu      sync.Mutex
	faults  []*Fault
	journal []*Entry
	// lists are the requests that list a collection, of which Snapshot repeats the last of
	// each kind.
	lists map[string]*http.Request
}

// Start starts a proxy on a loopback address. It ends with the test.
func Start(t testing.TB, target Target) *Proxy {
	t.Helper()
	address, err := url.Parse(target.Server)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(target.Authority) {
		t.Fatal(errNoAuthority)
	}
	upstream := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true,
		// The response passes as the API server sent it.
		DisableCompression: true,
	}
	p := &Proxy{gate: newGate(), done: make(chan struct{}), lists: map[string]*http.Request{}}
	silent := log.New(io.Discard, "", 0)
	p.forward = &httputil.ReverseProxy{
		Transport:      upstream,
		FlushInterval:  -1,
		ErrorLog:       silent,
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(address) },
		ModifyResponse: p.filterWatch,
		ErrorHandler:   fail,
	}
	p.server = httptest.NewUnstartedServer(http.HandlerFunc(p.handle))
	p.server.EnableHTTP2 = true
	p.server.Config.ErrorLog = silent
	p.server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connectionKey{}, c)
	}
	p.server.Listener = &listener{Listener: p.server.Listener, gate: p.gate}
	p.server.StartTLS()
	t.Cleanup(func() {
		close(p.done)
		p.server.CloseClientConnections()
		p.server.Close()
		upstream.CloseIdleConnections()
	})
	return p
}

// Target returns the address and the authority of the proxy itself.
func (p *Proxy) Target() Target {
	return Target{
		Server:    p.server.URL,
		Authority: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw}),
	}
}

// Kubeconfig returns a kubeconfig with the proxy in place of each of its servers.
func (p *Proxy) Kubeconfig(raw []byte) ([]byte, error) {
	file, err := clientcmd.Load(raw)
	if err != nil {
		return nil, fmt.Errorf("parsing the kubeconfig: %w", err)
	}
	self := p.Target()
	for _, cluster := range file.Clusters {
		cluster.Server, cluster.CertificateAuthorityData = self.Server, self.Authority
	}
	raw, err = clientcmd.Write(*file)
	if err != nil {
		return nil, fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return raw, nil
}

// Partition stops all bytes in both directions, until Heal. Connections stay open, and new
// ones are accepted and never answered.
func (p *Proxy) Partition() { p.gate.shut() }

// Heal ends a partition. What was held up goes on.
func (p *Proxy) Heal() { p.gate.open() }

// fail ends an exchange whose API server is gone like it: without a response.
func fail(w http.ResponseWriter, r *http.Request, _ error) {
	if x, ok := r.Context().Value(exchangeKey{}).(*exchange); ok {
		x.abort()
	}
	w.WriteHeader(http.StatusBadGateway)
}

// exchange is one request, and the response to it.
type exchange struct {
	proxy   *Proxy
	writer  *statusWriter
	request *http.Request
	entry   *Entry
}

type (
	connectionKey struct{}
	exchangeKey   struct{}
)

func (p *Proxy) handle(w http.ResponseWriter, r *http.Request) {
	x := &exchange{proxy: p, writer: &statusWriter{ResponseWriter: w}}
	x.request = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x))
	var fault *Fault
	x.entry, fault = p.begin(x.request)
	defer func() { p.end(x.entry, x.writer.code) }()
	if fault == nil {
		x.forward(x.writer)
		return
	}
	fault.action.serve(x, fault)
}

// begin writes a request into the journal, and returns the fault that it meets, if any.
func (p *Proxy) begin(r *http.Request) (*Entry, *Fault) {
	entry := &Entry{Event: describe(r)}
	entry.Received = time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.journal = append(p.journal, entry)
	if key, ok := listKey(r); ok {
		p.lists[key] = r
	}
	for _, f := range p.faults {
		if f.action.serve != nil && f.claim(entry) {
			return entry, f
		}
	}
	return entry, nil
}

func (p *Proxy) end(entry *Entry, code int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry.Code, entry.Completed = code, time.Now()
}

// forward sends the request on, and the response to w.
func (e *exchange) forward(w http.ResponseWriter) { e.proxy.forward.ServeHTTP(w, e.request) }

// abort ends the exchange without a response, or in the middle of it: HTTP/2 resets the
// stream, HTTP/1.1 closes the connection.
func (e *exchange) abort() { panic(http.ErrAbortHandler) }

// wait blocks until the time is over, or the caller, the fault or the proxy has ended. It
// reports whether the time is over. Without a time it waits for the others.
func (e *exchange) wait(f *Fault, d time.Duration) bool {
	var over <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
		return true
	case <-e.request.Context().Done():
	case <-f.removed:
	case <-e.proxy.done:
	}
	return false
}

// statusWriter remembers the code of a response.
type statusWriter struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap lets http.ResponseController flush and hijack.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
