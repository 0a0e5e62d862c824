package cloud

import (
	"context"
	"iter"
	"time"
)

// Session gives access to one account of a provider in one region. It is safe for concurrent use.
type Session struct {
	Snapshots Snapshots
	Volumes   Volumes
	Access    Access
}

// Snapshots manages point-in-time copies of volumes. Errors wrap *Error.
type Snapshots interface {
	// EnsureSnapshot returns the snapshot with the name of spec, and creates it if it does
	// not exist. It fails with NotFound if the volume does not exist, and with Conflict if
	// another object has the name, or if the volume was replaced by another of its name.
	// After Ambiguous, later calls find out whether the snapshot was created.
	EnsureSnapshot(ctx context.Context, spec SnapshotSpec) (Snapshot, error)
	// EnsureCopy does the same for a copy of a snapshot of another region in the session's
	// region. It fails with NotFound if the source does not exist.
	EnsureCopy(ctx context.Context, spec CopySpec) (Snapshot, error)
	// GetSnapshot reads a snapshot of any owner.
	GetSnapshot(ctx context.Context, ref SnapshotRef) (Snapshot, error)
	// ListSnapshots iterates over the snapshots of an owner in the session's region, in no
	// particular order. An error ends the iteration; the list is incomplete then.
	ListSnapshots(ctx context.Context, owner Owner) iter.Seq2[Snapshot, error]
	// DeleteSnapshot deletes a snapshot of the owner. It succeeds if the snapshot does not
	// exist. It fails with Denied and CodeForeign, without requesting the deletion, if the
	// snapshot has another owner, and with InUse or Locked if the provider retains it.
	DeleteSnapshot(ctx context.Context, ref SnapshotRef, owner Owner) error
}

// Volumes reads block devices, which the CSI drivers of members create and delete. Errors wrap *Error.
type Volumes interface {
	// DescribeVolume reads a volume.
	DescribeVolume(ctx context.Context, ref VolumeRef) (Volume, error)
}

// Access reports the identity of a session and its permissions.
type Access interface {
	// Identity returns the identity that the provider recognizes.
	Identity(ctx context.Context) (Identity, error)
	// Preflight returns a check of each permission that the hub needs, without changing
	// anything. A permission that the provider does not test, or for which there is nothing
	// to test it with, is Unchecked. An error means that nothing could be checked.
	Preflight(ctx context.Context, owner Owner) ([]PermissionCheck, error)
}

// Identity describes the identity of a session.
type Identity struct {
	// Name is the ARN, e-mail address or client ID of the identity.
	Name string
	// Account is the account, project or subscription.
	Account string
}

// PermissionCheck is the result of checking one permission.
type PermissionCheck struct {
	// Permission is the provider's name of it, for example ec2:CreateSnapshot.
	Permission string
	// Scope names the resources for which it is needed, if these are not the resources of the account.
	Scope string
	// Granted is the result; false if Unchecked is set.
	Granted bool
	// By is the means of the check, for example "dry run".
	By string
	// Unchecked is the reason why there is no result.
	Unchecked string
	// Deletion is set if deletions of snapshots need it, and nothing else does.
	Deletion bool
}

// VolumeRef identifies a volume.
type VolumeRef struct {
	// Region is the provider's name of the region.
	Region string
	// Zone is the provider's name of the zone. It is empty for volumes without one: regional
	// disks of Google Cloud, and disks of Azure that are not zonal.
	Zone string
	// Handle is the CSI volume handle: vol-…, projects/P/zones/Z/disks/N,
	// /subscriptions/S/resourceGroups/G/providers/Microsoft.Compute/disks/N, or a path.
	Handle string
}

// SnapshotRef identifies a snapshot.
type SnapshotRef struct {
	// Region is the provider's name of the region. Snapshots of Google Cloud are global: it
	// is the region of the session that created or found them.
	Region string
	// ID is the CSI snapshot handle: snap-…, projects/P/global/snapshots/N,
	// /subscriptions/S/…/snapshots/N, or a path.
	ID string
}

// State is the state of a snapshot.
type State string

// The states. Unknown states of a provider are mapped to StateCreating.
const (
	// StateCreating means that the point in time is not fixed yet.
	StateCreating State = "Creating"
	// StateTaken means that the point in time is fixed while data is still copied.
	StateTaken State = "Taken"
	// StateReady means that a volume can be created from the snapshot.
	StateReady State = "Ready"
	// StateFailed means that the snapshot will never be ready.
	StateFailed State = "Failed"
	// StateDeleting means that the snapshot is being deleted.
	StateDeleting State = "Deleting"
)

// SnapshotSpec is the desired snapshot.
type SnapshotSpec struct {
	// Name is computed by the function Name.
	Name   string
	Source VolumeRef
	// SourceUID is the UID that DescribeVolume returned; a volume with another UID is a
	// Conflict. Empty skips the comparison.
	SourceUID string
	// Tags name the owner and the origin of the snapshot.
	Tags Tags
	// Locations are the storage locations, for providers whose snapshots have no region
	// (csi.CopyByLocation). Empty selects the provider's default.
	Locations []string
	// Attempt counts from 0 and is incremented after each StateFailed, so that idempotent
	// requests do not return the failed snapshot.
	Attempt int
	// MaySend allows a request to create the snapshot. Without it, EnsureSnapshot only looks
	// for the snapshot and fails with Ambiguous if it is not found: an earlier request whose
	// response was lost may have created it. See Intent.
	MaySend bool
}

// CopySpec is the desired copy in the session's region.
type CopySpec struct {
	Name   string
	Source SnapshotRef
	Tags   Tags
	// Attempt and MaySend have the same meaning as in SnapshotSpec.
	Attempt int
	MaySend bool
}

// Snapshot describes an observed snapshot.
type Snapshot struct {
	Ref   SnapshotRef
	Name  string
	State State
	// TakenAt is the point in time that the provider reports; zero while Creating.
	TakenAt time.Time
	// Progress is in percent, 0 to 100, or -1 if the provider does not report it.
	Progress int
	// SizeBytes is the size of the source volume, and the minimum size of a restored volume.
	// It is 0 if the provider does not report it yet.
	SizeBytes int64
	Encrypted bool
	// SourceHandle is the handle of the source volume; of a copy, the ID of the source snapshot.
	SourceHandle string
	// Locations are the storage locations, for providers whose snapshots have no region.
	Locations []string
	Tags      Tags
	// Message is the provider's message for StateFailed.
	Message string
	// Duplicates are other snapshots of the same name, created by requests whose responses
	// were lost. The caller keeps this snapshot and deletes them.
	Duplicates []SnapshotRef
	// ObservedAt is the time of the response by the provider's clock, or zero if not reported.
	ObservedAt time.Time
}

// Volume describes an observed volume.
type Volume struct {
	Ref VolumeRef
	// UID distinguishes volumes that had the same handle one after the other.
	UID       string
	SizeBytes int64
}
