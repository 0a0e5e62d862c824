package v1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
)

// Override changes the spec of an application in some clusters. A field that is not set changes
// nothing. Numbers and texts replace those of the spec, maps are merged by key and lists by name.
type Override struct {
	// selector selects the clusters. Absent: every cluster.
	// +optional
	Selector ClusterCriteria `json:"selector,omitempty,omitzero"`

	// image replaces spec.image. 1 to 512 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9][a-zA-Z0-9._/:@-]*$')",message="image must be a reference such as registry.example.com/shop:v1"
	Image string `json:"image,omitempty"`

	// imageRegistry replaces spec.imageRegistry. 1 to 253 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$`
	ImageRegistry string `json:"imageRegistry,omitempty"`

	// replicas replaces spec.replicas. 0 to 1000.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Replicas *int32 `json:"replicas,omitempty"`

	// frontend changes spec.frontend.
	// +optional
	Frontend WorkloadOverride `json:"frontend,omitempty,omitzero"`

	// backend changes spec.backend.
	// +optional
	Backend WorkloadOverride `json:"backend,omitempty,omitzero"`

	// database changes spec.database. It has no effect without a database.
	// +optional
	Database DatabaseOverride `json:"database,omitempty,omitzero"`

	// ingress changes spec.ingress.
	// +optional
	Ingress IngressOverride `json:"ingress,omitempty,omitzero"`

	// jsonPatches change what the fields above do not, in order, after them. At most 20.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	JSONPatches []JSONPatch `json:"jsonPatches,omitempty"`
}

// ContainerOverride changes a container and the pods that it runs in.
type ContainerOverride struct {
	// image replaces the image. 1 to 512 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9][a-zA-Z0-9._/:@-]*$')",message="image must be a reference such as registry.example.com/shop:v1"
	Image string `json:"image,omitempty"`

	// resources are merged with the requests and limits by name.
	// +optional
	Resources ResourcesOverride `json:"resources,omitempty,omitzero"`

	// imagePullSecrets are added to those of the spec. At most 10.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=10
	ImagePullSecrets []LocalSecretReference `json:"imagePullSecrets,omitempty"`

	// nodeSelector is merged with that of the spec by label. At most 50, with keys of at most
	// 317 and values of at most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && self[k].size() <= 63)",message="nodeSelector must have keys of at most 317 and values of at most 63 characters"
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
}

// ResourcesOverride changes requests and limits of a container.
type ResourcesOverride struct {
	// requests are merged with those of the spec by name. At most 6.
	// +optional
	Requests AmountsOverride `json:"requests,omitempty"`

	// limits are merged with those of the spec by name. At most 6.
	// +optional
	Limits AmountsOverride `json:"limits,omitempty"`
}

// AmountsOverride are quantities by name of the resource. The spec that they become part of is
// validated in each cluster: a rule about each quantity of each override would exceed the
// budget of the API server.
//
// +kubebuilder:validation:MaxProperties=6
type AmountsOverride map[ResourceName]resource.Quantity

// WorkloadOverride changes a backend or a frontend.
type WorkloadOverride struct {
	ContainerOverride `json:",inline"`

	// replicas replaces the number of pods. 0 to 1000. The spec must not have autoscaling.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Replicas *int32 `json:"replicas,omitempty"`

	// env is merged with the environment variables of the spec by name. At most 100, with
	// names of 1 to 253 and values of at most 32768 characters.
	// +optional
	Env EnvVars `json:"env,omitempty"`
}

// DatabaseOverride changes a database.
type DatabaseOverride struct {
	ContainerOverride `json:",inline"`

	// replicas replaces the number of database pods. 1 to 9.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	Replicas *int32 `json:"replicas,omitempty"`

	// storageProfile replaces the storageProfile or storageClassName of a database that does
	// not exist yet: Standard, Fast or Archive.
	// +optional
	StorageProfile StorageProfile `json:"storageProfile,omitempty"`
}

// IngressOverride changes the access from outside the cluster.
type IngressOverride struct {
	// host replaces the DNS name. At most 253 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="host must be a DNS name in lower case, for example shop.example.com, without scheme, port or path"
	Host string `json:"host,omitempty"`

	// className replaces the name of the IngressClass. 1 to 253 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	ClassName *string `json:"className,omitempty"`

	// annotations are merged with those of the spec by key. At most 50, with keys of at most
	// 317 and values of at most 4096 characters. Keys of ecommerce.io are reserved.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && self[k].size() <= 4096)",message="annotations must have keys of at most 317 and values of at most 4096 characters"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('ecommerce.io/'))",message="annotations must not begin with ecommerce.io/: the prefix is reserved"
	Annotations map[string]string `json:"annotations,omitempty"`
}

// JSONPatch is an operation of RFC 6902 on the spec. It cannot change what the hub decides by:
// placement, overrides, propagate, deletion, paused, and the engine, version and backup policy of the database.
//
// +kubebuilder:validation:XValidation:rule="has(self.from) == (self.op in ['move', 'copy'])",fieldPath=".from",message="from must be set when op is move or copy, and absent otherwise"
type JSONPatch struct {
	// op is the operation: add, remove, replace, move, copy or test.
	// +required
	// +kubebuilder:validation:Enum=add;remove;replace;move;copy;test
	Op string `json:"op"`

	// path is a JSON pointer in the spec, for example /backend/port. 2 to 512 characters.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^(/([^~/]|~[01])+)+$`
	// +kubebuilder:validation:XValidation:rule="!self.matches('^/(placement|overrides|rollout|propagate|deletion|paused|database/engine|database/version|database/backup)(/|$)')",message="path must not be in placement, overrides, rollout, propagate, deletion, paused, or database/engine, version and backup: they are the same in all clusters"
	Path string `json:"path"`

	// from is the JSON pointer that move and copy read. 2 to 512 characters; required for them,
	// and forbidden for the others.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^(/([^~/]|~[01])+)+$`
	From string `json:"from,omitempty"`

	// value is the value for add, replace and test, which require it. It cannot be null.
	// +optional
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:pruning:PreserveUnknownFields
	Value runtime.RawExtension `json:"value,omitempty,omitzero"`
}
