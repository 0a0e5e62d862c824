package v1

// Affinity constrains the nodes of pods. Its fields are those of Kubernetes, with bounds, but
// for namespaceSelector, matchLabelKeys and mismatchLabelKeys.
type Affinity struct {
	// nodeAffinity constrains the nodes by their labels.
	// +optional
	NodeAffinity *NodeAffinity `json:"nodeAffinity,omitempty"`

	// podAffinity constrains the pods to domains that run certain pods.
	// +optional
	PodAffinity *PodAffinity `json:"podAffinity,omitempty"`

	// podAntiAffinity constrains the pods to domains that do not run certain pods.
	// +optional
	PodAntiAffinity *PodAffinity `json:"podAntiAffinity,omitempty"`
}

// NodeAffinity constrains nodes by their labels.
type NodeAffinity struct {
	// requiredDuringSchedulingIgnoredDuringExecution are terms of which a node must match one.
	// +optional
	RequiredDuringSchedulingIgnoredDuringExecution *NodeSelector `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`

	// preferredDuringSchedulingIgnoredDuringExecution are terms that make a node preferable.
	// At most 10.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	PreferredDuringSchedulingIgnoredDuringExecution []PreferredNodes `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// NodeSelector selects the nodes that match one of its terms.
type NodeSelector struct {
	// nodeSelectorTerms are the terms. 1 to 10.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	NodeSelectorTerms []NodeSelectorTerm `json:"nodeSelectorTerms"`
}

// NodeSelectorTerm matches nodes that meet all its requirements. Without any it matches none.
type NodeSelectorTerm struct {
	// matchExpressions are requirements on labels of the node. At most 10.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	MatchExpressions []LabelRequirement `json:"matchExpressions,omitempty"`

	// matchFields are requirements on fields of the node: metadata.name. At most 10.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	MatchFields []LabelRequirement `json:"matchFields,omitempty"`
}

// PreferredNodes are nodes that are preferable by a weight.
type PreferredNodes struct {
	// weight is added to the score of a node that matches. 1 to 100.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight"`

	// preference selects the nodes.
	// +required
	Preference NodeSelectorTerm `json:"preference"`
}

// PodAffinity constrains domains by the pods that they run.
type PodAffinity struct {
	// requiredDuringSchedulingIgnoredDuringExecution are terms that must all be met. At most 10.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	RequiredDuringSchedulingIgnoredDuringExecution []PodAffinityTerm `json:"requiredDuringSchedulingIgnoredDuringExecution,omitempty"`

	// preferredDuringSchedulingIgnoredDuringExecution are terms that make a node preferable.
	// At most 10.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	PreferredDuringSchedulingIgnoredDuringExecution []PreferredPods `json:"preferredDuringSchedulingIgnoredDuringExecution,omitempty"`
}

// PreferredPods are domains that are preferable by a weight.
type PreferredPods struct {
	// weight is added to the score of a node that matches. 1 to 100.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight"`

	// podAffinityTerm selects the domains.
	// +required
	PodAffinityTerm PodAffinityTerm `json:"podAffinityTerm"`
}

// PodAffinityTerm selects domains of nodes by the pods that run there.
type PodAffinityTerm struct {
	// topologyKey is the label of nodes whose values are the domains, for example
	// kubernetes.io/hostname. 1 to 317 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	TopologyKey string `json:"topologyKey"`

	// labelSelector selects the pods. Absent: none.
	// +optional
	LabelSelector *PodSelector `json:"labelSelector,omitempty"`

	// namespaces are the namespaces of the pods. Absent: that of the application. At most 10,
	// of 1 to 63 characters.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Namespaces []string `json:"namespaces,omitempty"`
}

// PodSelector selects the pods that meet all its requirements.
type PodSelector struct {
	// matchLabels are labels that the pods must have. At most 20, with keys of at most 317 and
	// values of at most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxProperties=20
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && self[k].size() <= 63)",message="matchLabels must have keys of at most 317 and values of at most 63 characters"
	MatchLabels map[string]string `json:"matchLabels,omitempty"`

	// matchExpressions are requirements on labels of the pods. At most 10.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:XValidation:rule="self.all(e, e.operator in ['In', 'NotIn', 'Exists', 'DoesNotExist'])",message="matchExpressions must have the operators In, NotIn, Exists or DoesNotExist"
	MatchExpressions []LabelRequirement `json:"matchExpressions,omitempty"`
}

// LabelRequirement is a requirement on the value of a label or field.
//
// +kubebuilder:validation:XValidation:rule="(self.operator in ['In', 'NotIn', 'Gt', 'Lt']) == (has(self.values) && self.values.size() > 0)",fieldPath=".values",message="values must be set with the operators In, NotIn, Gt and Lt, and be absent with Exists and DoesNotExist"
// +kubebuilder:validation:XValidation:rule="!(self.operator in ['Gt', 'Lt']) || (has(self.values) && self.values.size() == 1 && self.values[0].matches('^-?[0-9]{1,18}$'))",fieldPath=".values",message="values must be one whole number with the operators Gt and Lt"
type LabelRequirement struct {
	// key is the key of the label, or the name of the field. 1 to 317 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`

	// operator is In, NotIn, Exists, DoesNotExist, and for nodes Gt or Lt.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist;Gt;Lt
	Operator string `json:"operator"`

	// values are compared with that of the label. At most 50, of at most 253 characters.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=253
	Values []string `json:"values,omitempty"`
}
