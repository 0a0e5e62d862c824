package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ObjectStorage is a bucket that dumps are uploaded to.
//
// +kubebuilder:validation:XValidation:rule="!has(self.caBundle) || has(self.endpoint)",fieldPath=".caBundle",message="caBundle requires endpoint"
type ObjectStorage struct {
	// bucket is the name of the bucket, or of the container for azure. 3 to 63 characters.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9._-]*[a-z0-9]$`
	Bucket string `json:"bucket"`

	// prefix is the prefix of every object name, without slashes at either end. Absent: no
	// prefix. 1 to 128 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`
	Prefix string `json:"prefix,omitempty"`

	// region is the region of the bucket. Required for aws, forbidden for other providers.
	// 1 to 63 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Region string `json:"region,omitempty"`

	// storageAccount is the storage account of the container. Required for azure, forbidden
	// for other providers. 3 to 24 characters.
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:Pattern=`^[a-z0-9]+$`
	StorageAccount string `json:"storageAccount,omitempty"`

	// endpoint is the base URL of the storage API, in place of the provider's own, for a
	// private endpoint or another service with an S3 API. Clusters must reach it at the
	// same URL. It must be https, or http on a loopback address. 8 to 512 characters.
	// +optional
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^(https://[A-Za-z0-9]|http://(127[.]0[.]0[.]1|localhost|[[]::1[]])(:|/|$))[^[:space:]?#@]*$')",message="endpoint must be an https URL without user, query or fragment, or http on a loopback address"
	Endpoint string `json:"endpoint,omitempty"`

	// caBundle is the PEM bundle that the certificate of endpoint is verified with. Absent:
	// the system's trust store. At most 65536 bytes.
	// +optional
	// +kubebuilder:validation:MaxLength=87384
	CABundle []byte `json:"caBundle,omitempty"`
}

// DumpFile is a dump on a volume of the cluster, and in the bucket of the cluster's
// CloudAccount if it has one.
type DumpFile struct {
	// claim is the name of the PersistentVolumeClaim with the dump, in the namespace of the
	// application. 1 to 253 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Claim string `json:"claim"`

	// job is the name of the Job that writes the dump. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Job string `json:"job,omitempty"`

	// file is the name of the file; empty until the dump is complete. At most 128
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	File string `json:"file,omitempty"`

	// bytes is the size of the file in bytes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Bytes int64 `json:"bytes,omitempty"`

	// sha256 is the SHA-256 checksum of the file in hexadecimal digits. At most 64
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	SHA256 string `json:"sha256,omitempty"`

	// removedUpToTime is the time of the newest older dump that was removed from the claim
	// before its retention ended, because the claim was full; absent when none was. Backups
	// whose dump was removed that way, and is in no bucket, have failed with the reason
	// DumpMissing.
	// +optional
	RemovedUpToTime *metav1.Time `json:"removedUpToTime,omitempty"`

	// object is the copy of the dump in the bucket; absent when the CloudAccount has none.
	// +optional
	Object *DumpObject `json:"object,omitempty"`
}

// DumpObject is a dump in a bucket. It consists of parts and of a manifest, which is
// written last.
type DumpObject struct {
	// bucket is the name of the bucket or container. At most 63 characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Bucket string `json:"bucket"`

	// location identifies the bucket and the prefix of the account when the first part was
	// uploaded. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Location string `json:"location,omitempty"`

	// prefix is the prefix of the names of the parts and of the manifest, below the prefix
	// of the account. At most 512 characters.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Prefix string `json:"prefix"`

	// state is the progress of the upload: Sending or Sent; or Missing, once the bucket does not
	// have all of the dump any more. Empty means that it has not begun.
	// +optional
	State DumpObjectState `json:"state,omitempty"`

	// attempt is the number of Jobs that failed to upload all of the dump.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Attempt int32 `json:"attempt,omitempty"`

	// expirationTime is the time at which the signed requests of the running Job expire.
	// +optional
	ExpirationTime *metav1.Time `json:"expirationTime,omitempty"`

	// checksums holds the CRC-32C of the parts, in order, each in 4 bytes, all of them in base64.
	// It is set once the bucket has refused a part without a checksum, as buckets with a default
	// retention do. At most 1068 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1068
	Checksums string `json:"checksums,omitempty"`
}

// DumpObjectState is the progress of the upload of a dump.
//
// +kubebuilder:validation:Enum=Sending;Sent;Missing
type DumpObjectState string

// States of the upload of a dump.
const (
	// DumpSending means that the bucket may hold parts but no manifest.
	DumpSending DumpObjectState = "Sending"
	// DumpSent means that the bucket holds all parts and the manifest.
	DumpSent DumpObjectState = "Sent"
	// DumpMissing means that the dump was Sent, and that the bucket does not have all of it any more.
	DumpMissing DumpObjectState = "Missing"
)

// RestoredDump is the progress of the restore of a dump.
type RestoredDump struct {
	// from is the source of the dump: Claim, the volume that it was written to, or Bucket.
	// +required
	From DumpSource `json:"from"`

	// job is the name of the Job that loads the dump. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Job string `json:"job,omitempty"`

	// requestTime is the time at which the hub first requested the Job; empty once the Job
	// exists.
	// +optional
	RequestTime *metav1.Time `json:"requestTime,omitempty"`

	// expirationTime is the time at which the signed requests of the Job expire. They are
	// renewed before. Empty when the Job downloads nothing.
	// +optional
	ExpirationTime *metav1.Time `json:"expirationTime,omitempty"`

	// claim is the name of the PersistentVolumeClaim that was created to download the dump
	// to; empty when none was. At most 253 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Claim string `json:"claim,omitempty"`

	// started is true when the Job may have begun to write to the database. From then on
	// only another restore can bring back the previous data.
	// +optional
	Started bool `json:"started,omitempty"`

	// loaded is true when all of the dump is in the database.
	// +optional
	Loaded bool `json:"loaded,omitempty"`

	// attempt is the number of Jobs that failed to load all of the dump, of a Restore that an
	// earlier release began, which made a Job for each attempt.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Attempt int32 `json:"attempt,omitempty"`
}

// DumpSource is the source that a dump is restored from.
//
// +kubebuilder:validation:Enum=Claim;Bucket
type DumpSource string

// Sources of a dump.
const (
	DumpFromClaim  DumpSource = "Claim"
	DumpFromBucket DumpSource = "Bucket"
)
