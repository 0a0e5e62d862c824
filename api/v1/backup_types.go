package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// BackupMethod is how a database is backed up.
//
// +kubebuilder:validation:Enum=Auto;Snapshot;Dump
type BackupMethod string

// The methods.
const (
	BackupAuto     BackupMethod = "Auto"
	BackupSnapshot BackupMethod = "Snapshot"
	BackupDump     BackupMethod = "Dump"
)

// Backup is one backup of the database of one application in one cluster. The hub makes
// them by the application's schedule; one that a person makes is taken at once.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=ebk,categories=shopfleet
// +kubebuilder:selectablefield:JSONPath=`.spec.appRef.name`
// +kubebuilder:selectablefield:JSONPath=`.spec.clusterRef.name`
// +kubebuilder:printcolumn:name="App",type=string,JSONPath=`.spec.appRef.name`
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterRef.name`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Size",type=string,JSONPath=`.status.size`
// +kubebuilder:printcolumn:name="Taken",type=date,JSONPath=`.status.snapshotTime`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Consistency",type=string,priority=1,JSONPath=`.status.consistency`
// +kubebuilder:printcolumn:name="Verified",type=date,priority=1,JSONPath=`.status.lastVerifiedTime`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must be at most 63 characters: it becomes a tag in the cloud"
type Backup struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what to back up. It cannot be changed, but for deletion.
	// +required
	Spec BackupSpec `json:"spec"`

	// status is what came of it.
	// +optional
	// +kubebuilder:default={phase: "Pending"}
	Status BackupStatus `json:"status,omitempty,omitzero"`
}

// BackupList is a list of Backups.
//
// +kubebuilder:object:root=true
type BackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Backup `json:"items"`
}

// BackupSpec is what to back up.
//
// +kubebuilder:validation:XValidation:rule="self.appRef == oldSelf.appRef",fieldPath=".appRef",message="appRef cannot be changed: make another Backup"
// +kubebuilder:validation:XValidation:rule="self.clusterRef == oldSelf.clusterRef",fieldPath=".clusterRef",message="clusterRef cannot be changed: make another Backup"
// +kubebuilder:validation:XValidation:rule="self.method == oldSelf.method",fieldPath=".method",message="method cannot be changed: make another Backup"
// +kubebuilder:validation:XValidation:rule="has(self.scheduledTime) == has(oldSelf.scheduledTime) && (!has(self.scheduledTime) || self.scheduledTime == oldSelf.scheduledTime)",fieldPath=".scheduledTime",message="scheduledTime cannot be changed: make another Backup"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !has(self.deletion) || self.deletion != 'Delete'",optionalOldSelf=true,fieldPath=".deletion",message="deletion must be Retain when a Backup is created: to delete its data as well, set Delete on the existing Backup just before you delete it"
// +kubebuilder:validation:XValidation:rule="has(self.copyToRegions) == has(oldSelf.copyToRegions) && (!has(self.copyToRegions) || self.copyToRegions == oldSelf.copyToRegions)",fieldPath=".copyToRegions",message="copyToRegions cannot be changed: make another Backup"
type BackupSpec struct {
	// appRef refers to the EcommerceApp in the same namespace. It cannot be changed.
	// +required
	AppRef ObjectReference `json:"appRef"`

	// clusterRef refers to the MemberCluster whose database is backed up. It cannot be
	// changed.
	// +required
	ClusterRef ObjectReference `json:"clusterRef"`

	// method is how: Snapshot, the default, or Dump, which runs the cluster's CronJob once
	// and needs it to be there. It cannot be changed.
	// +optional
	// +default="Snapshot"
	// +kubebuilder:default=Snapshot
	// +kubebuilder:validation:XValidation:rule="self != 'Auto'",message="method must be Snapshot or Dump"
	Method BackupMethod `json:"method,omitempty"`

	// scheduledTime is when the schedule wanted it; absent for one that a person asked for. It
	// cannot be changed.
	// +optional
	ScheduledTime *metav1.Time `json:"scheduledTime,omitempty"`

	// copyToRegions are the regions that the snapshots are copied to, as in the
	// application's policy. It cannot be changed. At most 8, of 1 to 63 characters.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	CopyToRegions []string `json:"copyToRegions,omitempty"`

	// deletion says whether the snapshots and the dump in the bucket are deleted together
	// with the Backup. Retain, the default, keeps them for kubectl shopfleet backups
	// --rediscover, whatever deletes the Backup: a person, its namespace or the
	// CustomResourceDefinition. Delete deletes them. It is refused when a Backup is created;
	// set it on the existing Backup just before you delete it. The retention of the
	// application does the same. The file of a dump in the cluster stays in either case: the
	// CronJob there removes it.
	// +optional
	// +default="Retain"
	// +kubebuilder:default=Retain
	Deletion DeletionPolicy `json:"deletion,omitempty"`
}

// DeletionPolicy is whether data goes with the object that stands for it.
//
// +kubebuilder:validation:Enum=Delete;Retain
type DeletionPolicy string

// The policies.
const (
	DeletionDelete DeletionPolicy = "Delete"
	DeletionRetain DeletionPolicy = "Retain"
)

// BackupPhase is how far a backup is.
//
// +kubebuilder:validation:Enum=Pending;InProgress;Finalizing;Completed;Failed;Deleting
type BackupPhase string

// The phases of a backup.
const (
	// BackupPending means that nothing has been asked of the cloud yet.
	BackupPending BackupPhase = "Pending"
	// BackupInProgress means that the point in time is not fixed yet.
	BackupInProgress BackupPhase = "InProgress"
	// BackupFinalizing means that the point in time is fixed and data still travels.
	BackupFinalizing BackupPhase = "Finalizing"
	// BackupCompleted means that it can be restored, and all copies are made.
	BackupCompleted BackupPhase = "Completed"
	// BackupFailed means that it will never be complete.
	BackupFailed BackupPhase = "Failed"
	// BackupDeleting means that its snapshots are being deleted.
	BackupDeleting BackupPhase = "Deleting"
)

// Consistency is what a backup is consistent with.
//
// +kubebuilder:validation:Enum=Crash;Application
type Consistency string

// The levels of consistency.
const (
	// ConsistencyCrash is that of a machine that lost its power: the engine recovers
	// from its log when it starts.
	ConsistencyCrash Consistency = "Crash"
	// ConsistencyApplication means that the engine was told before the cut: what it
	// had in memory was written, and recovery has next to nothing to do.
	ConsistencyApplication Consistency = "Application"
)

// BackupStatus is what came of a backup.
type BackupStatus struct {
	// phase is how far it is.
	// +optional
	Phase BackupPhase `json:"phase,omitempty"`

	// message says more, for people. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// conditions are the facts about the backup. Known types are Ready and Copied. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// appUID is the UID of the application, by which snapshots are tagged. At most 64 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	AppUID string `json:"appUID,omitempty"`

	// account is the CloudAccount that the snapshots are in, or whose bucket a dump is sent
	// to. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Account string `json:"account,omitempty"`

	// provider is that of the cluster at the time.
	// +optional
	Provider Provider `json:"provider,omitempty"`

	// region is that of the cluster at the time. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region,omitempty"`

	// engine is that of the database.
	// +optional
	Engine Engine `json:"engine,omitempty"`

	// version is that of the engine. At most 64 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`

	// size is the size of the volumes together, for example 100Gi, or of the dump. At most 32 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Size string `json:"size,omitempty"`

	// consistency is the level that was achieved.
	// +optional
	Consistency Consistency `json:"consistency,omitempty"`

	// startTime is when work began.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// snapshotTime is the point in time that the backup is of: when the last volume was cut, or
	// the dump began.
	// +optional
	SnapshotTime *metav1.Time `json:"snapshotTime,omitempty"`

	// completionTime is when it was complete, or had failed.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// lastVerifiedTime is when a database was last started from it and checked.
	// +optional
	LastVerifiedTime *metav1.Time `json:"lastVerifiedTime,omitempty"`

	// snapshots are those of the volumes, by claim. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=claim
	// +kubebuilder:validation:MaxItems=16
	Snapshots []VolumeSnapshot `json:"snapshots,omitempty"`

	// dump is the file of the method Dump, as it was when it was made: the retention of
	// the application removes it from the cluster, also while this Backup is there.
	// +optional
	Dump *DumpFile `json:"dump,omitempty"`
}

