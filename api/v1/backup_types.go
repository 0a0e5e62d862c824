package v1

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// BackupMethod is the way a database is backed up.
//
// +kubebuilder:validation:Enum=Auto;Snapshot;Dump
type BackupMethod string

// Backup methods.
const (
	BackupAuto     BackupMethod = "Auto"
	BackupSnapshot BackupMethod = "Snapshot"
	BackupDump     BackupMethod = "Dump"
)

// Backup represents one backup of the database of one application in one cluster. The hub
// creates Backups by the application's schedule. A Backup that a user creates starts at
// once.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="ecommerce.io/deletion-protection=true"
// +kubebuilder:resource:shortName=ebk,categories=shopfleet
// +kubebuilder:selectablefield:JSONPath=`.spec.appRef.name`
// +kubebuilder:selectablefield:JSONPath=`.spec.clusterRef.name`
// +kubebuilder:printcolumn:name="App",type=string,JSONPath=`.spec.appRef.name`
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterRef.name`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Size",type=string,JSONPath=`.status.size`
// +kubebuilder:printcolumn:name="Taken",type=date,JSONPath=`.status.snapshotTime`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Step",type=string,priority=1,JSONPath=`.status.steps[-1:].name`
// +kubebuilder:printcolumn:name="Consistency",type=string,priority=1,JSONPath=`.status.consistency`
// +kubebuilder:printcolumn:name="Verified",type=date,priority=1,JSONPath=`.status.lastVerifiedTime`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must be at most 63 characters: it becomes a tag in the cloud"
type Backup struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines what is backed up. It is immutable except for deletion.
	// +required
	Spec BackupSpec `json:"spec"`

	// status is the observed state of the backup.
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

// BackupSpec defines what is backed up.
//
// +kubebuilder:validation:XValidation:rule="self.appRef == oldSelf.appRef",fieldPath=".appRef",message="appRef cannot be changed: create another Backup"
// +kubebuilder:validation:XValidation:rule="self.clusterRef == oldSelf.clusterRef",fieldPath=".clusterRef",message="clusterRef cannot be changed: create another Backup"
// +kubebuilder:validation:XValidation:rule="self.method == oldSelf.method",fieldPath=".method",message="method cannot be changed: create another Backup"
// +kubebuilder:validation:XValidation:rule="has(self.scheduledTime) == has(oldSelf.scheduledTime) && (!has(self.scheduledTime) || self.scheduledTime == oldSelf.scheduledTime)",fieldPath=".scheduledTime",message="scheduledTime cannot be changed: create another Backup"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !has(self.deletion) || self.deletion != 'Delete'",optionalOldSelf=true,fieldPath=".deletion",message="deletion must be Retain when a Backup is created: to delete its data as well, set Delete on the existing Backup just before you delete it"
// +kubebuilder:validation:XValidation:rule="has(self.copyToRegions) == has(oldSelf.copyToRegions) && (!has(self.copyToRegions) || self.copyToRegions == oldSelf.copyToRegions)",fieldPath=".copyToRegions",message="copyToRegions cannot be changed: create another Backup"
type BackupSpec struct {
	// appRef refers to the EcommerceApp in the same namespace. It cannot be changed.
	// +required
	AppRef ObjectReference `json:"appRef"`

	// clusterRef refers to the MemberCluster whose database is backed up. It cannot be
	// changed.
	// +required
	ClusterRef ObjectReference `json:"clusterRef"`

	// method is Snapshot or Dump. The default is Snapshot. Dump runs the cluster's dump
	// CronJob once, which must exist. It cannot be changed.
	// +optional
	// +default="Snapshot"
	// +kubebuilder:default=Snapshot
	// +kubebuilder:validation:XValidation:rule="self != 'Auto'",message="method must be Snapshot or Dump"
	Method BackupMethod `json:"method,omitempty"`

	// scheduledTime is the time of the schedule that the Backup was created for. It is
	// absent for a Backup that a user created. It cannot be changed.
	// +optional
	ScheduledTime *metav1.Time `json:"scheduledTime,omitempty"`

	// copyToRegions lists the regions that the snapshots are copied to, as in
	// spec.database.backup of an EcommerceApp. It cannot be changed. At most 8, of 1 to 63
	// characters.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	CopyToRegions []string `json:"copyToRegions,omitempty"`

	// deletion decides whether the snapshots, and the dump in the bucket, are deleted
	// together with the Backup. Retain, the default, keeps them, whatever deletes the
	// Backup: a user, the deletion of its namespace, or the deletion of the
	// CustomResourceDefinition. kubectl shopfleet backup rediscover finds them again.
	// Delete deletes them. Delete is refused when a Backup is created; set it on the
	// existing Backup just before you delete it. Retention does the same. In either case
	// the dump's file in the cluster stays until the CronJob there removes it.
	// +optional
	// +default="Retain"
	// +kubebuilder:default=Retain
	Deletion DeletionPolicy `json:"deletion,omitempty"`
}

// DeletionPolicy decides whether data is deleted together with the object that represents
// it.
//
// +kubebuilder:validation:Enum=Delete;Retain
type DeletionPolicy string

// Deletion policies.
const (
	DeletionDelete DeletionPolicy = "Delete"
	DeletionRetain DeletionPolicy = "Retain"
)

// BackupPhase is the progress of a backup.
//
// +kubebuilder:validation:Enum=Pending;InProgress;Finalizing;Completed;PartiallyCompleted;Failed;Deleting
type BackupPhase string

// Phases of a backup.
const (
	// BackupPending means that nothing has been requested from the cloud yet.
	BackupPending BackupPhase = "Pending"
	// BackupInProgress means that the snapshots or the dump are not taken yet.
	BackupInProgress BackupPhase = "InProgress"
	// BackupFinalizing means that the snapshots or the dump are taken, and data is still
	// being uploaded or copied.
	BackupFinalizing BackupPhase = "Finalizing"
	// BackupCompleted means that the backup can be restored and that all copies exist.
	BackupCompleted BackupPhase = "Completed"
	// BackupPartiallyCompleted means that the backup can be restored where it is, and that a
	// copy of it, or its dump in the bucket, failed. The condition Copied says which and why.
	BackupPartiallyCompleted BackupPhase = "PartiallyCompleted"
	// BackupFailed means that the backup will never complete, or that its dump was removed.
	BackupFailed BackupPhase = "Failed"
	// BackupDeleting means that the snapshots of the backup are being deleted.
	BackupDeleting BackupPhase = "Deleting"
)

// IsSuccessful reports whether a backup in the phase can be restored: everywhere, or where it is.
func (p BackupPhase) IsSuccessful() bool {
	return p == BackupCompleted || p == BackupPartiallyCompleted
}

// IsFinal reports whether nothing more is done for a backup in the phase, good or not.
func (p BackupPhase) IsFinal() bool { return p.IsSuccessful() || p == BackupFailed }

// Consistency is the consistency level of a backup.
//
// +kubebuilder:validation:Enum=Crash;Application
type Consistency string

// Consistency levels.
const (
	// ConsistencyCrash is the state after a power failure: the engine recovers from its log
	// when it starts.
	ConsistencyCrash Consistency = "Crash"
	// ConsistencyApplication means that the engine wrote what it held in memory right before the
	// snapshot, so that recovery has next to nothing to do, or that the data is a dump.
	ConsistencyApplication Consistency = "Application"
)

// BackupStatus is the observed state of a backup.
type BackupStatus struct {
	// phase is the progress of the backup: Pending, InProgress, Finalizing, Completed,
	// PartiallyCompleted, Failed or Deleting. Schema default: Pending.
	// +optional
	Phase BackupPhase `json:"phase,omitempty"`

	// message is a human-readable explanation of the phase. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// conditions are the latest observations of the backup. Known types are Ready, Copied
	// and Restorable. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status reflects.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// appUID is the UID of the application, which the snapshots are tagged with. At most 64
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	AppUID string `json:"appUID,omitempty"`

	// account is the name of the CloudAccount that owns the snapshots or the bucket of the
	// dump. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Account string `json:"account,omitempty"`

	// provider is the cloud provider of the cluster when the backup was taken.
	// +optional
	Provider Provider `json:"provider,omitempty"`

	// region is the region of the cluster when the backup was taken. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region,omitempty"`

	// engine is the engine of the database.
	// +optional
	Engine Engine `json:"engine,omitempty"`

	// version is the version of the engine. At most 64 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`

	// size is the total size of the volumes, for example 100Gi, or the size of the dump. At
	// most 32 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Size string `json:"size,omitempty"`

	// consistency is the consistency level that was achieved: Crash or Application.
	// +optional
	Consistency Consistency `json:"consistency,omitempty"`

	// steps are the steps that were begun, in their order: of snapshots Begin, Snapshot, Copy and
	// Seal, of a dump Begin, Dump, Send and Seal. A backup stands at the last one. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Steps []StepStatus `json:"steps,omitempty"`

	// startTime is the time at which work on the backup began.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// resumeTime is the time at which the backup went on after its member or the hub had been
	// paused. Its time limits begin again then.
	// +optional
	ResumeTime *metav1.Time `json:"resumeTime,omitempty"`

	// snapshotTime is the point in time that the backup represents: the time at which the
	// last volume snapshot was taken, or at which the dump began.
	// +optional
	SnapshotTime *metav1.Time `json:"snapshotTime,omitempty"`

	// completionTime is the time at which the backup completed or failed.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// lastVerifiedTime is the time at which a database was last started from the backup and
	// checked.
	// +optional
	LastVerifiedTime *metav1.Time `json:"lastVerifiedTime,omitempty"`

	// snapshots are the snapshots of the volumes, by claim. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=claim
	// +kubebuilder:validation:MaxItems=16
	Snapshots []VolumeSnapshot `json:"snapshots,omitempty"`

	// dump is the file of the method Dump, as it was when it was written. Retention removes
	// the file from the cluster, also while this Backup exists.
	// +optional
	Dump *DumpFile `json:"dump,omitempty"`
}

