package runbook

import v1 "github.com/shopfleet/shopfleet/api/v1"

const (
	describeBackup  = "kubectl describe backup BACKUP -n NAMESPACE"
	describeRestore = "kubectl describe restore RESTORE -n NAMESPACE"
	listBackups     = "kubectl shopfleet backup list APP -n NAMESPACE -o wide"
	backupAgain     = "kubectl shopfleet backup create APP -n NAMESPACE"
	jobsInMember    = "kubectl get jobs,pods -n NAMESPACE -l app.kubernetes.io/instance=APP   # in the member"
	waitOn          = "Wait; the hub goes on by itself, and the message says what it waits for."
)

// backupProgress returns the reasons of a Backup that is complete, or on its way.
func backupProgress() []Entry {
	return []Entry{
		{v1.ReasonCompleted, "The Backup can be restored, its copies are made, or the Restore is done.", "", ""},
		{v1.ReasonPartiallyCompleted, "The backup can be restored where it is: the snapshot in its region, or the dump in its cluster. A copy in another region failed, or the dump is not in the bucket.",
			describeBackup, "Look up the condition Copied of the Backup: it names the region and the cause. Correct that; the next Backup is copied.\n" + backupAgain},
		{v1.ReasonBackupsRecent, "Each cluster of the application has a successful backup that is younger than spec.database.backup.maxRPO, in each place where it should be.", "", ""},
		{v1.ReasonNoBackupYet, "A cluster has no successful backup yet, and has been there for less than spec.database.backup.maxRPO.",
			listBackups, backupAgain + "\nThat makes one now instead of waiting for the schedule."},
		{v1.ReasonCreatingSnapshots, "The hub waits until the provider has fixed the point in time of the snapshots.",
			describeBackup, waitOn},
		{v1.ReasonUploading, "The point in time is fixed, and the provider stores the data of the snapshots. That takes minutes to hours, by size.",
			describeBackup, waitOn},
		{v1.ReasonCopying, "The snapshots are ready, and the provider copies them to the regions of copyToRegions.",
			describeBackup, waitOn},
		{v1.ReasonDumping, "A Job dumps the database to its claim in the member. If the message gives a cause after \"waits\", the Job cannot start.",
			jobsInMember, waitOn},
		{v1.ReasonSending, "A Job sends the dump from its claim to the bucket.", jobsInMember, waitOn},
		{v1.ReasonRetrying, "A response of the provider was lost, or an attempt failed that may succeed the next time. The hub makes sure what happened before it asks again.",
			describeBackup, waitOn},
	}
}

