package v1

// Phase is a human-readable summary of the conditions. It is derived from observations and
// never read back.
//
// +kubebuilder:validation:Enum=Pending;Creating;Running;Updating;Scaling;Failed;Deleting;Disabled;Paused;Unknown
type Phase string

// Phases of an application and of its components.
const (
	// PhasePending means that no work has begun: no cluster is chosen, or a component waits
	// for another.
	PhasePending Phase = "Pending"
	// PhaseCreating means that the first rollout is in progress.
	PhaseCreating Phase = "Creating"
	// PhaseRunning means that the desired state is observed to be ready.
	PhaseRunning Phase = "Running"
	// PhaseUpdating means that a change is being rolled out, or that something that was
	// ready is recovering.
	PhaseUpdating Phase = "Updating"
	// PhaseScaling means that only the number of replicas is changing.
	PhaseScaling Phase = "Scaling"
	// PhaseFailed means that the object cannot become ready without a change, or did not
	// within its deadline. It leaves this phase when the cause is removed.
	PhaseFailed Phase = "Failed"
	// PhaseDeleting means that the object is being deleted.
	PhaseDeleting Phase = "Deleting"
	// PhaseDisabled is the phase of a component that the spec disables.
	PhaseDisabled Phase = "Disabled"
	// PhasePaused is the phase of an application with spec.paused, and of its part in a
	// cluster that is paused.
	PhasePaused Phase = "Paused"
	// PhaseUnknown is the phase of a cluster that does not respond, of its region and of
	// the application.
	PhaseUnknown Phase = "Unknown"
)

// Condition types of EcommerceApp, WebApp and MySQLCluster.
const (
	// ConditionReady is True when the desired state is observed to be ready.
	ConditionReady = "Ready"
	// ConditionAvailable is True while customers can be served: the primary of the database is
	// ready, backend and frontend have an available pod each, and the Ingress or HTTPRoute exists. On the
	// hub it is True while that is so in every cluster, and Unknown while a cluster does not
	// respond and no other one is known not to be available.
	ConditionAvailable = "Available"
	// ConditionPlaced is True when the placement chose at least one cluster, and the chosen ones
	// are spread as it says (hub only). Its reason says why an application stays in a cluster that
	// it should leave.
	ConditionPlaced = "Placed"
	// ConditionApplied is True when every chosen cluster has the current spec.
	ConditionApplied = "Applied"
	// ConditionProgressing is True while a rollout is in progress.
	ConditionProgressing = "Progressing"
	// ConditionDegraded is True while something has failed or cannot be observed, or while what
	// runs is of no use to users.
	ConditionDegraded = "Degraded"
	// ConditionStalled is True while the spec cannot take effect without a user. What runs may be
	// ready all the same, as a database whose volume cannot grow. A cluster that does not respond
	// does not stall an application.
	ConditionStalled = "Stalled"
	// ConditionDeleting is True while an application is being deleted, and names what the
	// deletion waits for (hub only).
	ConditionDeleting = "Deleting"
	// ConditionPropagated is True while the hub can read everything that spec.propagate lists, and
	// write it in each cluster that it reaches (hub only). Applications without spec.propagate do
	// not have it.
	ConditionPropagated = "Propagated"
	// ConditionSupported is False while the spec has fields without effect, and names them: those
	// that only a hub carries out, of an application that has none, and cloudConfig.aws.rds of a
	// MySQLCluster. Objects without such fields do not have it.
	ConditionSupported = "Supported"
	// ConditionCertificateTrusted is False while the certificate of the ingress is self-signed although
	// spec.security.tls.issuerRef is set: the cluster has no cert-manager. On the hub it names the
	// clusters. Other applications do not have it.
	ConditionCertificateTrusted = "CertificateTrusted"
	// ConditionStoredAsApplied is False while the API server of the cluster has stored fields of an object
	// otherwise than they were applied, as an admission policy or a webhook has it; it names the field and
	// both values. Other applications do not have it.
	ConditionStoredAsApplied = "StoredAsApplied"
	// ConditionDatabaseLost is True while the volume of the database's primary is empty although the
	// database was created before: nothing is initialized, backed up or pruned until its data is
	// restored, or a user asks for an empty database. Other applications do not have it.
	ConditionDatabaseLost = "DatabaseLost"
	// ConditionStatusRejected is True while the API server refuses what members report about the
	// application, so that the status is without it (hub only). Other applications do not have it.
	ConditionStatusRejected = "StatusRejected"
	// ConditionInitialized becomes True when the object is ready for the first time, and
	// stays True. It distinguishes Creating from Updating.
	ConditionInitialized = "Initialized"
)

