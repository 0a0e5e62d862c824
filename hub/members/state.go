package members

import (
	"bytes"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/conditions"
	"github.com/shopfleet/shopfleet/hub/members/preflight"
)

// Target is how a member should be reached.
type Target struct {
	// Kubeconfig is the file from the registration Secret; empty when it is missing there.
	Kubeconfig []byte
	// Mode says where its copies are turned into workloads; empty is Agentless.
	Mode v1.Mode
	// Health is how the member is probed; zero values have defaults.
	Health Health
	// PinnedUID is the UID of kube-system that was first seen under this name; empty
	// before. Another one is refused.
	PinnedUID string
	// RegisteredAt is when the member was registered. Of two members that are the same
	// cluster, the one with a pin stays, then the earlier one, then the first by name.
	RegisteredAt time.Time
}

// Health is how a member is probed.
type Health struct {
	// Period is the time between probes; the default is 5 s.
	Period time.Duration
	// FailureThreshold is how many probes must fail in a row for the member to be
	// lost; the default is 3.
	FailureThreshold int
	// SuccessThreshold is how many must succeed in a row for it to be back; the
	// default is 2.
	SuccessThreshold int
}

func (t Target) equal(o Target) bool {
	return bytes.Equal(t.Kubeconfig, o.Kubeconfig) && t.Mode == o.Mode && t.Health == o.Health &&
		t.PinnedUID == o.PinnedUID && t.RegisteredAt.Equal(o.RegisteredAt)
}

const (
	defaultPeriod           = 5 * time.Second
	defaultFailureThreshold = 3
	defaultSuccessThreshold = 2
)

func (h Health) withDefaults() Health {
	if h.Period <= 0 {
		h.Period = defaultPeriod
	}
	if h.FailureThreshold <= 0 {
		h.FailureThreshold = defaultFailureThreshold
	}
	if h.SuccessThreshold <= 0 {
		h.SuccessThreshold = defaultSuccessThreshold
	}
	return h
}

// State is how a member is. The value is a copy; its slices and maps are not to be
// changed.
type State struct {
	Conditions
	// Info is what was last observed of the cluster; it stays when the cluster is lost.
	Info Info
	// LastProbe is when the cluster last answered in this process; zero for never.
	LastProbe time.Time
	// AgentHeard is when the agent last gave a sign of life in this process; zero for
	// never, and in mode Agentless.
	AgentHeard time.Time
	// Engaged tells that Get returns the cluster and its reconcilers run.
	Engaged bool
	// Settled is false from the start of the process until the member is engaged,
	// and its agent if it has one is known to be alive or not, is refused for good
	// reason, or has failed to answer for as long and as often as
	// the health allows. Until then a status from before the start is better than this.
	Settled bool
}

// Conditions are the facts about a member.
type Conditions = conditions.Conditions

// Condition is one fact.
type Condition = conditions.Condition

// Info is what was observed of a cluster.
type Info struct {
	// Version is that of the API server; UID is that of kube-system. Both are empty
	// until the cluster was connected.
	Version, UID string
	// Provider and Region are those of most nodes, empty without nodes; Zones are sorted.
	Provider v1.Provider
	Region   string
	Zones    []string
	// Nodes and ReadyNodes are numbers of nodes.
	Nodes, ReadyNodes int32
	// Allocatable is what the ready nodes offer: cpu, memory, pods.
	Allocatable corev1.ResourceList
	// Capabilities are the optional APIs, sorted.
	Capabilities []string
	// CredentialsExpirationTime is when the credentials in use expire; zero if they do not say.
	CredentialsExpireAt time.Time
}

// equal tells whether the states differ in no more than times of observation.
func (s State) equal(o State) bool {
	return s.Conditions == o.Conditions && s.Engaged == o.Engaged && s.Settled == o.Settled && s.Info.equal(o.Info)
}

func (i Info) equal(o Info) bool {
	return i.Version == o.Version && i.UID == o.UID &&
		i.Provider == o.Provider && i.Region == o.Region && slices.Equal(i.Zones, o.Zones) &&
		i.Nodes == o.Nodes && i.ReadyNodes == o.ReadyNodes &&
		equality.Semantic.DeepEqual(i.Allocatable, o.Allocatable) &&
		slices.Equal(i.Capabilities, o.Capabilities) &&
		i.CredentialsExpireAt.Equal(o.CredentialsExpireAt)
}

func (s *State) setNodes(facts preflight.NodeFacts) {
	s.Info.Provider, s.Info.Region, s.Info.Zones = facts.Provider, facts.Region, facts.Zones
	s.Info.Nodes, s.Info.ReadyNodes, s.Info.Allocatable = facts.Nodes, facts.ReadyNodes, facts.Allocatable
}
