package manager

import (
	"fmt"
	"io"
	"net/http"
	"net/http/pprof"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
)

// maxBody bounds the request body, in bytes.
const maxBody = 64

// debugHandlers returns the debugging endpoints by path.
func (o *Options) debugHandlers() map[string]http.Handler {
	handlers := map[string]http.Handler{}
	if o.Level != nil {
		handlers["/debug/log-level"] = levelHandler{level: o.Level, logger: o.Logger}
	}
	if o.Profiling {
		handlers["/debug/pprof/"] = http.HandlerFunc(pprof.Index)
		handlers["/debug/pprof/cmdline"] = http.HandlerFunc(pprof.Cmdline)
		handlers["/debug/pprof/profile"] = http.HandlerFunc(pprof.Profile)
		handlers["/debug/pprof/symbol"] = http.HandlerFunc(pprof.Symbol)
		handlers["/debug/pprof/trace"] = http.HandlerFunc(pprof.Trace)
	}
	return handlers
}

// levelHandler returns and sets the log verbosity.
type levelHandler struct {
	level  *Level
	logger logr.Logger
}

func (h levelHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
	case http.MethodPut:
		if err := h.put(r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	default:
		w.Header().Set("Allow", "GET, HEAD, PUT")
		http.Error(w, "GET returns the verbosity, PUT sets it", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	// The client may have disconnected.
	_, _ = fmt.Fprintln(w, h.level.Verbosity())
}

// put sets the verbosity from a request body.
func (h levelHandler) put(body io.Reader) error {
	raw, err := io.ReadAll(io.LimitReader(body, maxBody))
	if err != nil {
		return fmt.Errorf("reading the verbosity: %w", err)
	}
	verbosity, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		return fmt.Errorf("verbosity %q is not a number from 0 to %d", raw, maxVerbosity)
	}
	before := h.level.Verbosity()
	if err := h.level.Set(verbosity); err != nil {
		return err
	}
	h.logger.Info("Changed log verbosity", "before", before, "verbosity", verbosity)
	return nil
}
