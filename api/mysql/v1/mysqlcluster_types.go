package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	ecommercev1 "github.com/shopfleet/shopfleet/api/v1"
)

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: "mysql.example.com", Version: "v1"}

// AddToScheme adds the kinds of this package to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &MySQLCluster{}, &MySQLClusterList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}

// MySQLCluster represents a standalone MySQL database. More than one replica, and the change of its
// password, are experimental: they have been run with MariaDB and stand-ins of MySQL only.
//
// +kubebuilder:object:root=true
// +kubebuilder:metadata:annotations="ecommerce.io/deletion-protection=true"
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +kubebuilder:resource:shortName=myc,categories=all;shopfleet
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.ready`
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="Storage",type=string,JSONPath=`.spec.storage.size`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must be at most 63 characters: it becomes the value of a label"
type MySQLCluster struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of the database.
	// +required
	Spec MySQLClusterSpec `json:"spec"`

	// status is the observed state of the database.
	// +optional
	// +kubebuilder:default={phase: "Pending"}
	Status MySQLClusterStatus `json:"status,omitempty,omitzero"`
}

// MySQLClusterList is a list of MySQLClusters.
//
// +kubebuilder:object:root=true
type MySQLClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MySQLCluster `json:"items"`
}

// MySQLClusterSpec is the desired state of a database.
//
// +kubebuilder:validation:XValidation:rule="!has(self.cloudConfig) || !has(self.cloud) || !has(self.cloud.provider) || (!has(self.cloudConfig.aws) || self.cloud.provider == 'aws')",fieldPath=".cloudConfig.aws",reason="FieldValueForbidden",message="cloudConfig.aws needs cloud.provider aws"
// +kubebuilder:validation:XValidation:rule="!has(self.cloudConfig) || !has(self.cloud) || !has(self.cloud.provider) || (!has(self.cloudConfig.gcp) || self.cloud.provider == 'gcp')",fieldPath=".cloudConfig.gcp",reason="FieldValueForbidden",message="cloudConfig.gcp needs cloud.provider gcp"
// +kubebuilder:validation:XValidation:rule="!has(self.cloudConfig) || !has(self.cloud) || !has(self.cloud.provider) || (!has(self.cloudConfig.azure) || self.cloud.provider == 'azure')",fieldPath=".cloudConfig.azure",reason="FieldValueForbidden",message="cloudConfig.azure needs cloud.provider azure"
// +kubebuilder:validation:XValidation:rule="[[self.version, oldSelf.version].map(v, v.find('^[0-9]{1,9}([.][0-9]{1,9}){0,2}').split('.').map(n, int(n)))].all(v, v[0][0] > v[1][0] || (v[0][0] == v[1][0] && (v[1].size() < 2 || (v[0].size() > 1 && (v[0][1] > v[1][1] || (v[0][1] == v[1][1] && (v[1].size() < 3 || (v[0].size() > 2 && v[0][2] >= v[1][2]))))))))",fieldPath=".version",message="version cannot be lowered, nor lose numbers, such as 8 after 8.4.1: a database cannot read the files of a newer version. Keep the version with its numbers, or restore a dump into a new MySQLCluster"
// +kubebuilder:validation:XValidation:rule="!oldSelf.version.matches('^8([.-]|$)') || oldSelf.version.matches('^8[.]4([.-]|$)') || !self.version.matches('^(9|[1-9][0-9]+)([.-]|$)')",fieldPath=".version",message="version must be 8.4 before it can be 9: MySQL upgrades from 8.0 to 8.4, and from there to 9"
// +kubebuilder:validation:XValidation:rule="int(self.version.find('^[0-9]{1,9}')) <= int(oldSelf.version.find('^[0-9]{1,9}')) + 1",fieldPath=".version",message="version must not skip a major version: MySQL upgrades to the next one only"
// +kubebuilder:validation:XValidation:rule="int(self.version.find('^[0-9]{1,9}')) <= int(oldSelf.version.find('^[0-9]{1,9}')) || (has(self.allowUpgradeTo) && [[self.version.find('^[0-9]{1,9}([.][0-9]{1,9}){0,2}'), self.allowUpgradeTo].map(v, v.split('.').map(n, int(n)))].all(v, v[0][0] < v[1][0] || (v[0][0] == v[1][0] && (v[1].size() < 2 || (v[0].size() > 1 && (v[0][1] < v[1][1] || (v[0][1] == v[1][1] && (v[1].size() < 3 || (v[0].size() > 2 && v[0][2] <= v[1][2])))))))))",fieldPath=".version",message="version must keep its major version unless allowUpgradeTo is this version or a later one: no earlier version can read the files of MySQL again"
// +kubebuilder:validation:XValidation:rule="self.version.find('[-.](buster|bullseye|bookworm|trixie|forky|focal|jammy|noble|(alpine|debian|ubuntu|oraclelinux|oracle|ubi)[0-9]*)') == oldSelf.version.find('[-.](buster|bullseye|bookworm|trixie|forky|focal|jammy|noble|(alpine|debian|ubuntu|oraclelinux|oracle|ubi)[0-9]*)')",fieldPath=".version",message="version must keep its distribution, such as oraclelinux9: keep it, or restore a dump into a new MySQLCluster"
type MySQLClusterSpec struct {
	// replicas is the number of database pods. 1 to 9; the default is 1. More than one is
	// experimental: replication has not been run with MySQL itself, and is not observed.
	// +optional
	// +default=1
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	Replicas *int32 `json:"replicas,omitempty"`

	// version is the version of MySQL and the tag of its official image, with three numbers, for example
	// "8.0.33". It cannot be lowered or lose numbers, keeps its distribution, and goes from 8.0 to 8.4 before 9,
	// which needs allowUpgradeTo. Dump the database before. 5 to 64 characters.
	// +required
	// +kubebuilder:validation:MinLength=5
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]+([.][0-9]+)*([-.][A-Za-z0-9.-]+)?$')",message="version must begin with a number, for example 8.0.33 or 8.0.36-debian"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[0-9]') || self.matches('^[0-9]+[.][0-9]+[.][0-9]+([-.]|$)')",message="version must have three numbers, such as 8.0.33: MySQL cannot start an earlier version again, which a node may have of the same tag"
	// +kubebuilder:validation:XValidation:rule="!self.contains('alpine')",message="version must not be of Alpine, where the user 999 does not exist: use the tag without it"
	Version string `json:"version"`

	// allowUpgradeTo is the version up to which the major version may be raised, for example "9.1", after
	// which there is no way back. It is compared by the numbers that it has: "9" covers each 9. At most 29
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=29
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{1,9}([.][0-9]{1,9}){0,2}$')",message="allowUpgradeTo must have one to three numbers, for example 9.1"
	AllowUpgradeTo string `json:"allowUpgradeTo,omitempty"`

	// storage defines the volume of each pod.
	// +required
	Storage Storage `json:"storage"`

	// backup defines when the database is dumped. Backups are on when a schedule is set.
	// +optional
	Backup Backup `json:"backup,omitempty,omitzero"`

	// clients are the pods that may connect to the database. Absent: none but its own and those of its
	// dumps. At most 10.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Clients []ecommercev1.ClientPods `json:"clients,omitempty"`

	// cloud is the provider and the region of the database.
	// +optional
	Cloud Cloud `json:"cloud,omitempty,omitzero"`

	// cloudConfig defines volumes and nodes by provider. The block of cloud.provider
	// applies; a block of another provider is refused.
	// +optional
	CloudConfig CloudConfig `json:"cloudConfig,omitempty,omitzero"`

	// deletion defines how the database is deleted.
	// +optional
	Deletion Deletion `json:"deletion,omitempty,omitzero"`
}

// Deletion defines how a database is deleted.
type Deletion struct {
	// volumes is Delete if the volume claims of the pods are deleted with the MySQLCluster; whether the
	// volumes go with them is up to their reclaim policy. Dumps and credentials stay. Retain, the default,
	// deletes none.
	// +optional
	Volumes ecommercev1.DeletionPolicy `json:"volumes,omitempty"`
}

// Storage defines the volume of each pod.
//
// +kubebuilder:validation:XValidation:rule="!isQuantity(self.size) || quantity(self.size).compareTo(quantity(oldSelf.size)) >= 0",fieldPath=".size",message="size cannot shrink: volumes only grow"
// +kubebuilder:validation:XValidation:rule="(has(self.storageClass) ? self.storageClass : has(self.storageClassName) ? self.storageClassName : '-') == (has(oldSelf.storageClass) ? oldSelf.storageClass : has(oldSelf.storageClassName) ? oldSelf.storageClassName : '-')",fieldPath=".storageClass",message="storageClass cannot be changed: existing volumes keep their class"
// +kubebuilder:validation:XValidation:rule="!has(self.storageClass) || !has(self.storageClassName) || self.storageClass == self.storageClassName",fieldPath=".storageClassName",message="storageClass and storageClassName are aliases and must not differ"
type Storage struct {
	// size is the size of each volume, in Ki, Mi, Gi or Ti, for example 100Gi. It can grow
	// but not shrink. At most 16 characters.
	// +required
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{0,11}(Ki|Mi|Gi|Ti)$')",message="size must be a whole number of Ki, Mi, Gi or Ti, for example 100Gi"
	Size string `json:"size"`

	// storageClass is the StorageClass of the volumes. Without parameters and without a
	// block of cloudConfig it must exist; with them a class is created whose name begins
	// with this one. It cannot be changed. 1 to 63 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	StorageClass string `json:"storageClass,omitempty"`

	// storageClassName is an alias of storageClass. 1 to 63 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	StorageClassName string `json:"storageClassName,omitempty"`

	// parameters are the parameters of the StorageClass, for example type: gp3.
	// At most 50, with keys of at most 253 and values of at most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 253 && self[k].size() <= 1024)",message="parameters must have keys of at most 253 and values of at most 1024 characters"
	Parameters map[string]string `json:"parameters,omitempty"`
}

// Backup defines when the database is dumped, and how long dumps are kept.
type Backup struct {
	// schedule is a cron expression in UTC with five fields: minute, hour, day, month,
	// weekday. Names and macros are not accepted. At most 128 characters. Absent: no
	// backups.
	// +optional
	Schedule ecommercev1.CronSchedule `json:"schedule,omitempty"`

	// retention is the number of days for which dumps are kept. 1 to 3650; the default is 30.
	// The newest is always kept.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3650
	Retention *int32 `json:"retention,omitempty"`
}

// Cloud is the provider and the region of a database.
type Cloud struct {
	// provider is aws, gcp, azure or other. It determines the CSI driver of the volumes;
	// other, the default, uses the cluster's default class.
	// +optional
	Provider ecommercev1.Provider `json:"provider,omitempty"`

	// region restricts the database to nodes of this region. 1 to 63 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`
	Region string `json:"region,omitempty"`
}

