package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ObjectStorage is a bucket that dumps are sent to.
//
// +kubebuilder:validation:XValidation:rule="!has(self.caBundle) || has(self.endpoint)",fieldPath=".caBundle",message="caBundle is for an endpoint: set endpoint, or leave caBundle out"
type ObjectStorage struct {
	// bucket is the name of the bucket, or of the container for azure. 3 to 63 characters.
	// +required
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9][a-z0-9._-]*[a-z0-9]$`
	Bucket string `json:"bucket"`

	// prefix is what all names of ours begin with, without slashes at its ends. Absent:
	// nothing. 1 to 128 characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`
	Prefix string `json:"prefix,omitempty"`

	// region is that of the bucket; required for aws, and for no other provider. 1 to 63
	// characters.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Region string `json:"region,omitempty"`

	// storageAccount is the account that the container is in; required for azure, and for
	// no other provider. 3 to 24 characters.
	// +optional
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:Pattern=`^[a-z0-9]+$`
	StorageAccount string `json:"storageAccount,omitempty"`

	// endpoint is the base URL of the storage API, instead of the provider's own: a
	// private endpoint, or another service that speaks S3. Clusters reach it under the
	// same URL. It must be https, or http on a loopback address. 8 to 512 characters.
	// +optional
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^(https://[A-Za-z0-9]|http://(127[.]0[.]0[.]1|localhost|[[]::1[]])(:|/|$))[^[:space:]?#@]*$')",message="endpoint must be an https URL without user, query or fragment, or http on a loopback address"
	Endpoint string `json:"endpoint,omitempty"`

	// caBundle is what the certificate of endpoint is verified with, as PEM; absent: the
	// authorities that everybody trusts. At most 65536 bytes.
	// +optional
	// +kubebuilder:validation:MaxLength=87384
	CABundle []byte `json:"caBundle,omitempty"`
}

// DumpFile is a dump on a volume of the cluster, and in a bucket if the cluster's account
// has one.
type DumpFile struct {
	// claim is the name of the PersistentVolumeClaim that it is in, in the namespace of
	// the application. 1 to 253 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Claim string `json:"claim"`

	// job is the name of the Job that makes it. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Job string `json:"job,omitempty"`

	// file is its name; empty until it is complete. At most 128 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	File string `json:"file,omitempty"`

	// bytes is its size.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Bytes int64 `json:"bytes,omitempty"`

	// sha256 is its checksum, in hexadecimal digits. At most 64 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	SHA256 string `json:"sha256,omitempty"`

	// object is where it is in the bucket of the CloudAccount; absent where there is none.
	// +optional
	Object *DumpObject `json:"object,omitempty"`
}

// DumpObject is a dump in a bucket: its parts, and a manifest that is written last.
type DumpObject struct {
	// bucket is the name of the bucket or container. At most 63 characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Bucket string `json:"bucket"`

	// location is where the bucket was when the first part was sent, and what the account puts
	// before all names. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Location string `json:"location,omitempty"`

	// prefix is what the names of its parts and of its manifest begin with, below the
	// prefix of the account. At most 512 characters.
	// +required
	// +kubebuilder:validation:MaxLength=512
	Prefix string `json:"prefix"`

	// state is how far it is. Empty: not begun.
	// +optional
	State DumpObjectState `json:"state,omitempty"`

	// attempt counts the Jobs that did not send all of it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Attempt int32 `json:"attempt,omitempty"`

	// expirationTime is when the requests of the Job that is under way expire.
	// +optional
	ExpirationTime *metav1.Time `json:"expirationTime,omitempty"`
}

// DumpObjectState is how far a dump is on its way to a bucket.
//
// +kubebuilder:validation:Enum=Sending;Sent
type DumpObjectState string

// The states of a dump on its way to a bucket.
const (
	// DumpSending means that parts may be in the bucket, and no manifest.
	DumpSending DumpObjectState = "Sending"
	// DumpSent means that all of it is there, and its manifest.
	DumpSent DumpObjectState = "Sent"
)

// RestoredDump is how far the restore of a dump is.
type RestoredDump struct {
	// from is where the dump is read: Claim, the volume that it was made on, or Bucket.
	// +required
	From DumpSource `json:"from"`

	// job is the name of the Job that loads it. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Job string `json:"job,omitempty"`

	// claim is the name of the claim that was made to bring the dump to; empty when none
	// was. At most 253 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Claim string `json:"claim,omitempty"`

	// started tells that the Job may have begun to write to the database: there is no way
	// back from there but another restore.
	// +optional
	Started bool `json:"started,omitempty"`

	// loaded tells that all of it is in the database.
	// +optional
	Loaded bool `json:"loaded,omitempty"`

	// attempt counts the Jobs that did not load all of it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Attempt int32 `json:"attempt,omitempty"`
}

// DumpSource is where a dump is read.
//
// +kubebuilder:validation:Enum=Claim;Bucket
type DumpSource string

// Where a dump is read.
const (
	DumpFromClaim  DumpSource = "Claim"
	DumpFromBucket DumpSource = "Bucket"
)
