package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EcommerceApp is a whole shop: its database, backend, frontend, ingress and
// monitoring. Applied on the hub it runs in every cluster that its placement
// chooses; applied in a cluster with a spoke of its own it runs there.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.frontend.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=eapp,categories=all;shopfleet
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.ready`
// +kubebuilder:printcolumn:name="Clusters",type=integer,JSONPath=`.status.clusterCount`
// +kubebuilder:printcolumn:name="Regions",type=integer,JSONPath=`.status.regionCount`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Image",type=string,priority=1,JSONPath=`.spec.frontend.image`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must be at most 63 characters: it becomes the value of a label"
type EcommerceApp struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what the shop should be.
	// +required
	Spec EcommerceAppSpec `json:"spec"`

	// status is what the shop is observed to be.
	// +optional
	// +kubebuilder:default={phase: "Pending"}
	Status EcommerceAppStatus `json:"status,omitempty,omitzero"`
}

// EcommerceAppList is a list of EcommerceApps.
//
// +kubebuilder:object:root=true
type EcommerceAppList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []EcommerceApp `json:"items"`
}

// EcommerceAppSpec is what a shop should be.
//
// +kubebuilder:validation:XValidation:rule="has(self.image) || (has(self.frontend) && has(self.frontend.image))",fieldPath=".image",reason="FieldValueRequired",message="frontend.image or image must be set"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.database) || has(self.database)",fieldPath=".database",reason="FieldValueForbidden",message="database cannot be removed: its data would be left without a name"
// +kubebuilder:validation:XValidation:rule="!has(self.security) || !has(self.security.tls) || !has(self.security.tls.issuerRef) || (has(self.ingress) && has(self.ingress.host))",fieldPath=".ingress",reason="FieldValueRequired",message="ingress.host must be set when security.tls.issuerRef is: a certificate needs a name"
type EcommerceAppSpec struct {
	// replicas is the default of frontend.replicas: 1 when both are absent. 0 to 1000.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Replicas *int32 `json:"replicas,omitempty"`

	// image is the default of frontend.image; one of the two must be set. At
	// most 512 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9][a-zA-Z0-9._/:@-]*$')",message="image must be a reference such as registry.example.com/shop:v1"
	Image string `json:"image,omitempty"`

	// database is the shop's database. Without it there is no database
	// component. It cannot be removed again.
	// +optional
	Database *Database `json:"database,omitempty"`

	// backend is the shop's backend. Without an image there is no backend component.
	// +optional
	Backend Workload `json:"backend,omitempty,omitzero"`

	// frontend is the shop's frontend.
	// +optional
	Frontend Workload `json:"frontend,omitempty,omitzero"`

	// ingress is how the shop is reached from outside.
	// +optional
	Ingress Ingress `json:"ingress,omitempty,omitzero"`

	// monitoring is how the shop is watched.
	// +optional
	Monitoring Monitoring `json:"monitoring,omitempty,omitzero"`

	// security is how the shop is protected.
	// +optional
	Security Security `json:"security,omitempty,omitzero"`

	// cloudConfig is what the volumes of the database should be, by provider: a block is
	// used on clusters of its provider, in place of database.storageProfile. A change
	// is for new volumes only; existing ones stay as they are. Not used with
	// database.storageClassName.
	// +optional
	CloudConfig CloudConfig `json:"cloudConfig,omitempty,omitzero"`

	// placement chooses the clusters of the fleet. Absent: all ready clusters.
	// Not used on a copy.
	// +optional
	Placement Placement `json:"placement,omitempty,omitzero"`
}

// Placement chooses clusters. What is given must all hold; nothing given means
// every ready cluster.
type Placement struct {
	// clusterSelector chooses by the labels of MemberClusters. At most 50
	// matchLabels and 50 matchExpressions of 100 values each.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.matchLabels) || (self.matchLabels.size() <= 50 && self.matchLabels.all(k, k.size() <= 317 && self.matchLabels[k].size() <= 63))",message="clusterSelector must have at most 50 matchLabels, with keys of at most 317 and values of at most 63 characters"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || (self.matchExpressions.size() <= 50 && self.matchExpressions.all(e, e.key.size() >= 1 && e.key.size() <= 317 && (!has(e.values) || e.values.size() <= 100)))",message="clusterSelector must have at most 50 matchExpressions, with keys of 1 to 317 characters and at most 100 values"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn', 'Exists', 'DoesNotExist'])",message="clusterSelector must have the operators In, NotIn, Exists or DoesNotExist"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, (e.operator in ['In', 'NotIn']) == (has(e.values) && e.values.size() > 0))",message="clusterSelector must have values with the operators In and NotIn, and none with Exists and DoesNotExist"
	ClusterSelector *metav1.LabelSelector `json:"clusterSelector,omitempty"`

	// clusterNames lists the MemberClusters that may be chosen. At most 500, of
	// 1 to 63 characters.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=500
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	ClusterNames []string `json:"clusterNames,omitempty"`

	// regions lists the regions that may be chosen, for example eu-west-1. At
	// most 100, of 1 to 63 characters.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Regions []string `json:"regions,omitempty"`

	// providers lists the cloud providers that may be chosen: aws, gcp, azure, local.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=4
	Providers []Provider `json:"providers,omitempty"`

	// maxClusters bounds how many clusters are chosen; 0, the default, is no
	// bound. Clusters that already run the shop come first, then by name.
	// 0 to 500.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=500
	MaxClusters int32 `json:"maxClusters,omitempty"`
}

// Provider is a cloud provider.
//
// +kubebuilder:validation:Enum=aws;gcp;azure;local
type Provider string

// The providers.
const (
	ProviderAWS   Provider = "aws"
	ProviderGCP   Provider = "gcp"
	ProviderAzure Provider = "azure"
	// ProviderLocal is a cluster outside the three clouds.
	ProviderLocal Provider = "local"
)
