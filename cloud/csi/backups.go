package csi

import (
	"fmt"
	"slices"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// RegionsOf returns the regions that have each snapshot of a Backup, as far as it is known.
func RegionsOf(b *v1.Backup) []string {
	var regions []string
	for i := range b.Status.Snapshots {
		s := &b.Status.Snapshots[i]
		in := []string{s.Region}
		if CapabilitiesOf(b.Status.Provider).Copy == CopyByLocation && len(b.Spec.CopyToRegions) > 0 {
			in = b.Spec.CopyToRegions[:1] // The data is there, although the snapshot is listed in its own region.
		}
		if s.State == v1.SnapshotMissing {
			in = nil
		}
		for _, c := range s.Copies {
			if c.State == string(cloud.StateReady) {
				in = append(in, c.Region)
			}
		}
		if i == 0 {
			regions = in
		}
		regions = slices.DeleteFunc(slices.Clone(regions), func(region string) bool { return !slices.Contains(in, region) })
	}
	return regions
}

// SnapshotIn returns the ID of the snapshot, or of its copy that is complete, from which a volume can be created in a
// region; empty if neither was made there. It reports whether the cloud did not have it when it was last looked at.
func SnapshotIn(region string, b *v1.BackupStatus, s *v1.VolumeSnapshot) (id string, missing bool) {
	if CapabilitiesOf(b.Provider).Copy == CopyByLocation || s.Region == region {
		return s.ID, s.State == v1.SnapshotMissing
	}
	for _, c := range s.Copies {
		if c.Region == region && (c.State == string(cloud.StateReady) || c.State == v1.SnapshotMissing) {
			return c.ID, c.State == v1.SnapshotMissing
		}
	}
	return "", false
}

// Obstacle is a reason why a snapshot cannot be restored. The message says what to do. The zero Obstacle means that
// nothing prevents a restore.
type Obstacle struct{ Reason, Message string }

// ClusterObstacle returns what prevents a restore of the snapshots of a Backup to a member whose provider and region are
// known: snapshots stay in the account that has them.
func ClusterObstacle(b *v1.Backup, m *v1.MemberCluster) Obstacle {
	switch {
	case m.Status.Provider != b.Status.Provider:
		return Obstacle{v1.ReasonProviderMismatch, fmt.Sprintf("Backup %q has snapshots of the provider %s, and %s is of %s: restore it to a cluster of %s, or restore a dump",
			b.Name, b.Status.Provider, m.Name, m.Status.Provider, b.Status.Provider)}
	case m.Spec.CloudAccountRef == nil || m.Spec.CloudAccountRef.Name != b.Status.Account:
		return Obstacle{v1.ReasonProviderMismatch, fmt.Sprintf("the snapshots are in CloudAccount %q, and spec.cloudAccountRef of %s names another: restore to a cluster of that account",
			b.Status.Account, m.Name)}
	default:
		return Obstacle{}
	}
}
