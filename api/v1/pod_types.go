package v1

// PodSettings are the settings of the pods of a component that depend on the cluster: where they
// run, and with what identity. Each cluster must have what they refer to.
type PodSettings struct {
	// imagePullSecrets refer to Secrets of type kubernetes.io/dockerconfigjson in the same
	// namespace. At most 10.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=10
	ImagePullSecrets []LocalSecretReference `json:"imagePullSecrets,omitempty"`

	// nodeSelector are labels that the nodes must have. At most 50, with keys of at most 317
	// and values of at most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && self[k].size() <= 63)",message="nodeSelector must have keys of at most 317 and values of at most 63 characters"
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations are the taints that the pods tolerate. At most 50, with keys of at most 317
	// and values of at most 63 characters.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Tolerations []Toleration `json:"tolerations,omitempty"`

	// affinity constrains the nodes by their labels, and by the pods that they run. Pods are
	// also spread over nodes and zones if possible.
	// +optional
	Affinity *Affinity `json:"affinity,omitempty"`

	// priorityClassName is the PriorityClass of the pods. Absent: the cluster's default. 1 to
	// 253 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	PriorityClassName string `json:"priorityClassName,omitempty"`

	// serviceAccountAnnotations are added to the ServiceAccount of the pods, for example
	// eks.amazonaws.com/role-arn. At most 50, with keys of at most 317 and values of at most
	// 4096 characters. Keys of ecommerce.io are reserved.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && self[k].size() <= 4096)",message="serviceAccountAnnotations must have keys of at most 317 and values of at most 4096 characters"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('ecommerce.io/'))",message="serviceAccountAnnotations must not begin with ecommerce.io/: the prefix is reserved"
	ServiceAccountAnnotations map[string]string `json:"serviceAccountAnnotations,omitempty"`

	// podLabels are added to the labels of the pods, for example azure.workload.identity/use. A change
	// restarts the pods. At most 50, with keys of at most 317 and values of at most 63 characters. Keys of
	// ecommerce.io and kubernetes.io, and those that controllers set, are reserved.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && self[k].size() <= 63)",message="podLabels must have keys of at most 317 and values of at most 63 characters"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('ecommerce.io/') && !k.startsWith('kubernetes.io/') && !k.contains('.kubernetes.io/'))",message="podLabels must not begin with ecommerce.io/, kubernetes.io/ or a domain of kubernetes.io: the prefixes are reserved"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !(k in ['pod-template-hash', 'controller-revision-hash', 'controller-uid', 'job-name']))",message="podLabels must not have pod-template-hash, controller-revision-hash, controller-uid or job-name: controllers set them"
	PodLabels map[string]string `json:"podLabels,omitempty"`

	// podAnnotations are added to the annotations of the pods, for example sidecar.istio.io/inject, and
	// take precedence over those for Prometheus. A change restarts the pods. At most 50, with keys of at
	// most 317 and values of at most 4096 characters. Keys of ecommerce.io are reserved.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && self[k].size() <= 4096)",message="podAnnotations must have keys of at most 317 and values of at most 4096 characters"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !k.startsWith('ecommerce.io/'))",message="podAnnotations must not begin with ecommerce.io/: the prefix is reserved"
	PodAnnotations map[string]string `json:"podAnnotations,omitempty"`
}

// PodUserIDs represents who gives the pods of an application the IDs of their users and groups.
//
// +kubebuilder:validation:Enum=Fixed;Namespace
type PodUserIDs string

// Who gives the IDs.
const (
	PodUserIDsFixed     PodUserIDs = "Fixed"
	PodUserIDsNamespace PodUserIDs = "Namespace"
)

// Probes define how the kubelet probes a container.
type Probes struct {
	// readinessPath is the path, with an optional query, of an HTTP GET on the port that must
	// succeed while the container gets requests. Absent: the port must be open. 1 to 512
	// characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^/[!-~]*$`
	ReadinessPath string `json:"readinessPath,omitempty"`

	// livenessPath is the path, with an optional query, of an HTTP GET on the port that must
	// succeed within five minutes of the start, and later, or the container is restarted.
	// Absent: the port must be open. 1 to 512 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^/[!-~]*$`
	LivenessPath string `json:"livenessPath,omitempty"`
}
