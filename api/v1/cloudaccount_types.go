package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CloudAccount represents an account, project or subscription of a cloud provider and the
// identity that the hub has in it. MemberClusters refer to it; the hub backs up their
// volumes with it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="ecommerce.io/deletion-protection=true"
// +kubebuilder:resource:scope=Cluster,shortName=cacc,categories=shopfleet
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Provider",type=string,JSONPath=`.spec.provider`
// +kubebuilder:printcolumn:name="Identity",type=string,JSONPath=`.status.identity`
// +kubebuilder:printcolumn:name="Bucket",type=string,JSONPath=`.status.conditions[?(@.type=="ObjectStorageReady")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63",message="metadata.name must be at most 63 characters: it becomes the value of a label"
type CloudAccount struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines the account and the identity of the hub in it.
	// +required
	Spec CloudAccountSpec `json:"spec"`

	// status is the observed state of the account.
	// +optional
	Status CloudAccountStatus `json:"status,omitempty,omitzero"`
}

// CloudAccountList is a list of CloudAccounts.
//
// +kubebuilder:object:root=true
type CloudAccountList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CloudAccount `json:"items"`
}

// CloudAccountSpec defines an account and the identity of the hub in it.
//
// +kubebuilder:validation:XValidation:rule="self.provider == oldSelf.provider",fieldPath=".provider",message="provider cannot be changed: create another CloudAccount"
// +kubebuilder:validation:XValidation:rule="(self.provider == 'aws') == has(self.aws)",fieldPath=".aws",message="aws must be set when provider is aws, and only then"
// +kubebuilder:validation:XValidation:rule="(self.provider == 'gcp') == has(self.gcp)",fieldPath=".gcp",message="gcp must be set when provider is gcp, and only then"
// +kubebuilder:validation:XValidation:rule="(self.provider == 'azure') == has(self.azure)",fieldPath=".azure",message="azure must be set when provider is azure, and only then"
// +kubebuilder:validation:XValidation:rule="!has(self.aws) || self.credentials.type != 'Federated' || has(self.aws.roleARN)",fieldPath=".aws.roleARN",reason="FieldValueRequired",message="aws.roleARN must be set when credentials.type is Federated: it is the role that the hub's token is exchanged for"
// +kubebuilder:validation:XValidation:rule="!has(self.gcp) || self.credentials.type != 'Federated' || has(self.gcp.workloadIdentityProvider)",fieldPath=".gcp.workloadIdentityProvider",reason="FieldValueRequired",message="gcp.workloadIdentityProvider must be set when credentials.type is Federated: it accepts the hub's token"
// +kubebuilder:validation:XValidation:rule="!has(self.azure) || self.credentials.type == 'Ambient' || (has(self.azure.tenantID) && has(self.azure.clientID))",fieldPath=".azure",reason="FieldValueRequired",message="azure.tenantID and azure.clientID must be set unless credentials.type is Ambient"
// +kubebuilder:validation:XValidation:rule="!has(self.objectStorage) || (self.provider == 'aws') == has(self.objectStorage.region)",fieldPath=".objectStorage.region",message="objectStorage.region must be set when provider is aws, and only then"
// +kubebuilder:validation:XValidation:rule="!has(self.objectStorage) || (self.provider == 'azure') == has(self.objectStorage.storageAccount)",fieldPath=".objectStorage.storageAccount",message="objectStorage.storageAccount must be set when provider is azure, and only then"
// +kubebuilder:validation:XValidation:rule="!has(self.azure) || !has(self.regions) || self.azure.resourceGroups.size() < 2 || self.regions.all(r, r in self.azure.resourceGroups)",fieldPath=".azure.resourceGroups",message="azure.resourceGroups must have an entry for each of regions, or one entry for all"
// +kubebuilder:validation:XValidation:rule="!has(self.deletion) || (self.provider == 'aws') == has(self.deletion.roleARN)",fieldPath=".deletion.roleARN",message="deletion.roleARN must be set when provider is aws, and only then"
// +kubebuilder:validation:XValidation:rule="!has(self.deletion) || (self.provider == 'gcp') == has(self.deletion.serviceAccount)",fieldPath=".deletion.serviceAccount",message="deletion.serviceAccount must be set when provider is gcp, and only then"
// +kubebuilder:validation:XValidation:rule="!has(self.deletion) || (self.provider == 'azure') == has(self.deletion.clientID)",fieldPath=".deletion.clientID",message="deletion.clientID must be set when provider is azure, and only then"
// +kubebuilder:validation:XValidation:rule="!has(self.deletion) || self.provider == 'aws' || self.credentials.type == 'Federated'",fieldPath=".deletion",message="deletion needs credentials.type Federated on gcp and azure: the hub's token is exchanged for that identity"
// +kubebuilder:validation:XValidation:rule="!has(self.deletion) || !((has(self.aws) && has(self.aws.roleARN) && has(self.deletion.roleARN) && self.aws.roleARN == self.deletion.roleARN) || (has(self.gcp) && has(self.gcp.serviceAccount) && has(self.deletion.serviceAccount) && self.gcp.serviceAccount == self.deletion.serviceAccount) || (has(self.azure) && has(self.azure.clientID) && has(self.deletion.clientID) && self.azure.clientID == self.deletion.clientID))",fieldPath=".deletion",message="deletion must be another identity than that of the account: remove it to use one for all"
type CloudAccountSpec struct {
	// provider is the cloud provider: aws, gcp or azure. It cannot be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self != 'other'",message="provider must be aws, gcp or azure: clusters of other providers need no account"
	Provider Provider `json:"provider"`

	// credentials define how the hub authenticates.
	// +required
	Credentials CloudCredentials `json:"credentials"`

	// aws is the account of Amazon Web Services. Required when provider is aws, else
	// forbidden.
	// +optional
	AWS *AWSAccount `json:"aws,omitempty"`

	// gcp is the project of Google Cloud. Required when provider is gcp, else forbidden.
	// +optional
	GCP *GCPAccount `json:"gcp,omitempty"`

	// azure is the subscription of Azure. Required when provider is azure, else
	// forbidden.
	// +optional
	Azure *AzureAccount `json:"azure,omitempty"`

	// deletion is the identity that deletes snapshots and dumps, so that the one of credentials
	// needs no permission to. Absent: the identity of credentials.
	// +optional
	Deletion *DeletionIdentity `json:"deletion,omitempty"`

	// regions lists the regions that may be used. Backups of members in other regions, and
	// copies to other regions, are refused. Absent: all regions. At most 50, of 1 to 63
	// characters.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=50
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Regions []string `json:"regions,omitempty"`

	// endpoint is the base URL of the provider's compute API, in place of the provider's
	// own, for a private endpoint or a sovereign cloud. It must be https, or http on a
	// loopback address. 8 to 512 characters.
	// +optional
	// +kubebuilder:validation:MinLength=8
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^(https://[A-Za-z0-9]|http://(127[.]0[.]0[.]1|localhost|[[]::1[]])(:|/|$))[^[:space:]?#@]*$')",message="endpoint must be an https URL without user, query or fragment, or http on a loopback address"
	Endpoint string `json:"endpoint,omitempty"`

	// objectStorage is the bucket that clusters with this account upload dumps to. Absent:
	// dumps stay in their clusters.
	// +optional
	ObjectStorage *ObjectStorage `json:"objectStorage,omitempty"`
}

// CredentialsType is the way the hub authenticates to a cloud.
//
// +kubebuilder:validation:Enum=Ambient;Federated;Secret
type CredentialsType string

// Credentials types.
const (
	// CredentialsAmbient is the identity of the machine or pod of the hub.
	CredentialsAmbient CredentialsType = "Ambient"
	// CredentialsFederated is a short-lived token of the hub's ServiceAccount, which the
	// provider exchanges for its own.
	CredentialsFederated CredentialsType = "Federated"
	// CredentialsSecret are static keys in a Secret.
	CredentialsSecret CredentialsType = "Secret"
)

// CloudCredentials define how the hub authenticates to a cloud.
//
// +kubebuilder:validation:XValidation:rule="(self.type == 'Secret') == has(self.secretRef)",fieldPath=".secretRef",message="secretRef must be set when type is Secret, and only then"
type CloudCredentials struct {
	// type is Ambient, Federated or Secret. Ambient uses the identity of the hub's pod or
	// machine, which is never used otherwise. Federated exchanges a short-lived token of
	// the hub's ServiceAccount. Secret uses the keys of secretRef.
	// +required
	Type CredentialsType `json:"type"`

	// secretRef refers to a Secret in the hub's namespace with the label
	// ecommerce.io/cloud-account: "true". Required when type is Secret, else forbidden. Its
	// keys are accessKeyID, secretAccessKey and optionally sessionToken for aws;
	// serviceAccountKey, a key file as JSON, for gcp; clientSecret for azure. A change of
	// the Secret takes effect at once.
	// +optional
	SecretRef *LocalSecretReference `json:"secretRef,omitempty"`
}

// DeletionIdentity is the identity of the hub for deletions. It is reached as that of the account is.
type DeletionIdentity struct {
	// roleARN is the role to assume on aws, in place of aws.roleARN and with the same external
	// ID. Required when provider is aws, else forbidden. At most 2048 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9_+=,.@/-]+$`
	RoleARN string `json:"roleARN,omitempty"`

	// serviceAccount is the e-mail address of the service account to impersonate on gcp, in
	// place of gcp.serviceAccount. Required when provider is gcp, else forbidden. At most 128
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[a-z0-9-]+@[a-z0-9.-]+\.gserviceaccount\.com$`
	ServiceAccount string `json:"serviceAccount,omitempty"`

	// clientID is the UUID of the application or managed identity on azure, in place of
	// azure.clientID and in the same directory. Required when provider is azure, else forbidden.
	// +optional
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`
	ClientID string `json:"clientID,omitempty"`
}

// ForDeletion returns the spec with the identity for deletions as that of the account. Without one
// it returns a copy.
func (s *CloudAccountSpec) ForDeletion() CloudAccountSpec {
	out := *s.DeepCopy()
	if s.Deletion == nil {
		return out
	}
	out.Deletion = nil
	switch {
	case out.AWS != nil:
		out.AWS.RoleARN = s.Deletion.RoleARN
	case out.GCP != nil:
		out.GCP.ServiceAccount = s.Deletion.ServiceAccount
	case out.Azure != nil:
		out.Azure.ClientID = s.Deletion.ClientID
	}
	return out
}

// AWSAccount is an account of Amazon Web Services.
type AWSAccount struct {
	// accountID is the ID of the account, 12 digits. Credentials of another account are
	// refused.
	// +required
	// +kubebuilder:validation:Pattern=`^[0-9]{12}$`
	// +kubebuilder:validation:MaxLength=12
	AccountID string `json:"accountID"`

	// roleARN is the role to assume. With Federated it is required: the hub's token is
	// exchanged for it. With Ambient and Secret the hub assumes it with the identity that
	// it has, and uses that identity itself when roleARN is absent. At most 2048
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9_+=,.@/-]+$`
	RoleARN string `json:"roleARN,omitempty"`

	// externalID is the external ID that the trust policy of the role requires. 2 to 1224
	// characters.
	// +optional
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=1224
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_+=,.@:/-]+$`
	ExternalID string `json:"externalID,omitempty"`

	// keys are the KMS keys that encrypt copies in other regions, by region. An ARN must be one
	// of that region; alias/<name> is an alias there. Absent: the default key of the account in
	// the region. At most 50, with regions of at most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 63)",message="keys must have regions of at most 63 characters"
	// +kubebuilder:validation:XValidation:rule="self.all(k, !self[k].startsWith('arn:') || self[k].find('[a-z]+(-[a-z]+)+-[0-9]+') == k)",message="a key must be in the region that it is for: set the ARN of a key there, or alias/<name>"
	Keys map[string]KMSKey `json:"keys,omitempty"`
}

