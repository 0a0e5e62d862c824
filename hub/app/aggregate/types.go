package aggregate

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Connection is the state of the connection to a cluster.
type Connection int

const (
	// Connected clusters are watched: the observation is current.
	Connected Connection = iota
	// Connecting clusters were ready when last observed, and the hub has not reached them
	// since it started.
	Connecting
	// Lost clusters do not answer, or reject the credentials.
	Lost
	// Detached clusters have left the fleet.
	Detached
)

// Input is everything that determines a status.
type Input struct {
	// Key names the application in the commands that messages advise.
	Key types.NamespacedName
	// Generation is the generation of the application's spec.
	Generation int64
	// Deleting is true if the application is being deleted.
	Deleting bool
	// Paused is true if the application is paused.
	Paused bool
	// SafeMode is true if all members are paused by the safe mode of the hub.
	SafeMode bool
	// ProtectedDeletion is true if the application was deleted and is protected from that: it is kept
	// as it is.
	ProtectedDeletion bool
	// HandledImageUpdate is the last handled token of the annotation
	// ecommerce.io/image-updated.
	HandledImageUpdate string
	// ReconcileAt is the value of the annotation ecommerce.io/reconcile-at.
	ReconcileAt string

	// Chosen and Rejected are the placement's decision. Rejected counts by reason, sorted, and
	// becomes part of the status: it must not change any more.
	Chosen   []string
	Rejected []v1.RejectedClusters
	// Invalid describes why the placement could not be decided; empty if it could. Chosen
	// are then the clusters that the application stays on.
	Invalid string
	// PlacementHash is a hash of the placement that was decided.
	PlacementHash string
	// StayReason and StayMessage say why the application stays in clusters that it should leave;
	// empty if there are none.
	StayReason, StayMessage string
	// Unmet says which bounds of the placement are not met; empty if all are.
	Unmet string
	// Shares are the clusters' parts of the replicas, by name; nil if these are not divided.
	Shares map[string]v1.ReplicaShare
	// Rollout is the state of the rollout, and Revisions are the revisions of the clusters, by name;
	// nil without one.
	Rollout   *v1.RolloutStatus
	Revisions map[string]int64
	// Renderings are the versions of pod templates that the clusters may have, by name; nil while they keep what
	// they have.
	Renderings map[string]string
	// Rendering is the state of the rollout of a version of pod templates; nil if there is none.
	Rendering *v1.RolloutStatus
	// StatusRejection says why the API server has rejected the status with what clusters report, which is left out
	// then; empty if it has not.
	StatusRejection string
	// Unrevised says why the revision of the spec could not be stored, so that no cluster gets it; nil if it was.
	Unrevised *Unrevised
	// Unanswered are the clusters that must be reached before the placement can be decided,
	// because the inventory was lost; empty if it was decided.
	Unanswered []string

	// Clusters are the members of the fleet, in any order. Clusters that Chosen or the
	// previous status name and that are missing here count as detached.
	Clusters []Cluster

	// Unrecorded are the clusters that the application cannot leave while it is deleted,
	// because the record of what stays behind there is full, or cannot be written.
	Unrecorded []string
	// UnrecordedBy says why it cannot be written; empty if it is full.
	UnrecordedBy string

	// Backups is the last summary of the backup scheduler. If nil, the stored status is
	// kept.
	Backups *BackupSummary

	// Propagated is the condition of that type as far as the hub's API server decides it, without
	// timestamps; nil if the application propagates nothing. If its objects are Unread, it stays as it was.
	Propagated *metav1.Condition
	Unread     bool

	// Previous is the status as it is stored.
	Previous v1.EcommerceAppStatus
	// Now is the current time, in whole seconds as the API stores it.
	Now metav1.Time
}

// Unrevised describes a revision that could not be stored.
type Unrevised struct {
	// Message describes the state in part of a sentence. It is the same for the same state.
	Message string
	// Blocking is true if that lasts until a user changes something.
	Blocking bool
}

