package member

import (
	"fmt"
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// The states of members in metrics. Each member is in one.
const (
	// StateConnected means that the member is Ready.
	StateConnected = "connected"
	// StateDegraded means that the member answers and is not Ready.
	StateDegraded = "degraded"
	// StateConnecting means that the state of the member is unknown yet.
	StateConnecting = "connecting"
	// StateDisconnected means that the member does not answer.
	StateDisconnected = "disconnected"
	// StateDetached means that the MemberCluster has no registration Secret.
	StateDetached = "detached"
)

// Metrics counts members by state, shopfleet_members{state}, and by member orphaned copies,
// shopfleet_member_orphans{cluster}, and recorded copies that stayed behind,
// shopfleet_member_residue{cluster}. It reports the expiry of a member's credentials,
// shopfleet_member_credentials_expiry_timestamp_seconds{cluster}, and whether that is to be
// acted on, shopfleet_member_credentials_expiring{cluster}. Series of deleted members are
// removed. It is safe for concurrent use.
type Metrics struct {
	members, orphaned, left, expiry, expiring *prometheus.Desc

	mu      sync.Mutex
	states  map[string]string // by member
	orphans map[string]int32  // by member, of those that are registered
	residue map[string]int32  // by member
	// credentials are those that expire, by member, of those that are registered.
	credentials map[string]credentials
}

// credentials represents when credentials expire, in seconds since the epoch, and whether
// the condition CredentialsRenewed is False.
type credentials struct {
	expiry, expiring float64
}

// NewMetrics creates the metrics and registers them.
func NewMetrics(registerer prometheus.Registerer) (*Metrics, error) {
	m := newMetrics()
	if err := registerer.Register(m); err != nil {
		return nil, fmt.Errorf("registering metrics of members: %w", err)
	}
	return m, nil
}

func newMetrics() *Metrics {
	return &Metrics{
		members: prometheus.NewDesc("shopfleet_members", "Number of member clusters by state.", []string{"state"}, nil),
		orphaned: prometheus.NewDesc("shopfleet_member_orphans",
			"Number of copies in a member cluster that no application on the hub owns.", []string{"cluster"}, nil),
		left: prometheus.NewDesc("shopfleet_member_residue",
			"Number of copies that deleted applications left behind in a member cluster that did not respond.", []string{"cluster"}, nil),
		expiry: prometheus.NewDesc("shopfleet_member_credentials_expiry_timestamp_seconds",
			"Time at which the hub's credentials of a member cluster expire.", []string{"cluster"}, nil),
		expiring: prometheus.NewDesc("shopfleet_member_credentials_expiring",
			"1 if the hub's credentials of a member cluster expire soon, have expired or cannot be renewed, else 0.", []string{"cluster"}, nil),
		states:      map[string]string{},
		orphans:     map[string]int32{},
		residue:     map[string]int32{},
		credentials: map[string]credentials{},
	}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- m.members
	descriptions <- m.orphaned
	descriptions <- m.left
	descriptions <- m.expiry
	descriptions <- m.expiring
}

// Collect implements prometheus.Collector. It reports all states, including those with no
// member.
func (m *Metrics) Collect(metrics chan<- prometheus.Metric) {
	counts := map[string]int{}
	m.mu.Lock()
	for _, state := range m.states {
		counts[state]++
	}
	orphans, residue, expiries := maps.Clone(m.orphans), maps.Clone(m.residue), maps.Clone(m.credentials)
	m.mu.Unlock()
	for _, state := range []string{StateConnected, StateDegraded, StateConnecting, StateDisconnected, StateDetached} {
		metrics <- prometheus.MustNewConstMetric(m.members, prometheus.GaugeValue, float64(counts[state]), state)
	}
	for member, n := range orphans {
		metrics <- prometheus.MustNewConstMetric(m.orphaned, prometheus.GaugeValue, float64(n), member)
	}
	for member, n := range residue {
		metrics <- prometheus.MustNewConstMetric(m.left, prometheus.GaugeValue, float64(n), member)
	}
	for member, c := range expiries {
		metrics <- prometheus.MustNewConstMetric(m.expiry, prometheus.GaugeValue, c.expiry, member)
		metrics <- prometheus.MustNewConstMetric(m.expiring, prometheus.GaugeValue, c.expiring, member)
	}
}

func (m *Metrics) set(name string, status *v1.MemberClusterStatus) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.states[name] = stateOf(status)
	m.orphans[name], m.residue[name] = status.OrphanCount, status.ResidueCount
	delete(m.credentials, name)
	if detached(status) {
		delete(m.orphans, name)
		return
	}
	if expiry := status.CredentialsExpirationTime; expiry != nil {
		c := credentials{expiry: float64(expiry.Unix())}
		if condition(status, v1.ConditionCredentialsRenewed).Status == metav1.ConditionFalse {
			c.expiring = 1
		}
		m.credentials[name] = c
	}
}

func (m *Metrics) forget(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.states, name)
	delete(m.orphans, name)
	delete(m.residue, name)
	delete(m.credentials, name)
}

// stateOf returns the state that a status represents.
func stateOf(status *v1.MemberClusterStatus) string {
	ready, connected := condition(status, v1.ConditionReady), condition(status, v1.ConditionConnected)
	switch {
	case ready.Reason == v1.ReasonSecretNotFound:
		return StateDetached
	case ready.Status == metav1.ConditionTrue:
		return StateConnected
	case ready.Status == metav1.ConditionUnknown:
		return StateConnecting
	case connected.Status == metav1.ConditionTrue:
		return StateDegraded
	}
	return StateDisconnected
}