// CloudConfig defines volumes and nodes by provider.
type CloudConfig struct {
	// aws applies when cloud.provider is aws.
	// +optional
	AWS *AWSConfig `json:"aws,omitempty"`

	// gcp applies when cloud.provider is gcp.
	// +optional
	GCP *GCPConfig `json:"gcp,omitempty"`

	// azure applies when cloud.provider is azure.
	// +optional
	Azure *AzureConfig `json:"azure,omitempty"`
}

// AWSConfig defines volumes and nodes on AWS.
type AWSConfig struct {
	// rds describes a managed database. It has no effect, which the condition Supported says:
	// the database runs in the cluster.
	// +optional
	RDS RDSConfig `json:"rds,omitempty,omitzero"`

	// ebs defines the EBS volumes.
	// +optional
	EBS EBSConfig `json:"ebs,omitempty,omitzero"`
}

// RDSConfig describes a managed database, and has no effect.
type RDSConfig struct {
	// instanceClass is an instance class of RDS, for example db.r6g.2xlarge. It chooses no
	// nodes. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^db\.[a-z0-9-]+\.[a-z0-9]+$`
	InstanceClass string `json:"instanceClass,omitempty"`

	// backupRetention is a number of days. It is not that of dumps: see backup.retention. 1 to
	// 3650.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3650
	BackupRetention *int32 `json:"backupRetention,omitempty"`
}

