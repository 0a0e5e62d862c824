package v1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Engine is a database engine.
//
// +kubebuilder:validation:Enum=postgresql;mysql
type Engine string

// Database engines.
const (
	EnginePostgreSQL Engine = "postgresql"
	EngineMySQL      Engine = "mysql"
)

// Database defines the database of an application.
//
// +kubebuilder:validation:XValidation:rule="self.engine == oldSelf.engine",fieldPath=".engine",message="engine cannot be changed: the data would not be readable"
// +kubebuilder:validation:XValidation:rule="!isQuantity(self.storage) || quantity(self.storage).compareTo(quantity(oldSelf.storage)) >= 0",fieldPath=".storage",message="storage cannot shrink: volumes only grow"
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",fieldPath=".storageClassName",message="storageClassName cannot be changed: existing volumes keep their class"
// +kubebuilder:validation:XValidation:rule="has(self.storageProfile) == has(oldSelf.storageProfile) && (!has(self.storageProfile) || self.storageProfile == oldSelf.storageProfile)",fieldPath=".storageProfile",message="storageProfile cannot be changed: existing volumes keep their class"
// +kubebuilder:validation:XValidation:rule="!has(self.storageProfile) || !has(self.storageClassName)",fieldPath=".storageProfile",reason="FieldValueForbidden",message="storageProfile must be absent when storageClassName is set"
//
// +kubebuilder:validation:XValidation:rule="self.engine != 'postgresql' || !self.version.matches('^[0-9]{1,9}([.-]|$)') || !oldSelf.version.matches('^[0-9]{1,9}([.-]|$)') || int(self.version.find('^[0-9]{1,9}')) == int(oldSelf.version.find('^[0-9]{1,9}'))",fieldPath=".version",message="version must keep its major version, because PostgreSQL cannot read the files of another one: restore a dump into a new application"
// +kubebuilder:validation:XValidation:rule="[[self.version, oldSelf.version].map(v, v.find('^[0-9]{1,9}([.][0-9]{1,9}){0,2}').split('.').map(n, int(n)))].all(v, v[0][0] > v[1][0] || (self.engine == 'postgresql' && v[0][0] != v[1][0]) || (v[0][0] == v[1][0] && (v[1].size() < 2 || (v[0].size() > 1 && (v[0][1] > v[1][1] || (v[0][1] == v[1][1] && (v[1].size() < 3 || (v[0].size() > 2 && v[0][2] >= v[1][2]))))))))",fieldPath=".version",message="version cannot be lowered, nor lose numbers, such as 17 after 17.2: a database cannot read the files of a newer version. Keep the version with its numbers, or restore a dump into a new application"
// +kubebuilder:validation:XValidation:rule="self.engine != 'mysql' || !oldSelf.version.matches('^8([.-]|$)') || !self.version.matches('^(9|[1-9][0-9]+)([.-]|$)') || oldSelf.version.matches('^8[.]4([.-]|$)') || (has(oldSelf.image) && oldSelf.version.matches('^8(-|$)') && oldSelf.image.matches(':8[.]4([-.][^:/@]*)?(@.*)?$'))",fieldPath=".version",message="version must be 8.4 before it can be 9: MySQL upgrades from 8.0 to 8.4, and from there to 9"
// +kubebuilder:validation:XValidation:rule="self.engine != 'mysql' || int(self.version.find('^[0-9]{1,9}')) <= int(oldSelf.version.find('^[0-9]{1,9}')) || (has(self.allowUpgradeTo) && [[self.version.find('^[0-9]{1,9}([.][0-9]{1,9}){0,2}'), self.allowUpgradeTo].map(v, v.split('.').map(n, int(n)))].all(v, v[0][0] < v[1][0] || (v[0][0] == v[1][0] && (v[1].size() < 2 || (v[0].size() > 1 && (v[0][1] < v[1][1] || (v[0][1] == v[1][1] && (v[1].size() < 3 || (v[0].size() > 2 && v[0][2] <= v[1][2])))))))))",fieldPath=".version",message="version must keep its major version unless allowUpgradeTo is this version or a later one: no earlier version can read the files of MySQL again"
// +kubebuilder:validation:XValidation:rule="self.engine != 'mysql' || int(self.version.find('^[0-9]{1,9}')) <= int(oldSelf.version.find('^[0-9]{1,9}')) + 1",fieldPath=".version",message="version must not skip a major version: MySQL upgrades to the next one only"
// +kubebuilder:validation:XValidation:rule="self.engine != 'mysql' || (oldSelf.hasValue() && oldSelf.value().version == self.version && has(oldSelf.value().image) == has(self.image) && (!has(self.image) || self.image == oldSelf.value().image)) || (has(self.image) ? self.image.contains('@') || self.image.matches(':[0-9]+[.][0-9]+[.][0-9]+([-.][^:/]*)?$') : self.version.matches('^[0-9]+[.][0-9]+[.][0-9]+([-.]|$)'))",optionalOldSelf=true,fieldPath=".version",message="version must have three numbers with mysql, such as 8.4.2, or image a tag with three or a digest: MySQL cannot start an earlier version again, which a node may have of the same tag"
// +kubebuilder:validation:XValidation:rule="(has(self.image) && self.image.find('^[^@]*').find(':[^:/]*$').size() == 0) || (has(oldSelf.image) && oldSelf.image.find('^[^@]*').find(':[^:/]*$').size() == 0) || (has(self.image) ? self.image.find('^[^@]*').find(':[^:/]*$') : self.version).find('[-.](buster|bullseye|bookworm|trixie|forky|focal|jammy|noble|(alpine|debian|ubuntu|oraclelinux|oracle|ubi)[0-9]*)') == (has(oldSelf.image) ? oldSelf.image.find('^[^@]*').find(':[^:/]*$') : oldSelf.version).find('[-.](buster|bullseye|bookworm|trixie|forky|focal|jammy|noble|(alpine|debian|ubuntu|oraclelinux|oracle|ubi)[0-9]*)')",fieldPath=".version",message="version, or the tag of image, must keep its distribution, such as bookworm, because each sorts texts in its own way: keep it, or restore a dump into a new application"
// +kubebuilder:validation:XValidation:rule="self.engine != 'mysql' || !has(self.image) || (has(oldSelf.image) && self.image == oldSelf.image) || ((self.image.find('^[^@]*').find(':[0-9][^:/]*$').find('[0-9]{1,9}([.][0-9]{1,9}){0,2}') + '.').startsWith(self.version.find('^[0-9]{1,9}([.][0-9]{1,9}){0,2}') + '.') || (self.image.find('^[^@]*').find(':[0-9][^:/]*$').find('[0-9]{1,9}([.][0-9]{1,9}){0,2}').size() > 0 && (self.version.find('^[0-9]{1,9}([.][0-9]{1,9}){0,2}') + '.').startsWith(self.image.find('^[^@]*').find(':[0-9][^:/]*$').find('[0-9]{1,9}([.][0-9]{1,9}){0,2}') + '.'))) || (self.version != oldSelf.version && (self.image.find('^[^@]*').find(':[0-9][^:/]*$').find('[0-9]{1,9}([.][0-9]{1,9}){0,2}').size() == 0 || (has(oldSelf.image) && !((oldSelf.image.find('^[^@]*').find(':[0-9][^:/]*$').find('[0-9]{1,9}([.][0-9]{1,9}){0,2}') + '.').startsWith(oldSelf.version.find('^[0-9]{1,9}([.][0-9]{1,9}){0,2}') + '.') || (oldSelf.image.find('^[^@]*').find(':[0-9][^:/]*$').find('[0-9]{1,9}([.][0-9]{1,9}){0,2}').size() > 0 && (oldSelf.version.find('^[0-9]{1,9}([.][0-9]{1,9}){0,2}') + '.').startsWith(oldSelf.image.find('^[^@]*').find(':[0-9][^:/]*$').find('[0-9]{1,9}([.][0-9]{1,9}){0,2}') + '.'))))))",fieldPath=".image",message="image must have the version as its tag, also with a digest, such as mysql:8.4.2@sha256:HASH: change both together"
// +kubebuilder:validation:XValidation:rule="self.engine != 'postgresql' || !has(self.image) || (has(oldSelf.image) && self.image == oldSelf.image) || self.image.find('^[^@]*').find(':[0-9][^:/]*$').find('[0-9]{1,9}').size() == 0 || self.image.find('^[^@]*').find(':[0-9][^:/]*$').find('[0-9]{1,9}') == self.version.find('^[0-9]{1,9}') || (has(oldSelf.image) && oldSelf.image.find('^[^@]*').find(':[0-9][^:/]*$').find('[0-9]{1,9}') != oldSelf.version.find('^[0-9]{1,9}'))",fieldPath=".image",message="image must have the major version of version in its tag: change both together"
type Database struct {
	// engine is the database engine: postgresql or mysql. It cannot be changed.
	// +required
	Engine Engine `json:"engine"`

	// version is the version of the engine and the tag of its official image, for example
	// "13.4". It cannot be lowered or lose numbers, and keeps its distribution, such as bookworm; Alpine is
	// refused. The major version of PostgreSQL cannot be changed; MySQL upgrades from 8.0 to 8.4, and from
	// there to 9 with allowUpgradeTo, and needs three numbers, such as 8.4.2. 1 to 64 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]+([.][0-9]+)*([-.][A-Za-z0-9.-]+)?$')",message="version must begin with a number, for example 13.4 or 8.0.36-debian"
	// +kubebuilder:validation:XValidation:rule="!self.contains('alpine')",message="version must not be of Alpine, where the user 999 does not exist and texts are sorted in another way: use the tag without it"
	Version string `json:"version"`

	// allowUpgradeTo is the version up to which the major version of MySQL may be raised, for example "9.1",
	// after which there is no way back. It is compared by the numbers that it has: "9" covers each 9. It may
	// stay after the upgrade: the next major version needs another one. At most 29 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=29
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{1,9}([.][0-9]{1,9}){0,2}$')",message="allowUpgradeTo must have one to three numbers, for example 9.1"
	AllowUpgradeTo string `json:"allowUpgradeTo,omitempty"`

	// image replaces the engine's official image. Absent: the official image with the tag
	// version. It must run as the user 999 with the group 999, as the official images of postgres and mysql do:
	// pods have that user and do not use the entrypoint of the image. Alpine is refused. A change is an
	// upgrade as one of version is: the tag must have the version, also beside a digest. 1 to 512 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9][a-zA-Z0-9._/:@-]*$')",message="image must be a reference such as registry.example.com/shop:v1"
	// +kubebuilder:validation:XValidation:rule="!self.split('@')[0].find(':[^:/]*$').contains('alpine')",message="image must not be of Alpine, where the user 999 does not exist and texts are sorted in another way: use an image without it"
	Image string `json:"image,omitempty"`

	// replicas is the number of database pods. 1 to 9; the default is 1. With mysql more than one
	// is experimental: replication has not been run with MySQL itself, and is not observed.
	// +optional
	// +default=1
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	Replicas *int32 `json:"replicas,omitempty"`

	// storage is the size of each pod's volume, in Ki, Mi, Gi or Ti, for example 100Gi. It
	// can grow but not shrink, and restarts no pod. At most 16 characters.
	// +required
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^[1-9][0-9]{0,11}(Ki|Mi|Gi|Ti)$')",message="storage must be a whole number of Ki, Mi, Gi or Ti, for example 100Gi"
	Storage string `json:"storage"`

	// storageClassName is the StorageClass of the volumes, which must exist in each
	// cluster. Absent: the block of cloudConfig for the cluster's provider, else
	// storageProfile, else the cluster's default class. It cannot be changed. 1 to 253
	// characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	StorageClassName *string `json:"storageClassName,omitempty"`

	// storageProfile is Standard, Fast or Archive. The hub creates a StorageClass for it
	// that suits the provider of each cluster; clusters of the provider other use their
	// default class. It cannot be changed, and excludes storageClassName.
	// +optional
	StorageProfile StorageProfile `json:"storageProfile,omitempty"`

	// credentialsSecretRef refers to a Secret in the same namespace with the keys username,
	// password and database. Absent: credentials are generated once in each cluster and
	// never overwritten. With mysql a change of the password is experimental: it has been run
	// with stand-ins of MySQL only.
	// +optional
	CredentialsSecretRef *LocalSecretReference `json:"credentialsSecretRef,omitempty"`

	// resources are the requests and limits of each pod. Absent: small requests, no limits.
	// Caches follow the memory request. A change restarts the database.
	// +optional
	Resources Resources `json:"resources,omitempty,omitzero"`

	PodSettings `json:",inline"`

	// backup is the backup policy. Absent: no backups.
	// +optional
	Backup BackupPolicy `json:"backup,omitempty,omitzero"`
}

