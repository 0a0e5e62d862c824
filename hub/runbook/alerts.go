package runbook

import "slices"

// Alerts returns an entry for each alert in config/monitoring, and for each alert of an application
// with spec.monitoring.prometheus. The Reason of an entry is the name of the alert.
func Alerts() []Entry {
	return slices.Concat(hubAlerts(), fleetAlerts(), backupAlerts(), spokeAlerts(), shopAlerts())
}

func hubAlerts() []Entry {
	return []Entry{
		{"ShopfleetHubDown", "Prometheus can scrape no pod of the hub for 5 minutes. Shops keep running; they are not placed, updated, repaired or backed up.",
			hubPods, describeHub + "\nIf the pods run, Prometheus may lack the role shopfleet-metrics-reader, or a NetworkPolicy holds it off."},
		{"ShopfleetHubNoLeader", "Pods of the hub run, and none holds the Lease for 2 minutes. Nothing is reconciled.",
			hubLease,
			"kubectl rollout restart -n shopfleet-system deployment/shopfleet-hub\nThe log says if the hub may not write the Lease, or does not reach the API server."},
		{"ShopfleetHubReconcileErrors", "More than a tenth of the reconciliations of a controller end with an error, for 15 minutes.",
			hubLog, "Correct what the errors in the log name: permissions, a webhook that does not answer, or the hub's API server."},
		{"ShopfleetHubQueueDeep", "A queue of the hub has had more than 100 objects for 15 minutes. Its name ends with a member if it is that of one.",
			fleetOverview, "If the queue is that of a member, look up the reason of that MemberCluster.\nOtherwise the hub has too little CPU: compare the panel CPU of the dashboard with the limits of its Deployment."},
		{"ShopfleetHubReconcileSlow", "Too many reconciliations take more than a second. The label window gives the time over which the error budget is spent.",
			hubLog, "Look at the panels Reconciliation time and CPU of the dashboard.\nA slow API server of the hub and CPU limits that are too low are the usual causes."},
	}
}

func fleetAlerts() []Entry {
	return []Entry{
		{"ShopfleetMemberNotReady", "The condition Ready of the MemberCluster has not been True for 5 minutes. Its shops keep running; the hub does not update or repair them.",
			describeMember, "Look up the reason of the condition Ready: kubectl shopfleet explain REASON."},
		{"ShopfleetMemberCredentialsExpiring", "The hub's credentials of the member expire soon or have expired, and are not renewed.",
			describeMember, "kubectl shopfleet renew MEMBER\nThe condition CredentialsRenewed has the reason and the command to run if that fails."},
		{"ShopfleetAgentOutdated", "Definitions in the member lack fields that the hub's have, for a day: the hub was upgraded, and the agent was not. Applications run there; a change that uses such a field is refused. An older agent whose release has the same fields has no alert: kubectl shopfleet version shows the versions of all.",
			"kubectl shopfleet doctor MEMBER -o wide", joinAgain + " --mode agent --spoke-image IMAGE\nUse the plugin of the hub's release, and the image of that release. An agent that you install otherwise: see [Upgrade](README.md#upgrade)."},
		{"ShopfleetOrphans", "The member holds copies that no application on the hub owns, for 15 minutes. They run there, and nothing updates or deletes them.",
			"kubectl shopfleet recover list -A", "kubectl shopfleet recover adopt NAME -n NAMESPACE\nOr remove it with what runs there: kubectl shopfleet recover delete NAME -n NAMESPACE."},
		{"ShopfleetResidue", "The member holds copies of applications that were deleted while it did not answer, for an hour. The hub deletes them when it returns.",
			"kubectl get configmap -n shopfleet-system shopfleet-residue-MEMBER -o yaml", "Connect the member again.\nIf it will never return: kubectl delete configmap -n shopfleet-system shopfleet-residue-MEMBER."},
		{"ShopfleetDatabaseLost", "The data of the application's database is gone in the cluster: the volume of its primary is empty or missing, although the database was created before. No empty database is started, and no backup is made or pruned.",
			statusApp, "Look up [DatabaseLost](#databaselost) first: replicas or the former volume may have more than the newest Backup.\n" + lostFirst + "."},
		{"ShopfleetAppUnavailable", "Customers of the application cannot be served in the cluster for 5 minutes, and the cluster answers. An application that is being created does not count.",
			statusApp, "kubectl get ecommerceapp APP -n NAMESPACE -o jsonpath='{.status.conditions[?(@.type==\"Available\")].message}'   # in the member\nIt names the component that is missing. Begin with the first of database, backend, frontend and Ingress: kubectl describe pods -n NAMESPACE -l app.kubernetes.io/instance=APP, in the member."},
		{"ShopfleetAppNotReady", "The application has not been ready in the cluster for 15 minutes, and the cluster answers. Customers may be served: ShopfleetAppUnavailable says if not. A cluster that does not answer has the alert ShopfleetMemberNotReady instead.",
			statusApp, "Look up the reason of the cluster in the status of the application."},
		{"ShopfleetAppStuck", "The application has been in the same phase, other than Running, for an hour. A rollout that goes on, waits or is paused does not count.",
			statusApp, "Look up the reason of the condition Ready, or Deleting, of the application."},
		{"ShopfleetAppRolloutFailed", "The rollout of the application has been Failed or RolledBack for 5 minutes: a cluster failed with the revision of the spec, or a user took it back. Not all clusters run it.",
			revisions, "Look up the reason of the condition Ready of the application: RolloutFailed or RolledBack.\nCorrect the spec: the next edit is rolled out."},
		{"ShopfleetAppDegraded", "The application has failed in the cluster, waits there for a user, or is ready with a problem, for 15 minutes: no user can log in, a component restarts again and again, or an object is missing.",
			statusApp, "Look up the reason of the cluster in the status of the application.\nkubectl shopfleet why APP -n NAMESPACE names the clusters."},
		{"ShopfleetAppStatusRejected", "The hub's API server has refused for 5 minutes what members report about the application. Its status lacks messages, components and numbers.",
			describeApp, "Look up the reason StatusRejected: the condition of that type names the member."},
	}
}