// EBSConfig defines EBS volumes.
type EBSConfig struct {
	// type is the volume type: gp2, gp3, io1, io2, st1 or sc1. Absent: the default of the
	// CSI driver.
	// +optional
	// +kubebuilder:validation:Enum=gp2;gp3;io1;io2;st1;sc1
	Type string `json:"type,omitempty"`

	// iops is the number of I/O operations per second. 100 to 256000.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=256000
	IOPS *int32 `json:"iops,omitempty"`
}

// GCPConfig defines disks and nodes on Google Cloud.
type GCPConfig struct {
	// pdType is the disk type: pd-standard, pd-balanced, pd-ssd, pd-extreme or
	// hyperdisk-balanced. Absent: the default of the CSI driver.
	// +optional
	// +kubebuilder:validation:Enum=pd-standard;pd-balanced;pd-ssd;pd-extreme;hyperdisk-balanced
	PDType string `json:"pdType,omitempty"`

	// gkeMachineType is the preferred machine type of the nodes, for example n2-standard-4.
	// At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]+(-[a-z0-9]+)*$`
	GKEMachineType string `json:"gkeMachineType,omitempty"`
}

// AzureConfig defines disks and nodes on Azure.
type AzureConfig struct {
	// diskSku is the SKU of the disks: Standard_LRS, StandardSSD_LRS, StandardSSD_ZRS,
	// Premium_LRS, Premium_ZRS, PremiumV2_LRS or UltraSSD_LRS. Absent: the default of the
	// CSI driver.
	// +optional
	// +kubebuilder:validation:Enum=Standard_LRS;StandardSSD_LRS;StandardSSD_ZRS;Premium_LRS;Premium_ZRS;PremiumV2_LRS;UltraSSD_LRS
	DiskSKU string `json:"diskSku,omitempty"`

	// aksNodePool is the preferred VM size of the nodes, for example Standard_D4s_v5. At
	// most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`
	AKSNodePool string `json:"aksNodePool,omitempty"`
}

