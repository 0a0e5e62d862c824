package doctor

// The reasons of checks that no condition has. Each has an entry in hub/runbook, as the reasons of api/v1 have.
const (
	reasonDeploymentMissing      = "DeploymentMissing"
	reasonNoDeployment           = "NoDeployment"
	reasonScaledToZero           = "ScaledToZero"
	reasonPodsNotAvailable       = "PodsNotAvailable"
	reasonNewPodsNotReady        = "NewPodsNotReady"
	reasonLeaseRenewed           = "LeaseRenewed"
	reasonLeaseMissing           = "LeaseMissing"
	reasonLeaseExpired           = "LeaseExpired"
	reasonDefinitionMissing      = "DefinitionMissing"
	reasonDefinitionDeleting     = "DefinitionDeleting"
	reasonCurrent                = "Current"
	reasonInstalled              = "Installed"
	reasonRead                   = "Read"
	reasonReadFailed             = "ReadFailed"
	reasonAnswers                = "Answers"
	reasonFrontendReplicasNotSet = "FrontendReplicasNotSet"
	reasonNoProblem              = "NoProblem"
	reasonBackupFailed           = "BackupFailed"
	reasonSupported              = "Supported"
	reasonVersionUnknown         = "VersionUnknown"
	// reasonVersionSkew means that two programs are more than one minor version apart.
	reasonVersionSkew        = "VersionSkew"
	reasonNewerThanTested    = "NewerThanTested"
	reasonSnapshotsNotServed = "SnapshotsNotServed"
)
