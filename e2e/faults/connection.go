package faults

import (
	"crypto/tls"
	"fmt"
	"net"
	"sync"
)

// gate lets bytes pass while it is open.
type gate struct {
	mu sync.Mutex
	// passable is closed while the gate is open.
	passable chan struct{}
}

func newGate() *gate {
	g := &gate{passable: make(chan struct{})}
	close(g.passable)
	return g
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.passable:
		g.passable = make(chan struct{})
	default:
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.passable:
	default:
		close(g.passable)
	}
}

// wait blocks until the gate is open or the connection has ended.
func (g *gate) wait(ended <-chan struct{}) {
	g.mu.Lock()
	passable := g.passable
	g.mu.Unlock()
	select {
	case <-passable:
	case <-ended:
	}
}

// listener accepts connections whose bytes pass a gate.
type listener struct {
	net.Listener
	gate *gate
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, fmt.Errorf("accepting: %w", err)
	}
	ended := make(chan struct{})
	return &connection{Conn: c, gate: l.gate, ended: ended, end: sync.OnceFunc(func() { close(ended) })}, nil
}

// connection is a TCP connection whose bytes pass a gate.
type connection struct {
	net.Conn
	gate  *gate
	ended chan struct{}
	end   func()
}

// Read implements net.Conn: what has arrived is held up by the gate.
func (c *connection) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.gate.wait(c.ended)
	return n, err
}

// Write implements net.Conn.
func (c *connection) Write(p []byte) (int, error) {
	c.gate.wait(c.ended)
	return c.Conn.Write(p)
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.end()
	return c.Conn.Close()
}

// reset ends the TCP connection of a request with a RST, and with it all its streams.
func (e *exchange) reset() {
	if encrypted, ok := e.request.Context().Value(connectionKey{}).(*tls.Conn); ok {
		if c, ok := encrypted.NetConn().(*connection); ok {
			if wire, ok := c.Conn.(*net.TCPConn); ok {
				_ = wire.SetLinger(0)
			}
			_ = c.Close()
		}
	}
	e.abort()
}
