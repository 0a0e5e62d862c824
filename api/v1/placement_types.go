package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Topology is a property of a cluster over which an application can be spread.
//
// +kubebuilder:validation:Enum=region;zone;provider
type Topology string

// Topologies.
const (
	TopologyRegion Topology = "region"
	// TopologyZone has a domain for each zone of the nodes. A cluster belongs to all of its zones.
	TopologyZone     Topology = "zone"
	TopologyProvider Topology = "provider"
)

// Spread limits how the clusters of an application are distributed over the domains of a
// topology, for example the regions.
//
// +kubebuilder:validation:XValidation:rule="has(self.minDomains) || has(self.maxDomains) || has(self.maxClustersPerDomain) || has(self.maxSkew)",message="spread must have one of minDomains, maxDomains, maxClustersPerDomain and maxSkew"
// +kubebuilder:validation:XValidation:rule="!has(self.minDomains) || !has(self.maxDomains) || self.minDomains <= self.maxDomains",fieldPath=".minDomains",message="minDomains must not exceed maxDomains"
type Spread struct {
	// topology is region, zone or provider.
	// +required
	Topology Topology `json:"topology"`

	// minDomains is the number of domains that the chosen clusters cover if possible. If it is
	// not, the application runs in those that there are, and the condition Placed is False. 1 to
	// 100.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MinDomains int32 `json:"minDomains,omitempty"`

	// maxDomains is the maximum number of domains. 1 to 100; absent: no maximum.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	MaxDomains int32 `json:"maxDomains,omitempty"`

	// maxClustersPerDomain is the maximum number of clusters in a domain. 1 to 500; absent: no
	// maximum.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	MaxClustersPerDomain int32 `json:"maxClustersPerDomain,omitempty"`

	// maxSkew is the maximum difference between the numbers of chosen clusters in two domains, of
	// those that have a cluster that can be chosen. 1 to 500; absent: no maximum.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	MaxSkew int32 `json:"maxSkew,omitempty"`
}

// ReplicaMode says how the replicas of an application relate to its clusters.
//
// +kubebuilder:validation:Enum=Duplicated;Divided
type ReplicaMode string

// Values of spec.placement.replicas.mode.
const (
	ReplicasDuplicated ReplicaMode = "Duplicated"
	ReplicasDivided    ReplicaMode = "Divided"
)

// ReplicaDivision says by what the replicas of an application are divided.
//
// +kubebuilder:validation:Enum=Weights;FreeCapacity
type ReplicaDivision string

// Values of spec.placement.replicas.by.
const (
	DivideByWeights      ReplicaDivision = "Weights"
	DivideByFreeCapacity ReplicaDivision = "FreeCapacity"
)

// PlacementReplicas defines how the replicas of frontend and backend are distributed.
//
// +kubebuilder:validation:XValidation:rule="!has(self.weights) || !has(self.by) || self.by != 'FreeCapacity'",fieldPath=".weights",message="weights must be absent when by is FreeCapacity"
type PlacementReplicas struct {
	// mode is Duplicated or Divided. With Duplicated each cluster runs as many replicas as the
	// spec says. With Divided the clusters run as many together: each has a share in proportion to its
	// weight, which status.clusters lists. Of fewer replicas than clusters some have none, and serve
	// no customer. Components with autoscaling, and the database,
	// are not divided; overrides replace a share. The default is Duplicated.
	// +optional
	Mode ReplicaMode `json:"mode,omitempty"`

	// by is Weights or FreeCapacity, in mode Divided. With FreeCapacity the weight of a cluster is
	// the number of replicas that it runs and that fit into what its nodes have free, and shares
	// are kept: replicas that are added go to the clusters whose share is small for their weight,
	// those that are removed are taken from the fullest, and a cluster that joins takes its share
	// from these. An edit of placement divides anew; a change of free capacity moves nothing. A
	// replica without requests counts as 100m of cpu and 200Mi of memory, as in the scheduler. A
	// cluster without status.requested counts as the one with the least free capacity. The default
	// is Weights.
	// +optional
	By ReplicaDivision `json:"by,omitempty"`

	// weights are the weights of clusters in mode Divided, by Weights. A cluster has the sum of
	// those that select it, and 1 if none does. At most 20.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Weights []WeightedClusters `json:"weights,omitempty"`
}

// ReplicaShare is a cluster's part of the replicas of an application.
type ReplicaShare struct {
	// frontend is the number of frontend pods. Absent with autoscaling.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Frontend *int32 `json:"frontend,omitempty"`

	// backend is the number of backend pods. Absent with autoscaling, or without a backend.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Backend *int32 `json:"backend,omitempty"`
}

// NoReplicas reports whether a share is known to be empty. That of a cluster whose replicas are not divided,
// or are scaled automatically, is not.
func (s *ReplicaShare) NoReplicas() bool {
	return s != nil && s.Frontend != nil && *s.Frontend == 0 && (s.Backend == nil || *s.Backend == 0)
}

// WeightedClusters are clusters with a weight.
type WeightedClusters struct {
	// weight is the weight of the selected clusters. 1 to 100.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight"`

	// selector selects the clusters.
	// +required
	Selector ClusterCriteria `json:"selector"`
}

// Scheduling says which applications a cluster may run.
//
// +kubebuilder:validation:Enum=Enabled;Cordoned;Drained
type Scheduling string

// Values of spec.scheduling of a MemberCluster.
const (
	SchedulingEnabled  Scheduling = "Enabled"
	SchedulingCordoned Scheduling = "Cordoned"
	SchedulingDrained  Scheduling = "Drained"
)

// TaintEffect is NoSchedule, which keeps applications out, or NoExecute, which makes them leave too.
//
// +kubebuilder:validation:Enum=NoSchedule;NoExecute
type TaintEffect string

// Effects of taints.
const (
	TaintNoSchedule TaintEffect = "NoSchedule"
	TaintNoExecute  TaintEffect = "NoExecute"
)

// Taint repels the applications that do not tolerate it from a cluster.
type Taint struct {
	// key is the key of the taint, for example maintenance. 1 to 317 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`

	// value is the value of the taint. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Value string `json:"value,omitempty"`

	// effect is NoSchedule or NoExecute.
	// +required
	Effect TaintEffect `json:"effect"`
}

// TaintStatus is a taint with the effect NoExecute that the hub has observed.
type TaintStatus struct {
	// key is the key of the taint. At most 317 characters.
	// +required
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`

	// value is the value of the taint. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Value string `json:"value,omitempty"`

	// addedTime is when the hub observed the taint, with this value, for the first time.
	// +required
	AddedTime metav1.Time `json:"addedTime"`
}