// MySQLClusterStatus is the observed state of a database.
type MySQLClusterStatus struct {
	// phase is a human-readable summary of the conditions.
	// +optional
	Phase ecommercev1.Phase `json:"phase,omitempty"`

	// message explains the phase in one sentence. At most 32768 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=32768
	Message string `json:"message,omitempty"`

	// observedGeneration is the generation of the spec that this status reflects.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// ready is the number of ready pods and their total, for example 3/3. At most 32
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Ready string `json:"ready,omitempty"`

	// replicas is the number of pods.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Replicas int32 `json:"replicas,omitempty"`

	// readyReplicas is the number of ready pods.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// updatedReplicas is the number of pods that run the desired version.
	// +optional
	// +kubebuilder:validation:Minimum=0
	UpdatedReplicas int32 `json:"updatedReplicas,omitempty"`

	// storageProvisioned is true when every claim is bound.
	// +optional
	StorageProvisioned bool `json:"storageProvisioned,omitempty"`

	// databaseCreated is true when the database was created. It restores the mark that says so if that is
	// lost.
	// +optional
	DatabaseCreated bool `json:"databaseCreated,omitempty"`

	// selector is the label selector of the pods, for /scale. At most 2048 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Selector string `json:"selector,omitempty"`

	// lastUpdated is the time at which another field of this status last changed.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`

	// conditions are the latest observations, which the phase is derived from. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
