package manager

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// maxVerbosity is the highest accepted verbosity, as in kubectl.
	maxVerbosity = 10
	// safeVerbosity is the highest effective verbosity. Above it, client-go logs the
	// bodies of requests and responses, including Secrets.
	safeVerbosity = 7
)

// Level is the log verbosity. It is safe for concurrent use.
type Level struct {
	verbosity slog.LevelVar
}

// Verbosity returns the current verbosity; the initial one is 0.
func (l *Level) Verbosity() int { return -int(l.verbosity.Level()) }

// Set changes the verbosity. It returns an error and changes nothing if the verbosity is
// not 0 to 10.
func (l *Level) Set(verbosity int) error {
	if verbosity < 0 || verbosity > maxVerbosity {
		return fmt.Errorf("verbosity %d is not 0 to %d", verbosity, maxVerbosity)
	}
	l.verbosity.Set(slog.Level(-verbosity))
	return nil
}

// Level returns the lowest level that is logged.
func (l *Level) Level() slog.Level { return max(l.verbosity.Level(), -safeVerbosity) }

// NewLogger returns a logger that writes JSON lines of the given level and above.
func NewLogger(w io.Writer, level *Level) logr.Logger {
	return logr.FromSlogHandler(slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: level, ReplaceAttr: nameLevel,
	}))
}

// nameLevel names levels after the flag: what -v 1 adds has the level V1.
func nameLevel(_ []string, a slog.Attr) slog.Attr {
	if level, ok := a.Value.Any().(slog.Level); ok && a.Key == slog.LevelKey && level < slog.LevelInfo {
		a.Value = slog.StringValue(fmt.Sprintf("V%d", -level))
	}
	return a
}

// UseLogger creates the program's logger with the verbosity in the options, and sets it
// as the global logger of the libraries. Call it once, before anything else runs.
func (o *Options) UseLogger(w io.Writer) error {
	level := &Level{}
	if err := level.Set(o.Verbosity); err != nil {
		return fmt.Errorf("setting up logs: %w", err)
	}
	o.Level, o.Logger = level, NewLogger(w, level)
	ctrl.SetLogger(o.Logger)
	klog.SetLogger(o.Logger.WithName("klog"))
	// Servers of net/http log failed TLS handshakes as plain text.
	slog.SetDefault(slog.New(logr.ToSlogHandler(o.Logger.WithName("net"))))
	slog.SetLogLoggerLevel(-1)
	return nil
}