// VolumeSnapshot is the snapshot of one volume.
type VolumeSnapshot struct {
	// claim is the name of the PersistentVolumeClaim. At most 253 characters.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Claim string `json:"claim"`

	// volume is the ID of the volume in the cloud. At most 512 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Volume string `json:"volume,omitempty"`

	// volumeUID distinguishes volumes that had the same ID one after the other. At most 128
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	VolumeUID string `json:"volumeUID,omitempty"`

	// zone is the zone of the volume. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Zone string `json:"zone,omitempty"`

	// size is the size of the volume, for example 100Gi. At most 32 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Size string `json:"size,omitempty"`

	CloudSnapshot `json:",inline"`

	// copies are the copies of the snapshot in other regions. At most 8.
	// +optional
	// +listType=map
	// +listMapKey=region
	// +kubebuilder:validation:MaxItems=8
	Copies []CloudSnapshot `json:"copies,omitempty"`
}

// SnapshotMissing is the state of a snapshot that was Ready, and that the cloud does not have any more.
const SnapshotMissing = "Missing"

// IsMissing reports whether the cloud does not have a backup any more that was complete, where it was made.
func (b *Backup) IsMissing() bool {
	return b.Status.Phase.IsSuccessful() && meta.IsStatusConditionFalse(b.Status.Conditions, ConditionReady)
}

// CloudSnapshot is a snapshot in a cloud, or the state of the attempt to create it.
type CloudSnapshot struct {
	// region is the region of the snapshot. At most 63 characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region"`

	// name is the name of the snapshot in the cloud. At most 128 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Name string `json:"name,omitempty"`

	// id is the ID of the snapshot in the cloud. At most 512 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	ID string `json:"id,omitempty"`

	// state is the progress of the snapshot: Creating, Taken, Ready, Failed or Deleting; or
	// Missing, once the cloud does not have it any more. Empty means that the snapshot is not
	// known to exist. At most 16 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	State string `json:"state,omitempty"`

	// progress is the progress of the snapshot in percent. 0 to 100.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	Progress int32 `json:"progress,omitempty"`

	// attempt is the number of attempts that failed after the cloud had accepted them.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Attempt int32 `json:"attempt,omitempty"`

	// requests is the number of create requests that were sent and not refused.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Requests int32 `json:"requests,omitempty"`

	// sentTime is the time at which the last of these requests was sent. No other is sent
	// until the result of this one must be visible.
	// +optional
	SentTime *metav1.MicroTime `json:"sentTime,omitempty"`

	// message is the cloud's error message. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`
}