func backupAlerts() []Entry {
	return []Entry{
		{"ShopfleetBackupTooOld", "The newest successful backup of the application in the cluster is older than spec.database.backup.maxRPO, or there is none.",
			listBackups, backupAgain + "\nLook up the reason of the newest failed Backup first."},
		{"ShopfleetBackupNotOffsite", "A region of copyToRegions, or the bucket, has had no new backup of the application in the cluster for longer than spec.database.backup.maxRPO. The backups may be where their database is, and be lost with it.",
			listBackups, "Look up the condition Copied of the newest Backup, and the reason NotOffsite in this page."},
		{"ShopfleetBackupOverdue", "A backup should have begun more than an hour ago. It has not failed: the schedule is not followed.",
			describeApp, "Look up the reason of the condition BackupReady.\nIf that is True, the log of the hub says why no Backup is created: " + hubLog + "."},
		{"ShopfleetBackupNotVerified", "The last backup that was restored for a test did not start or is damaged, or none was for longer than spec.database.backup.verify.schedule allows.",
			"kubectl get restores -n NAMESPACE -o wide", backupAgain + "\nLook up the reason of the newest failed Restore. Dumps can be verified only if they are in a bucket."},
		{"ShopfleetCloudAccountErrors", "More than a quarter of the requests with a CloudAccount fail, for 15 minutes. The status 404 does not count.",
			"kubectl get cloudaccount ACCOUNT -o wide", "Look up the reason of the CloudAccount.\nIf that is Ready, look up those of the newest failed Backups: kubectl get backups -A -o wide."},
	}
}

func spokeAlerts() []Entry {
	const (
		spokePods = "kubectl get pods -n shopfleet-system -l app.kubernetes.io/name=shopfleet-spoke -o wide"
		spokeLog  = "kubectl logs -n shopfleet-system deployment/shopfleet-spoke --since=15m"

		clusterDumps = "kubectl get cronjobs,jobs -n NAMESPACE -l app.kubernetes.io/instance=NAME"
	)
	return []Entry{
		{"ShopfleetSpokeDown", "Prometheus can scrape no pod of the spoke for 5 minutes. The shops of this cluster keep running; they are not updated or repaired.",
			spokePods, "kubectl describe pods -n shopfleet-system -l app.kubernetes.io/name=shopfleet-spoke"},
		{"ShopfleetSpokeNoLeader", "Pods of the spoke run, and none holds the Lease for 2 minutes.",
			"kubectl get lease -n shopfleet-system -o wide", "kubectl rollout restart -n shopfleet-system deployment/shopfleet-spoke\nThe log says if the spoke may not write the Lease."},
		{"ShopfleetSpokeReconcileErrors", "More than a tenth of the reconciliations of a controller end with an error, for 15 minutes.",
			spokeLog, "Correct what the errors in the log name: permissions, a webhook that does not answer, or the API server."},
		{"ShopfleetSpokeQueueDeep", "A queue of the spoke has had more than 100 objects for 15 minutes.",
			spokeLog, "Compare the CPU of the spoke with the limits of its Deployment, and look at the load of the API server."},
		{"ShopfleetSpokeDatabaseLost", "The data of a database in the cluster is gone: the volume of its primary is empty or missing, although the database was created before. No empty database is started, and no dump is made or pruned.",
			"kubectl get ecommerceapps,mysqlclusters -A", "Look up [DatabaseLost](#databaselost): restore a backup, or start with an empty database."},
		{"ShopfleetSpokeShopFailed", "An application, WebApp or MySQLCluster in the cluster has been Failed for 10 minutes.",
			"kubectl get ecommerceapps,webapps,mysqlclusters -A", "Look up the reason of the condition Ready of the object whose phase is Failed."},
		{"ShopfleetDumpFailed", "A Job that dumps a MySQLCluster has failed. The alert lasts until the Job is deleted, which is after three more that fail.",
			clusterDumps, "kubectl logs -n NAMESPACE job/JOB\nThe last lines say why. Then run another one: kubectl create job NAME-again -n NAMESPACE --from=cronjob/NAME-backup."},
		{"ShopfleetDumpOverdue", "The CronJob of a MySQLCluster has not created a Job for a scheduled time that is more than an hour ago.",
			clusterDumps, "kubectl describe cronjob -n NAMESPACE NAME-backup\nIts events say why: it is suspended, the Job before is still running, or a quota denies the Job."},
		{"ShopfleetDumpTooOld", "Scheduled dumps of a MySQLCluster have failed for more than a day, or there was none in its first eight days: what was written since cannot be restored.",
			clusterDumps, "kubectl logs -n NAMESPACE job/JOB\nThe last lines of the newest Job say why. To load a dump, see api/README.md#load-a-dump-of-a-mysqlcluster."},
		{"ShopfleetDumpVolumeFull", "The claim of the dumps of a MySQLCluster had less than a tenth left after the last one. The oldest dumps are removed before their retention ends if that makes the next one fit; if it does not fit beside the newest, the Job fails with the size that the claim needs.",
			"kubectl get pvc -n NAMESPACE NAME-backup",
			"Raise spec.storage.size, or lower spec.backup.retention: kubectl edit mysqlcluster NAME -n NAMESPACE.\nThe claim of the dumps grows with the volumes of the database. It can be expanded alone as well: kubectl edit pvc NAME-backup -n NAMESPACE."},
		{"ShopfleetSpokeReconcileSlow", "Too many reconciliations take more than a second. The label window gives the time over which the error budget is spent.",
			spokeLog, "Look at the panels Reconciliation time and CPU of the dashboard."},
	}
}

