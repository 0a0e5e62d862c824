package v1

import "k8s.io/apimachinery/pkg/api/resource"

// EnvVars are environment variables of a container.
//
// +listType=map
// +listMapKey=name
// +kubebuilder:validation:MaxItems=100
type EnvVars []EnvVar

// EnvVar is an environment variable of a container. Its fields are those of Kubernetes, with bounds, but for
// valueFrom.fileKeyRef.
//
// +kubebuilder:validation:XValidation:rule="!has(self.valueFrom) || !has(self.value) || self.value.size() == 0",message="env must have value or valueFrom, not both"
type EnvVar struct {
	// name is the name of the variable. 1 to 253 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// value is its value, in which $(NAME) refers to a variable before it. Longer ones belong in a ConfigMap. At
	// most 32768 characters; the default is the empty text.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Value string `json:"value,omitempty"`

	// valueFrom is the source of the value when a container starts. It excludes value.
	// +optional
	ValueFrom *EnvVarSource `json:"valueFrom,omitempty"`
}

// EnvVarSource is the source of the value of an environment variable.
//
// +kubebuilder:validation:XValidation:rule="[has(self.configMapKeyRef), has(self.secretKeyRef), has(self.fieldRef), has(self.resourceFieldRef)].filter(x, x).size() == 1",message="env must have exactly one of configMapKeyRef, secretKeyRef, fieldRef and resourceFieldRef in valueFrom"
type EnvVarSource struct {
	// fieldRef refers to a field of the pod.
	// +optional
	FieldRef *FieldReference `json:"fieldRef,omitempty"`

	// resourceFieldRef refers to a request or a limit of a container.
	// +optional
	ResourceFieldRef *ResourceFieldReference `json:"resourceFieldRef,omitempty"`

	// configMapKeyRef refers to a key of a ConfigMap in the same namespace.
	// +optional
	ConfigMapKeyRef *KeyReference `json:"configMapKeyRef,omitempty"`

	// secretKeyRef refers to a key of a Secret in the same namespace.
	// +optional
	SecretKeyRef *KeyReference `json:"secretKeyRef,omitempty"`
}

// FieldReference refers to a field of a pod.
type FieldReference struct {
	// apiVersion is the version of the pod's schema that fieldPath is of. The only one, and the default, is v1.
	// +optional
	// +kubebuilder:validation:Enum=v1
	APIVersion string `json:"apiVersion,omitempty"`

	// fieldPath is the path of the field, for example metadata.name or status.podIP. 1 to 512 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	FieldPath string `json:"fieldPath"`
}

// ResourceFieldReference refers to a request or a limit of a container.
type ResourceFieldReference struct {
	// containerName is the name of the container. Absent: the one that has the variable. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	ContainerName string `json:"containerName,omitempty"`

	// resource is the request or limit, for example limits.cpu. 1 to 253 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Resource string `json:"resource"`

	// divisor is the unit of the value, for example 1Mi. The default is 1.
	// +optional
	Divisor resource.Quantity `json:"divisor,omitempty,omitzero"`
}

// KeyReference refers to a key of a ConfigMap or a Secret in the same namespace.
type KeyReference struct {
	// name is the name of the object. 1 to 253 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// key is the key of its data. 1 to 253 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`

	// optional is true if pods start without the object or the key. The default is false.
	// +optional
	Optional *bool `json:"optional,omitempty"`
}

// EnvFromSource is a ConfigMap or a Secret whose keys become environment variables.
//
// +kubebuilder:validation:XValidation:rule="has(self.configMapRef) != has(self.secretRef)",message="envFrom must have either configMapRef or secretRef in each entry"
type EnvFromSource struct {
	// prefix is put before each key. At most 253 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Prefix string `json:"prefix,omitempty"`

	// configMapRef refers to a ConfigMap in the same namespace. It excludes secretRef.
	// +optional
	ConfigMapRef *EnvFromReference `json:"configMapRef,omitempty"`

	// secretRef refers to a Secret in the same namespace. It excludes configMapRef.
	// +optional
	SecretRef *EnvFromReference `json:"secretRef,omitempty"`
}

// EnvFromReference refers to a ConfigMap or a Secret in the same namespace.
type EnvFromReference struct {
	// name is the name of the object. 1 to 253 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// optional is true if pods start without the object. The default is false.
	// +optional
	Optional *bool `json:"optional,omitempty"`
}