// KMSKey is a key of AWS KMS: the ARN of a key or an alias, or alias/<name>. At most 2048 characters.
//
// +kubebuilder:validation:MaxLength=2048
// +kubebuilder:validation:Pattern=`^(arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:(key|alias)|alias)/[A-Za-z0-9/_-]+$`
type KMSKey string

// GCPAccount is a project of Google Cloud.
type GCPAccount struct {
	// project is the ID of the project. 6 to 30 characters.
	// +required
	// +kubebuilder:validation:MaxLength=30
	// +kubebuilder:validation:Pattern=`^[a-z][-a-z0-9]{4,28}[a-z0-9]$`
	Project string `json:"project"`

	// workloadIdentityProvider is the provider that accepts the hub's token, required with
	// Federated:
	// projects/<number>/locations/global/workloadIdentityPools/<pool>/providers/<provider>.
	// At most 256 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^projects/[0-9]+/locations/global/workloadIdentityPools/[a-z0-9-]{4,32}/providers/[a-z0-9-]{4,32}$`
	WorkloadIdentityProvider string `json:"workloadIdentityProvider,omitempty"`

	// serviceAccount is the e-mail address of the service account to impersonate. Absent:
	// the hub's identity is used directly. At most 128 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[a-z0-9-]+@[a-z0-9.-]+\.gserviceaccount\.com$`
	ServiceAccount string `json:"serviceAccount,omitempty"`

	// keys are the keys of Cloud KMS that encrypt snapshots stored in other regions, by region or
	// multi-region. A key must be in that region, or not in a single one, as in global. Google
	// Cloud takes them for snapshots of disks that have a customer managed key only; it encrypts
	// others with keys of its own. Absent: the key of the disk. At most 50, with regions of at most
	// 63 characters.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 63)",message="keys must have regions of at most 63 characters"
	// +kubebuilder:validation:XValidation:rule="self.all(k, self[k].matches('/locations/[a-z0-9]+/') || self[k].find('/locations/[^/]+').find('[^/]+$') == k)",message="a key must be in the region that it is for: set one there, or one of a location that is not a single region, such as global"
	Keys map[string]CryptoKey `json:"keys,omitempty"`
}

