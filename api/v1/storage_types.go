package v1

// StorageProfile is a class of storage that the hub provides on every provider.
//
// +kubebuilder:validation:Enum=Standard;Fast;Archive
type StorageProfile string

// The storage profiles.
const (
	// StorageStandard suits most databases.
	StorageStandard StorageProfile = "Standard"
	// StorageFast suits busy databases.
	StorageFast StorageProfile = "Fast"
	// StorageArchive suits data that is kept and seldom read.
	StorageArchive StorageProfile = "Archive"
)

// CloudConfig defines volumes by provider. A block applies to clusters of its provider.
type CloudConfig struct {
	// aws applies to clusters of the provider aws.
	// +optional
	AWS *AWSConfig `json:"aws,omitempty"`

	// gcp applies to clusters of the provider gcp.
	// +optional
	GCP *GCPConfig `json:"gcp,omitempty"`

	// azure applies to clusters of the provider azure.
	// +optional
	Azure *AzureConfig `json:"azure,omitempty"`
}

// AWSConfig defines the storage on AWS.
type AWSConfig struct {
	// ebs defines the EBS volumes.
	// +optional
	EBS EBSConfig `json:"ebs,omitempty,omitzero"`
}

// EBSConfig defines EBS volumes.
//
// +kubebuilder:validation:XValidation:rule="!has(self.iops) || (has(self.type) && self.type != 'gp3') || (self.iops >= 3000 && self.iops <= 80000)",fieldPath=".iops",message="iops of gp3 must be 3000 to 80000"
// +kubebuilder:validation:XValidation:rule="!has(self.iops) || !has(self.type) || self.type != 'io1' || self.iops <= 64000",fieldPath=".iops",message="iops of io1 must be at most 64000"
// +kubebuilder:validation:XValidation:rule="has(self.iops) || !has(self.type) || !(self.type in ['io1', 'io2'])",fieldPath=".iops",reason="FieldValueRequired",message="iops must be set when type is io1 or io2"
// +kubebuilder:validation:XValidation:rule="!has(self.iops) || !has(self.type) || !(self.type in ['gp2', 'st1', 'sc1'])",fieldPath=".iops",reason="FieldValueForbidden",message="iops must be absent when type is gp2, st1 or sc1: the size determines it"
// +kubebuilder:validation:XValidation:rule="!has(self.throughput) || !has(self.type) || self.type == 'gp3'",fieldPath=".throughput",reason="FieldValueForbidden",message="throughput must be absent unless type is gp3"
// +kubebuilder:validation:XValidation:rule="!has(self.throughput) || (has(self.type) && self.type != 'gp3') || self.throughput * 4 <= (has(self.iops) ? self.iops : 3000)",fieldPath=".throughput",message="throughput must be at most a quarter of iops, which are 3000 when absent"
// +kubebuilder:validation:XValidation:rule="!has(self.kmsKeyID) || !has(self.encrypted) || self.encrypted",fieldPath=".encrypted",message="encrypted must not be false when kmsKeyID is set"
type EBSConfig struct {
	// type is the volume type: gp2, gp3, io1, io2, st1 or sc1. The default is gp3.
	// +optional
	// +kubebuilder:validation:Enum=gp2;gp3;io1;io2;st1;sc1
	Type string `json:"type,omitempty"`

	// iops is the number of I/O operations per second: 3000 to 80000 with gp3, with the
	// default 3000; 100 to 64000 with io1 and 100 to 256000 with io2, where it is required.
	// Other types do not accept it.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=256000
	IOPS *int32 `json:"iops,omitempty"`

	// throughput is in MiB per second, with gp3 only: 125 to 2000, and at most a quarter of
	// iops. The default is 125.
	// +optional
	// +kubebuilder:validation:Minimum=125
	// +kubebuilder:validation:Maximum=2000
	Throughput *int32 `json:"throughput,omitempty"`

	// encrypted turns encryption of the volumes on. The default is true.
	// +optional
	Encrypted *bool `json:"encrypted,omitempty"`

	// kmsKeyID is the key that encrypts the volumes: the ARN of a key or an alias, or
	// alias/<name>, which each region resolves to a key of its own. Clusters in another
	// region than that of an ARN refuse it. Absent: the account's default key. At most 2048
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^(arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:(key|alias)|alias)/[A-Za-z0-9/_-]+$`
	KMSKeyID string `json:"kmsKeyID,omitempty"`
}

// GCPConfig defines the persistent disks on Google Cloud.
//
// +kubebuilder:validation:XValidation:rule="!has(self.iops) || (has(self.pdType) && self.pdType in ['pd-extreme', 'hyperdisk-balanced', 'hyperdisk-extreme'])",fieldPath=".iops",reason="FieldValueForbidden",message="iops must be absent unless pdType is pd-extreme, hyperdisk-balanced or hyperdisk-extreme"
// +kubebuilder:validation:XValidation:rule="!has(self.iops) || !has(self.pdType) || self.pdType != 'hyperdisk-balanced' || (self.iops >= 3000 && self.iops <= 160000)",fieldPath=".iops",message="iops of hyperdisk-balanced must be 3000 to 160000"
// +kubebuilder:validation:XValidation:rule="!has(self.iops) || !has(self.pdType) || self.pdType != 'pd-extreme' || (self.iops >= 10000 && self.iops <= 120000)",fieldPath=".iops",message="iops of pd-extreme must be 10000 to 120000"
// +kubebuilder:validation:XValidation:rule="!has(self.throughput) || (has(self.pdType) && self.pdType in ['hyperdisk-balanced', 'hyperdisk-throughput'])",fieldPath=".throughput",reason="FieldValueForbidden",message="throughput must be absent unless pdType is hyperdisk-balanced or hyperdisk-throughput"
// +kubebuilder:validation:XValidation:rule="!has(self.throughput) || !has(self.pdType) || self.pdType != 'hyperdisk-balanced' || self.throughput >= 140",fieldPath=".throughput",message="throughput of hyperdisk-balanced must be at least 140"
type GCPConfig struct {
	// pdType is the disk type: pd-standard, pd-balanced, pd-ssd, pd-extreme,
	// hyperdisk-balanced, hyperdisk-extreme or hyperdisk-throughput. The default is
	// pd-balanced.
	// +optional
	// +kubebuilder:validation:Enum=pd-standard;pd-balanced;pd-ssd;pd-extreme;hyperdisk-balanced;hyperdisk-extreme;hyperdisk-throughput
	PDType string `json:"pdType,omitempty"`

	// iops is the number of I/O operations per second: 10000 to 120000 with pd-extreme,
	// 3000 to 160000 with hyperdisk-balanced, 128 to 350000 with hyperdisk-extreme. Absent:
	// the default of the type. Other types do not accept it.
	// +optional
	// +kubebuilder:validation:Minimum=128
	// +kubebuilder:validation:Maximum=350000
	IOPS *int32 `json:"iops,omitempty"`

	// throughput is in MiB per second: 140 to 2400 with hyperdisk-balanced, 20 to 2400 with
	// hyperdisk-throughput. Absent: the default of the type. Other types do not accept it.
	// +optional
	// +kubebuilder:validation:Minimum=20
	// +kubebuilder:validation:Maximum=2400
	Throughput *int32 `json:"throughput,omitempty"`

	// kmsKeyID is the key that encrypts the disks:
	// projects/<project>/locations/<location>/keyRings/<ring>/cryptoKeys/<key>. Absent: a
	// key of Google. At most 512 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^projects/[A-Za-z0-9.:_-]+/locations/[A-Za-z0-9-]+/keyRings/[A-Za-z0-9_-]+/cryptoKeys/[A-Za-z0-9_-]+$`
	KMSKeyID string `json:"kmsKeyID,omitempty"`
}

