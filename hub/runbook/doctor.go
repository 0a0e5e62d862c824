package runbook

const (
	hubPods      = "kubectl get pods -n shopfleet-system -l app.kubernetes.io/name=shopfleet-hub -o wide"
	describeHub  = "kubectl describe pods -n shopfleet-system -l app.kubernetes.io/name=shopfleet-hub"
	hubLease     = "kubectl get lease -n shopfleet-system shopfleet-hub -o yaml"
	installAgain = "Install the hub again with the same flags: kubectl shopfleet install hub"
	allVersions  = "kubectl shopfleet version"
)

// doctorOfHub returns the reasons of the checks that kubectl shopfleet doctor makes of the hub.
func doctorOfHub() []Entry {
	return []Entry{
		{"DeploymentMissing", "There is neither a Deployment of the hub in its namespace nor a hub that leads: you look in another cluster or namespace, or the hub is not installed.",
			"kubectl get deployments -A -l app.kubernetes.io/name=shopfleet-hub",
			"Choose the hub with --context and --hub-namespace.\nIf there is none: kubectl shopfleet install hub --image IMAGE."},
		{"NoDeployment", "A hub leads, and has no Deployment: it runs in another way.", "", ""},
		{"ScaledToZero", "The Deployment of the hub has no pods. Shops keep running; they are not placed, updated, repaired or backed up.",
			hubPods, "kubectl scale -n shopfleet-system deployment/shopfleet-hub --replicas=2"},
		{"PodsNotAvailable", "Fewer pods of the hub are available than its Deployment wants. While one of them leads, the hub works; the others would take over.",
			hubPods, describeHub + "\nThe events of the pods say why: image, nodes, quota."},
		{"NewPodsNotReady", "An update of the hub has made no progress for ten minutes: a new pod does not become ready. The pods of the release before continue.",
			hubPods, "kubectl logs -n shopfleet-system -l app.kubernetes.io/name=shopfleet-hub --tail=-1 --prefix\nA pod that waits for definitions names them: install the hub with the plugin of the new release, see [Upgrade](README.md#upgrade)."},
		{"LeaseRenewed", "A hub leads: it renews the Lease.", "", ""},
		{"LeaseMissing", "The namespace of the hub has no Lease of it: no hub has led there. Nothing is reconciled.",
			hubPods, hubLog + "\nThe log says if the hub may not write the Lease, waits for definitions, or does not reach its API server."},
		{"LeaseExpired", "No hub has renewed the Lease for a minute, by the clock of your machine. Nothing is reconciled, and the status of all objects is outdated.",
			hubLease, hubLog + "\nThe log says if the hub may not write the Lease, or does not reach its API server."},
		{"DefinitionMissing", "The API server of the hub lacks a CustomResourceDefinition that the plugin knows. If it was deleted, all objects of its kind are gone. A hub of an earlier release than the plugin may not have it yet: then nothing fails.",
			"kubectl get customresourcedefinitions -o custom-columns=NAME:.metadata.name,DELETED:.metadata.deletionTimestamp",
			installAgain + "\nObjects that were deleted with it come back from a backup of the hub: see [Restore the hub](README.md#restore-the-hub)."},
		{"DefinitionDeleting", "A CustomResourceDefinition of the hub is being deleted, with all objects of its kind, and waits for their finalizers. None can be created meanwhile.",
			"kubectl get customresourcedefinitions -o custom-columns=NAME:.metadata.name,DELETED:.metadata.deletionTimestamp",
			"Delete the objects that are left, or restore them from a backup of the hub: see [Restore the hub](README.md#restore-the-hub).\nWhen the definition is gone: kubectl shopfleet install hub, with the same flags."},
		{"ReadFailed", "What the check is about could not be read: the API server of the hub answered with an error, which the message has.",
			"kubectl get --raw '/readyz?verbose'", "Check that the API server of the hub answers, and run doctor again."},
		{"FrontendReplicasNotSet", "EcommerceApps have neither spec.frontend.replicas nor autoscaling, so that a HorizontalPodAutoscaler of your own or KEDA cannot read the number by /scale. They run.",
			"kubectl get ecommerceapps -A", "If something is to scale one of them, set the number with which it begins: kubectl scale ecommerceapp APP -n NAMESPACE --replicas=2."},
		{"Current", "The definitions of the hub have all fields that the plugin knows.", "", ""},
		{"Installed", "The admission policies of the hub and their bindings are there.", "", ""},
		{"Read", "The MemberClusters were read.", "", ""},
		{"Answers", "All EcommerceApps have a number of replicas or autoscaling, so that /scale answers.", "", ""},
		{"NoProblem", "No object of the kind has a problem.", "", ""},
		{"SnapshotsNotServed", "Databases in the cluster are backed up by snapshots, and it does not serve the kinds by which its driver makes volumes from them. Backups go on. A Restore there is refused before anything is stopped, and no Backup is verified there.",
			fleetOverview, "Install in the cluster the definitions of VolumeSnapshots, snapshot-controller, and the driver with its csi-snapshotter (on EKS the add-on snapshot-controller)."},
		{"BackupFailed", "The newest Backup of an application in a cluster failed, and has no condition that says why.",
			describeBackup, backupAgain + "\nThe message of the Backup says what failed."},
	}
}

// doctorOfVersions returns the reasons of the checks that kubectl shopfleet doctor makes of versions.
func doctorOfVersions() []Entry {
	return []Entry{
		{"Supported", "The two programs are at most one minor version apart.", "", ""},
		{"VersionUnknown", "The version of one of the two programs is not known: it has none, was never started, or you may not read its Lease.", allVersions, ""},
		{"VersionSkew", "Two programs are more than one minor version apart: the hub and the plugin, or an agent and the hub. What only one of them knows is missing or refused.",
			allVersions,
			"Use the plugin of the version of the hub, or upgrade the older program: see [Upgrade](README.md#upgrade).\nAn agent: " + joinAgain + " --mode agent --spoke-image IMAGE."},
		{"NewerThanTested", "The member runs a version of Kubernetes that is newer than those which this release was tested with. Nothing is known to fail.",
			fleetOverview, "Upgrade Shopfleet when a release was tested with that version."},
	}
}