// Condition types of MemberCluster.
const (
	// ConditionConnected is True while probes of the cluster succeed.
	ConditionConnected = "Connected"
	// ConditionAuthorized is True when the credentials grant every permission that the hub
	// needs.
	ConditionAuthorized = "Authorized"
	// ConditionIdentityVerified is True when the cluster is the one that was first
	// registered under this name, and is registered under no other name.
	ConditionIdentityVerified = "IdentityVerified"
	// ConditionCredentialsValid is True when the kubeconfig is safe and complete and the
	// cluster accepts it.
	ConditionCredentialsValid = "CredentialsValid"
	// ConditionCredentialsRenewed is False when the credentials expire soon or have expired,
	// and when the cluster denies the hub a new token. Credentials without an expiry do not
	// have it, and Ready does not depend on it.
	ConditionCredentialsRenewed = "CredentialsRenewed"
	// ConditionAccountRestricted is True when the cluster denies the hub a write in kube-system, as the
	// admission policies that kubectl shopfleet join installs do. Ready does not depend on it. It is
	// absent while the answer is not known.
	ConditionAccountRestricted = "AccountRestricted"
	// ConditionStorageReady is True when the cluster has the StorageClasses of the storage
	// profiles.
	ConditionStorageReady = "StorageReady"
	// ConditionAgentReady is True while the agent of a member in mode Agent renews its
	// Lease. Members in mode Agentless do not have it.
	ConditionAgentReady = "AgentReady"
	// ConditionDefinitionsCurrent is False while a CustomResourceDefinition in a member in mode Agent lacks
	// fields that the hub's has, as after an upgrade of the hub. Ready does not depend on it. It is absent
	// otherwise.
	ConditionDefinitionsCurrent = "DefinitionsCurrent"
)

// Condition types of Backup, Restore and CloudAccount, and the condition of an EcommerceApp
// that is about backups. CloudAccount also has CredentialsValid and Authorized.
const (
	// ConditionBackupReady is True, on an EcommerceApp, while each of its clusters has a
	// successful backup that is not older than spec.database.backup.maxRPO, and the newest one is
	// also in each region of copyToRegions, or in the bucket. It is Unknown while a cluster that is
	// younger than that has no backup yet, or a region or the bucket does not have the newest one.
	ConditionBackupReady = "BackupReady"
	// ConditionObjectStorageReady is True, on a CloudAccount, when the hub can list the
	// bucket of spec.objectStorage. Accounts without a bucket do not have it.
	ConditionObjectStorageReady = "ObjectStorageReady"
	// ConditionCopied is True, on a Backup, when all copies in other regions exist, or the dump
	// is in the bucket. If one failed, it says which and why.
	ConditionCopied = "Copied"
)

