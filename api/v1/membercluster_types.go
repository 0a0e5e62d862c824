package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MemberCluster represents a cluster that the hub runs applications on. The hub creates one
// for each registration Secret, with the same name. Deleting the MemberCluster or its
// Secret detaches the cluster and does not affect what runs there.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="ecommerce.io/deletion-protection=true"
// +kubebuilder:resource:scope=Cluster,shortName=mcl,categories=shopfleet
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Scheduling",type=string,JSONPath=`.spec.scheduling`
// +kubebuilder:printcolumn:name="Paused",type=boolean,JSONPath=`.spec.paused`
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

	// spec defines the connection to the cluster and its location.
	// +optional
	Spec MemberClusterSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state of the cluster.
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

// MemberClusterSpec defines the connection to a cluster and its location.
type MemberClusterSpec struct {
	// kubeconfigSecretRef refers to the Secret, in the hub's namespace, with the kubeconfig
	// of the cluster. The default is the Secret with the name of the MemberCluster.
	// +optional
	KubeconfigSecretRef KubeconfigSecretReference `json:"kubeconfigSecretRef,omitempty,omitzero"`

	// provider is the cloud provider: aws, gcp, azure, or other for any that is none of them. Absent: detected from the
	// nodes, once; later changes of the nodes, or removing this field, do not change it.
	// +optional
	Provider Provider `json:"provider,omitempty"`

	// region is the region of the cluster, for example eu-west-1. Absent: detected from the
	// nodes, once; later changes of the nodes, or removing this field, do not change it. 1
	// to 63 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`
	Region string `json:"region,omitempty"`

	// cloudAccountRef refers to the CloudAccount that owns the volumes of the cluster. With
	// it databases are backed up by volume snapshots by default, without it by dumps.
	// +optional
	CloudAccountRef *ObjectReference `json:"cloudAccountRef,omitempty"`

	// mode is Agentless or Agent. With Agentless the hub turns the copies in the cluster
	// into workloads. With Agent an agent in the cluster does, which continues while the
	// hub is down; see kubectl shopfleet join --mode agent. The default is Agentless. A
	// change hands the copies over and does not restart a pod.
	// +optional
	Mode Mode `json:"mode,omitempty"`

	// paused stops all writes of the hub in the cluster: copies, their children,
	// StorageClasses, the definitions, Jobs and commands in pods. The cluster is probed and
	// watched as before, its token is renewed, and status.pendingChanges of the applications
	// there lists what would be written. The cluster is not chosen for other applications,
	// and the deletion of an application waits for it as for one that does not respond. In
	// mode Agent the agent goes on with the copies that it has. The default is false.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// scheduling is Enabled, Cordoned or Drained. A cluster that is cordoned is not chosen for
	// other applications. Applications leave a cluster that is drained as they leave one with a
	// taint that they do not tolerate; see taints. The default is Enabled.
	// +optional
	Scheduling Scheduling `json:"scheduling,omitempty"`

	// taints repel the applications whose placement does not tolerate them: with the effect
	// NoSchedule the cluster is not chosen for other applications, and with NoExecute
	// applications leave it too. An application leaves when the other clusters that are chosen
	// for it serve customers, and one with a database only if its annotation
	// ecommerce.io/move-empty names the cluster, since its data stays there. At most 50.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +listMapKey=effect
	// +kubebuilder:validation:MaxItems=50
	Taints []Taint `json:"taints,omitempty"`

	// health defines how the cluster is probed.
	// +optional
	Health Health `json:"health,omitempty,omitzero"`
}

