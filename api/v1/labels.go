package v1

import "k8s.io/apimachinery/pkg/util/validation"

// Labels and annotations that are part of the API.
const (
	// MemberClusterLabel, with the value "true" on a Secret in the hub's namespace,
	// registers the cluster of its kubeconfig.
	MemberClusterLabel = "ecommerce.io/member-cluster"

	// CloudAccountLabel, with the value "true" on a Secret in the hub's namespace, allows
	// the hub to read it as the credentials of a CloudAccount.
	CloudAccountLabel = "ecommerce.io/cloud-account"

	// RediscoverAtAnnotation, on a CloudAccount, makes the hub search the account for its
	// backups whenever the value changes, and create Backups for those that it does not
	// know. status.lastHandledRediscoverAt is the last value that was handled.
	RediscoverAtAnnotation = "ecommerce.io/rediscover-at"
	// RediscoverHubAnnotation, on the same CloudAccount, is the UID of a former hub whose
	// backups are searched for instead. They are never deleted.
	RediscoverHubAnnotation = "ecommerce.io/rediscover-hub"
	// TakeOverHubAnnotation, on the same CloudAccount with the same value, makes the hub claim the backups of
	// the former one in the bucket: from then on its retention deletes them, and that of the former one none.
	TakeOverHubAnnotation = "ecommerce.io/take-over-hub"
	// RediscoveredAnnotation, on a Backup that was found in the cloud, is the name of the
	// CloudAccount.
	RediscoveredAnnotation = "ecommerce.io/rediscovered"
	// PrunedAnnotation, on a Backup, means that retention set spec.deletion to Delete and
	// is about to delete the Backup. The hub reverts both when the Backup is to be kept
	// after all.
	PrunedAnnotation = "ecommerce.io/pruned"
	// KeepNewestAnnotation, with the value "false" on a Backup, means that retention deletes it once it is older than
	// keepDays, also if it is the newest, when its application is gone or has no backups any more. The hub sets it on
	// the Backups of an application that is deleted with spec.deletion.backups: Delete.
	KeepNewestAnnotation = "ecommerce.io/keep-newest"

	// KubeconfigKey is the key of the kubeconfig in a registration Secret.
	KubeconfigKey = "kubeconfig"

	// RenewedAccountAnnotation, on a registration Secret, names the ServiceAccount in the
	// member whose token the Secret holds, as namespace/name, and allows the hub to renew
	// that token and to store it in the Secret. kubectl shopfleet join sets it.
	RenewedAccountAnnotation = "ecommerce.io/renewed-account"
	// RenewAtAnnotation, on a MemberCluster, makes the hub renew the token now whenever the
	// value changes. status.lastHandledRenewAt is the last value that was handled.
	RenewAtAnnotation = "ecommerce.io/renew-at"

	// ReconcileAtAnnotation forces a reconciliation whenever its value changes.
	// status.lastHandledReconcileAt is the last value that was handled.
	ReconcileAtAnnotation = "ecommerce.io/reconcile-at"

	// ImageUpdatedAnnotation requests one rolling restart of backend and frontend. The value
	// "true" is removed when the restart begins. Any other value is a token, which stays:
	// status.lastHandledImageUpdate is the last one that was handled.
	ImageUpdatedAnnotation = "ecommerce.io/image-updated"

	// RestartedAtAnnotation is the token of the last rolling restart. The hub writes it to
	// the copy, and the spoke from there to the pod templates.
	RestartedAtAnnotation = "ecommerce.io/restarted-at"

	// ClustersAnnotation, on an application on the hub, lists the clusters that may hold a copy:
	// names with commas. The hub adds a name before it writes a copy there, so that copies are
	// found again where the status was lost. A name that is listed in vain costs a look.
	ClustersAnnotation = "ecommerce.io/clusters"

	// MoveEmptyAnnotation, on an application on the hub, lists clusters that the application may
	// leave although its data stays there: names with commas. The hub removes those that the application
	// has left, or that nothing makes it leave.
	MoveEmptyAnnotation = "ecommerce.io/move-empty"

	// RollbackToAnnotation, on an application on the hub, is the number of a revision that all
	// clusters return to. The hub removes it when it has decided so.
	RollbackToAnnotation = "ecommerce.io/rollback-to"
	// ApproveAnnotation, on an application on the hub, approves the rollout in one region: the number
	// of the revision, or ApproveRendering and the version of the pod templates, a slash, and the region. The
	// hub removes it when the region has begun, so that it does not count again when the spec returns to the revision.
	ApproveAnnotation = "ecommerce.io/approve"
	// ApproveRendering precedes the version of pod templates in an approval.
	ApproveRendering = "rendering-"
	// RolloutPausedAnnotation, with the value "true" on an application on the hub, stops its rollout
	// where it is.
	RolloutPausedAnnotation = "ecommerce.io/rollout-paused"

	// SkipUnreachableAnnotation, with the value "true" on an application on the hub, makes its
	// deletion not wait for clusters that do not respond or are paused. What stays behind is recorded on
	// the hub, and deleted when the cluster returns.
	SkipUnreachableAnnotation = "ecommerce.io/skip-unreachable"
	// DeletionProtectionAnnotation, with the value "true" on an application on the hub or on
	// one of our definitions, prevents its deletion until it is removed.
	DeletionProtectionAnnotation = "ecommerce.io/deletion-protection"
	// MemberRecordLabel, on a ConfigMap in the hub's namespace, is the name of the member that
	// it is a record about.
	MemberRecordLabel = "ecommerce.io/member-record"

	// AdoptAnnotation, with an AdoptPolicy as its value, on an object without a controller,
	// allows an application to adopt it as its child or copy.
	AdoptAnnotation = "ecommerce.io/adopt"

	// RecoverAnnotation, on an application on the hub, lists copies that the hub may overwrite
	// although it does not know what they were made from: comma-separated UIDs of applications,
	// each with a slash and the generation, or "deleted/" and the time of the deletion, or
	// "left/" and the generation at which the application left the cluster. What matches nothing
	// has no effect. On a MemberCluster it is the hub that this one replaces there: its UID, a
	// slash, and its epoch.
	RecoverAnnotation = "ecommerce.io/recover"

	// SpecHashAnnotation is the SHA-256 of a rendered object, in hex, without
	// this annotation itself. A Service that was created while its new pods were not ready has the label of
	// the pods that it selects behind a dash.
	SpecHashAnnotation = "ecommerce.io/spec-hash"
	// RenderedAnnotation says of a rendered Deployment or StatefulSet which images, replicas and claim
	// templates it was applied with: an admission policy of the cluster may store others. It also has a hash of
	// the part of the spec that the pod template was rendered from, and the version of the template.
	RenderedAnnotation = "ecommerce.io/rendered"
	// RenderingAnnotation, on a copy, is the version of pod templates that the hub lets it have: pods are replaced
	// because of another version only when it is this one.
	RenderingAnnotation = "ecommerce.io/rendering"
	// RenderNowAnnotation, on an application on the hub, is a version of pod templates that all its clusters may have
	// at once.
	RenderNowAnnotation = "ecommerce.io/render-now"

	// PodTemplateLabel, on a Deployment of a workload with the strategy BlueGreen and on its pods, is a
	// hash of the template of the pods. The Service of the workload selects by it, and has that of the
	// pods that it selects.
	PodTemplateLabel = "ecommerce.io/pod-template"

	// ComponentLabel is the component that an object belongs to.
	ComponentLabel = "app.kubernetes.io/component"
	// InstanceLabel is the application that an object belongs to.
	InstanceLabel = "app.kubernetes.io/instance"
	// NameLabel is the software that the object runs, for example postgresql.
	NameLabel = "app.kubernetes.io/name"
	// VersionLabel is, on the Leases of the hub and of agents, the version of their holder.
	VersionLabel = "app.kubernetes.io/version"
	// PartOfLabel is the kind of the owning object in lower case.
	PartOfLabel = "app.kubernetes.io/part-of"
	// ManagedByLabel has the value ManagedBy on each object that Shopfleet writes.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of ManagedByLabel.
	ManagedBy = "shopfleet"

	// OwnerUIDLabel is the UID of the copy, on its children.
	OwnerUIDLabel = "ecommerce.io/uid"

	// HubAppUIDAnnotation, on a copy, is the UID of the application on the hub.
	HubAppUIDAnnotation = "ecommerce.io/hub-uid"
	// HubGenerationAnnotation, on a copy, is the generation of the application on the hub
	// that the copy was created from. Later ones may not have changed it.
	HubGenerationAnnotation = "ecommerce.io/hub-generation"
	// RevisionAnnotation, on a copy of an application with spec.rollout, is the number of its revision.
	RevisionAnnotation = "ecommerce.io/revision"
	// CompletedAtAnnotation, on a ControllerRevision of an application, is when all clusters were
	// healthy with it last, in RFC 3339.
	CompletedAtAnnotation = "ecommerce.io/completed-at"
	// PropagatedAnnotation, on a copy, lists the Secrets and ConfigMaps that the hub wrote, or is
	// about to write, beside the copy: Secret/NAME or ConfigMap/NAME, with commas.
	PropagatedAnnotation = "ecommerce.io/propagated"
	// PropagatedLabel, with the value "true", is on each of these objects.
	PropagatedLabel = "ecommerce.io/propagated"
	// ClusterLabel, on a copy and its children, is the name of the MemberCluster.
	ClusterLabel = "ecommerce.io/cluster"
	// BackupLabel, on the Jobs and Secrets that the hub creates in a member for a Backup,
	// is the name of the Backup.
	BackupLabel = "ecommerce.io/backup"
	// RestoreLabel, on the objects that the hub creates in a member to load a dump or to import a
	// snapshot, is the name of the Restore.
	RestoreLabel = "ecommerce.io/restore"
	// ProviderLabel is the cloud provider of a cluster, for the clusterSelector of a
	// placement. It is implied and not written to any object.
	ProviderLabel = "ecommerce.io/provider"

	// ManagedByModeAnnotation, on a copy, names the controller that turns it into
	// workloads: see ManagedByMode.
	ManagedByModeAnnotation = "ecommerce.io/managed-by-mode"
	// RegionAnnotation and ProviderAnnotation, on a copy, are the region and the cloud
	// provider of the member, so that the hub and an agent render the same objects.
	RegionAnnotation   = "ecommerce.io/region"
	ProviderAnnotation = "ecommerce.io/provider"

	// DatabaseCreatedAnnotation, with the value "true" on a copy, means that the hub knows that the
	// application's database was created in the cluster.
	DatabaseCreatedAnnotation = "ecommerce.io/database-created"
	// StartEmptyAnnotation, on an application or a MySQLCluster whose database is lost, is a token of the
	// user's that consents to one initialization of an empty database.
	StartEmptyAnnotation = "ecommerce.io/start-empty"
	// DeleteVolumesAnnotation, with the value "true" on a copy that is about to be deleted, means that the
	// volumes of its database are deleted as well. The hub sets it if spec.deletion.volumes is Delete.
	DeleteVolumesAnnotation = "ecommerce.io/delete-volumes"

	// ImportedAnnotation, with the value "true" on a claim of a database, means that its data was imported from a snapshot
	// and takes the passwords that it is started with next. The hub sets it, and the spoke generates credentials that such
	// data lacks. The spoke removes it before it starts the database: the data then depends on its credentials.
	ImportedAnnotation = "ecommerce.io/imported"

	// PutBackAnnotation, with the value "true" on a Restore of snapshots, asks the hub to put the volumes back that it replaced.
	PutBackAnnotation = "ecommerce.io/put-back"

	// RestoringAnnotation, on a copy, is the name of the Restore that is replacing volumes.
	// While it is present the database is stopped.
	RestoringAnnotation = "ecommerce.io/restoring"
	// LoadingAnnotation, on a copy, is the name of the Restore that is loading a dump into
	// the database. While it is present the database runs, and the components that use it
	// are stopped.
	LoadingAnnotation = "ecommerce.io/loading"
	// LoadedAnnotation, on a copy, is the name of the last Restore if it brought data into the database.
	// It is absent from the beginning of a Restore until that has succeeded.
	LoadedAnnotation = "ecommerce.io/loaded"
	// RestoredAnnotation, on a copy, lists the UIDs of the last Restores that replaced data of
	// the database, comma-separated, the oldest first: a hub that is restored from an older
	// backup does not repeat them.
	RestoredAnnotation = "ecommerce.io/restored"

	// RestoreFinalizer blocks the deletion of a Restore until the database is released.
	RestoreFinalizer = "ecommerce.io/restore"
	// BackupFinalizer blocks the deletion of a Backup until its snapshots are deleted or
	// released.
	BackupFinalizer = "ecommerce.io/backup"
	// HubFinalizer blocks the deletion of an EcommerceApp on the hub until its copies are
	// gone.
	HubFinalizer = "ecommerce.io/hub"
	// SpokeFinalizer blocks the deletion of a copy until its children are deleted in order.
	SpokeFinalizer = "ecommerce.io/spoke"
	// MemberFinalizer blocks the deletion of a MemberCluster until it is detached.
	MemberFinalizer = "ecommerce.io/member"

	// HubFieldManager is the field manager of the hub's server-side apply.
	HubFieldManager = "shopfleet-hub"
	// SpokeFieldManager is the field manager of the spoke's server-side apply.
	SpokeFieldManager = "shopfleet-spoke"
)

// AdoptPolicy is the value of AdoptAnnotation.
type AdoptPolicy string

// The policies of adoption.
const (
	// AdoptAlways allows an application to adopt the object and to change what differs.
	AdoptAlways AdoptPolicy = "Always"
	// AdoptIfNoDiff allows an application to adopt the object if nothing but metadata
	// changes.
	AdoptIfNoDiff AdoptPolicy = "IfNoDiff"
)

// VersionLabels returns the labels of a Lease that a version of a program holds. A version that
// is no value of a label has none.
func VersionLabels(version string) map[string]string {
	if version == "" || len(validation.IsValidLabelValue(version)) > 0 {
		return nil
	}
	return map[string]string{VersionLabel: version}
}