// Reasons of the conditions of Backup, Restore and CloudAccount, and of BackupReady and
// StorageReady.
const (
	ReasonCompleted           = "Completed"
	ReasonCreatingSnapshots   = "CreatingSnapshots"
	ReasonUploading           = "Uploading"
	ReasonCopying             = "Copying"
	ReasonCopyFailed          = "CopyFailed"
	ReasonPartiallyCompleted  = "PartiallyCompleted"
	ReasonRetrying            = "Retrying"
	ReasonSnapshotFailed      = "SnapshotFailed"
	ReasonSnapshotMissing     = "SnapshotMissing"
	ReasonSnapshotForeign     = "SnapshotForeign"
	ReasonSnapshotStuck       = "SnapshotStuck"
	ReasonDumping             = "Dumping"
	ReasonDumpFailed          = "DumpFailed"
	ReasonSending             = "Sending"
	ReasonSendFailed          = "SendFailed"
	ReasonDumpMissing         = "DumpMissing"
	ReasonLoading             = "Loading"
	ReasonLoadFailed          = "LoadFailed"
	ReasonDatabaseNotEmpty    = "DatabaseNotEmpty"
	ReasonAlreadyRestored     = "AlreadyRestored"
	ReasonStoppingApplication = "StoppingApplication"
	ReasonCronJobNotFound     = "CronJobNotFound"
	ReasonVolumeChanged       = "VolumeChanged"
	ReasonPutBack             = "PutBack"
	ReasonClaimNotFound       = "ClaimNotFound"
	ReasonApplicationNotFound = "ApplicationNotFound"
	ReasonNoDatabase          = "NoDatabase"
	ReasonAccountNotFound     = "AccountNotFound"
	ReasonAccountNotReady     = "AccountNotReady"
	ReasonRegionNotAllowed    = "RegionNotAllowed"
	ReasonScheduleTooTight    = "ScheduleTooTight"
	ReasonThrottled           = "Throttled"
	ReasonQuotaExceeded       = "QuotaExceeded"
	ReasonCloudUnavailable    = "CloudUnavailable"
	ReasonCloudRefused        = "CloudRefused"
	ReasonWrongAccount        = "WrongAccount"
	ReasonBucketNotFound      = "BucketNotFound"
	ReasonVerificationFailed  = "VerificationFailed"
	ReasonVerifying           = "Verifying"
	ReasonNoBackup            = "NoBackup"
	ReasonNoBackupYet         = "NoBackupYet"
	ReasonBackupTooOld        = "BackupTooOld"
	ReasonNotOffsite          = "NotOffsite"
	ReasonBackupsRecent       = "BackupsRecent"
	ReasonPruningHeld         = "PruningHeld"
	ReasonBackupNotFound      = "BackupNotFound"
	ReasonBackupNotReady      = "BackupNotReady"
	ReasonProviderMismatch    = "ProviderMismatch"
	ReasonEngineMismatch      = "EngineMismatch"
	ReasonVolumeInUse         = "VolumeInUse"
	ReasonStoppingDatabase    = "StoppingDatabase"
	ReasonCreatingVolumes     = "CreatingVolumes"
	ReasonStartingDatabase    = "StartingDatabase"
	ReasonProvisioned         = "Provisioned"
	ReasonDriverMissing       = "DriverMissing"
	ReasonProviderUnknown     = "ProviderUnknown"
	ReasonInUse               = "InUse"
)

// Reasons of the condition Ready of Plan, which also has Completed, Deleting, Forbidden and InvalidSpec,
// and why changes in a cluster are not known.
const (
	// ReasonPolicyMissing means that the requester of a Plan may be made up.
	ReasonPolicyMissing = "PolicyMissing"
	// ReasonManagedByAgent means that the hub may not read or write what the agent does.
	ReasonManagedByAgent = "ManagedByAgent"
)