// CryptoKey is a key of Cloud KMS:
// projects/<project>/locations/<location>/keyRings/<ring>/cryptoKeys/<key>. At most 512 characters.
//
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:Pattern=`^projects/[A-Za-z0-9.:_-]+/locations/[a-z0-9-]+/keyRings/[A-Za-z0-9_-]+/cryptoKeys/[A-Za-z0-9_-]+$`
type CryptoKey string

// AzureAccount is a subscription of Azure, with a resource group for each region or one for all.
//
// +kubebuilder:validation:XValidation:rule="!has(self.keys) || self.keys.all(k, self.keys[k].lowerAscii().startsWith('/subscriptions/' + self.subscriptionID.lowerAscii() + '/'))",fieldPath=".keys",message="keys must be disk encryption sets of the subscription subscriptionID"
type AzureAccount struct {
	// subscriptionID is the UUID of the subscription.
	// +required
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`
	SubscriptionID string `json:"subscriptionID"`

	// resourceGroups are the groups that snapshots are created in, by region, for
	// example westeurope. One entry alone serves all regions. Of several, each serves its own,
	// and a region without one is not used: the condition Authorized names it. Use groups for this
	// hub alone, because the hub lists all of them. 1 to 50, with regions of at most 63
	// characters.
	// +required
	// +kubebuilder:validation:MinProperties=1
	// +kubebuilder:validation:MaxProperties=50
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 63)",message="resourceGroups must have regions of at most 63 characters"
	ResourceGroups map[string]ResourceGroup `json:"resourceGroups"`

	// keys are the disk encryption sets whose keys encrypt copies in other regions, by region, for
	// example westeurope. A set must be in that region and in this subscription. Absent: a key of
	// Azure. At most 50, with regions of at most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxProperties=50
	// +kubebuilder:validation:XValidation:rule="self.all(k, k.size() <= 63)",message="keys must have regions of at most 63 characters"
	Keys map[string]DiskEncryptionSet `json:"keys,omitempty"`

	// tenantID is the UUID of the directory. Required unless credentials.type is Ambient.
	// +optional
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`
	TenantID string `json:"tenantID,omitempty"`

	// clientID is the UUID of the application or managed identity. Required unless
	// credentials.type is Ambient.
	// +optional
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:Pattern=`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`
	ClientID string `json:"clientID,omitempty"`
}

