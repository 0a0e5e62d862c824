package members

import (
	"bytes"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/capacity"
	"github.com/shopfleet/shopfleet/hub/members/health"
)

// Target is the desired connection of a member.
type Target struct {
	// Kubeconfig is the content of the registration Secret; empty if it has none.
	Kubeconfig []byte
	// Mode selects whether the hub or an agent reconciles the workloads. The default is
	// Agentless.
	Mode v1.Mode
	// Paused makes the hub send the member nothing that is stored there.
	Paused bool
	// Health configures the probes. Zero values have defaults.
	Health Health
	// PinnedUID is the UID of the namespace kube-system that was first observed under this
	// name, or empty. A cluster with another UID is rejected.
	PinnedUID string
	// RenewedAccount is the ServiceAccount, as namespace/name, whose token the hub renews if
	// the kubeconfig has it; empty if the hub must not renew the credentials.
	RenewedAccount string
	// RenewRequest makes the hub renew the token now whenever it changes to a value that is
	// not empty.
	RenewRequest string
	// Replaces is the other hub, as in State.OtherHub, that this one may replace in the member;
	// empty for none.
	Replaces string
	// RegisteredAt is the time of the registration. Of two members that are the same
	// cluster, the one with a pinned UID wins, then the earlier one, then the first by
	// name.
	RegisteredAt time.Time
}

// Health configures the probes of a member.
type Health struct {
	// Period is the time between probes; the default is 5 s.
	Period time.Duration
	// FailureThreshold is the number of consecutive failed probes after which the member
	// is lost; the default is 3.
	FailureThreshold int
	// SuccessThreshold is the number of consecutive successful probes, half a second apart, after
	// which a lost member is connected again, so that one that flaps is not. The first connection
	// after a start of the hub takes one probe. The default is 2.
	SuccessThreshold int
}

func (t Target) equal(o Target) bool {
	return bytes.Equal(t.Kubeconfig, o.Kubeconfig) && t.Mode == o.Mode && t.Paused == o.Paused && t.Health == o.Health &&
		t.PinnedUID == o.PinnedUID && t.RenewedAccount == o.RenewedAccount && t.RenewRequest == o.RenewRequest && t.Replaces == o.Replaces &&
		t.RegisteredAt.Equal(o.RegisteredAt)
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

// State is the observed state of a member. Its slices and maps are shared and must not be
// changed.
type State struct {
	Conditions
	// Info holds the last observed facts about the cluster. It is kept when the cluster is
	// lost.
	Info Info
	// LastProbe is the time of the last successful probe since the hub started; zero
	// without one.
	LastProbe time.Time
	// AgentLastSeen is when the hub last observed a renewal of the agent's Lease since it
	// started; zero without one, and in mode Agentless.
	AgentLastSeen time.Time
	// HandledRenewRequest is the Target.RenewRequest whose token is in use; empty without one
	// since the hub started.
	HandledRenewRequest string
	// OtherHub is the ID of the record of the hub that manages the member, if that is why this
	// one does not.
	OtherHub string
	// Engaged is true if Get returns the cluster and its reconcilers are running.
	Engaged bool
	// Known is false after a start of the hub until the state is known: the member is
	// engaged and the state of its agent, if any, is known; or the cluster returned an
	// error; or it has not answered for FailureThreshold probes. While it is false, a
	// status from before the start must be kept.
	Known bool
}

// Conditions are the conditions of a member.
type Conditions = health.Conditions

// Condition is one condition of a member.
type Condition = health.Condition

// Info represents the observed facts about a cluster.
type Info struct {
	// Version is the version of the API server, UID the UID of the namespace kube-system.
	// Both are empty until the first connection.
	Version, UID string
	// AgentVersion is the version of the agent; empty without an agent or if unknown.
	AgentVersion string
	// Provider and Region are the ones that most nodes have; empty if unknown. Zones are sorted.
	Provider v1.Provider
	Region   string
	Zones    []string
	// Nodes and ReadyNodes count nodes.
	Nodes, ReadyNodes int32
	// Allocatable is the sum of cpu, memory and pods over the ready nodes.
	Allocatable corev1.ResourceList
	// Requested is the sum of cpu and memory that the pods on the nodes request, and their number; nil if
	// the credentials must not list pods. PodsListed is true once that is known since the hub started.
	Requested  corev1.ResourceList
	PodsListed bool
	// Capabilities are the optional APIs that are available, sorted.
	Capabilities []string
	// CredentialsExpireAt is when the current credentials expire; zero if unknown.
	CredentialsExpireAt time.Time
}

// equal reports whether two states are the same apart from timestamps.
func (s State) equal(o State) bool {
	return s.Conditions == o.Conditions && s.Engaged == o.Engaged && s.Known == o.Known &&
		s.HandledRenewRequest == o.HandledRenewRequest && s.OtherHub == o.OtherHub && s.Info.equal(o.Info)
}

func (i Info) equal(o Info) bool {
	return i.Version == o.Version && i.UID == o.UID && i.AgentVersion == o.AgentVersion &&
		i.Provider == o.Provider && i.Region == o.Region && slices.Equal(i.Zones, o.Zones) &&
		i.Nodes == o.Nodes && i.ReadyNodes == o.ReadyNodes &&
		equality.Semantic.DeepEqual(i.Allocatable, o.Allocatable) &&
		equality.Semantic.DeepEqual(i.Requested, o.Requested) && i.PodsListed == o.PodsListed &&
		slices.Equal(i.Capabilities, o.Capabilities) &&
		i.CredentialsExpireAt.Equal(o.CredentialsExpireAt)
}

func (s *State) setNodes(facts capacity.NodeFacts) {
	s.Info.Provider, s.Info.Region, s.Info.Zones = facts.Provider, facts.Region, facts.Zones
	s.Info.Nodes, s.Info.ReadyNodes, s.Info.Allocatable = facts.Nodes, facts.ReadyNodes, facts.Allocatable
}
