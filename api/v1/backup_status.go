package v1

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

	// conditions are the latest observations of the backup. Known types are Ready and
	// Copied. At most 16.
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

	// hubUID is the UID of the hub whose tag the snapshots carry, or below whose prefix the dump
	// is. Absent: of this hub. At most 64 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	HubUID string `json:"hubUID,omitempty"`

	// retention is the retention of the application when the backup began. The newest one that
	// is known applies once the application is deleted.
	// +optional
	Retention *Retention `json:"retention,omitempty"`

	// deleteLockDays is for how many days after the deletion of the Backup its data stays:
	// spec.database.backup.deleteLockDays of the application when the Backup began.
	// 0 to 365.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=365
	DeleteLockDays int32 `json:"deleteLockDays,omitempty"`

	// expired is true if retention has decided to delete the Backup: no lock keeps what is older than the
	// recorded retention, or has failed.
	// +optional
	Expired bool `json:"expired,omitempty"`

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

	// position is the position of the database's log right before a snapshot was first requested: of
	// PostgreSQL the system identifier, the timeline and the LSN, of MySQL the executed GTIDs. All
	// up to there was on the volume, and a Restore refuses data that ends before it. Absent if it is
	// not known, and for dumps. At most 256 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Position string `json:"position,omitempty"`

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

	// lastVerifiedTime is the time at which the backup was last restored to be checked, and
	// nothing was wrong.
	// +optional
	LastVerifiedTime *metav1.Time `json:"lastVerifiedTime,omitempty"`

	// verified says what was checked at lastVerifiedTime.
	// +optional
	Verified *Verified `json:"verified,omitempty"`

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

// Verified describes a check of a backup.
type Verified struct {
	// from is the place of what was restored.
	// +optional
	From VerifiedFrom `json:"from,omitempty,omitzero"`

	// message says what the data was read by. At most 512 bytes.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

// VerifiedFrom is the place of what was restored to check a backup.
type VerifiedFrom struct {
	// region is the region of the snapshot, its copy or, for a dump, of the cluster. At most
	// 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region,omitempty"`

	// cluster is the name of the MemberCluster in which it was restored. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Cluster string `json:"cluster,omitempty"`
}
