package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterCriteria select member clusters. A cluster must meet every field that is set; without any, every
// cluster is selected.
type ClusterCriteria struct {
	// clusterSelector selects MemberClusters by label. The region and the provider of a cluster are its labels
	// topology.kubernetes.io/region and ecommerce.io/provider, too.
	// +optional
	ClusterSelector *ClusterLabelSelector `json:"clusterSelector,omitempty"`

	// clusterNames lists MemberClusters by name. At most 500, of 1 to 63 characters.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=500
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	ClusterNames []string `json:"clusterNames,omitempty"`

	// regions lists regions, for example eu-west-1. At most 100, of 1 to 63 characters.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Regions []string `json:"regions,omitempty"`

	// providers lists cloud providers: aws, gcp, azure, other.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=4
	Providers []Provider `json:"providers,omitempty"`
}

// ClusterLabelSelector selects the clusters that meet all its requirements.
type ClusterLabelSelector struct {
	// matchLabels are labels that the clusters must have. At most 50, with keys of at most 317
	// and values of at most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 317 && self[k].size() <= 63)",message="matchLabels must have keys of at most 317 and values of at most 63 characters"
	MatchLabels map[string]string `json:"matchLabels,omitempty"`

	// matchExpressions are requirements on labels of the clusters. At most 50.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	MatchExpressions []ClusterRequirement `json:"matchExpressions,omitempty"`
}

// ClusterRequirement is a requirement on a label of clusters. Its fields are those of
// metav1.LabelSelectorRequirement, with bounds.
//
// +kubebuilder:validation:XValidation:rule="(self.operator in ['In', 'NotIn']) == (has(self.values) && self.values.size() > 0)",fieldPath=".values",message="values must be set with the operators In and NotIn, and be absent with Exists and DoesNotExist"
type ClusterRequirement struct {
	// key is the key of the label. 1 to 317 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key"`

	// operator is In, NotIn, Exists or DoesNotExist.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator metav1.LabelSelectorOperator `json:"operator"`

	// values are compared with that of the label. At most 100, of at most 63 characters.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MaxLength=63
	Values []string `json:"values,omitempty"`
}
