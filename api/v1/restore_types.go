package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Restore represents a restore of a Backup to a cluster. The CSI driver there makes volumes
// from its snapshots, which are bound to the claims of the database, or its dump is loaded into
// the database.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="ecommerce.io/deletion-protection=true"
// +kubebuilder:resource:shortName=erst,categories=shopfleet
// +kubebuilder:printcolumn:name="Backup",type=string,JSONPath=`.spec.backupRef.name`
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterRef.name`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Step",type=string,priority=1,JSONPath=`.status.steps[-1:].name`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must be at most 63 characters: it becomes a tag in the cloud"
type Restore struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines what is restored, and where. It is immutable.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec cannot be changed: create another Restore"
	Spec RestoreSpec `json:"spec"`

	// status is the observed state of the restore.
	// +optional
	// +kubebuilder:default={phase: "Pending"}
	Status RestoreStatus `json:"status,omitempty,omitzero"`
}

// RestoreList is a list of Restores.
//
// +kubebuilder:object:root=true
type RestoreList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Restore `json:"items"`
}

// RestoreSpec defines what is restored, and where.
type RestoreSpec struct {
	// backupRef refers to the Backup in the same namespace.
	// +required
	BackupRef ObjectReference `json:"backupRef"`

	// clusterRef refers to the MemberCluster to restore to. The default is the cluster that
	// was backed up.
	// +optional
	ClusterRef ObjectReference `json:"clusterRef,omitempty,omitzero"`

	// zone is the label topology.kubernetes.io/zone of the nodes on which the new volumes are
	// made. The default is that of a node on which the database may run. It has no effect on
	// dumps. 1 to 63 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Zone string `json:"zone,omitempty"`

	// overwrite allows the restore to replace the volumes that the database and its replicas
	// have in the cluster. A replaced volume is kept in the cloud, and its PersistentVolume in the
	// cluster. For a dump it allows the restore to replace the contents of a database that
	// is not empty; those are not kept. The default is false.
	// +optional
	Overwrite bool `json:"overwrite,omitempty"`

	// verify restores into the namespace shopfleet-verify of the cluster, has the engine recover
	// the data of a snapshot, or load a dump, and read all of it, records the result in the
	// Backup, and deletes everything that it created. The application is not affected. The
	// default is false.
	// +optional
	Verify bool `json:"verify,omitempty"`
}

// RestorePhase is the progress of a restore.
//
// +kubebuilder:validation:Enum=Pending;InProgress;Starting;CleaningUp;Completed;Failed
type RestorePhase string

// Phases of a restore.
const (
	// RestorePending means that nothing has been changed yet.
	RestorePending RestorePhase = "Pending"
	// RestoreInProgress means that volumes are being made and bound, or a dump is being loaded.
	RestoreInProgress RestorePhase = "InProgress"
	// RestoreStarting means that the claims are bound and the database is starting.
	RestoreStarting RestorePhase = "Starting"
	// RestoreCleaningUp means that a verification ended, or that a dump could not be
	// loaded, and the objects that were created for it are being deleted.
	RestoreCleaningUp RestorePhase = "CleaningUp"
	// RestoreCompleted means that the database runs on the restored data.
	RestoreCompleted RestorePhase = "Completed"
	// RestoreFailed means that the restore will never complete.
	RestoreFailed RestorePhase = "Failed"
)

// RestoreStatus is the observed state of a restore.
type RestoreStatus struct {
	// phase is the progress of the restore: Pending, InProgress, Starting, CleaningUp,
	// Completed or Failed. Schema default: Pending.
	// +optional
	Phase RestorePhase `json:"phase,omitempty"`

	// message is a human-readable explanation of the phase. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// conditions are the latest observations of the restore. The known types are Ready, and
	// Stalled while volumes are replaced and it needs a user. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status reflects.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// steps are the steps that were begun, in their order: of snapshots Resolve, Import, Stop,
	// Retire, Bind, Start and Release, of a dump Resolve and Load, and of a verification Resolve,
	// Import or Load, and Prove. A restore stands at the last one. From Retire on it is not
	// taken back, but by Halt, Return and PutBack, which put the replaced volumes back when a user
	// asks for it, or Rebind, if they are gone by then and the restore is deleted. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Steps []StepStatus `json:"steps,omitempty"`

	// startTime is the time at which work on the restore began.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// resumeTime is the time at which the restore went on after its application or its member
	// had been paused, or after Retire its member had been away. Its time limits begin again
	// then. Absent when it has ended.
	// +optional
	ResumeTime *metav1.Time `json:"resumeTime,omitempty"`

	// completionTime is the time at which the restore completed or failed.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// volumes are the volumes that are restored from snapshots, by claim. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=claim
	// +kubebuilder:validation:MaxItems=16
	Volumes []RestoredVolume `json:"volumes,omitempty"`

	// replicaVolumes are the names of the PersistentVolumes of replicas, running or former, whose
	// claims were deleted when the primary's data was replaced or put back: replicas copy it again.
	// They are kept. At most 32; of more, the rest is kept and not named.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=253
	ReplicaVolumes []string `json:"replicaVolumes,omitempty"`

	// dump is the progress of the restore of a dump; absent for snapshots.
	// +optional
	Dump *RestoredDump `json:"dump,omitempty"`
}

// RestoredVolumeState is the progress of a restored volume.
//
// +kubebuilder:validation:Enum=Creating;Ready;Failed;Replacing;Bound
type RestoredVolumeState string

// States of a restored volume.
const (
	// RestoredVolumeCreating means that the volume is being imported, or is about to be.
	RestoredVolumeCreating RestoredVolumeState = "Creating"
	// RestoredVolumeReady means that the volume is there and that its data was opened. That of a
	// verification is made when its Job starts.
	RestoredVolumeReady RestoredVolumeState = "Ready"
	// RestoredVolumeFailed is no longer set.
	RestoredVolumeFailed RestoredVolumeState = "Failed"
	// RestoredVolumeReplacing is no longer set: the step Retire stands for it.
	RestoredVolumeReplacing RestoredVolumeState = "Replacing"
	// RestoredVolumeBound means that the claim is bound to the volume.
	RestoredVolumeBound RestoredVolumeState = "Bound"
)

// RestoredVolume is a volume made from a snapshot.
type RestoredVolume struct {
	// claim is the name of the PersistentVolumeClaim. At most 253 characters.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Claim string `json:"claim"`

	// snapshot is the ID of the snapshot that the volume is made from. At most 512 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Snapshot string `json:"snapshot,omitempty"`

	// zone is no longer set: the PersistentVolume has the zone. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Zone string `json:"zone,omitempty"`

	// volume is no longer set: the PersistentVolume has the ID of the volume. At most 512
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Volume string `json:"volume,omitempty"`

	// persistentVolume is the name of the PersistentVolume in the cluster. At most 253
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PersistentVolume string `json:"persistentVolume,omitempty"`

	// replaced is the name of the PersistentVolume that was replaced, and is kept. At most
	// 253 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Replaced string `json:"replaced,omitempty"`

	// state is the progress of the volume: Creating, Ready or Bound; Failed and Replacing are no
	// longer set. Empty means that the import was not begun.
	// +optional
	State RestoredVolumeState `json:"state,omitempty"`

	// attempt is the number of imports whose VolumeSnapshot was deleted by others.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Attempt int32 `json:"attempt,omitempty"`
}