// StorageQuantity returns the size of each volume. It returns an error for a size that the
// schema did not validate.
func (d *Database) StorageQuantity() (resource.Quantity, error) {
	return resource.ParseQuantity(d.Storage)
}

// BackupPolicy defines when and how the database is backed up, and how long backups are
// kept.
//
// +kubebuilder:validation:XValidation:rule="!has(self.copyToRegions) || !has(self.method) || self.method != 'Dump'",fieldPath=".copyToRegions",reason="FieldValueForbidden",message="copyToRegions must be absent when method is Dump: dumps go to the one bucket of their account"
// +kubebuilder:validation:XValidation:rule="!has(self.enabled) || !self.enabled || has(self.schedule)",fieldPath=".schedule",reason="FieldValueRequired",message="schedule must be set when backup is enabled"
type BackupPolicy struct {
	// enabled turns backups on. The default is false: existing backups are kept.
	// +optional
	Enabled bool `json:"enabled,omitempty"`

	// schedule is a cron expression with five fields: minute, hour, day, month, weekday.
	// Names and macros are not accepted. At most 128 characters; required when enabled is
	// true.
	// +optional
	Schedule CronSchedule `json:"schedule,omitempty"`

	// timeZone is the IANA time zone of schedule and verify.schedule, for example
	// Europe/Dublin. The default is UTC. At most 64 characters.
	// +optional
	TimeZone TimeZone `json:"timeZone,omitempty"`

	// method is Auto, Snapshot or Dump. Snapshot takes volume snapshots through the cloud's
	// API, which requires a CloudAccount. Dump writes logical backups to a separate volume
	// in the cluster, and to the bucket of the CloudAccount if it has one. The default,
	// Auto, is Snapshot on members with a cloudAccountRef and Dump on others.
	// +optional
	Method BackupMethod `json:"method,omitempty"`

	// copyToRegions lists regions of the same provider that each snapshot is copied to. Where
	// snapshots have no region, as on Google Cloud, the first one that is not the cluster's
	// own is their storage location, and they can be restored in any region. At most 8,
	// of 1 to 63 characters.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	CopyToRegions []string `json:"copyToRegions,omitempty"`

	// maxRPO is the maximum age of the newest completed backup before the condition
	// BackupReady becomes False, for example 26h. 1m to 87600h; the default is 1.5 times the interval of schedule.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self != '' && self.matches('^([0-9]{1,6}h)?([0-9]{1,7}m)?([0-9]{1,9}s)?$') && duration(self) >= duration('1m') && duration(self) <= duration('87600h')",message="maxRPO must be a duration of at least 1m and at most 87600h, for example 26h"
	MaxRPO *metav1.Duration `json:"maxRPO,omitempty"`

	// verify defines when backups are verified by restoring them.
	// +optional
	Verify VerifyPolicy `json:"verify,omitempty,omitzero"`

	// retention defines how long backups are kept.
	// +optional
	Retention Retention `json:"retention,omitempty,omitzero"`

	// deleteLockDays is how many days the data of a Backup that is deleted with spec.deletion: Delete stays in the
	// cloud, unless it has expired. 0 to 365; the default is 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=365
	DeleteLockDays int32 `json:"deleteLockDays,omitempty"`
}

// VerifyPolicy defines when backups are verified.
type VerifyPolicy struct {
	// schedule is a cron expression, in the same form and time zone as that of backups. At
	// each of its times all data of the newest completed backup of each cluster is read in the
	// namespace shopfleet-verify, from its copy where a member is in the region of the copy. At
	// most 128 characters. Absent: backups are not verified.
	// +optional
	Schedule CronSchedule `json:"schedule,omitempty"`
}

// Retention defines how long backups are kept. A backup is deleted when it is both older
// than keepDays and not among the keepLast newest.
type Retention struct {
	// keepLast is the number of newest backups that are kept. 1 to 1000; the default
	// is 7.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	KeepLast *int32 `json:"keepLast,omitempty"`

	// keepDays is the number of days for which every backup is kept. 1 to 3650; the default
	// is 30.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=3650
	KeepDays *int32 `json:"keepDays,omitempty"`
}