// VolumeSnapshot is the snapshot of one volume.
type VolumeSnapshot struct {
	// claim is the name of the PersistentVolumeClaim. At most 253 characters.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Claim string `json:"claim"`

	// volume is the volume's handle in the cloud. At most 512 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Volume string `json:"volume,omitempty"`

	// volumeUID tells volumes apart that bore the same handle one after the other. At most 128 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	VolumeUID string `json:"volumeUID,omitempty"`

	// zone is where the volume is. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Zone string `json:"zone,omitempty"`

	// size is the volume's, for example 100Gi. At most 32 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Size string `json:"size,omitempty"`

	CloudSnapshot `json:",inline"`

	// copies are those in other regions. At most 8.
	// +optional
	// +listType=map
	// +listMapKey=region
	// +kubebuilder:validation:MaxItems=8
	Copies []CloudSnapshot `json:"copies,omitempty"`
}

// CloudSnapshot is a snapshot in a cloud, or what is known of the attempt to make it.
type CloudSnapshot struct {
	// region is where it is. At most 63 characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region"`

	// name is what it is called in the cloud. At most 128 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name,omitempty"`

	// id is the snapshot's handle in the cloud. At most 512 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ID string `json:"id,omitempty"`

	// state is how far it is: Creating, Taken, Ready, Failed or Deleting. Empty: not
	// known to exist. At most 16 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	State string `json:"state,omitempty"`

	// progress is in percent. 0 to 100.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Progress int32 `json:"progress,omitempty"`

	// attempt counts the attempts that failed after the cloud had accepted them.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Attempt int32 `json:"attempt,omitempty"`

	// requests counts the requests to make it that were sent and not refused.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Requests int32 `json:"requests,omitempty"`

	// sentTime is when the last of them was sent. Until what it made must be visible, no
	// other is sent.
	// +optional
	SentTime *metav1.MicroTime `json:"sentTime,omitempty"`

	// message is what the cloud says to a failure. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}
