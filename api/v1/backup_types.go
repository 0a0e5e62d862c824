package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	// Delete deletes them, status.deleteLockDays later, until when Retain still keeps them.
	// Delete is refused when a Backup is created; set it on the existing Backup just before
	// you delete it. Retention does the same, and waits for no lock of what has expired by
	// status.retention. In either case the dump's file in the cluster stays until the CronJob there removes it.
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