// Reasons of the conditions of EcommerceApp, WebApp, MySQLCluster and MemberCluster, and of
// components and clusters.
const (
	ReasonRunning              = "Running"
	ReasonCreating             = "Creating"
	ReasonUpdating             = "Updating"
	ReasonProgressing          = "Progressing"
	ReasonScaling              = "Scaling"
	ReasonWaitingForDependency = "WaitingForDependency"
	ReasonWaitingForReplicas   = "WaitingForReplicas"
	ReasonWaitingForStorage    = "WaitingForStorage"
	ReasonCopyingData          = "CopyingData"
	ReasonStorageNotExpandable = "StorageNotExpandable"
	// ReasonWaitingForAddress means that an Ingress has a class and no address.
	ReasonWaitingForAddress = "WaitingForAddress"
	// ReasonWaitingForGateway means that the Gateway of an HTTPRoute has not accepted it.
	ReasonWaitingForGateway = "WaitingForGateway"
	// ReasonGatewayAPINotServed means that spec.ingress.gatewayRef is set, and the cluster does not
	// serve HTTPRoutes. It is a reason of Degraded.
	ReasonGatewayAPINotServed = "GatewayAPINotServed"
	// ReasonWaitingForCertificate means that cert-manager has not issued the certificate.
	ReasonWaitingForCertificate = "WaitingForCertificate"
	// ReasonChangedByAdmission is the reason of StoredAsApplied.
	ReasonChangedByAdmission = "ChangedByAdmission"
	// ReasonClaimBeingDeleted means that a volume claim of the database is being deleted: its volume is lost
	// when its pod restarts, so nothing is written that restarts it.
	ReasonClaimBeingDeleted = "ClaimBeingDeleted"
	// ReasonSelfSignedCertificate is the reason of CertificateTrusted.
	ReasonSelfSignedCertificate = "SelfSignedCertificate"
	// ReasonLoginNotConfigured means that no user can log in: the login has no credentials of a
	// provider, or neither domains nor groups of users are admitted. It is a reason of Degraded.
	ReasonLoginNotConfigured = "LoginNotConfigured"
	// Why pods are not ready, for some time: reasons of Degraded, and of Ready while pods are waited for.
	// Their container runs and ends again and again, its image cannot be pulled, it cannot be created, or
	// no node fits. These are the kubelet's and the scheduler's words.
	ReasonCrashLoopBackOff           = "CrashLoopBackOff"
	ReasonImagePullBackOff           = "ImagePullBackOff"
	ReasonCreateContainerConfigError = "CreateContainerConfigError"
	ReasonUnschedulable              = "Unschedulable"
	ReasonFailedCreate               = "FailedCreate"
	ReasonProvisioningFailed         = "ProvisioningFailed"
	ReasonSomeFinalizersRemain       = "SomeFinalizersRemain"
	ReasonAutoscalerInactive         = "AutoscalerInactive"

	// ReasonUpgradeRefused means that a copy would get a server of its database that cannot read the data, or
	// that the user has not agreed to, by an override or an earlier revision, or because it missed a version.
	ReasonUpgradeRefused = "UpgradeRefused"

	ReasonDisabled             = "Disabled"
	ReasonDeadlineExceeded     = "ProgressDeadlineExceeded"
	ReasonInvalidSpec          = "InvalidSpec"
	ReasonConflict             = "Conflict"
	ReasonFieldManagerConflict = "FieldManagerConflict"
	ReasonNewerInMember        = "NewerInMember"
	ReasonDeletedInMember      = "DeletedInMember"
	ReasonNewerElsewhere       = "NewerElsewhere"
	ReasonForbidden            = "Forbidden"
	ReasonCredentialsMissing   = "CredentialsMissing"
	ReasonCredentialsInvalid   = "CredentialsInvalid"
	ReasonRotationFailed       = "RotationFailed"
	// ReasonReplicaDiverged means that a replica of the database was promoted, or has data that is not
	// the primary's. It keeps that data. It is a reason of Degraded.
	ReasonReplicaDiverged      = "ReplicaDiverged"
	ReasonNamespaceTerminating = "NamespaceTerminating"
	// ReasonStatusRejected means that the API server refuses what members report about the application. It is
	// a reason of StatusRejected, and of the entries of clusters whose own reason is left out.
	ReasonStatusRejected = "StatusRejected"
	// ReasonDatabaseLost means that the volume of the database's primary is empty although the database
	// was created before. It is a reason of Ready, Degraded, Stalled, Backup and BackupReady.
	ReasonDatabaseLost = "DatabaseLost"
	ReasonApplyFailed  = "ApplyFailed"
	ReasonDeleting     = "Deleting"
	ReasonPaused       = "Paused"
	ReasonProtected    = "Protected"
	ReasonResidueFull  = "ResidueFull"
	ReasonReconciled   = "Reconciled"
	ReasonAvailable    = "Available"
	ReasonUnavailable  = "Unavailable"
	ReasonNotSupported = "NotSupported"
	// ReasonMissing means that a Secret or ConfigMap does not exist: in Propagated one of spec.propagate
	// on the hub, in Degraded, and in Ready while pods are waited for, one that the spec refers to in
	// the cluster.
	ReasonMissing    = "Missing"
	ReasonPropagated = "Propagated"

	ReasonPlaced             = "Placed"
	ReasonNoReadyCluster     = "NoReadyCluster"
	ReasonNoMatchingCluster  = "NoMatchingCluster"
	ReasonClusterUnreachable = "ClusterUnreachable"
	ReasonClusterNotReady    = "ClusterNotReady"
	ReasonClusterDetached    = "ClusterDetached"
	ReasonWaitingForClusters = "WaitingForClusters"
	ReasonSpreadNotMet       = "SpreadNotMet"

	// Reasons why the placement rejects a cluster.
	ReasonNotSelected        = "NotSelected"
	ReasonNameNotListed      = "NameNotListed"
	ReasonRegionNotListed    = "RegionNotListed"
	ReasonProviderNotListed  = "ProviderNotListed"
	ReasonMaxClustersReached = "MaxClustersReached"
	ReasonSpreadLimit        = "SpreadLimit"
	ReasonTaintNotTolerated  = "TaintNotTolerated"
	ReasonCordoned           = "Cordoned"
	ReasonDrained            = "Drained"

	// Reasons why an application stays in a cluster that it should leave.
	ReasonDataStays          = "DataStays"
	ReasonReplacementPending = "ReplacementPending"
	ReasonNoOtherCluster     = "NoOtherCluster"
	// ReasonFactsUnknown means that the region, the provider or the zones of the cluster, which the
	// placement depends on, are not known.
	ReasonFactsUnknown = "FactsUnknown"

	// Reasons of a rollout.
	ReasonRollingOut         = "RollingOut"
	ReasonRolloutPaused      = "RolloutPaused"
	ReasonRolloutFailed      = "RolloutFailed"
	ReasonRolledBack         = "RolledBack"
	ReasonWaitingForApproval = "WaitingForApproval"
	ReasonWaitingForWindow   = "WaitingForWindow"
	ReasonRevisionNotFound   = "RevisionNotFound"
	ReasonRevisionNotStored  = "RevisionNotStored"

	ReasonConnected              = "Connected"
	ReasonConnecting             = "Connecting"
	ReasonProbeFailed            = "ProbeFailed"
	ReasonSecretNotFound         = "SecretNotFound"
	ReasonKubeconfigMissing      = "KubeconfigMissing"
	ReasonKubeconfigInvalid      = "KubeconfigInvalid"
	ReasonUnsafeKubeconfig       = "UnsafeKubeconfig"
	ReasonCertificateInvalid     = "CertificateInvalid"
	ReasonUnauthorized           = "Unauthorized"
	ReasonAuthorized             = "Authorized"
	ReasonPermissionsMissing     = "PermissionsMissing"
	ReasonVerified               = "Verified"
	ReasonDuplicateCluster       = "DuplicateCluster"
	ReasonManagedByAnotherHub    = "ManagedByAnotherHub"
	ReasonHubItself              = "HubItself"
	ReasonClusterIdentityChanged = "ClusterIdentityChanged"
	ReasonSetupFailed            = "SetupFailed"
	ReasonKubernetesTooOld       = "KubernetesTooOld"
	ReasonNotChecked             = "NotChecked"
	ReasonValid                  = "Valid"
	ReasonExpired                = "Expired"

	// Reasons of CredentialsRenewed, which also has Expired.
	ReasonNotDue        = "NotDue"
	ReasonExpiring      = "Expiring"
	ReasonRenewalDenied = "RenewalDenied"
	ReasonRenewalFailed = "RenewalFailed"

	// Reasons of AccountRestricted.
	ReasonPoliciesInForce = "PoliciesInForce"
	ReasonPoliciesMissing = "PoliciesMissing"

	// Reasons of AgentReady.
	ReasonAgentAlive   = "AgentAlive"
	ReasonAgentSilent  = "AgentSilent"
	ReasonAgentMissing = "AgentMissing"

	// Reasons of DefinitionsCurrent.
	ReasonDefinitionOutdated = "DefinitionOutdated"
)
