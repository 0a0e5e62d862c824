package v1

// PlacementStatus is a placement decision.
type PlacementStatus struct {
	// decidedFor is the generation of the spec that the decision was made for.
	// +optional
	// +kubebuilder:validation:Minimum=0
	DecidedFor int64 `json:"decidedFor,omitempty"`

	// specHash is a hash of spec.placement as of the last decision that took effect. It has two
	// parts: the fields that select clusters, and all others. At most 64 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	SpecHash string `json:"specHash,omitempty"`

	// rejected counts the clusters that were not chosen, by reason. While the application
	// is placed, a change of these counts alone is not written: they are those of the last
	// change of another field. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=reason
	// +kubebuilder:validation:MaxItems=16
	Rejected []RejectedClusters `json:"rejected,omitempty"`
}

// RejectedClusters are the clusters that a placement did not choose for one reason.
type RejectedClusters struct {
	// reason is a CamelCase word for the rejection. At most 1024 characters.
	// +required
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"`

	// clusters is the number of clusters.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Clusters int32 `json:"clusters,omitempty"`

	// examples are the first of them by name. At most 3.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:items:MaxLength=63
	Examples []string `json:"examples,omitempty"`
}