// backupFailures returns the reasons of a Backup that failed, and of BackupReady.
func backupFailures() []Entry {
	return []Entry{
		{v1.ReasonNoBackup, "A cluster of the application has had no successful backup for longer than spec.database.backup.maxRPO. The database could not be restored.",
			listBackups, backupAgain + "\nLook up the reason of the last failed Backup first; the message quotes it."},
		{v1.ReasonBackupTooOld, "The newest successful backup of a cluster is older than spec.database.backup.maxRPO.",
			listBackups, backupAgain + "\nLook up the reason of the last failed Backup first; the message quotes it."},
		{v1.ReasonNotOffsite, "A region of spec.database.backup.copyToRegions, or the bucket of the CloudAccount, does not have the newest successful backup. BackupReady is False when it has had no new one for longer than maxRPO. If the cluster or its region is lost, newer data is lost.",
			listBackups, backupAgain + "\nFirst correct the cause in the message: permissions to copy, spec.regions of the CloudAccount, more regions than the provider can, or a cluster that is dumped and has no bucket.\nOr remove the region from spec.database.backup.copyToRegions."},
		{v1.ReasonCopyFailed, "A copy of the snapshot in another region cannot be made, or the dump cannot be sent to the bucket. The backup can be restored where it is.",
			describeBackup, "The message names the region and quotes the provider. Permissions to copy are in cloud/README.md.\n" + backupAgain},
		{v1.ReasonScheduleTooTight, "The schedule asks for snapshots more often than the provider allows. Backups are made as often as it does.",
			describeApp, "Make spec.database.backup.schedule as rare as the message says, or use spec.database.backup.method: Dump."},
		{v1.ReasonPruningHeld, "Old backups are not deleted, because something is not certain: the clock, newer backups, what a restored hub does not know, or whether another hub has taken them over. They cost storage, and nothing is lost.",
			listBackups, "Do as the message says; if it names a cluster with a newer copy, settle that with kubectl shopfleet recover list -A.\nIf another hub has taken the backups over by mistake, delete its claim: the object shopfleet/HUB/claims/OTHER.json in the bucket of the CloudAccount."},
		{v1.ReasonSnapshotFailed, "The provider gave up on a snapshot, or the data of a volume that was made from it could not be opened, or ends before what the Backup has recorded. An upgrade of the database waits for a successful backup.",
			describeBackup, backupAgain + "\nThe message quotes the provider, or the Job that opened the data. For a Restore, use another Backup. Data that is older than the Backup says can be restored when status.position of the Backup is taken away: see Backups in cloud/README.md."},
		{v1.ReasonSnapshotMissing, "A snapshot does not exist: it was deleted in the cloud, or the region has no copy of it. Once an hour the hub compares complete Backups with the cloud: one that is lost is not the newest successful one any more, and retention deletes it, with what is left of its copies, when it is older than keepDays and a newer good one is left.",
			listBackups, backupAgain + "\nFind out who deletes snapshots in the cloud account. If the provider has it in a recycle bin, recover it: a Restore finds it at once, and the Backup is good again after the next comparison.\nFor a Restore in another region, use a Backup with a copy there, and set spec.database.backup.copyToRegions."},
		{v1.ReasonSnapshotForeign, "A snapshot has lost the tags that mark it as this hub's, so that the hub neither uses nor deletes it.",
			describeBackup, backupAgain + "\nFind out who changes tags in the cloud account. Delete the snapshot there by hand when it is of no more use."},
		{v1.ReasonSnapshotStuck, "The snapshot was not complete in time, and the hub gave up.",
			describeBackup, backupAgain + "\nIf it happens again, look at the provider's status page and at the volume in its console."},
		{v1.ReasonDumpFailed, "The Job that dumps the database failed, is gone, or took too long, or the file on the claim is not the dump any more.",
			jobsInMember, backupAgain + "\nThe message quotes the Job: a full claim, a wrong password or a database that is not ready are common."},
		{v1.ReasonSendFailed, "The dump could not be sent to the bucket, or not in time. It is still on its claim in the member.",
			jobsInMember, backupAgain + "\nCheck that the pods of the member reach the bucket, and the condition ObjectStorageReady of the CloudAccount."},
		{v1.ReasonCronJobNotFound, "The member has no CronJob of the application to dump with: backups are disabled, are made by snapshots there, or the copy is not applied yet.",
			"kubectl get cronjobs -n NAMESPACE   # in the member",
			"Set spec.database.backup.enabled, or make a Backup with spec.method: Snapshot."},
		{v1.ReasonClaimNotFound, "The database has no claim in the cluster, or its volume is in another cloud account than that of the member.",
			"kubectl get pvc -n NAMESPACE -l app.kubernetes.io/instance=APP   # in the member",
			"Correct spec.cloudAccountRef of the MemberCluster, or wait until the database has its claim, and back up again."},
		{v1.ReasonApplicationNotFound, "The EcommerceApp of the Backup does not exist.",
			"kubectl get ecommerceapp -n NAMESPACE", "Delete the Backup object, or create the application again."},
		{v1.ReasonNoDatabase, "The application has no database, or is not placed in the cluster yet.",
			describeApp, "Give the application spec.database, or place it in the cluster; a Restore goes on then."},
		{v1.ReasonVerificationFailed, "The last verification failed: the data did not open, is damaged, or was not read within 6 hours; or the cluster could not do it. The message has the cause.",
			"kubectl get restores -n NAMESPACE -o wide", backupAgain + "\nLook up the reason in the message of the Restore; keep older Backups until one is verified."},
	}
}