// AzureConfig defines the managed disks on Azure.
//
// +kubebuilder:validation:XValidation:rule="!has(self.iops) || (has(self.diskSku) && self.diskSku in ['PremiumV2_LRS', 'UltraSSD_LRS'])",fieldPath=".iops",reason="FieldValueForbidden",message="iops must be absent unless diskSku is PremiumV2_LRS or UltraSSD_LRS"
// +kubebuilder:validation:XValidation:rule="!has(self.iops) || !has(self.diskSku) || self.diskSku != 'PremiumV2_LRS' || (self.iops >= 3000 && self.iops <= 80000)",fieldPath=".iops",message="iops of PremiumV2_LRS must be 3000 to 80000"
// +kubebuilder:validation:XValidation:rule="!has(self.throughput) || (has(self.diskSku) && self.diskSku in ['PremiumV2_LRS', 'UltraSSD_LRS'])",fieldPath=".throughput",reason="FieldValueForbidden",message="throughput must be absent unless diskSku is PremiumV2_LRS or UltraSSD_LRS"
// +kubebuilder:validation:XValidation:rule="!has(self.throughput) || !has(self.diskSku) || self.diskSku != 'PremiumV2_LRS' || (self.throughput >= 125 && self.throughput <= 2000)",fieldPath=".throughput",message="throughput of PremiumV2_LRS must be 125 to 2000"
// +kubebuilder:validation:XValidation:rule="!has(self.throughput) || !has(self.diskSku) || !(self.diskSku in ['PremiumV2_LRS', 'UltraSSD_LRS']) || self.throughput * 4 <= (has(self.iops) ? self.iops : self.diskSku == 'UltraSSD_LRS' ? 500 : 3000)",fieldPath=".throughput",message="throughput must be at most a quarter of iops, which are 3000 with PremiumV2_LRS and 500 with UltraSSD_LRS when absent"
type AzureConfig struct {
	// diskSku is the SKU of the disks: Standard_LRS, StandardSSD_LRS,
	// StandardSSD_ZRS, Premium_LRS, Premium_ZRS, PremiumV2_LRS or UltraSSD_LRS. The
	// default is StandardSSD_LRS.
	// +optional
	// +kubebuilder:validation:Enum=Standard_LRS;StandardSSD_LRS;StandardSSD_ZRS;Premium_LRS;Premium_ZRS;PremiumV2_LRS;UltraSSD_LRS
	DiskSKU string `json:"diskSku,omitempty"`

	// iops is the number of I/O operations per second: 3000 to 80000 with PremiumV2_LRS,
	// with the default 3000; 100 to 400000 with UltraSSD_LRS, with the default 500. Other
	// SKUs do not accept it.
	// +optional
	// +kubebuilder:validation:Minimum=100
	// +kubebuilder:validation:Maximum=400000
	IOPS *int32 `json:"iops,omitempty"`

	// throughput is in MB per second: 125 to 2000 with PremiumV2_LRS, with the default 125;
	// 1 to 10000 with UltraSSD_LRS, with the default 100; at most a quarter of iops. Other
	// SKUs do not accept it.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	Throughput *int32 `json:"throughput,omitempty"`

	// diskEncryptionSetID is the disk encryption set whose key encrypts the disks:
	// /subscriptions/<id>/resourceGroups/<group>/providers/Microsoft.Compute/diskEncryptionSets/<name>.
	// Absent: a key of Azure. At most 512 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:Pattern=`^/subscriptions/[0-9a-fA-F-]{36}/resourceGroups/[A-Za-z0-9_().-]+/providers/Microsoft\.Compute/diskEncryptionSets/[A-Za-z0-9_.-]+$`
	DiskEncryptionSetID string `json:"diskEncryptionSetID,omitempty"`
}
