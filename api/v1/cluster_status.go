package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterStatus is the observed state of an application in one cluster.
type ClusterStatus struct {
	// name is the name of the MemberCluster. At most 63 characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// region is the region of the cluster. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region,omitempty"`

	// provider is the cloud provider of the cluster.
	// +optional
	Provider Provider `json:"provider,omitempty"`

	// phase is the phase of the copy; Unknown while the cluster does not respond, Deleting
	// while the application is being removed from it.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// ready is true when the application is observed ready in the cluster.
	Ready bool `json:"ready"`

	// available is true when customers are observed to be served in the cluster.
	// +optional
	Available bool `json:"available,omitempty"`

	// stalled is true when the spec cannot take effect in the cluster without a user.
	// +optional
	Stalled bool `json:"stalled,omitempty"`

	// degradedReason is the reason of the condition Degraded of the copy: what has failed in the cluster, or
	// runs and is of no use to users. Absent while the copy is not degraded. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	DegradedReason string `json:"degradedReason,omitempty"`

	// selfSigned is true when the application has a self-signed certificate in the cluster
	// although spec.security.tls.issuerRef is set.
	// +optional
	SelfSigned bool `json:"selfSigned,omitempty"`

	// databaseCreated is true when the database of the application was observed to have been created in
	// the cluster. It stays true until the data is deleted on request.
	// +optional
	DatabaseCreated bool `json:"databaseCreated,omitempty"`

	// databaseLost is true while the copy has the condition DatabaseLost.
	// +optional
	DatabaseLost bool `json:"databaseLost,omitempty"`

	// reason is a CamelCase word for the cause of the phase. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// message explains the phase. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// replicas is the desired number of frontend pods.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas int32 `json:"replicas,omitempty"`

	// readyReplicas is the number of ready frontend pods, as last observed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// share is the cluster's part of the replicas of the spec, if they are divided.
	// +optional
	Share *ReplicaShare `json:"share,omitempty"`

	// revision is the number of the revision that the cluster has or is about to get. Absent without
	// spec.rollout.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Revision int64 `json:"revision,omitempty"`

	// renderingVersion is the version of pod templates that the cluster may have: pods of an earlier one are
	// replaced. Absent for a cluster whose turn is yet to come for the first time. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	RenderingVersion string `json:"renderingVersion,omitempty"`

	// heldTemplates is true while the cluster has pods of an earlier version of the pod templates, as last observed.
	// +optional
	HeldTemplates bool `json:"heldTemplates,omitempty"`

	// replicationLagSeconds is the longest time in seconds that a replica of the database is
	// behind the primary, rounded down: below 10 to 0, below 60 to tens, below 3600 to whole
	// minutes, then to whole hours. Absent without replicas, and while none is observed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReplicationLagSeconds *int64 `json:"replicationLagSeconds,omitempty"`

	// addresses are the IP addresses and DNS names at which the cluster admits requests to the
	// application, as last observed. Those that do not fit are left out: with their separators
	// all take at most 256 characters, and 128 with more than 200 clusters. At most 8.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=253
	Addresses []string `json:"addresses,omitempty"`

	// components are the components of the application in the cluster, as last observed. At
	// most 16.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Components []ClusterComponentStatus `json:"components,omitempty"`

	// appliedGeneration is the generation of the spec on the hub that the cluster was last
	// observed to have and to have reconciled.
	// +optional
	// +kubebuilder:validation:Minimum=0
	AppliedGeneration int64 `json:"appliedGeneration,omitempty"`

	// unknownOrigin describes a copy or a deletion in the cluster that the hub does not know,
	// because it was restored from an older backup: the UID of an application, a slash, and the
	// generation that the copy was made from, or "deleted/" and the time of the deletion, or
	// "left/" and the generation at which the application left the cluster. The hub changes
	// nothing there until the annotation ecommerce.io/recover lists it or the copy has the spec
	// of the hub. At most 128 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	UnknownOrigin string `json:"unknownOrigin,omitempty"`

	// lastObservedTime is the time at which this entry was observed. While stale is false
	// the cluster is watched, the entry is current, and the time changes only with the
	// entry.
	// +optional
	LastObservedTime *metav1.Time `json:"lastObservedTime,omitempty"`

	// pendingChangeCount is the number of writes in the cluster that are held back, because
	// the application or the cluster is paused.
	// +optional
	// +kubebuilder:validation:Minimum=0
	PendingChangeCount int32 `json:"pendingChangeCount,omitempty"`

	// stale is true when the cluster does not respond: the other fields are as old as
	// lastObservedTime.
	// +optional
	Stale bool `json:"stale,omitempty"`
}

// ClusterComponentStatus is the observed state of one component in one cluster. It is
// short, so that 500 clusters fit in one object.
type ClusterComponentStatus struct {
	// name is database, backend, frontend, ingress or monitoring. At most 63
	// characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// phase is a human-readable summary of the component.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// ready is true when the component was observed ready.
	Ready bool `json:"ready"`
}
