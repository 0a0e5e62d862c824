package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EcommerceAppStatus is what a shop is observed to be: across the fleet on the
// hub, in its own cluster on a copy.
type EcommerceAppStatus struct {
	// phase is a summary of the conditions for people.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// message says in one sentence what the phase is due to. At most 32768 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message,omitempty"`

	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// ready counts what is ready: clusters on the hub, components on a copy,
	// for example 2/3. At most 32 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Ready string `json:"ready,omitempty"`

	// clusterCount is the number of clusters that the shop is placed on (hub only).
	// +optional
	// +kubebuilder:validation:Minimum=0
	ClusterCount int32 `json:"clusterCount,omitempty"`

	// regionCount is the number of regions that the shop is placed in (hub only).
	// +optional
	// +kubebuilder:validation:Minimum=0
	RegionCount int32 `json:"regionCount,omitempty"`

	// replicas is the number of frontend pods, for /scale.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas int32 `json:"replicas,omitempty"`

	// selector selects the frontend pods, for /scale. At most 2048 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Selector string `json:"selector,omitempty"`

	// lastUpdated is when something else in this status last changed.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`

	// lastHandledReconcileAt is the last value of the annotation
	// ecommerce.io/reconcile-at that was acted on. At most 262144 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// conditions are the facts that the phase is derived from. Known types are
	// Ready, Placed, Applied, Progressing, Degraded and Initialized. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// components are the shop's five parts. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Components []ComponentStatus `json:"components,omitempty"`

	// regions are the regions that the shop is placed in, by name (hub only). At
	// most 500.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=500
	Regions []RegionStatus `json:"regions,omitempty"`

	// clusters are the clusters where a copy may exist, by name (hub only). An
	// entry is written before the first copy is, and goes after the last one. At
	// most 500.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=500
	Clusters []ClusterStatus `json:"clusters,omitempty"`

	// backups are how it stands with the backups of the database by cluster, sorted by
	// cluster. At most 500.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=500
	Backups []ClusterBackups `json:"backups,omitempty"`

	// placement is the last decision about clusters (hub only).
	// +optional
	Placement *PlacementStatus `json:"placement,omitempty"`
}

// ComponentStatus is one part of a shop.
type ComponentStatus struct {
	// name is database, backend, frontend, ingress or monitoring. At most 63
	// characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// phase is the summary of the component.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// ready tells whether the component is observed ready, or switched off.
	// +optional
	Ready bool `json:"ready"`

	// reason is a CamelCase word for the phase. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// message says what the phase is due to. At most 32768 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message,omitempty"`

	// replicas is the number of pods wanted.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas int32 `json:"replicas,omitempty"`

	// readyReplicas is the number of pods that are ready.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// clusters is the number of clusters that run the component (hub only).
	// +optional
	// +kubebuilder:validation:Minimum=0
	Clusters int32 `json:"clusters,omitempty"`

	// readyClusters is the number of clusters where it is ready (hub only).
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadyClusters int32 `json:"readyClusters,omitempty"`
}

// RegionStatus is the shop in one region.
type RegionStatus struct {
	// name is the region, or unknown. At most 63 characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// phase is the worst phase of the region's clusters.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// clusters is the number of clusters.
	// +kubebuilder:validation:Minimum=0
	Clusters int32 `json:"clusters"`

	// readyClusters is the number of clusters that are ready now.
	// +kubebuilder:validation:Minimum=0
	ReadyClusters int32 `json:"readyClusters"`

	// replicas is the number of frontend pods wanted.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas int32 `json:"replicas,omitempty"`

	// readyReplicas is the number of frontend pods ready; what is stale counts as none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// oldestObservationTime is the time of the oldest observation behind this entry.
	// +optional
	OldestObservationTime *metav1.Time `json:"oldestObservationTime,omitempty"`
}

