package v1

// Home is who turns a copy into workloads. It is written in the copy itself, so that
// one write hands it over, and whoever it does not name leaves the copy alone.
type ManagedByMode string

// The homes.
const (
	// ManagedByHub is the hub's own process, which reaches into the member.
	ManagedByHub ManagedByMode = "hub"
	// ManagedByAgent is the spoke that runs in the member.
	ManagedByAgent ManagedByMode = "agent"
)

// Mode says where the copies of a member are turned into workloads.
//
// +kubebuilder:validation:Enum=Agentless;Agent
type Mode string

// The modes. An absent mode is ModeAgentless.
const (
	// ModeAgentless has the hub do it: a kubeconfig is all that a member needs.
	ModeAgentless Mode = "Agentless"
	// ModeAgent has a spoke in the member do it, which goes on while the hub is away.
	ModeAgent Mode = "Agent"
)

// Home returns who has the copies of a member in the mode.
func (m Mode) ManagedBy() ManagedByMode {
	if m == ModeAgent {
		return ManagedByAgent
	}
	return ManagedByHub
}

// IsCopy tells whether an application in a member is a copy that a hub made, and
// not one that people run there by themselves. Either mark is enough: a copy that
// is stripped of one is put right, not left behind.
func (a *EcommerceApp) IsCopy() bool {
	return a.Annotations[HubAppUIDAnnotation] != "" || a.Labels[ManagedByLabel] == ManagedBy
}

// Home returns who turns an application in a member into workloads. A copy that does
// not name the agent is the hub's; what people run there by themselves never is.
func (a *EcommerceApp) ManagedByMode() ManagedByMode {
	if a.IsCopy() && a.Annotations[ManagedByModeAnnotation] != string(ManagedByAgent) {
		return ManagedByHub
	}
	return ManagedByAgent
}

// InventoryLost reports whether the status of an application on the hub does not say
// where its copies are. The hub observes a generation with the first inventory that it
// writes, and counts the clusters in it: a status without either was wiped, or was
// never written.
func (a *EcommerceApp) InventoryLost() bool {
	return a.Status.ObservedGeneration == 0 || len(a.Status.Clusters) == 0 && a.Status.ClusterCount > 0
}
