package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// EcommerceApp represents an online shop: its database, backend, frontend, ingress and
// monitoring. Applied to the hub it runs in every cluster that its placement chooses.
// Applied to a cluster with a spoke of its own it runs there.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="ecommerce.io/deletion-protection=true"
// +kubebuilder:subresource:scale:specpath=.spec.frontend.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=eapp,categories=all;shopfleet
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.ready`
// +kubebuilder:printcolumn:name="Clusters",type=integer,JSONPath=`.status.clusterCount`
// +kubebuilder:printcolumn:name="Regions",type=integer,JSONPath=`.status.regionCount`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Image",type=string,priority=1,JSONPath=`.spec['frontend.image','image']`
// +kubebuilder:printcolumn:name="Last Backup",type=date,priority=1,JSONPath=`.status.lastBackupTime`
// +kubebuilder:printcolumn:name="Available",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Available")].status`
// +kubebuilder:printcolumn:name="Stalled",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Stalled")].status`
// +kubebuilder:printcolumn:name="Rollout",type=string,priority=1,JSONPath=`.status.rollout.state`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must be at most 63 characters: it becomes the value of a label"
type EcommerceApp struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of the application.
	// +required
	Spec EcommerceAppSpec `json:"spec"`

	// The status has one writer. As an atomic field it is tracked as a whole in
	// metadata.managedFields, which would otherwise name each field of each cluster. The API server
	// decodes, compares and encodes them at each write.

	// status is the observed state of the application.
	// +optional
	// +structType=atomic
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

// EcommerceAppSpec is the desired state of an application.
//
// +kubebuilder:validation:XValidation:rule="has(self.image) || (has(self.frontend) && has(self.frontend.image))",fieldPath=".image",reason="FieldValueRequired",message="frontend.image or image must be set"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.database) || has(self.database)",fieldPath=".database",reason="FieldValueForbidden",message="database cannot be removed: its data would be orphaned"
// +kubebuilder:validation:XValidation:rule="!has(self.security) || !has(self.security.tls) || !has(self.security.tls.issuerRef) || (has(self.ingress) && has(self.ingress.host))",fieldPath=".ingress",reason="FieldValueRequired",message="ingress.host must be set when security.tls.issuerRef is: a certificate needs a name"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.database) || [self, oldSelf].map(s, has(s.security) && has(s.security.podUserIDs) && s.security.podUserIDs == 'Namespace').all(n, n == (has(self.security) && has(self.security.podUserIDs) && self.security.podUserIDs == 'Namespace'))",fieldPath=".security",reason="FieldValueForbidden",message="security.podUserIDs cannot be changed while there is a database: its files belong to the user that wrote them. Restore a dump into a new application"
type EcommerceAppSpec struct {
	// paused stops all writes of the application in its clusters except its status. The
	// application is observed, and status.pendingChanges lists what would be written. On the
	// hub no copy is created, and of those that exist only spec.paused changes. Deleting the
	// application proceeds, scheduled backups go on, and a Restore waits. The default is
	// false; setting it back to false writes what is pending.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// replicas is the default of frontend.replicas. 0 to 1000; the default is 1.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	Replicas *int32 `json:"replicas,omitempty"`

	// image is the default of frontend.image; one of the two is required. 1 to 512
	// characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9][a-zA-Z0-9._/:@-]*$')",message="image must be a reference such as registry.example.com/shop:v1"
	Image string `json:"image,omitempty"`

	// imageRegistry replaces the registry of every image, also of those that have a default: a
	// host with an optional port and path, for example mirror.example.com:5000/hub. Names
	// without a registry are those of docker.io, so that postgres:17.2 becomes
	// <imageRegistry>/library/postgres:17.2. 1 to 253 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([-a-zA-Z0-9.]*[a-zA-Z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$`
	ImageRegistry string `json:"imageRegistry,omitempty"`

	// database is the database of the application. Absent: no database component. It cannot
	// be removed.
	// +optional
	Database *Database `json:"database,omitempty"`

	// backend is the backend of the application. Without an image there is no backend
	// component.
	// +optional
	Backend Workload `json:"backend,omitempty,omitzero"`

	// frontend is the frontend of the application.
	// +optional
	Frontend Workload `json:"frontend,omitempty,omitzero"`

	// ingress defines the access from outside the cluster.
	// +optional
	Ingress Ingress `json:"ingress,omitempty,omitzero"`

	// monitoring defines metrics, alerts and dashboards.
	// +optional
	Monitoring Monitoring `json:"monitoring,omitempty,omitzero"`

	// security defines TLS and authentication.
	// +optional
	Security Security `json:"security,omitempty,omitzero"`

	// networkPolicy defines which connections of the pods are allowed.
	// +optional
	NetworkPolicy NetworkPolicy `json:"networkPolicy,omitempty,omitzero"`

	// cloudConfig defines the volumes of the database by provider. A block applies to
	// clusters of its provider and takes precedence over database.storageProfile. A change
	// applies to new volumes only. It has no effect with database.storageClassName.
	// +optional
	CloudConfig CloudConfig `json:"cloudConfig,omitempty,omitzero"`

	// placement chooses the clusters of the fleet. Absent: all ready clusters. It has no
	// effect on a copy.
	// +optional
	Placement Placement `json:"placement,omitempty,omitzero"`

	// overrides change the spec in the clusters that they select, in order: the last one wins. At
	// most 50. They have no effect on a copy.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Overrides []Override `json:"overrides,omitempty"`

	// rollout defines how changes reach the clusters. Absent: all clusters at once, without a
	// history. It has no effect on a copy.
	// +optional
	Rollout *Rollout `json:"rollout,omitempty"`

	// propagate lists Secrets and ConfigMaps in the namespace of the application, for what the spec
	// refers to. The hub copies them to the same namespace of the clusters, if a Role there allows
	// it to read them. At most 20. It has no effect on a copy.
	// +optional
	// +listType=map
	// +listMapKey=kind
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=20
	Propagate []PropagatedObject `json:"propagate,omitempty"`

	// deletion defines how the application is deleted. It has no effect on a copy.
	// +optional
	Deletion Deletion `json:"deletion,omitempty,omitzero"`
}

