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

// PropagatedKind is the kind of an object that the hub copies to the clusters of an application.
//
// +kubebuilder:validation:Enum=Secret;ConfigMap
type PropagatedKind string

// Kinds of propagated objects.
const (
	PropagatedSecret    PropagatedKind = "Secret"
	PropagatedConfigMap PropagatedKind = "ConfigMap"
)

// PropagatedObject refers to an object that the hub copies to the clusters of an application in
// the same namespace.
type PropagatedObject struct {
	// kind is the kind of the object: Secret or ConfigMap. Secrets of the types
	// kubernetes.io/service-account-token, bootstrap.kubernetes.io/token and
	// helm.sh/release.v1 are not copied.
	// +required
	Kind PropagatedKind `json:"kind"`

	// name is the name of the object. 1 to 253 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`
}

// String returns the kind and the name with a slash, as in PropagatedAnnotation.
func (o PropagatedObject) String() string { return string(o.Kind) + "/" + o.Name }
