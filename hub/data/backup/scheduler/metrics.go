package scheduler

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Metrics exports the metrics of backups. Ages are computed on each scrape. It is safe
// for concurrent use.
type Metrics struct {
	clock clock.PassiveClock
	since, bound, next, last, verified, deadline, unproven, elsewhere,
	backups *prometheus.Desc

	mu    sync.Mutex
	plans map[types.NamespacedName][]History
}

// NewMetrics creates the metrics and registers them.
func NewMetrics(registry prometheus.Registerer, c clock.PassiveClock) (*Metrics, error) {
	labels := slices.Clip([]string{"namespace", "app", "cluster"})
	m := &Metrics{
		clock: c, plans: map[types.NamespacedName][]History{},
		since: prometheus.NewDesc("shopfleet_backup_seconds_since_last_success",
			"Age of the newest successful backup of an application in a cluster, or of the application if there is none, in seconds.", labels, nil),
		last: prometheus.NewDesc("shopfleet_backup_last_success_timestamp_seconds",
			"Snapshot time of the newest successful backup; 0 if there is none.", labels, nil),
		verified: prometheus.NewDesc("shopfleet_backup_last_verified_timestamp_seconds",
			"Time of the last successful verification of a backup; 0 if there was none.", labels, nil),
		deadline: prometheus.NewDesc("shopfleet_backup_verify_deadline_timestamp_seconds",
			"Deadline of the next verification of a backup; absent if none is scheduled.", labels, nil),
		unproven: prometheus.NewDesc("shopfleet_backup_verification_failed",
			"1 if the last verification of a backup failed; absent if none is scheduled.", labels, nil),
		bound: prometheus.NewDesc("shopfleet_backup_max_rpo_seconds",
			"Maximum age of the newest successful backup, in seconds.", labels, nil),
		next: prometheus.NewDesc("shopfleet_backup_next_timestamp_seconds",
			"Start time of the next backup.", labels, nil),
		backups: prometheus.NewDesc("shopfleet_backups",
			"Number of backups by result (Completed, PartiallyCompleted or Failed) and reason of the failure.", append(labels, "result", "reason"), nil),
		elsewhere: prometheus.NewDesc("shopfleet_backup_offsite_seconds_since_last_success",
			"Age of the newest successful backup in a region of copyToRegions or in the bucket, or of the wish for one there, in seconds.", append(labels, "place"), nil),
	}
	if err := registry.Register(m); err != nil {
		return nil, fmt.Errorf("registering the metrics of backups: %w", err)
	}
	return m, nil
}

func (m *Metrics) set(app types.NamespacedName, d Decision) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.plans[app] = d.Clusters
}

func (m *Metrics) forget(app types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.plans, app)
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{m.since, m.last, m.verified, m.deadline, m.unproven, m.bound, m.next, m.backups, m.elsewhere} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Now()
	for app, histories := range m.plans {
		for _, h := range histories {
			m.collect(out, app, h, now)
		}
	}
}

// collect computes the metrics of an application in one cluster.
func (m *Metrics) collect(out chan<- prometheus.Metric, app types.NamespacedName, h History, now time.Time) {
	gauge := func(d *prometheus.Desc, value float64, more ...string) {
		labels := append([]string{app.Namespace, app.Name, h.Cluster}, more...)
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	from := h.LastGood
	if from.IsZero() {
		from = h.Since
	}
	gauge(m.since, max(now.Sub(from).Seconds(), 0))
	gauge(m.last, timestamp(h.LastGood))
	gauge(m.verified, timestamp(h.LastVerified))
	gauge(m.bound, h.MaxRPO.Seconds())
	if !h.Next.IsZero() {
		gauge(m.next, timestamp(h.Next))
	}
	if !h.VerifyDeadline.IsZero() {
		gauge(m.deadline, timestamp(h.VerifyDeadline))
		gauge(m.unproven, number(h.VerifyFailed))
	}
	gauge(m.backups, float64(h.Completed), "Completed", "")
	gauge(m.backups, float64(h.Partial), string(v1.BackupPartiallyCompleted), "")
	for _, o := range h.Offsite {
		gauge(m.elsewhere, o.age(now).Seconds(), o.place)
	}
	for reason, n := range h.Failed {
		gauge(m.backups, float64(n), "Failed", reason)
	}
	if len(h.Failed) == 0 {
		gauge(m.backups, 0, "Failed", "")
	}
}

// timestamp returns a time in Unix seconds, and 0 for the zero time.
func timestamp(at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return float64(at.Unix())
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
