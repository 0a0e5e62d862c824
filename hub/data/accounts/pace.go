package accounts

import (
	"context"
	"iter"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// Rate limits of one account in one region, and of its bucket, per second and as burst.
// They stay below the providers' limits, which users and CSI drivers share: EC2 allows 20
// reads and 5 changes a second; Google Cloud, Azure and buckets allow more.
const (
	readsPerSecond   = 10
	readsAtOnce      = 50
	changesPerSecond = 2
	changesAtOnce    = 20
)

// budget is the rate limit of one account in one region, or of its bucket.
type budget struct {
	reads, changes *rate.Limiter
}

func newBudget() *budget {
	return &budget{
		reads:   rate.NewLimiter(readsPerSecond, readsAtOnce),
		changes: rate.NewLimiter(changesPerSecond, changesAtOnce),
	}
}

// wrap returns a session that enforces the rate limit.
func (p pacer) wrap(s cloud.Session) cloud.Session {
	return cloud.Session{
		Snapshots: pacedSnapshots{p, s.Snapshots},
		Volumes:   pacedVolumes{p, s.Volumes},
		Access:    pacedAccess{p, s.Access},
	}
}

// pacer enforces a rate limit without blocking, and in safe mode refuses changes.
type pacer struct {
	*budget
	provider v1.Provider
	clock    clock.PassiveClock
	safeMode bool
}

func (p pacer) take(op string, from *rate.Limiter) error {
	if p.safeMode && from == p.changes {
		// Throttled: no request was sent, and a later one may be.
		return &cloud.Error{
			Class: cloud.ClassThrottled, Provider: p.provider, Op: op, Code: CodeSafeMode,
			Message: "the hub runs in safe mode and changes nothing in clouds",
		}
	}
	now := p.clock.Now()
	reservation := from.ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait <= 0 {
		return nil
	}
	reservation.CancelAt(now)
	return &cloud.Error{
		Class: cloud.ClassThrottled, Provider: p.provider, Op: op, Code: CodePaced,
		Message: "the hub's rate limit for the account is exceeded", RetryAfter: max(wait, time.Second),
	}
}

type pacedSnapshots struct {
	pacer
	next cloud.Snapshots
}

// EnsureSnapshot counts as a change if a request may be sent, otherwise as a read.
func (p pacedSnapshots) EnsureSnapshot(ctx context.Context, spec cloud.SnapshotSpec) (cloud.Snapshot, error) {
	if err := p.take("EnsureSnapshot", p.either(spec.MaySend)); err != nil {
		return cloud.Snapshot{}, err
	}
	return p.next.EnsureSnapshot(ctx, spec)
}

// EnsureCopy counts as a change if a request may be sent, otherwise as a read.
func (p pacedSnapshots) EnsureCopy(ctx context.Context, spec cloud.CopySpec) (cloud.Snapshot, error) {
	if err := p.take("EnsureCopy", p.either(spec.MaySend)); err != nil {
		return cloud.Snapshot{}, err
	}
	return p.next.EnsureCopy(ctx, spec)
}

// GetSnapshot counts as a read.
func (p pacedSnapshots) GetSnapshot(ctx context.Context, ref cloud.SnapshotRef) (cloud.Snapshot, error) {
	if err := p.take("GetSnapshot", p.reads); err != nil {
		return cloud.Snapshot{}, err
	}
	return p.next.GetSnapshot(ctx, ref)
}

// ListSnapshots counts as a read.
func (p pacedSnapshots) ListSnapshots(ctx context.Context, owner cloud.Owner) iter.Seq2[cloud.Snapshot, error] {
	if err := p.take("ListSnapshots", p.reads); err != nil {
		return func(yield func(cloud.Snapshot, error) bool) { yield(cloud.Snapshot{}, err) }
	}
	return p.next.ListSnapshots(ctx, owner)
}

// DeleteSnapshot counts as a change.
func (p pacedSnapshots) DeleteSnapshot(ctx context.Context, ref cloud.SnapshotRef, owner cloud.Owner) error {
	if err := p.take("DeleteSnapshot", p.changes); err != nil {
		return err
	}
	return p.next.DeleteSnapshot(ctx, ref, owner)
}

type pacedVolumes struct {
	pacer
	next cloud.Volumes
}

// DescribeVolume counts as a read.
func (p pacedVolumes) DescribeVolume(ctx context.Context, ref cloud.VolumeRef) (cloud.Volume, error) {
	if err := p.take("DescribeVolume", p.reads); err != nil {
		return cloud.Volume{}, err
	}
	return p.next.DescribeVolume(ctx, ref)
}

type pacedAccess struct {
	pacer
	next cloud.Access
}

// Identity counts as a read.
func (p pacedAccess) Identity(ctx context.Context) (cloud.Identity, error) {
	if err := p.take("Identity", p.reads); err != nil {
		return cloud.Identity{}, err
	}
	return p.next.Identity(ctx)
}

// Preflight counts as a read.
func (p pacedAccess) Preflight(ctx context.Context, owner cloud.Owner) ([]cloud.PermissionCheck, error) {
	if err := p.take("Preflight", p.reads); err != nil {
		return nil, err
	}
	return p.next.Preflight(ctx, owner)
}

func (b *budget) either(change bool) *rate.Limiter {
	if change {
		return b.changes
	}
	return b.reads
}