// restores returns the reasons of a Restore.
func restores() []Entry {
	return []Entry{
		{v1.ReasonVerifying, "The restored data is read for a test beside the application.", describeRestore, waitOn},
		{v1.ReasonLoading, "A Job loads the dump into the database.", jobsInMember, waitOn},
		{v1.ReasonStoppingApplication, "The hub stops what uses the database, so that only the restore writes.", statusApp, waitOn},
		{v1.ReasonStoppingDatabase, "The hub stops the database, to replace its volumes.", statusApp, waitOn},
		{v1.ReasonCreatingVolumes, "The driver in the cluster makes volumes from the snapshots, a Job looks at their data, or a claim is being bound to one.", describeRestore, waitOn},
		{v1.ReasonStartingDatabase, "The database starts on the restored data, or a Backup waits until the database is ready.", statusApp, waitOn},
		{v1.ReasonLoadFailed, "The dump could not be loaded; the message quotes the Job, and says what state the database is in.",
			jobsInMember, "Correct the cause in the message, and create another Restore.\nkubectl shopfleet restore BACKUP -n NAMESPACE --overwrite"},
		{v1.ReasonDumpMissing, "The dump is not on its claim any more, or not in the bucket that the CloudAccount names now, or parts of it were deleted there, or the hub has no --spoke-image to fetch it with.",
			listBackups, "Restore another Backup, or set spec.objectStorage of the CloudAccount back to the bucket of the dump."},
		{v1.ReasonDatabaseNotEmpty, "The database has data, and the Restore is not allowed to replace it.",
			describeRestore, "To replace the data of the database: kubectl shopfleet restore BACKUP -n NAMESPACE --overwrite\nBack the database up first."},
		{v1.ReasonVolumeInUse, "The database or one of its replicas has a claim in the cluster, maybe since the import began, and the Restore may not replace its volume. Or a volume that is to be put back has another claim, or its claim another volume.",
			describeRestore, "If volumes are to be put back: delete the claim that the message names, if it is not needed.\nTo replace the volume of the database: kubectl shopfleet restore BACKUP -n NAMESPACE --overwrite\nThe old volume is retained."},
		{v1.ReasonAlreadyRestored, "The cluster records that this Restore has ended, which a hub that was itself restored does not know. Nothing is replaced again.",
			describeRestore, "If the data is to be restored once more: kubectl shopfleet restore BACKUP -n NAMESPACE"},
		{v1.ReasonPutBack, "A user had the hub put back the volumes that this Restore replaced: the Restore has the annotation ecommerce.io/put-back=true. The database runs on them; restored volumes that it used stay as PersistentVolumes.",
			describeRestore, "Delete the PersistentVolumes, and their volumes in the cloud, if you do not need what was written there.\nTo restore another Backup: kubectl shopfleet restore BACKUP -n NAMESPACE --overwrite"},
		{v1.ReasonVolumeChanged, "A volume or snapshot is not the one that the hub asked for: another request has used its name or token. Or a volume that was imported, or is to be put back, is there no longer.",
			describeRestore, "If the Restore is Stalled: put back what it has replaced, or delete it, as the message says.\nThen create another Restore, or back up again."},
		{v1.ReasonBackupNotFound, "The Backup of the Restore does not exist, or is being deleted.",
			"kubectl shopfleet backup list -n NAMESPACE", "kubectl shopfleet backup rediscover\nThat recovers Backup objects from the cloud. Otherwise name another Backup."},
		{v1.ReasonBackupNotReady, "The Backup is not complete, has failed, or its copy in the region is still being made.",
			listBackups, "Wait for the Backup, or restore another one."},
		{v1.ReasonProviderMismatch, "The Backup has snapshots of another provider or CloudAccount than the cluster.",
			"kubectl get membercluster,cloudaccount", "Restore in a cluster of the same provider and account, or restore a dump."},
		{v1.ReasonEngineMismatch, "The Backup is of another database engine, or of a version that the application's cannot read.",
			describeRestore, "Set engine and version of spec.database to those of the Backup, or restore another one."},
		{v1.ReasonInUse, "Another Restore, a dump or the cloud uses the database or the snapshot at this time, or a lock or retention policy keeps what is to be deleted.",
			describeRestore, "Wait.\nWhat a lock keeps is deleted when that has ended: the hub tries again, where the provider keeps it every six hours."},
	}
}

// cloudAccounts returns the reasons of CloudAccounts, which Backups and Restores pass on.
func cloudAccounts() []Entry {
	const describeAccount = "kubectl describe cloudaccount ACCOUNT"
	return []Entry{
		{v1.ReasonAccountNotFound, "The MemberCluster names no CloudAccount, or one that does not exist.",
			"kubectl get membercluster MEMBER -o jsonpath='{.spec.cloudAccountRef.name}'",
			"Create the CloudAccount, and name it in spec.cloudAccountRef of the MemberCluster."},
		{v1.ReasonAccountNotReady, "The provider rejects the credentials of the CloudAccount, or its bucket is missing or has changed.",
			describeAccount, "Look up the reason of the CloudAccount; the hub goes on when that is Ready."},
		{v1.ReasonRegionNotAllowed, "spec.regions of the CloudAccount does not list the region.",
			describeAccount, "Add the region to spec.regions of the CloudAccount, and back up or restore again."},
		{v1.ReasonThrottled, "The provider, or a member's API server, asks the hub to slow down. The hub waits as long as it was told.",
			describeAccount, "Wait; if it stays, raise the request limits of the account, or spread the schedules of backups."},
		{v1.ReasonQuotaExceeded, "A quota of the cloud account is exhausted: snapshots, volumes or storage. Or there are more snapshots than the hub searches.",
			describeAccount, "Raise the quota that the message names, or shorten spec.database.backup.retention.\nThe hub tries again within 10 minutes."},
		{v1.ReasonCloudUnavailable, "The provider, or the endpoint of the bucket, does not answer. The hub retries.",
			describeAccount, "Check the provider's status page, and that the hub reaches its endpoint.\nIf it never worked, check the endpoint in the CloudAccount."},
		{v1.ReasonCloudRefused, "The provider denies a request: a permission, or something that it does not support.",
			describeAccount, "Grant the permission that the message names; see cloud/README.md.\nThe hub tries again within 5 minutes. What the provider does not support fails for good."},
		{v1.ReasonWrongAccount, "The credentials are for another account, project or subscription than the one in the CloudAccount.",
			describeAccount, "Store the right credentials in the Secret, or correct the spec of the CloudAccount."},
		{v1.ReasonBucketNotFound, "The bucket of spec.objectStorage does not exist.",
			describeAccount, "Create the bucket, or correct spec.objectStorage of the CloudAccount."},
	}
}
