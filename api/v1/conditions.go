package v1

// Phase is a summary of the conditions for people. It is derived from what is
// observed and never read back.
//
// +kubebuilder:validation:Enum=Pending;Creating;Running;Updating;Scaling;Failed;Deleting;Disabled;Unknown
type Phase string

// The phases of an application and of its components.
const (
	// PhasePending means that no work has begun: no cluster is chosen, or a
	// component waits for another.
	PhasePending Phase = "Pending"
	// PhaseCreating means that the first rollout is under way.
	PhaseCreating Phase = "Creating"
	// PhaseRunning means that everything wanted is observed ready.
	PhaseRunning Phase = "Running"
	// PhaseUpdating means that a change is being rolled out, or that something
	// that was ready is being brought back.
	PhaseUpdating Phase = "Updating"
	// PhaseScaling means that only the number of replicas is changing.
	PhaseScaling Phase = "Scaling"
	// PhaseFailed means that it will not become ready without a change, or did
	// not within its deadline. It leaves this phase by itself when repaired.
	PhaseFailed Phase = "Failed"
	// PhaseDeleting means that it is being cleaned up.
	PhaseDeleting Phase = "Deleting"
	// PhaseDisabled is the phase of a component that the spec switches off.
	PhaseDisabled Phase = "Disabled"
	// PhaseUnknown is the phase of a cluster that does not answer, and with it of
	// its region and of the application.
	PhaseUnknown Phase = "Unknown"
)

// Condition types of EcommerceApp and of the other kinds that the spoke runs.
const (
	// ConditionReady is True when everything wanted is observed ready.
	ConditionReady = "Ready"
	// ConditionPlaced is True when the placement chose at least one cluster (hub only).
	ConditionPlaced = "Placed"
	// ConditionApplied is True when every chosen cluster has the current spec.
	ConditionApplied = "Applied"
	// ConditionProgressing is True while a rollout is under way.
	ConditionProgressing = "Progressing"
	// ConditionDegraded is True while something is failed or cannot be observed.
	ConditionDegraded = "Degraded"
	// ConditionInitialized becomes True with the first readiness and stays; it
	// tells Creating from Updating.
	ConditionInitialized = "Initialized"
)

// Condition types of MemberCluster.
const (
	// ConditionConnected is True while the probes of the cluster succeed.
	ConditionConnected = "Connected"
	// ConditionAuthorized is True when the credentials allow all that is needed.
	ConditionAuthorized = "Authorized"
	// ConditionIdentityVerified is True when the cluster is the one first
	// registered under this name, and under no other name.
	ConditionIdentityVerified = "IdentityVerified"
	// ConditionCredentialsValid is True when the kubeconfig is safe and complete
	// and the cluster accepts it.
	ConditionCredentialsValid = "CredentialsValid"
	// ConditionStorageReady is True when the cluster has the storage classes that fit
	// its provider.
	ConditionStorageReady = "StorageReady"
	// ConditionAgentReady is True while the agent of a member in mode Agent gives
	// signs of life. Members in mode Agentless do not have it.
	ConditionAgentReady = "AgentReady"
)

// Condition types of backups, restores and what they are made with. CloudAccount has
// CredentialsValid and Authorized as well.
const (
	// ConditionBackupReady is True, on an application, while each of its clusters has
	// a good backup that is not older than spec.database.backup.maxRPO. It is Unknown while
	// a cluster has had none yet and is younger than that.
	ConditionBackupReady = "BackupReady"
	// ConditionObjectStorageReady is True, on a CloudAccount, when the hub can list what
	// is in the bucket of spec.objectStorage. Accounts without one do not have it.
	ConditionObjectStorageReady = "ObjectStorageReady"
	// ConditionCopied is True, on a Backup, when all copies in other regions are made.
	ConditionCopied = "Copied"
)

// Reasons of backups, restores, storage and accounts.
const (
	ReasonCompleted           = "Completed"
	ReasonCreatingSnapshots   = "CreatingSnapshots"
	ReasonUploading           = "Uploading"
	ReasonCopying             = "Copying"
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
	ReasonStoppingApplication = "StoppingApplication"
	ReasonCronJobNotFound     = "CronJobNotFound"
	ReasonVolumeChanged       = "VolumeChanged"
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

// Reasons of conditions, components and clusters.
const (
	ReasonRunning              = "Running"
	ReasonProgressing          = "Progressing"
	ReasonScaling              = "Scaling"
	ReasonWaitingForDependency = "WaitingForDependency"
	ReasonWaitingForReplicas   = "WaitingForReplicas"
	ReasonWaitingForStorage    = "WaitingForStorage"
	ReasonStorageNotExpandable = "StorageNotExpandable"
	ReasonDisabled             = "Disabled"
	ReasonDeadlineExceeded     = "ProgressDeadlineExceeded"
	ReasonInvalidSpec          = "InvalidSpec"
	ReasonConflict             = "Conflict"
	ReasonForbidden            = "Forbidden"
	ReasonCredentialsMissing   = "CredentialsMissing"
	ReasonNamespaceTerminating = "NamespaceTerminating"
	ReasonApplyFailed          = "ApplyFailed"
	ReasonDeleting             = "Deleting"
	ReasonReconciled           = "Reconciled"

	ReasonPlaced             = "Placed"
	ReasonNoReadyCluster     = "NoReadyCluster"
	ReasonNoMatchingCluster  = "NoMatchingCluster"
	ReasonClusterUnreachable = "ClusterUnreachable"
	ReasonClusterNotReady    = "ClusterNotReady"
	ReasonClusterDetached    = "ClusterDetached"
	ReasonWaitingForClusters = "WaitingForClusters"

	// Why a cluster was not taken.
	ReasonNotSelected        = "NotSelected"
	ReasonNameNotListed      = "NameNotListed"
	ReasonRegionNotListed    = "RegionNotListed"
	ReasonProviderNotListed  = "ProviderNotListed"
	ReasonMaxClustersReached = "MaxClustersReached"

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
	ReasonHubItself              = "HubItself"
	ReasonClusterIdentityChanged = "ClusterIdentityChanged"
	ReasonSetupFailed            = "SetupFailed"
	ReasonNotChecked             = "NotChecked"
	ReasonValid                  = "Valid"
	ReasonExpired                = "Expired"

	// How the agent of a member is.
	ReasonAgentAlive   = "AgentAlive"
	ReasonAgentSilent  = "AgentSilent"
	ReasonAgentMissing = "AgentMissing"
)
