package reconciler

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Metrics counts applications. It is safe for concurrent use. Methods on nil do nothing.
type Metrics struct {
	transitions *prometheus.CounterVec
	phases      *prometheus.GaugeVec
	databases   *prometheus.GaugeVec

	mu     sync.Mutex
	counts map[phaseSeries]int
	last   map[subject]v1.Phase
	lost   map[subject]bool
}

type subject struct {
	cluster, kind string
	name          types.NamespacedName
}

type phaseSeries struct {
	cluster, kind string
	phase         v1.Phase
}

// NewMetrics creates the metrics and registers them:
//
//	shopfleet_phase_transitions_total{kind,from,to}
//	shopfleet_spoke_apps{cluster,kind,phase}
//	shopfleet_spoke_databases_lost{cluster,kind}
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		transitions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "shopfleet_phase_transitions_total",
			Help: "Phase transitions of applications in their clusters.",
		}, []string{"kind", "from", "to"}),
		phases: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "shopfleet_spoke_apps",
			Help: "Applications in their clusters, by phase.",
		}, []string{"cluster", "kind", "phase"}),
		databases: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "shopfleet_spoke_databases_lost",
			Help: "Databases in their clusters whose data is lost; absent if there is none.",
		}, []string{"cluster", "kind"}),
		counts: make(map[phaseSeries]int),
		last:   make(map[subject]v1.Phase),
		lost:   make(map[subject]bool),
	}
	for _, c := range []prometheus.Collector{m.transitions, m.phases, m.databases} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// observe records the phase of an application; an empty phase removes it.
func (m *Metrics) observe(s subject, phase v1.Phase) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.move(s, phase)
}

// database records whether the data of an application's database is lost.
func (m *Metrics) database(s subject, lost bool) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.setLost(s, lost)
}

// setLost changes whether the data of a database is recorded as lost. The series ends with the last one.
func (m *Metrics) setLost(s subject, lost bool) {
	if m.lost[s] == lost {
		return
	}
	delete(m.lost, s)
	if lost {
		m.lost[s] = true
	}
	n := 0
	for other := range m.lost {
		if other.cluster == s.cluster && other.kind == s.kind {
			n++
		}
	}
	if n == 0 {
		m.databases.DeleteLabelValues(s.cluster, s.kind)
		return
	}
	m.databases.WithLabelValues(s.cluster, s.kind).Set(float64(n))
}

// transition counts a change of phase that was written.
func (m *Metrics) transition(kind string, from, to v1.Phase) {
	if m == nil || from == to {
		return
	}
	m.transitions.WithLabelValues(kind, string(from), string(to)).Inc()
}

// Leave removes a cluster.
func (m *Metrics) Leave(cluster string) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for s := range m.last {
		if s.cluster == cluster {
			m.move(s, "")
		}
	}
}

// move changes the recorded phase of an application, and deletes series that become
// empty.
func (m *Metrics) move(s subject, phase v1.Phase) {
	last, known := m.last[s]
	if known && last == phase {
		return
	}
	if known {
		m.add(phaseSeries{s.cluster, s.kind, last}, -1)
	}
	delete(m.last, s)
	if phase == "" {
		m.setLost(s, false)
	}
	if phase != "" {
		m.last[s] = phase
		m.add(phaseSeries{s.cluster, s.kind, phase}, 1)
	}
}

func (m *Metrics) add(p phaseSeries, n int) {
	m.counts[p] += n
	if m.counts[p] == 0 {
		delete(m.counts, p)
		m.phases.DeleteLabelValues(p.cluster, p.kind, string(p.phase))
		return
	}
	m.phases.WithLabelValues(p.cluster, p.kind, string(p.phase)).Set(float64(m.counts[p]))
}
