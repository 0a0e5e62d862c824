package v1

// Orphans is the data in a cloud account that carries the hub's tags, or is below its prefix in the bucket, and that
// no Backup names.
type Orphans struct {
	// snapshots is the number of snapshots.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Snapshots int32 `json:"snapshots,omitempty"`

	// dumps is the number of dumps in the bucket, complete or not.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Dumps int32 `json:"dumps,omitempty"`

	// size is the size of the volumes of the snapshots and of the dumps, for example 100Gi. A
	// provider may charge less for a snapshot. At most 32 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Size string `json:"size,omitempty"`

	// items are the largest of them. At most 20.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Items []Orphan `json:"items,omitempty"`

	// unlisted are the regions, or bucket, that could not be listed. What is there is not counted. At most 100, of at
	// most 63 characters.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=63
	Unlisted []string `json:"unlisted,omitempty"`
}

// Orphan is a snapshot or a dump that no Backup names.
type Orphan struct {
	// id is the ID of the snapshot, or the prefix of the dump in the bucket. At most 512 characters.
	// +required
	// +kubebuilder:validation:MaxLength=512
	ID string `json:"id"`

	// region is the region of the snapshot. Absent: it is a dump. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region,omitempty"`

	// size is the size of the volume of the snapshot, or of the dump, for example 100Gi. At most 32 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Size string `json:"size,omitempty"`

	// backup is the namespace and the name of the Backup that the snapshot was made for. At most 512 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Backup string `json:"backup,omitempty"`
}
