package app

import (
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Metrics holds the metrics of applications. It is safe for concurrent use.
type Metrics struct {
	apps   *prometheus.GaugeVec
	fanout *prometheus.HistogramVec

	mu     sync.Mutex
	phases map[types.NamespacedName]v1.Phase
}

// NewMetrics creates the metrics and registers them:
//
//	shopfleet_apps{phase}
//	shopfleet_fanout_seconds{cluster}
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := newMetrics()
	for _, c := range []prometheus.Collector{m.apps, m.fanout} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("registering the metrics of applications: %w", err)
		}
	}
	return m, nil
}

func newMetrics() *Metrics {
	m := &Metrics{
		apps: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "shopfleet_apps",
			Help: "Applications on the hub, by phase.",
		}, []string{"phase"}),
		fanout: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "shopfleet_fanout_seconds",
			Help:    "Time from observing a generation of an application on the hub until its copy was applied, by cluster.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		}, []string{"cluster"}),
		phases: map[types.NamespacedName]v1.Phase{},
	}
	for _, phase := range []v1.Phase{
		v1.PhasePending, v1.PhaseCreating, v1.PhaseRunning, v1.PhaseUpdating, v1.PhaseScaling,
		v1.PhaseFailed, v1.PhaseUnknown, v1.PhaseDeleting, v1.PhasePaused,
	} {
		m.apps.WithLabelValues(string(phase)).Set(0)
	}
	return m
}

// setPhase counts an application in its current phase instead of the previous one.
func (m *Metrics) setPhase(app types.NamespacedName, phase v1.Phase) {
	m.mu.Lock()
	defer m.mu.Unlock()
	last, known := m.phases[app]
	if known && last == phase {
		return
	}
	if known {
		m.apps.WithLabelValues(string(last)).Dec()
	}
	m.phases[app] = phase
	m.apps.WithLabelValues(string(phase)).Inc()
}

// forgetApp stops counting a deleted application.
func (m *Metrics) forgetApp(app types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if last, known := m.phases[app]; known {
		m.apps.WithLabelValues(string(last)).Dec()
		delete(m.phases, app)
	}
}

// forgetMember removes the series of a member that leaves the fleet.
func (m *Metrics) forgetMember(name string) {
	m.fanout.DeleteLabelValues(name)
}
