package rediscover

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	// regionTimeout bounds the list of a region.
	regionTimeout = 5 * time.Minute
	// maxCopies is how many copies a status may have.
	maxCopies = 8
)

// listSnapshots lists the snapshots in all regions at the same time, so that one that does not answer
// delays no other.
func (r *Reconciler) listSnapshots(ctx context.Context, f *found, owner cloud.Owner, regions []string) {
	if csi.CapabilitiesOf(f.account.Spec.Provider).Copy == csi.CopyByLocation {
		regions = regions[:min(len(regions), 1)] // Global snapshots are listed in every region.
	}
	listed := make([][]cloud.Snapshot, len(regions))
	results := make([]steps.Result, len(regions))
	var lists sync.WaitGroup
	for i, region := range regions {
		lists.Go(func() { listed[i], results[i] = r.listRegion(ctx, f.account.Name, region, owner) })
	}
	lists.Wait()
	failed := slices.DeleteFunc(results, func(result steps.Result) bool { return !result.Stops() })
	if s := f.account.Spec.ObjectStorage; s != nil && s.Endpoint != "" && len(failed) == len(regions) {
		return // The credentials may belong to another S3-compatible service.
	}
	f.snapshot, f.unlisted = slices.Concat(listed...), append(f.unlisted, failed...)
}

// listRegion lists the snapshots in a region. The list is complete unless the result stops.
func (r *Reconciler) listRegion(ctx context.Context, account, region string, owner cloud.Owner) ([]cloud.Snapshot, steps.Result) {
	ctx, cancel := context.WithTimeout(ctx, regionTimeout)
	defer cancel()
	session, err := r.options.Accounts.Session(ctx, account, region)
	if err != nil {
		return nil, steps.FromError(err, "connecting to the cloud in "+region)
	}
	var listed []cloud.Snapshot
	for s, err := range session.Snapshots.ListSnapshots(ctx, owner) {
		if err != nil {
			return nil, steps.FromError(err, "listing the snapshots in "+region)
		}
		if len(listed) == maxSnapshots {
			return nil, steps.Fail(v1.ReasonQuotaExceeded, "there are more than %d snapshots in %s: delete those that are not needed", maxSnapshots, region)
		}
		listed = append(listed, s)
	}
	return listed, steps.Result{}
}

// complete adds the snapshots of regions that did not answer when a Backup was rediscovered, and reports
// whether there are any. Backups that were not rediscovered have all of theirs.
func (r *Reconciler) complete(ctx context.Context, b *v1.Backup, wanted v1.BackupStatus) (added bool, err error) {
	live := &v1.Backup{}
	switch err := r.client.Get(ctx, client.ObjectKeyFromObject(b), live); {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("getting backup %q: %w", b.Name, err)
	}
	before := live.DeepCopy()
	if live.Status.StartTime != nil || !live.DeletionTimestamp.IsZero() || !addCopies(&live.Status, wanted) {
		return false, nil
	}
	if err := client.IgnoreNotFound(r.client.Status().Patch(ctx, live, retry.MergeFromLocked(before))); err != nil {
		return false, fmt.Errorf("adding copies to backup %q: %w", live.Name, err)
	}
	return true, nil
}

// addCopies adds the snapshots of claims that are complete and in no region of a status yet, as copies.
func addCopies(live *v1.BackupStatus, wanted v1.BackupStatus) (added bool) {
	if live.AppUID != wanted.AppUID || live.Account != wanted.Account {
		return false
	}
	for i := range live.Snapshots {
		s := &live.Snapshots[i]
		for _, w := range wanted.Snapshots {
			if w.Claim != s.Claim {
				continue
			}
			for _, c := range append([]v1.CloudSnapshot{w.CloudSnapshot}, w.Copies...) {
				known := s.Region == c.Region || slices.ContainsFunc(s.Copies, func(o v1.CloudSnapshot) bool { return o.Region == c.Region })
				if !known && c.State == string(cloud.StateReady) && len(s.Copies) < maxCopies {
					s.Copies, added = append(s.Copies, c), true
				}
			}
		}
	}
	return added
}
