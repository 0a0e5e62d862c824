package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/connrotation"
)

// TestDeadConnectionsEnd opens a watch to a server that vanishes: nothing that is sent
// arrives any more, and nothing says so. Only a ping can tell.
func TestDeadConnectionsEnd(t *testing.T) {
	t.Parallel()
	model := httptest.NewUnstartedServer(nil) // For its certificate.
	model.EnableHTTP2 = true
	model.StartTLS()
	defer model.Close()
	authorities := x509.NewCertPool()
	authorities.AddCert(model.Certificate())
	synctest.Test(t, func(t *testing.T) {
		network := newPipes()
		s := &http.Server{TLSConfig: model.TLS.Clone(), ReadHeaderTimeout: time.Hour, Handler: http.HandlerFunc(
			func(w http.ResponseWriter, r *http.Request) {
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			})}
		served := make(chan error, 1)
		go func() { served <- s.ServeTLS(network, "", "") }()
		dialer := connrotation.NewDialer(network.dial)
		client := newTransport(&tls.Config{RootCAs: authorities, MinVersion: tls.VersionTLS12}, dialer, time.Minute)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://127.0.0.1/watch", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		if response.ProtoMajor != 2 {
			t.Fatalf("the watch uses HTTP/%d, which has no pings", response.ProtoMajor)
		}
		network.vanished.Store(true)
		ended := make(chan error, 1)
		go func() {
			_, err := response.Body.Read(make([]byte, 1))
			ended <- err
		}()
		select {
		case err := <-ended:
			if err == nil {
				t.Error("the watch ended without an error")
			}
		case <-time.After(pingAfter + pingTimeout + time.Second):
			t.Error("the watch goes on without a server")
		}
		dialer.CloseAll()
		_ = s.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
}

// pipes is a network in memory. It is the listener of its only server.
type pipes struct {
	dialed   chan net.Conn
	closed   chan struct{}
	vanished atomic.Bool
}

func newPipes() *pipes {
	return &pipes{dialed: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.dialed <- far:
		return &lossy{Conn: near, lost: &p.vanished}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept returns the server's end of the next connection.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.dialed:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept.
func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

// Addr returns any address.
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// lossy is a connection that loses what is written to it, without an error.
type lossy struct {
	net.Conn
	lost *atomic.Bool
}

func (l *lossy) Write(b []byte) (int, error) {
	if l.lost.Load() {
		return len(b), nil
	}
	return l.Conn.Write(b)
}
