package cloud

import (
	"context"
	"iter"
	"time"
)

// Session is one account of a provider in one region.
type Session struct {
	Snapshots Snapshots
	Volumes   Volumes
	Access    Access
}

// Snapshots are point-in-time copies of volumes. Errors wrap *Error.
type Snapshots interface {
	// EnsureSnapshot returns the snapshot of a name, and asks for it if there is none.
	// It is NotFound when the volume is missing, and Conflict when the name is taken
	// by what is not a snapshot of this volume, or the volume was made again under its
	// name. After Ambiguous the same call finds out, by and by, whether it happened.
	EnsureSnapshot(ctx context.Context, spec SnapshotSpec) (Snapshot, error)
	// EnsureCopy does the same for a copy in the session's region of a snapshot
	// elsewhere. NotFound means that the source is gone.
	EnsureCopy(ctx context.Context, spec CopySpec) (Snapshot, error)
	// GetSnapshot reads one, whoever owns it.
	GetSnapshot(ctx context.Context, ref SnapshotRef) (Snapshot, error)
	// ListSnapshots reads all that an owner has in the session's region, in no order.
	// After an error nothing more comes, and what came is not complete.
	ListSnapshots(ctx context.Context, owner Owner) iter.Seq2[Snapshot, error]
	// DeleteSnapshot deletes one that the owner has. It is nil when it is gone
	// already, Denied with CodeForeign and no request to delete when somebody else's,
	// InUse or Locked when the provider holds it.
	DeleteSnapshot(ctx context.Context, ref SnapshotRef, owner Owner) error
}

// Volumes are block devices. Errors wrap *Error.
type Volumes interface {
	// DescribeVolume reads one.
	DescribeVolume(ctx context.Context, ref VolumeRef) (Volume, error)
	// EnsureVolume returns the volume of a name made from a snapshot, and asks for it
	// if there is none. It is Invalid when it should be smaller than the snapshot.
	EnsureVolume(ctx context.Context, spec VolumeSpec) (Volume, error)
	// DeleteVolume deletes one that EnsureVolume made for the owner and nothing is
	// attached to. It is nil when it is gone, Denied with CodeForeign when not ours,
	// InUse while attached.
	DeleteVolume(ctx context.Context, ref VolumeRef, owner Owner) error
}

// Access is who the session is in the cloud, and what it may.
type Access interface {
	// Identity asks the provider who we are.
	Identity(ctx context.Context) (Identity, error)
	// Preflight asks for each permission that is needed whether it is there, without
	// changing anything. A check that the provider cannot make is left out. An error
	// means that nothing could be asked.
	Preflight(ctx context.Context, owner Owner) ([]PermissionCheck, error)
}

// Identity is who a session is.
type Identity struct {
	// Name is the provider's name of the identity: an ARN, an e-mail address, a client ID.
	Name string
	// Account is the account, project or subscription that it works in.
	Account string
}

// PermissionCheck is whether one permission is there.
type PermissionCheck struct {
	// Permission in the provider's words, for example ec2:CreateSnapshot.
	Permission string
	Granted    bool
}

// VolumeRef is where a volume is.
type VolumeRef struct {
	// Region is the provider's name of the region.
	Region string
	// Zone is the zone in the provider's words, empty if the volume has none: a
	// regional disk of Google Cloud, a disk without zone of Azure.
	Zone string
	// Handle is what CSI calls the volume handle: vol-…, projects/P/zones/Z/disks/N,
	// /subscriptions/S/resourceGroups/G/providers/Microsoft.Compute/disks/N, or a path.
	Handle string
}

// SnapshotRef is where a snapshot is.
type SnapshotRef struct {
	// Region is the provider's name of the region; for Google Cloud, whose snapshots
	// are global, that of the session which made or found it.
	Region string
	// ID is what CSI calls the snapshot handle: snap-…, projects/P/global/snapshots/N,
	// /subscriptions/S/…/snapshots/N, or a path.
	ID string
}

