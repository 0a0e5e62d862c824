package v1

// ManagedByMode names the controller that turns a copy into workloads. The copy itself
// carries it, so that one write hands the copy over. A controller that the copy does not
// name leaves it alone.
type ManagedByMode string

// Values of the annotation ecommerce.io/managed-by-mode.
const (
	// ManagedByHub is the hub, which writes the workloads through the member's API server.
	ManagedByHub ManagedByMode = "hub"
	// ManagedByAgent is the agent that runs in the member.
	ManagedByAgent ManagedByMode = "agent"
)

// Mode decides whether the hub or an agent turns the copies of a member into workloads.
//
// +kubebuilder:validation:Enum=Agentless;Agent
type Mode string

// Modes of a member. The default is ModeAgentless.
const (
	// ModeAgentless needs nothing in the member except a kubeconfig: the hub writes the
	// workloads.
	ModeAgentless Mode = "Agentless"
	// ModeAgent needs an agent in the member, which continues while the hub is down.
	ModeAgent Mode = "Agent"
)

// ManagedBy returns the controller that manages the copies of a member in mode m.
func (m Mode) ManagedBy() ManagedByMode {
	if m == ModeAgent {
		return ManagedByAgent
	}
	return ManagedByHub
}

// IsCopy reports whether an application in a member is a copy that a hub wrote, and not one
// that a user applied there. Either mark is enough: a copy that lost one of them is
// repaired and not orphaned.
func (a *EcommerceApp) IsCopy() bool {
	return a.Annotations[HubAppUIDAnnotation] != "" || a.Labels[ManagedByLabel] == ManagedBy
}

// ManagedByMode returns the controller that turns an application in a member into
// workloads. The hub manages copies that do not name the agent. It never manages an
// application that a user applied in the member.
func (a *EcommerceApp) ManagedByMode() ManagedByMode {
	if a.IsCopy() && a.Annotations[ManagedByModeAnnotation] != string(ManagedByAgent) {
		return ManagedByHub
	}
	return ManagedByAgent
}

// InventoryLost reports whether the status of an application on the hub does not list the
// clusters of its copies. The hub observes a generation with the first inventory that it
// writes, and counts the clusters in it: a status without a generation, or with fewer
// clusters than it counts, was wiped, edited or never written.
func (a *EcommerceApp) InventoryLost() bool {
	return a.Status.ObservedGeneration == 0 || len(a.Status.Clusters) < int(a.Status.ClusterCount)
}

// Protected reports whether an application on the hub is protected from deletion.
func (a *EcommerceApp) Protected() bool {
	return a.Annotations[DeletionProtectionAnnotation] == "true"
}

// Ending reports whether an application is being deleted and is not protected. A protected
// one that is deleted nevertheless, past the admission policies, is kept as it is.
func (a *EcommerceApp) Ending() bool {
	return a.DeletionTimestamp != nil && !a.Protected()
}
