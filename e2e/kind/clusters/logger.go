package clusters

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/log"
)

// newProvider returns a provider that uses the container engine that is there.
func newProvider(progress io.Writer) *cluster.Provider {
	options := []cluster.ProviderOption{cluster.ProviderWithLogger(&logger{out: progress})}
	if found, err := cluster.DetectNodeProvider(); err == nil && found != nil {
		options = append(options, found)
	}
	return cluster.NewProvider(options...)
}

// logger writes kind's messages, one per line.
type logger struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *logger) line(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, _ = fmt.Fprintln(l.out, strings.TrimSpace(text))
}

// Warn, Warnf, Error, Errorf and V make a logger of kind's.
func (l *logger) Warn(text string)                  { l.line("warning: " + text) }
func (l *logger) Warnf(format string, args ...any)  { l.Warn(fmt.Sprintf(format, args...)) }
func (l *logger) Error(text string)                 { l.line("error: " + text) }
func (l *logger) Errorf(format string, args ...any) { l.Error(fmt.Sprintf(format, args...)) }
func (l *logger) V(level log.Level) log.InfoLogger {
	return verbose{logger: l, enabled: level <= 0}
}

// verbose drops messages unless its level is enabled.
type verbose struct {
	logger  *logger
	enabled bool
}

// Info, Infof and Enabled make a verbose logger of kind's.
func (v verbose) Info(text string) {
	if v.enabled {
		v.logger.line(text)
	}
}
func (v verbose) Infof(format string, args ...any) { v.Info(fmt.Sprintf(format, args...)) }
func (v verbose) Enabled() bool                    { return v.enabled }
