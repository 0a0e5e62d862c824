package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MemberCluster is a cluster that the hub runs shops on. A registration Secret
// makes one of the same name; deleting it, or its Secret, detaches the cluster
// and leaves what runs there alone.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=mcl,categories=shopfleet
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.status.provider`
// +kubebuilder:printcolumn:name="Region",type=string,JSONPath=`.status.region`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.kubernetesVersion`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Mode",type=string,priority=1,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="Nodes",type=integer,priority=1,JSONPath=`.status.nodes`
// +kubebuilder:printcolumn:name="Apps",type=integer,priority=1,JSONPath=`.status.apps`
// +kubebuilder:printcolumn:name="Orphans",type=integer,priority=1,JSONPath=`.status.orphanCount`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must be at most 63 characters: it becomes the value of a label"
type MemberCluster struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is how the cluster is reached and what it is.
	// +optional
	Spec MemberClusterSpec `json:"spec,omitempty,omitzero"`

	// status is what the cluster is observed to be.
	// +optional
	Status MemberClusterStatus `json:"status,omitempty,omitzero"`
}

// MemberClusterList is a list of MemberClusters.
//
// +kubebuilder:object:root=true
type MemberClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MemberCluster `json:"items"`
}

// MemberClusterSpec is how a cluster is reached and what it is.
type MemberClusterSpec struct {
	// kubeconfigSecretRef names the Secret, in the hub's namespace, with the
	// cluster's kubeconfig. The default is the Secret of the same name.
	// +optional
	KubeconfigSecretRef KubeconfigSecretReference `json:"kubeconfigSecretRef,omitempty,omitzero"`

	// provider is the cloud provider: aws, gcp, azure or local. Absent:
	// detected from the nodes.
	// +optional
	Provider Provider `json:"provider,omitempty"`

	// region is the cluster's region, for example eu-west-1. Absent: detected
	// from the nodes. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`
	Region string `json:"region,omitempty"`

	// cloudAccountRef names the CloudAccount that the cluster's volumes are in. With it
	// databases are backed up by snapshots. Absent: by dumps.
	// +optional
	CloudAccountRef *ObjectReference `json:"cloudAccountRef,omitempty"`

	// mode says where the shops of the cluster are turned into workloads: in the
	// hub's own process (Agentless), or by an agent in the cluster, which goes on
	// while the hub is away (Agent; see kubectl shopfleet join --mode agent). The
	// default is Agentless. A change moves the shops over and restarts none of them.
	// +optional
	Mode Mode `json:"mode,omitempty"`

	// health is how the cluster is probed.
	// +optional
	Health Health `json:"health,omitempty,omitzero"`
}

// KubeconfigSecretReference names the Secret with a kubeconfig.
type KubeconfigSecretReference struct {
	// name is the name of the Secret. The default is the cluster's name. At most
	// 253 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`

	// key is the key in the Secret. The default is kubeconfig. At most 253 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	Key string `json:"key,omitempty"`
}

// Health is how a cluster is probed. With the defaults a cluster that stops
// answering is known to be gone after at most 25 seconds.
type Health struct {
	// probePeriodSeconds is the time between probes, in seconds. 1 to 60; the default is 5.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60
	ProbePeriodSeconds *int32 `json:"probePeriodSeconds,omitempty"`

	// failureThreshold is how many probes in a row must fail before the cluster
	// is taken as not connected. 1 to 20; the default is 3.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`

	// successThreshold is how many probes in a row must succeed before a
	// cluster that was lost is taken as connected. 1 to 20; the default is 2.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	SuccessThreshold *int32 `json:"successThreshold,omitempty"`
}

// MemberClusterStatus is what a cluster is observed to be.
type MemberClusterStatus struct {
	// conditions are the facts about the cluster. Known types are Ready,
	// Connected, Authorized, IdentityVerified, CredentialsValid, StorageReady and, in
	// mode Agent, AgentReady. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status is about.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// kubernetesVersion is the version of the cluster's API server. At most 128
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// clusterUID is the UID of the cluster's kube-system namespace, which tells
	// clusters apart. It is kept from the first connection on; another one
	// behind the same name is refused. At most 128 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ClusterUID string `json:"clusterUID,omitempty"`

	// provider is the cloud provider, given or detected.
	// +optional
	Provider Provider `json:"provider,omitempty"`

	// region is the region, given or detected. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region,omitempty"`

	// zones are the zones of the nodes, sorted. At most 50, of at most 63 characters.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=63
	Zones []string `json:"zones,omitempty"`

	// nodes is the number of nodes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Nodes int32 `json:"nodes,omitempty"`

	// readyNodes is the number of nodes that are ready.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadyNodes int32 `json:"readyNodes,omitempty"`

	// allocatable is the sum of what the nodes offer to pods: cpu, memory and pods.
	// At most 16 resources.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.size() <= 16",message="allocatable must have at most 16 resources"
	Allocatable corev1.ResourceList `json:"allocatable,omitempty"`

	// capabilities are the optional APIs that the cluster serves, sorted: for
	// example cert-manager, prometheus-operator, snapshots. At most 50, of at most
	// 128 characters.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=128
	Capabilities []string `json:"capabilities,omitempty"`

	// storageClasses are the classes that the profiles stand for in the cluster, sorted
	// by profile. At most 3.
	// +optional
	// +listType=map
	// +listMapKey=profile
	// +kubebuilder:validation:MaxItems=3
	StorageClasses []ProfileClass `json:"storageClasses,omitempty"`

	// credentialsExpirationTime is when the credentials of the kubeconfig expire, when they say so.
	// +optional
	CredentialsExpirationTime *metav1.Time `json:"credentialsExpirationTime,omitempty"`

	// lastObservedTime is when the rest of this status was observed. While the
	// cluster is connected it moves only with a change; when the cluster is
	// lost it is the time of the last probe that succeeded, and while its agent is
	// silent the time of the agent's last sign of life.
	// +optional
	LastObservedTime *metav1.Time `json:"lastObservedTime,omitempty"`

	// apps is the number of shops placed on the cluster.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Apps int32 `json:"apps,omitempty"`

	// orphanCount is the number of copies in the cluster that no application on the
	// hub owns: their application is gone, was made anew, or does not list the
	// cluster. They go on running and nothing deletes them. While the cluster is not
	// connected it is the number that was last counted.
	// +optional
	// +kubebuilder:validation:Minimum=0
	OrphanCount int32 `json:"orphanCount,omitempty"`
}

// ProfileClass is the StorageClass that a profile stands for in a cluster.
type ProfileClass struct {
	// profile is Standard, Fast or Archive.
	// +required
	// +kubebuilder:validation:MaxLength=16
	Profile StorageProfile `json:"profile"`

	// className is the name of the StorageClass; empty is the cluster's default class.
	// At most 253 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ClassName string `json:"className,omitempty"`
}
