package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Restore brings the data of a Backup to a cluster: volumes are made from its snapshots
// and bound to the claims that the database has there, or its dump is loaded into the
// database.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=erst,categories=shopfleet
// +kubebuilder:printcolumn:name="Backup",type=string,JSONPath=`.spec.backupRef.name`
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterRef.name`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must be at most 63 characters: it becomes a tag in the cloud"
type Restore struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what to restore, and where. It cannot be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec cannot be changed: make another Restore"
	Spec RestoreSpec `json:"spec"`

	// status is what came of it.
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

// RestoreSpec is what to restore, and where.
type RestoreSpec struct {
	// backupRef refers to the Backup in the same namespace.
	// +required
	BackupRef ObjectReference `json:"backupRef"`

	// clusterRef refers to the MemberCluster to restore to. The default is the cluster that
	// was backed up.
	// +optional
	ClusterRef ObjectReference `json:"clusterRef,omitempty,omitzero"`

	// zone is where the volumes are to be. The default is the zone of the volume that
	// is replaced, else the first of the cluster's. 1 to 63 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Zone string `json:"zone,omitempty"`

	// overwrite allows to put the restored volume in the place of one that the
	// database has there. That volume is kept in the cloud, and its PersistentVolume
	// in the cluster. For a dump it allows to replace what a database has that is not
	// empty, of which nothing is kept. The default is false.
	// +optional
	Overwrite bool `json:"overwrite,omitempty"`

	// verify restores into a namespace of its own, shopfleet-verify, starts the engine
	// there, writes to the Backup that it could be, and takes everything away again. The
	// application is not touched. The default is false.
	// +optional
	Verify bool `json:"verify,omitempty"`
}

// RestorePhase is how far a restore is.
//
// +kubebuilder:validation:Enum=Pending;InProgress;Starting;CleaningUp;Completed;Failed
type RestorePhase string

// The phases of a restore.
const (
	// RestorePending means that nothing has been changed yet.
	RestorePending RestorePhase = "Pending"
	// RestoreInProgress means that volumes are made and put in their place.
	RestoreInProgress RestorePhase = "InProgress"
	// RestoreStarting means that the claims are bound and the database starts.
	RestoreStarting RestorePhase = "Starting"
	// RestoreCleaningUp means that a backup was verified, or could not be, or that a dump
	// could not be loaded, and what was made for it is being taken away.
	RestoreCleaningUp RestorePhase = "CleaningUp"
	// RestoreCompleted means that the database runs on the restored data.
	RestoreCompleted RestorePhase = "Completed"
	// RestoreFailed means that it will never be complete.
	RestoreFailed RestorePhase = "Failed"
)

// RestoreStatus is what came of a restore.
type RestoreStatus struct {
	// phase is how far it is.
	// +optional
	Phase RestorePhase `json:"phase,omitempty"`

	// message says more, for people. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// conditions are the facts about the restore. The known type is Ready. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// startTime is when work began.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// completionTime is when it was complete, or had failed.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// volumes are those that are restored, by claim, and those of a database that a dump
	// is verified in. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=claim
	// +kubebuilder:validation:MaxItems=16
	Volumes []RestoredVolume `json:"volumes,omitempty"`

	// dump is how far it is, when the backup is a dump.
	// +optional
	Dump *RestoredDump `json:"dump,omitempty"`
}

// RestoredVolume is a volume made from a snapshot.
type RestoredVolume struct {
	// claim is the name of the PersistentVolumeClaim. At most 253 characters.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Claim string `json:"claim"`

	// snapshot is the handle of the snapshot that it is made from. At most 512 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Snapshot string `json:"snapshot,omitempty"`

	// zone is where it is. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Zone string `json:"zone,omitempty"`

	// volume is its handle in the cloud. At most 512 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Volume string `json:"volume,omitempty"`

	// persistentVolume is its name in the cluster. At most 253 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	PersistentVolume string `json:"persistentVolume,omitempty"`

	// replaced is the PersistentVolume that was in its place, and is kept. At most 253 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Replaced string `json:"replaced,omitempty"`

	// state is how far it is: Creating, Ready, Bound or Failed. At most 16 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	State string `json:"state,omitempty"`

	// attempt counts the attempts that failed after the cloud had accepted them.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Attempt int32 `json:"attempt,omitempty"`
}
