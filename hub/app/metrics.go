package app

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics holds the metrics of the controller. It is safe for concurrent use. Package
// hub/metrics has those of the applications.
type Metrics struct {
	fanout *prometheus.HistogramVec
}

// NewMetrics creates the metrics and registers them:
//
//	shopfleet_fanout_seconds{cluster}
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := newMetrics()
	if err := registry.Register(m.fanout); err != nil {
		return nil, fmt.Errorf("registering the metrics of applications: %w", err)
	}
	return m, nil
}

func newMetrics() *Metrics {
	return &Metrics{fanout: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "shopfleet_fanout_seconds",
		Help:    "Time from observing a generation of an application on the hub until its copy was applied, by cluster.",
		Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
	}, []string{"cluster"})}
}

// forgetMember removes the series of a member that leaves the fleet.
func (m *Metrics) forgetMember(name string) {
	m.fanout.DeleteLabelValues(name)
}