// KubeconfigSecretReference refers to a Secret with a kubeconfig.
type KubeconfigSecretReference struct {
	// name is the name of the Secret. The default is the name of the MemberCluster. 1 to
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

// Health defines how a cluster is probed. With the defaults the hub notices within 25
// seconds that a cluster stopped responding.
type Health struct {
	// probePeriodSeconds is the interval between probes, in seconds. 1 to 60; the default
	// is 5.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60
	ProbePeriodSeconds *int32 `json:"probePeriodSeconds,omitempty"`

	// failureThreshold is the number of consecutive failed probes after which the cluster
	// is not connected. 1 to 20; the default is 3.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	FailureThreshold *int32 `json:"failureThreshold,omitempty"`

	// successThreshold is the number of consecutive successful probes after which a cluster
	// that was not connected is connected again. 1 to 20; the default is 2.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	SuccessThreshold *int32 `json:"successThreshold,omitempty"`
}

// MemberClusterStatus is the observed state of a cluster.
type MemberClusterStatus struct {
	// conditions are the latest observations of the cluster. Known types are Ready,
	// Connected, Authorized, IdentityVerified, CredentialsValid, CredentialsRenewed,
	// AccountRestricted, StorageReady and, in mode Agent, AgentReady and DefinitionsCurrent. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status reflects.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// kubernetesVersion is the version of the cluster's API server. At most 128
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`

	// agentVersion is the version of the agent in the cluster, for example v1.2.3. It is
	// absent in mode Agentless, and when the agent does not tell its version. At most 63
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	AgentVersion string `json:"agentVersion,omitempty"`

	// clusterUID is the UID of the kube-system namespace, which identifies the cluster. It
	// is recorded at the first connection. A cluster with another UID under the same name
	// is refused. At most 128 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	ClusterUID string `json:"clusterUID,omitempty"`

	// provider is the cloud provider, from the spec or detected.
	// +optional
	Provider Provider `json:"provider,omitempty"`

	// region is the region, from the spec or detected. At most 63 characters.
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

	// allocatable is the sum of the allocatable cpu, memory and pods of the nodes. At most
	// 16 resources.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.size() <= 16",message="allocatable must have at most 16 resources"
	Allocatable ResourceList `json:"allocatable,omitempty"`

	// requested is the sum of the cpu and memory that the pods on the nodes request, and their
	// number. Pods that have ended do not count. The hub lists the pods each minute, and writes a
	// change of more than 5 % of allocatable. Absent while it is unknown, as when the credentials
	// do not allow to list pods. While the cluster is not connected it is the last sum. At most 16
	// resources.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self.size() <= 16",message="requested must have at most 16 resources"
	Requested ResourceList `json:"requested,omitempty"`

	// capabilities are the optional APIs that the cluster serves, sorted, for example
	// cert-manager, prometheus-operator, snapshots. At most 50, of at most 128 characters.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MaxLength=128
	Capabilities []string `json:"capabilities,omitempty"`

	// storageClasses are the StorageClasses of the storage profiles in the cluster, by
	// profile. At most 3.
	// +optional
	// +listType=map
	// +listMapKey=profile
	// +kubebuilder:validation:MaxItems=3
	StorageClasses []ProfileClass `json:"storageClasses,omitempty"`

	// credentialsExpirationTime is the time at which the credentials of the kubeconfig
	// expire, if they have one.
	// +optional
	CredentialsExpirationTime *metav1.Time `json:"credentialsExpirationTime,omitempty"`

	// lastHandledRenewAt is the value of the annotation ecommerce.io/renew-at for which the
	// hub last renewed its token. The hub uses the renewed token. At most 256 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	LastHandledRenewAt string `json:"lastHandledRenewAt,omitempty"`

	// otherHub is the hub that manages the cluster, if it is not this one: the UID of its
	// namespace kube-system, a slash, and the epoch in its record. This hub takes the cluster
	// over when the annotation ecommerce.io/recover has that value. At most 128 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	OtherHub string `json:"otherHub,omitempty"`

	// lastObservedTime is the time at which this status was observed. While the cluster is
	// connected it changes only with another field. Otherwise it is the time of the last
	// successful probe and, while an agent is silent, of the last renewal of its Lease.
	// +optional
	LastObservedTime *metav1.Time `json:"lastObservedTime,omitempty"`

	// taints are those of the spec with the effect NoExecute, and when they were added. At most
	// 50.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MaxItems=50
	Taints []TaintStatus `json:"taints,omitempty"`

	// apps is the number of applications placed on the cluster.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Apps int32 `json:"apps,omitempty"`

	// orphanCount is the number of copies in the cluster that no application on the hub
	// owns, because their application was deleted or recreated, or does not list the
	// cluster. They continue to run, and nothing deletes them. While the cluster is not
	// connected it is the last count.
	// +optional
	// +kubebuilder:validation:Minimum=0
	OrphanCount int32 `json:"orphanCount,omitempty"`

	// residueCount is the number of copies that deleted applications left behind in the
	// cluster while it did not respond. The hub deletes them when the cluster returns.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ResidueCount int32 `json:"residueCount,omitempty"`
}

// ProfileClass is the StorageClass of a storage profile in a cluster.
type ProfileClass struct {
	// profile is Standard, Fast or Archive.
	// +required
	// +kubebuilder:validation:MaxLength=16
	Profile StorageProfile `json:"profile"`

	// className is the name of the StorageClass; empty for the cluster's default class. At
	// most 253 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	ClassName string `json:"className,omitempty"`
}