// ResourceGroup is the name of a resource group of Azure. At most 90 characters.
//
// +kubebuilder:validation:MaxLength=90
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_().-]*[A-Za-z0-9_()-]$`
type ResourceGroup string

// DiskEncryptionSet is the ID of a disk encryption set of Azure:
// /subscriptions/<id>/resourceGroups/<group>/providers/Microsoft.Compute/diskEncryptionSets/<name>. At most 512
// characters.
//
// +kubebuilder:validation:MaxLength=512
// +kubebuilder:validation:Pattern=`^/subscriptions/[0-9a-fA-F-]{36}/resourceGroups/[A-Za-z0-9_().-]+/providers/Microsoft\.Compute/diskEncryptionSets/[A-Za-z0-9_.-]+$`
type DiskEncryptionSet string

// GroupOf returns the resource group for a region; empty if there is none.
func (a *AzureAccount) GroupOf(region string) string {
	if len(a.ResourceGroups) == 1 {
		for _, group := range a.ResourceGroups {
			return string(group)
		}
	}
	return string(a.ResourceGroups[region])
}

// CloudAccountStatus is the observed state of an account.
type CloudAccountStatus struct {
	// conditions are the latest observations of the account. Known types are Ready,
	// CredentialsValid, Authorized and, with spec.objectStorage, ObjectStorageReady. At
	// most 16.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status reflects.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// identity is the identity of the hub as the provider reports it. At most 2048
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Identity string `json:"identity,omitempty"`

	// lastVerifiedTime is the time at which the provider last confirmed the identity. It is
	// updated when the identity changes, and once an hour.
	// +optional
	LastVerifiedTime *metav1.Time `json:"lastVerifiedTime,omitempty"`

	// orphans are the snapshots and dumps that are the hub's, and that no Backup names, as of the last
	// hourly comparison. Absent if there are none.
	// +optional
	Orphans *Orphans `json:"orphans,omitempty"`

	// claims are the hubs whose backups are claimed in the bucket, as of the last hourly comparison: this
	// one, and those that it has backups of. At most 100.
	// +optional
	// +listType=map
	// +listMapKey=hub
	// +kubebuilder:validation:MaxItems=100
	Claims []HubClaim `json:"claims,omitempty"`

	// lastHandledRediscoverAt is the value of the annotation ecommerce.io/rediscover-at
	// that was last handled. At most 256 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	LastHandledRediscoverAt string `json:"lastHandledRediscoverAt,omitempty"`

	// rediscovered is a human-readable result of the last rediscovery. While a region does not
	// answer, it names the region, and lastHandledRediscoverAt is not set. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Rediscovered string `json:"rediscovered,omitempty"`
}
