package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// DefaultDrain is how long a process serves after the signal to stop, while its
	// endpoints are removed.
	DefaultDrain = 3 * time.Second
	// DefaultGrace is how long pending requests then have to finish.
	DefaultGrace = 20 * time.Second

	headerTimeout = 5 * time.Second
	readTimeout   = 10 * time.Second
	writeTimeout  = 25 * time.Second
	// idleTimeout is longer than clients of the shop keep a connection, so that
	// it is they who close it.
	idleTimeout  = 2 * time.Minute
	maxHeader    = 16 << 10
	readyTimeout = 2 * time.Second
)

// Options describe a process. All but Drain and Grace are required.
type Options struct {
	Version string
	// Handler serves everything but /healthz, /readyz and /metrics.
	Handler http.Handler
	// Ready returns the reason why requests would fail. Its context has a deadline.
	Ready    func(context.Context) error
	Log      *slog.Logger
	Registry *prometheus.Registry
	// Timeout ends the context of each request.
	Timeout time.Duration
	// Drain and Grace begin with the signal to stop; 0 for none.
	Drain, Grace time.Duration
}

// Server serves one process of the shop.
type Server struct {
	options  Options
	handler  http.Handler
	stopping atomic.Bool
}

// New returns a server. It registers metrics: call it once for each registry.
func New(o Options) *Server {
	s := &Server{options: o}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "shop_build_info", Help: "The release, in a label; the value is 1.",
	}, []string{"version"})
	build.WithLabelValues(o.Version).Set(1)
	o.Registry.MustRegister(build, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("GET /metrics", promhttp.HandlerFor(o.Registry, promhttp.HandlerOpts{}))
	mux.Handle("/", newObserver(o.Registry, o.Log).observe(s.bounded(o.Handler)))
	s.handler = s.closing(mux)
	return s
}

// Handler returns the HTTP handler, for tests without a socket.
func (s *Server) Handler() http.Handler { return s.handler }

// Run serves until the context ends. Then /readyz fails, requests are taken for
// Drain more, and those under way have Grace to finish.
func (s *Server) Run(ctx context.Context, listener net.Listener) error {
	o := s.options
	server := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(o.Log.Handler(), slog.LevelWarn),
		// Requests outlive the signal to stop.
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	o.Log.InfoContext(ctx, "serving", "address", listener.Addr().String(), "version", o.Version)
	select {
	case err := <-failed:
		return fmt.Errorf("serving: %w", err)
	case <-ctx.Done():
	}
	s.stopping.Store(true)
	o.Log.InfoContext(ctx, "stopping", "drain", o.Drain.String(), "grace", o.Grace.String())
	select {
	case err := <-failed:
		return fmt.Errorf("serving: %w", err)
	case <-time.After(o.Drain):
	}
	graceful, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.Grace)
	defer cancel()
	if err := server.Shutdown(graceful); err != nil {
		return errors.Join(fmt.Errorf("waiting for requests under way: %w", err), server.Close())
	}
	o.Log.InfoContext(graceful, "stopped")
	return nil
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if s.stopping.Load() {
		answer(w, http.StatusServiceUnavailable, "stopping")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := s.options.Ready(ctx); err != nil {
		s.options.Log.WarnContext(ctx, "not ready", "error", err.Error())
		answer(w, http.StatusServiceUnavailable, "not ready")
		return
	}
	answer(w, http.StatusOK, "ok")
}

// bounded gives each request its deadline.
func (s *Server) bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), s.options.Timeout)
		defer cancel()
		inner := r.WithContext(ctx)
		next.ServeHTTP(w, inner)
		r.Pattern = inner.Pattern
	})
}

// closing makes clients of a stopping process reconnect to another one.
func (s *Server) closing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.stopping.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

func answer(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text+"\n")
}