// ClusterStatus is the shop in one cluster.
type ClusterStatus struct {
	// name is the MemberCluster. At most 63 characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// region is the cluster's region. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region,omitempty"`

	// provider is the cluster's cloud provider.
	// +optional
	Provider Provider `json:"provider,omitempty"`

	// phase is the copy's phase; Unknown while the cluster does not answer,
	// Deleting when the shop is leaving the cluster.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// ready tells whether the shop is observed ready there now.
	Ready bool `json:"ready"`

	// reason is a CamelCase word for the phase. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`

	// message says what the phase is due to. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// replicas is the number of frontend pods wanted.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas int32 `json:"replicas,omitempty"`

	// readyReplicas is the number of frontend pods ready when last observed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// components are the shop's parts there, as last observed. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Components []ClusterComponentStatus `json:"components,omitempty"`

	// appliedGeneration is the generation of the hub's spec that the cluster
	// was last observed to have and to have acted on.
	// +optional
	// +kubebuilder:validation:Minimum=0
	AppliedGeneration int64 `json:"appliedGeneration,omitempty"`

	// lastObservedTime is when this entry was observed. While stale is false
	// the cluster is watched and the entry is current; it then moves only when
	// the entry changes.
	// +optional
	LastObservedTime *metav1.Time `json:"lastObservedTime,omitempty"`

	// stale tells that the cluster does not answer, so that everything else
	// here is as old as lastObservedTime.
	// +optional
	Stale bool `json:"stale,omitempty"`
}

// ClusterComponentStatus is one part of a shop in one cluster. It is short, so
// that 500 clusters fit in one object.
type ClusterComponentStatus struct {
	// name is database, backend, frontend, ingress or monitoring. At most 63
	// characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// phase is the summary of the component.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// ready tells whether the component was observed ready.
	Ready bool `json:"ready"`
}

// PlacementStatus is a decision about clusters.
type PlacementStatus struct {
	// decidedFor is the generation of the spec that was decided for.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DecidedFor int64 `json:"decidedFor,omitempty"`

	// rejected are the clusters that were not taken, by name. At most 100; more
	// are counted in rejectedCount alone.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	Rejected []RejectedCluster `json:"rejected,omitempty"`

	// rejectedCount is the number of clusters that were not taken.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RejectedCount int32 `json:"rejectedCount,omitempty"`
}

// RejectedCluster is a cluster that was not taken, and why.
type RejectedCluster struct {
	// name is the name of the MemberCluster. At most 63 characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// reason is a CamelCase word for why. At most 1024 characters.
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"`

	// message says why. At most 32768 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message,omitempty"`
}

// ClusterBackups is how it stands with the backups of one cluster.
type ClusterBackups struct {
	// name is the name of the MemberCluster. At most 63 characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// lastScheduledTime is the time of the schedule that was last answered with a Backup.
	// +optional
	LastScheduledTime *metav1.Time `json:"lastScheduledTime,omitempty"`

	// lastBackupTime is the point in time of the newest good backup.
	// +optional
	LastBackupTime *metav1.Time `json:"lastBackupTime,omitempty"`

	// nextBackupTime is when the next backup begins.
	// +optional
	NextBackupTime *metav1.Time `json:"nextBackupTime,omitempty"`

	// lastVerifyScheduledTime is the time of the verify schedule that was last answered with a Restore.
	// +optional
	LastVerifyScheduledTime *metav1.Time `json:"lastVerifyScheduledTime,omitempty"`

	// lastVerifiedTime is when a backup was last restored and found good.
	// +optional
	LastVerifiedTime *metav1.Time `json:"lastVerifiedTime,omitempty"`

	// version is the version of the database that the cluster runs. It follows
	// spec.database.version when there is a good backup that is younger than
	// upgradeTime. At most 64 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`

	// upgradeTime is when another version was first asked for; absent when none is.
	// +optional
	UpgradeTime *metav1.Time `json:"upgradeTime,omitempty"`
}

// DatabaseVersion returns the version that the database has in a cluster: the spec's,
// unless an upgrade waits for a backup there. The application must have a database.
func (a *EcommerceApp) DatabaseVersion(cluster string) string {
	for _, b := range a.Status.Backups {
		if b.Name == cluster && b.Version != "" {
			return b.Version
		}
	}
	return a.Spec.Database.Version
}
