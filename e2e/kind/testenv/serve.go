package testenv

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"
)

// readTimeout bounds reading a request.
const readTimeout = 10 * time.Second

// errNoGateway means that a node has no way to this machine.
var errNoGateway = errors.New("the node has no default route")

// Served is a handler of this process that all clusters reach.
type Served struct {
	// Endpoint is the URL, and CA the certificate authority in PEM.
	Endpoint string
	CA       []byte

	server *http.Server
	ended  chan error
}

// Serve serves a handler at the address that this machine has in the containers' network, until Stop.
func (e *Environment) Serve(ctx context.Context, handler http.Handler) (*Served, error) {
	route, err := e.Hub.Exec(ctx, "ip", "-4", "route", "show", "default")
	if err != nil {
		return nil, fmt.Errorf("asking for the address of this machine: %w", err)
	}
	// default via 172.18.0.1 dev eth0
	fields := strings.Fields(route)
	if len(fields) < 3 || net.ParseIP(fields[2]) == nil {
		return nil, fmt.Errorf("asking for the address of this machine: %w: %q", errNoGateway, route)
	}
	certificate, key, err := certify(fields[2])
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("reading a certificate: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(fields[2], "0"))
	if err != nil {
		return nil, fmt.Errorf("listening in the containers' network, which needs a container engine on this machine: %w", err)
	}
	s := &Served{
		Endpoint: "https://" + listener.Addr().String(), CA: certificate, ended: make(chan error, 1),
		server: &http.Server{
			Handler: handler, ReadTimeout: readTimeout,
			TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12},
		},
	}
	go func() { s.ended <- s.server.ServeTLS(listener, "", "") }()
	return s, nil
}

// Stop ends the requests under way.
func (s *Served) Stop() error {
	err := s.server.Close()
	if ended := <-s.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	if err != nil {
		return fmt.Errorf("serving %s: %w", s.Endpoint, err)
	}
	return nil
}
