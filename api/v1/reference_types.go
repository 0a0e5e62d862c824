package v1

// ObjectReference refers to an object by name. The field that has this type says of which
// kind it is. Objects of namespaced kinds are in the namespace of the referring object.
type ObjectReference struct {
	// name is the name of the object. 1 to 63 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`
}

// LocalSecretReference refers to a Secret in the same namespace.
type LocalSecretReference struct {
	// name is the name of the Secret. 1 to 253 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`
}
