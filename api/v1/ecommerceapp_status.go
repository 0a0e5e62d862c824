package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EcommerceAppStatus is the observed state of an application: of the fleet on the hub, of
// its own cluster on a copy.
type EcommerceAppStatus struct {
	// phase is a human-readable summary of the conditions.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// message explains the phase in one sentence. At most 32768 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message,omitempty"`

	// observedGeneration is the generation of the spec that this status reflects.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// ready is the number of ready clusters and their total on the hub, of ready components
	// on a copy, for example 2/3. At most 32 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Ready string `json:"ready,omitempty"`

	// clusterCount is the number of clusters that the application is placed on (hub only).
	// +optional
	// +kubebuilder:validation:Minimum=0
	ClusterCount int32 `json:"clusterCount,omitempty"`

	// regionCount is the number of regions that the application is placed in (hub only).
	// +optional
	// +kubebuilder:validation:Minimum=0
	RegionCount int32 `json:"regionCount,omitempty"`

	// replicas is the number of frontend pods, for /scale. On the hub it is that of one
	// cluster, as in the spec: the largest one while clusters differ. If the replicas are divided, it
	// is that of all clusters.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas int32 `json:"replicas,omitempty"`

	// selector is the label selector of the frontend pods, for /scale. At most 2048
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Selector string `json:"selector,omitempty"`

	// lastUpdated is the time at which another field of this status last changed.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`

	// lastHandledReconcileAt is the value of the annotation ecommerce.io/reconcile-at that
	// was last handled. At most 262144 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// lastHandledImageUpdate is the token in the annotation ecommerce.io/image-updated that
	// was last handled by a restart. At most 262144 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	LastHandledImageUpdate string `json:"lastHandledImageUpdate,omitempty"`

	// renderingVersion is the version of the pod templates that the process renders which reconciles the object
	// (clusters only). At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	RenderingVersion string `json:"renderingVersion,omitempty"`

	// heldTemplates are the components whose pods are of an earlier version of the pod templates, and are not
	// replaced yet (clusters only). At most 16.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	HeldTemplates []string `json:"heldTemplates,omitempty"`

	// appliedHash is a hash of what was applied for a copy in its cluster, and of the fields that
	// were owned afterwards: 64 lower-case hexadecimal characters. A process that starts compares
	// it instead of reading each object. Not set on the hub.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	AppliedHash string `json:"appliedHash,omitempty"`

	// conditions are the latest observations, which the phase is derived from. Known types
	// are Ready, Available, Placed, Applied, Progressing, Degraded, Stalled, BackupReady,
	// Initialized, Supported, Propagated, CertificateTrusted and, while it is being deleted, Deleting.
	// At most 16.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// components are the five components of the application. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Components []ComponentStatus `json:"components,omitempty"`

	// regions are the regions that the application is placed in, by name (hub only). At
	// most 500.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=500
	Regions []RegionStatus `json:"regions,omitempty"`

	// clusters are the clusters that may hold a copy, by name (hub only). An entry is
	// written before the first write of a copy, and removed after the copy is gone. At most
	// 500.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=500
	Clusters []ClusterStatus `json:"clusters,omitempty"`

	// backups is the state of the database backups of each cluster, by name of the cluster
	// (hub only). At most 500.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=500
	Backups []ClusterBackups `json:"backups,omitempty"`

	// lastBackupTime is the oldest lastBackupTime of backups: each cluster has a completed backup that is as new
	// (hub only). Absent while a cluster has none.
	// +optional
	LastBackupTime *metav1.Time `json:"lastBackupTime,omitempty"`

	// databaseReplicas are the replicas of the database, except the primary, in the order of
	// their pods (copies only). Absent for MySQL. At most 8.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	DatabaseReplicas []DatabaseReplica `json:"databaseReplicas,omitempty"`

	// databaseCreated is true when the database was created in the cluster (copies only). It restores the
	// mark that says so if that is lost.
	// +optional
	DatabaseCreated bool `json:"databaseCreated,omitempty"`

	// startedServer is the server of the database that a pod was last observed to have started with
	// (copies only): the data is of it, also while spec.database has another one that no pod has started with.
	// Absent until one is observed.
	// +optional
	StartedServer *DatabaseServer `json:"startedServer,omitempty"`

	// addresses are the IP addresses and DNS names at which the cluster admits requests to the
	// application: those of its Ingress, or of the Gateway of its HTTPRoute, sorted (copies only). At most 8, of at most 253
	// characters.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=253
	Addresses []string `json:"addresses,omitempty"`

	// placement is the last placement decision (hub only).
	// +optional
	Placement *PlacementStatus `json:"placement,omitempty"`

	// rollout is the state of the last rollout (hub only). Absent without spec.rollout.
	// +optional
	Rollout *RolloutStatus `json:"rollout,omitempty"`

	// rendering is the state of the last rollout of a version of the pod templates (hub only): its revision is the
	// version. Absent while no cluster has pods of an earlier one, and after that if none had.
	// +optional
	Rendering *RolloutStatus `json:"rendering,omitempty"`

	// pendingChanges are the writes that are held back while the application or one of its
	// clusters is paused, by cluster, kind and name. On a copy all are about its own cluster.
	// At most 100; pendingChangeCount counts the rest too.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	PendingChanges []PendingChange `json:"pendingChanges,omitempty"`

	// pendingChangeCount is the number of writes that are held back, also those that
	// pendingChanges does not list.
	// +optional
	// +kubebuilder:validation:Minimum=0
	PendingChangeCount int32 `json:"pendingChangeCount,omitempty"`
}

// ComponentStatus is the observed state of one component.
type ComponentStatus struct {
	// name is database, backend, frontend, ingress or monitoring. At most 63
	// characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// phase is a human-readable summary of the component.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// ready is true when the component is observed ready, or is disabled.
	// +optional
	Ready bool `json:"ready"`

	// reason is a CamelCase word for the cause of the phase. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// message explains the phase. At most 32768 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message,omitempty"`

	// replicas is the desired number of pods.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas int32 `json:"replicas,omitempty"`

	// readyReplicas is the number of ready pods.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// updatedReplicas is the number of pods that run the desired version (copies only).
	// +optional
	// +kubebuilder:validation:Minimum=0
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty"`

	// clusters is the number of clusters that run the component (hub only).
	// +optional
	// +kubebuilder:validation:Minimum=0
	Clusters int32 `json:"clusters,omitempty"`

	// readyClusters is the number of clusters where the component is ready (hub only).
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadyClusters int32 `json:"readyClusters,omitempty"`
}

// RegionStatus is the observed state of an application in one region.
type RegionStatus struct {
	// name is the name of the region, or unknown. At most 63 characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// phase is the worst phase of the region's clusters.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// clusters is the number of clusters.
	// +kubebuilder:validation:Minimum=0
	Clusters int32 `json:"clusters"`

	// readyClusters is the number of clusters that are observed ready.
	// +kubebuilder:validation:Minimum=0
	ReadyClusters int32 `json:"readyClusters"`

	// replicas is the desired number of frontend pods.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas int32 `json:"replicas,omitempty"`

	// readyReplicas is the number of ready frontend pods. Those of stale clusters are not
	// counted.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// oldestObservationTime is the time of the oldest observation behind this entry.
	// +optional
	OldestObservationTime *metav1.Time `json:"oldestObservationTime,omitempty"`
}