// shopAlerts returns those that package spoke/render renders for each application.
func shopAlerts() []Entry {
	const (
		describePods = "kubectl describe pods -n NAMESPACE -l app.kubernetes.io/instance=APP   # in the member"
		dumpJobs     = "kubectl get cronjobs,jobs -n NAMESPACE -l app.kubernetes.io/instance=APP   # in the member"
	)
	return []Entry{
		{"ShopWorkloadDown", "No pod of the backend or of the frontend has been available for 2 minutes: customers are not served.",
			memberPods, describePods + "\nThe events of the pods say why. If the last change broke it, set the field back."},
		{"ShopWorkloadDegraded", "Some pods of the backend or of the frontend have not been available for 15 minutes. The others serve customers.",
			memberPods, describePods + "\nThe events of the pods say why: image, resources, probes, nodes, quota."},
		{"ShopDatabaseDown", "The primary of the database, whose pod's name ends with -0, has not been ready for 5 minutes: customers are not served.",
			memberPods, describePods + "\nThe events of the pod say why: volume, node, image, resources."},
		{"ShopDatabaseDegraded", "Pods of the database have not been ready for 15 minutes. Customers are served while the primary is ready; a replica that copies the data takes as long as that is large.",
			memberPods, describePods + "\nLook up the state of the replica in status.databaseReplicas of the copy."},
		{"ShopDatabaseVolumeFull", "A volume of the database has less than a tenth left. A database whose volume is full stops.",
			"kubectl get pvc -n NAMESPACE -l app.kubernetes.io/instance=APP   # in the member",
			"Raise spec.database.storage: kubectl edit ecommerceapp APP -n NAMESPACE.\nIf the StorageClass does not allow that, look up StorageNotExpandable."},
		{"ShopBackupFailed", "A Job that dumps the database has failed. The alert lasts until the Job is deleted, which is after three more that fail.",
			dumpJobs, "kubectl logs -n NAMESPACE job/JOB   # in the member\nThe last lines say why. Then run another one: " + backupAgain + "."},
		{"ShopBackupOverdue", "The CronJob has not created a Job for a scheduled time that is more than an hour ago.",
			dumpJobs, "kubectl describe cronjob -n NAMESPACE APP-database-backup   # in the member\nIts events say why: it is suspended, the Job before is still running, or a quota denies the Job."},
		{"ShopBackupVolumeFull", "The claim of the dumps had less than a tenth left after the last one. The oldest dumps are removed before their retention ends if that makes the next one fit; if it does not fit beside the newest, the Job fails with the size that the claim needs.",
			"kubectl get pvc -n NAMESPACE APP-database-backup   # in the member",
			"Raise spec.database.storage, or lower spec.database.backup.retention: kubectl edit ecommerceapp APP -n NAMESPACE.\nThe claim of the dumps grows with the volumes of the database. It can be expanded alone as well: kubectl edit pvc APP-database-backup -n NAMESPACE, in the member."},
	}
}