// BackupSummary is the backup scheduler's part of the status of an application.
type BackupSummary struct {
	// App is the UID of the application.
	App types.UID
	// Condition is BackupReady without timestamps; nil if backups are disabled.
	Condition *metav1.Condition
	// Clusters replaces status.backups, unless KeepClusters is set because the schedule is
	// invalid.
	Clusters     []v1.ClusterBackups
	KeepClusters bool
}

// Cluster represents one member and the observed state of the application in it.
type Cluster struct {
	Name     string
	Region   string
	Provider v1.Provider

	Connection Connection
	// Cause is a CamelCase reason why the cluster is lost.
	Cause string
	// LastObserved is when a lost cluster was last reached; nil if unknown.
	LastObserved *metav1.Time
	// ConnectionSince is since when a connected cluster is, and when the hub noticed the loss of a lost one; zero if
	// unknown.
	ConnectionSince metav1.Time

	// Paused is true if the member is paused.
	Paused bool
	// Pending are the writes of the hub that are held back there. Those of the copy's reconciler
	// are in the status of the copy.
	Pending []v1.PendingChange

	// Database is the database in the spec of the application with the overrides for the cluster; nil
	// without one, and while it is not known. It is only read.
	Database *v1.Database

	// Copy is the application's copy in the member; nil if it does not exist or if the
	// hub does not own it.
	Copy *Copy
	// Failure describes why the last attempt to write or delete the copy failed; nil if it
	// succeeded.
	Failure *Failure
	// LeftBehind says why the rollout leaves the cluster behind, whose database cannot follow: nothing was tried. It is
	// empty if the rollout does not.
	LeftBehind string
	// PropagationFailure describes why what the application propagates could not be written beside the copy; nil if it was.
	PropagationFailure *Failure
	// Unknown describes a copy or a deletion that the hub does not know, as in
	// ClusterStatus.UnknownOrigin; empty without one, and if the copy was not compared.
	Unknown string
	// Unconfirmed is true if the copy may be about to be deleted: the last attempt was not to write
	// it, or failed. It only counts while the entry has no applied generation.
	Unconfirmed bool
	// Gone is true if the copy was confirmed not to exist.
	Gone bool
	// Abandoned is true if the deletion of the application no longer waits for a cluster
	// that is lost.
	Abandoned bool
}

// Copy is the application's copy in a member.
type Copy struct {
	// Generation is the copy's own generation.
	Generation int64
	// HubGeneration is the latest generation of the hub's spec that the copy is of: the one that it
	// was written from, or a later one that does not change it.
	HubGeneration int64
	// Revision is the number of the revision that the copy has; 0 without a rollout.
	Revision int64
	// Rendering is the version of pod templates that the copy may have.
	Rendering string
	// Database is the server in the copy's spec; zero without a database.
	Database v1.CopiedServer
	// UpgradeRefused says why the database cannot get the server of the spec; empty if it can. Starting means that it can when a
	// pod has started with the server of the copy.
	UpgradeRefused string
	Starting       bool
	// Deleting is true if the copy is being deleted, and Held names the finalizers of others that hold it,
	// as the end of a sentence; HeldSince is when the deletion began.
	Deleting  bool
	Held      string
	HeldSince time.Time
	// Status is the status that the cluster reports.
	Status v1.EcommerceAppStatus
}

// Says returns a condition that is True for the present spec of a copy; nil if it is not.
func (c *Copy) Says(kind string) *metav1.Condition {
	said := meta.FindStatusCondition(c.Status.Conditions, kind)
	if said == nil || said.Status != metav1.ConditionTrue || said.ObservedGeneration != c.Generation {
		return nil
	}
	return said
}

// Settled reports whether the status of the copy is about the spec that the copy has. Applied is the generation of
// the cluster's entry: the cached copy of an application that came back may be about to be deleted, and counts once
// the hub has applied it.
func (c *Cluster) Settled(applied int64) bool {
	return c.Copy != nil && c.Copy.Status.ObservedGeneration == c.Copy.Generation && !isRejected(c.Copy.Status) && (applied > 0 || !c.Unconfirmed)
}