// Deletion defines how an application is deleted.
type Deletion struct {
	// unreachableTimeout is the time after which a deletion no longer waits for a cluster
	// that does not respond, for example 24h. It is counted from the deletion, the last
	// response of the cluster or the time at which the hub noticed the loss, whichever is last.
	// The copy that stays behind is recorded on the hub, and deleted when the cluster returns.
	// 0s to 87600h; the default, 0s, waits for ever.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self != '' && self.matches('^([0-9]{1,6}h)?([0-9]{1,7}m)?([0-9]{1,9}s)?$') && duration(self) <= duration('87600h')",message="unreachableTimeout must be a duration of at most 87600h, for example 24h"
	UnreachableTimeout *metav1.Duration `json:"unreachableTimeout,omitempty"`

	// volumes is Delete if the claims of the database's pods are deleted with the application, in
	// every cluster that it is in then; their reclaim policy decides about volumes. An
	// application that leaves a cluster keeps its claims there. Dumps and credentials stay. The default is Retain.
	// +optional
	Volumes DeletionPolicy `json:"volumes,omitempty"`

	// backups is Delete if retention also deletes the newest Backups when the application is gone and they are
	// older than keepDays. The default is Retain.
	// +optional
	Backups DeletionPolicy `json:"backups,omitempty"`
}

// Placement chooses clusters among those that meet its criteria; an empty Placement chooses
// every ready cluster.
type Placement struct {
	ClusterCriteria `json:",inline"`

	// tolerations are the taints of MemberClusters that the application tolerates. A toleration
	// with tolerationSeconds keeps the application in a cluster for that time after the taint was
	// added, and does not admit it. Of several that match, the shortest counts. At most 50, with keys of at most 317 and values of at most 63
	// characters.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:XValidation:rule="self.all(t, !has(t.effect) || t.effect != 'PreferNoSchedule')",message="tolerations must have the effects NoSchedule or NoExecute"
	Tolerations []Toleration `json:"tolerations,omitempty"`

	// maxClusters is the maximum number of clusters. 0 to 500; the default, 0, is no
	// maximum. Clusters that already run the application are preferred, then those of
	// preferences, then those with more free capacity, in steps of 10 % of their cpu or memory,
	// whichever has less; then clusters are chosen by name. What runs is not moved by a change of
	// free capacity. A cluster without status.requested counts as one that has none.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=500
	MaxClusters int32 `json:"maxClusters,omitempty"`

	// preferences rank the clusters that do not run the application when maxClusters or spread
	// does not allow all of them. A cluster is preferred by the sum of the weights of those that
	// select it. At most 20.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=20
	Preferences []WeightedClusters `json:"preferences,omitempty"`

	// replicas defines how the replicas of frontend and backend are distributed over the
	// clusters.
	// +optional
	Replicas PlacementReplicas `json:"replicas,omitempty,omitzero"`

	// spread limits how the chosen clusters are distributed over regions, zones and providers.
	// Clusters are chosen accordingly; those that run the application are not exchanged for
	// others until spec.placement is edited, whichever field. A cluster whose region, zone or provider is not known
	// is not chosen. At most one entry for each topology.
	// +optional
	// +listType=map
	// +listMapKey=topology
	// +kubebuilder:validation:MaxItems=3
	Spread []Spread `json:"spread,omitempty"`
}

// Provider is a cloud provider.
//
// +kubebuilder:validation:Enum=aws;gcp;azure;other
type Provider string

// Cloud providers.
const (
	ProviderAWS   Provider = "aws"
	ProviderGCP   Provider = "gcp"
	ProviderAzure Provider = "azure"
	// ProviderOther names the provider of all clusters outside of the three clouds, such as those on your own machines.
	ProviderOther Provider = "other"
)
