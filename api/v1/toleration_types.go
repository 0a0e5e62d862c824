package v1

// TolerationOperator names how the value of a toleration is compared with that of a taint.
//
// +kubebuilder:validation:Enum=Equal;Exists
type TolerationOperator string

// Operators of tolerations.
const (
	// TolerationEqual tolerates taints with its key and its value.
	TolerationEqual TolerationOperator = "Equal"
	// TolerationExists tolerates taints with its key and any value, and without a key all taints.
	TolerationExists TolerationOperator = "Exists"
)

// TolerationEffect is the effect of the taints that are tolerated.
//
// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
type TolerationEffect string

// Effects that are tolerated.
const (
	ToleratesNoSchedule       TolerationEffect = "NoSchedule"
	ToleratesPreferNoSchedule TolerationEffect = "PreferNoSchedule"
	ToleratesNoExecute        TolerationEffect = "NoExecute"
)

// Toleration tolerates taints. Its fields are those of Kubernetes, with bounds.
//
// +kubebuilder:validation:XValidation:rule="has(self.operator) && self.operator == 'Exists' ? !has(self.value) || self.value.size() == 0 : has(self.key) && self.key.size() > 0",message="tolerations must have a key with the operator Equal, and no value with Exists"
// +kubebuilder:validation:XValidation:rule="!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",message="tolerations must have tolerationSeconds only with the effect NoExecute"
type Toleration struct {
	// key is the key of the taints. Absent, with the operator Exists: each key. At most 317 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key,omitempty"`

	// operator is Equal or Exists. The default is Equal.
	// +optional
	Operator TolerationOperator `json:"operator,omitempty"`

	// value is the value of the taints. With the operator Exists it must be absent. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Value string `json:"value,omitempty"`

	// effect is NoSchedule, PreferNoSchedule or NoExecute. Absent: each effect.
	// +optional
	Effect TolerationEffect `json:"effect,omitempty"`

	// tolerationSeconds is for how long a taint with the effect NoExecute is tolerated. 0 or more. Absent: for ever.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty"`
}
