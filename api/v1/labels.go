package v1

// Labels and annotations that are part of the API.
const (
	// MemberClusterLabel, with the value "true" on a Secret in the hub's
	// namespace, registers the cluster of its kubeconfig.
	MemberClusterLabel = "ecommerce.io/member-cluster"

	// CloudAccountLabel, with the value "true" on a Secret in the hub's namespace, lets
	// the hub read it as the credentials of a CloudAccount.
	CloudAccountLabel = "ecommerce.io/cloud-account"

	// RediscoverAtAnnotation, on a CloudAccount, has the hub look for its backups in the
	// account whenever the value changes, and make Backups of those that it does not
	// know; status.lastHandledRediscoverAt answers with the value.
	RediscoverAtAnnotation = "ecommerce.io/rediscover-at"
	// RediscoverHubAnnotation, beside it, is the UID of a hub that is no more and whose
	// backups are looked for instead. They are never deleted.
	RediscoverHubAnnotation = "ecommerce.io/rediscover-hub"
	// RediscoveredAnnotation, on a Backup, tells that it was found in the cloud; its
	// value is the CloudAccount.
	RediscoveredAnnotation = "ecommerce.io/rediscovered"
	// PrunedAnnotation, on a Backup, says that retention set spec.deletion to Delete and is
	// about to delete the Backup. The hub takes both back when the Backup is to be kept after all.
	PrunedAnnotation = "ecommerce.io/pruned"

	// KubeconfigKey is the key of a registration Secret that holds the kubeconfig.
	KubeconfigKey = "kubeconfig"

	// ReconcileAtAnnotation forces a reconciliation whenever its value changes;
	// status.lastHandledReconcileAt answers with the value.
	ReconcileAtAnnotation = "ecommerce.io/reconcile-at"

	// ImageUpdatedAnnotation, with the value "true", asks for one rolling
	// restart of backend and frontend; it is removed when the restart began.
	ImageUpdatedAnnotation = "ecommerce.io/image-updated"

	// RestartedAtAnnotation carries the token of the last rolling restart: on
	// the copy, and from there on the pod templates.
	RestartedAtAnnotation = "ecommerce.io/restarted-at"

	// AdoptAnnotation, with the value "true" on an object that nobody manages,
	// allows an application to take it over as its child.
	AdoptAnnotation = "ecommerce.io/adopt"

	// SpecHashAnnotation is the SHA-256 of a rendered object, in hex, without
	// this annotation itself.
	SpecHashAnnotation = "ecommerce.io/spec-hash"

	// ComponentLabel names the component that an object belongs to.
	ComponentLabel = "app.kubernetes.io/component"
	// InstanceLabel names the application that an object belongs to.
	InstanceLabel = "app.kubernetes.io/instance"
	// NameLabel names what the object runs, for example postgresql.
	NameLabel = "app.kubernetes.io/name"
	// PartOfLabel names the kind of the owning object in lower case.
	PartOfLabel = "app.kubernetes.io/part-of"
	// ManagedByLabel is set to ManagedBy on each object that Shopfleet writes.
	ManagedByLabel = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of ManagedByLabel.
	ManagedBy = "shopfleet"

	// OwnerUIDLabel carries the UID of the copy on the objects of a member.
	OwnerUIDLabel = "ecommerce.io/uid"

	// HubAppUIDAnnotation carries, on a copy, the UID of the hub's object.
	HubAppUIDAnnotation = "ecommerce.io/hub-uid"
	// HubGenerationAnnotation carries, on a copy, the generation of the hub's
	// object that the copy was made from.
	HubGenerationAnnotation = "ecommerce.io/hub-generation"
	// ClusterLabel carries, on a copy and its children, the member's name.
	ClusterLabel = "ecommerce.io/cluster"
	// BackupLabel carries, on what the hub makes in a member for a Backup, the name of the
	// Backup: Jobs that dump, Jobs that send and what they are told.
	BackupLabel = "ecommerce.io/backup"
	// RestoreLabel carries, on what the hub makes in a member to load a dump, the name of
	// the Restore.
	RestoreLabel = "ecommerce.io/restore"
	// ProviderLabel is the cloud provider of a cluster, in the eyes of a
	// placement's clusterSelector. It is implied, not written anywhere.
	ProviderLabel = "ecommerce.io/provider"

	// ManagedByModeAnnotation tells, on a copy, who turns it into workloads: see Home.
	ManagedByModeAnnotation = "ecommerce.io/managed-by-mode"
	// RegionAnnotation and ProviderAnnotation carry, on a copy, the region and the
	// cloud provider of the member, so that both homes render the same.
	RegionAnnotation   = "ecommerce.io/region"
	ProviderAnnotation = "ecommerce.io/provider"

	// RestoringAnnotation carries, on a copy, the name of the Restore that is putting
	// volumes in place: while it is there the database is stopped, and starts on what
	// it finds when it is gone.
	RestoringAnnotation = "ecommerce.io/restoring"
	// LoadingAnnotation carries, on a copy, the name of the Restore that is loading a dump
	// into the database: while it is there the database runs, and nothing that uses it.
	LoadingAnnotation = "ecommerce.io/loading"

	// RestoreFinalizer holds a Restore until the database is let go.
	RestoreFinalizer = "ecommerce.io/restore"
	// BackupFinalizer holds a Backup until its snapshots are gone.
	BackupFinalizer = "ecommerce.io/backup"
	// HubFinalizer holds an EcommerceApp on the hub until its copies are gone.
	HubFinalizer = "ecommerce.io/hub"
	// SpokeFinalizer holds a copy until its children are gone, in order.
	SpokeFinalizer = "ecommerce.io/spoke"
	// MemberFinalizer holds a MemberCluster until it is detached.
	MemberFinalizer = "ecommerce.io/member"

	// HubFieldManager is the server-side apply manager of the hub's writes.
	HubFieldManager = "shopfleet-hub"
	// SpokeFieldManager is the server-side apply manager of the spoke's writes.
	SpokeFieldManager = "shopfleet-spoke"
)
