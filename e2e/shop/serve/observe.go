package serve

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/shopfleet/shopfleet/e2e/shop"
)

// RequestHeader carries the id under which each process logs a request.
const RequestHeader = "X-Request-Id"

type requestKey struct{}

// RequestID returns the id of the request that a context belongs to, or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}

// observer counts, times and logs requests.
type observer struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	log      *slog.Logger
}

func newObserver(registry *prometheus.Registry, log *slog.Logger) *observer {
	o := &observer{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "shop_http_requests_total", Help: "Requests answered, without those of probes.",
		}, []string{"route", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "shop_http_request_duration_seconds", Help: "How long requests took.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"route"}),
		log: log,
	}
	registry.MustRegister(o.requests, o.seconds)
	return o
}

func (o *observer) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started := time.Now()
		id := r.Header.Get(RequestHeader)
		if shop.CheckKey(id) != nil {
			id = rand.Text()
		}
		w.Header().Set(RequestHeader, id)
		answer := &answerWriter{ResponseWriter: w, code: http.StatusOK}
		inner := r.WithContext(context.WithValue(r.Context(), requestKey{}, id))
		next.ServeHTTP(answer, inner)

		route, took := inner.Pattern, time.Since(started)
		if route == "" || route == "/" {
			route = "other" // Paths that are no route would be labels without end.
		}
		o.requests.WithLabelValues(route, strconv.Itoa(answer.code)).Inc()
		o.seconds.WithLabelValues(route).Observe(took.Seconds())
		level := slog.LevelInfo
		if answer.code >= http.StatusInternalServerError {
			level = slog.LevelWarn
		}
		o.log.Log(r.Context(), level, "request", "request_id", id, "route", route, "method", r.Method,
			"path", r.URL.Path, "code", answer.code, "bytes", answer.bytes, "milliseconds", took.Milliseconds())
	})
}

// answerWriter remembers what was answered.
type answerWriter struct {
	http.ResponseWriter

	code  int
	bytes int
}

// WriteHeader remembers the code.
func (w *answerWriter) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}

// Write counts.
func (w *answerWriter) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	w.bytes += n
	return n, err
}

// Unwrap returns the writer for http.ResponseController.
func (w *answerWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
