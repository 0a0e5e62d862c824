package azure

import (
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/azure/identity"
)

// The provisioning states that mean something to us; any other is on the way there.
const (
	provisioned = "succeeded"
	failed      = "failed"
	canceled    = "canceled"
	deleting    = "deleting"
)

// failedWhileMade is the message for a failure that the resource does not explain.
const failedWhileMade = "it failed while it was made; the activity log of the resource group says why"

func (a *account) toSnapshot(s armcompute.Snapshot, at time.Time) cloud.Snapshot {
	p := s.Properties
	if p == nil {
		p = &armcompute.SnapshotProperties{}
	}
	tags := fromTags(s.Tags)
	out := cloud.Snapshot{
		Ref:  cloud.SnapshotRef{Region: region(deref(s.Location)), ID: a.spelled(deref(s.ID))},
		Name: tags[cloud.TagName], Progress: progress(p.CompletionPercent),
		SizeBytes: sizeOf(p.DiskSizeBytes, p.DiskSizeGB), Encrypted: encrypted(p.Encryption),
		SourceHandle: a.spelled(deref(creation(p).SourceResourceID)), Tags: tags, ObservedAt: at,
	}
	out.State, out.Message = snapshotState(p)
	if out.State == cloud.StateReady {
		out.Progress = 100
	}
	if out.State != cloud.StateCreating {
		out.TakenAt = deref(p.TimeCreated)
	}
	return out
}

func snapshotState(p *armcompute.SnapshotProperties) (cloud.State, string) {
	if e := p.CopyCompletionError; e != nil {
		return cloud.StateFailed, identity.Line(string(deref(e.ErrorCode)) + ": " + deref(e.ErrorMessage))
	}
	switch strings.ToLower(deref(p.ProvisioningState)) {
	case failed, canceled:
		return cloud.StateFailed, failedWhileMade
	case deleting:
		return cloud.StateDeleting, ""
	case provisioned:
	default:
		return cloud.StateCreating, ""
	}
	if p.CompletionPercent != nil && *p.CompletionPercent < 100 {
		return cloud.StateTaken, ""
	}
	// Disks of the newest kinds say apart when a volume can be made.
	switch deref(p.SnapshotAccessState) {
	case "", armcompute.SnapshotAccessStateAvailable, armcompute.SnapshotAccessStateAvailableWithInstantAccess, armcompute.SnapshotAccessStateInstantAccess:
		return cloud.StateReady, ""
	default:
		return cloud.StateTaken, ""
	}
}

func creation(p *armcompute.SnapshotProperties) armcompute.CreationData {
	if p == nil {
		return armcompute.CreationData{}
	}
	return deref(p.CreationData)
}

func progress(percent *float32) int {
	if percent == nil {
		return -1
	}
	return min(100, max(0, int(*percent)))
}

func encrypted(e *armcompute.Encryption) bool {
	return e != nil && deref(e.Type) != ""
}

func (a *account) toVolume(d armcompute.Disk) cloud.Volume {
	p := deref(d.Properties)
	out := cloud.Volume{
		Ref: cloud.VolumeRef{Region: region(deref(d.Location)), Handle: a.spelled(deref(d.ID))},
		UID: deref(p.UniqueID), SizeBytes: sizeOf(p.DiskSizeBytes, p.DiskSizeGB),
	}
	if len(d.Zones) == 1 {
		out.Ref.Zone = deref(d.Zones[0])
	}
	return out
}