// State is how far a snapshot or a volume is.
type State string

// The states. What a provider says and we do not know is Creating: not ready.
const (
	// StateCreating means that the point in time is not fixed yet.
	StateCreating State = "Creating"
	// StateTaken means that the point in time is fixed and the data still travels.
	StateTaken State = "Taken"
	// StateReady means that it can be used.
	StateReady State = "Ready"
	// StateFailed means that it will never be ready.
	StateFailed State = "Failed"
	// StateDeleting means that it is going.
	StateDeleting State = "Deleting"
)

// SnapshotSpec is the snapshot that there should be.
type SnapshotSpec struct {
	// Name is its name; see Name.
	Name   string
	Source VolumeRef
	// SourceUID is the UID that DescribeVolume told; another volume under the same
	// handle is a Conflict. Empty is not compared.
	SourceUID string
	// Tags mark it: the owner's and the lineage.
	Tags Tags
	// Locations are where to store it, for providers whose snapshots have no region
	// (csi.CopyByLocation). Empty: the provider's default.
	Locations []string
	// Attempt counts from 0; it grows by one after each StateFailed, so that what the
	// provider remembers of the failed one is not returned.
	Attempt int
	// MaySend allows to ask for it. Without, the provider only looks, and is Ambiguous
	// when it finds nothing: an earlier request may have been heard whose answer was
	// lost. See Intent.
	MaySend bool
}

// CopySpec is the copy that there should be in the session's region.
type CopySpec struct {
	Name   string
	Source SnapshotRef
	Tags   Tags
	// Attempt and MaySend are those of SnapshotSpec.
	Attempt int
	MaySend bool
}

// Snapshot is what is known of a snapshot.
type Snapshot struct {
	Ref   SnapshotRef
	Name  string
	State State
	// TakenAt is its point in time as the provider tells it; zero while Creating.
	TakenAt time.Time
	// Progress is in percent, 0 to 100; -1 when the provider does not tell.
	Progress int
	// SizeBytes is the size of the volume that it was made of; a volume made from it
	// has at least that size. 0 when the provider does not tell yet.
	SizeBytes int64
	Encrypted bool
	// SourceHandle is the handle of the volume; for a copy, the ID of the snapshot.
	SourceHandle string
	// Locations are where it is stored, for providers whose snapshots have no region.
	Locations []string
	Tags      Tags
	// Message is what the provider says to StateFailed.
	Message string
	// Duplicates are others that were made of the same name by lost answers. The one
	// described is the one to keep.
	Duplicates []SnapshotRef
	// ObservedAt is the provider's clock when it answered, if it tells; else zero.
	ObservedAt time.Time
}

// VolumeSpec is the volume that there should be, made from a snapshot.
type VolumeSpec struct {
	// Name is its name; see Name.
	Name string
	// Zone is where it is to be; empty asks for a volume without one, where the provider has that.
	Zone     string
	Snapshot SnapshotRef
	// SizeBytes is at least the snapshot's; 0 is the snapshot's.
	SizeBytes int64
	// Class are the parameters of the StorageClass that it is to be like (csi.Classes).
	Class map[string]string
	Tags  Tags
	// Attempt is that of SnapshotSpec. Every provider has idempotent creation of
	// volumes, so that there is no MaySend.
	Attempt int
}

// Volume is what is known of a volume.
type Volume struct {
	Ref VolumeRef
	// UID tells volumes apart that bore the same handle one after the other.
	UID   string
	State State
	// SizeBytes is its size.
	SizeBytes int64
	Encrypted bool
	// Type is the provider's name of what it is made of: gp3, pd-ssd, Premium_LRS.
	Type string
	// IOPS and Throughput, the latter in MiB/s, are 0 where the provider does not tell.
	IOPS, Throughput int64
	// Attached tells that a machine uses it.
	Attached bool
	Tags     Tags
	Message  string
}
