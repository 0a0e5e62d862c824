package operator

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

const (
	// maxVerbosity is the highest that is accepted, as kubectl and others do.
	maxVerbosity = 10
	// safeVerbosity is the highest that has an effect. Above it, client-go logs the
	// bodies of requests and answers, Secrets among them.
	safeVerbosity = 7
)

// Level is how much is logged. It may be changed at any time, by anyone.
type Level struct {
	verbosity slog.LevelVar
}

// Verbosity returns the number that was set last: 0 at first.
func (l *Level) Verbosity() int { return -int(l.verbosity.Level()) }

// Set changes what is logged from now on. An error tells that the verbosity is not
// 0 to 10; nothing has changed then.
func (l *Level) Set(verbosity int) error {
	if verbosity < 0 || verbosity > maxVerbosity {
		return fmt.Errorf("verbosity %d is not 0 to %d", verbosity, maxVerbosity)
	}
	l.verbosity.Set(slog.Level(-verbosity))
	return nil
}

// Level returns the least important level that is logged.
func (l *Level) Level() slog.Level { return max(l.verbosity.Level(), -safeVerbosity) }

// NewLogger returns a logger that writes JSON lines, as many as the level says.
func NewLogger(w io.Writer, level *Level) logr.Logger {
	return logr.FromSlogHandler(slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: level, ReplaceAttr: nameLevel,
	}))
}

// nameLevel writes levels as the flag counts them: what -v 1 adds has the level V1.
func nameLevel(_ []string, a slog.Attr) slog.Attr {
	if level, ok := a.Value.Any().(slog.Level); ok && a.Key == slog.LevelKey && level < slog.LevelInfo {
		a.Value = slog.StringValue(fmt.Sprintf("V%d", -level))
	}
	return a
}

// UseLogger makes the logger of the process, of the verbosity in the options, and
// gives it to the libraries too, which log through globals. A process calls it once,
// before anything else runs.
func (o *Options) UseLogger(w io.Writer) error {
	level := &Level{}
	if err := level.Set(o.Verbosity); err != nil {
		return fmt.Errorf("setting up logs: %w", err)
	}
	o.Level, o.Logger = level, NewLogger(w, level)
	ctrl.SetLogger(o.Logger)
	klog.SetLogger(o.Logger.WithName("klog"))
	// Servers of net/http tell in plain text of whoever breaks off a handshake.
	slog.SetDefault(slog.New(logr.ToSlogHandler(o.Logger.WithName("net"))))
	slog.SetLogLoggerLevel(-1)
	return nil
}
