package azure

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"github.com/shopfleet/shopfleet/cloud"
)

// wanted describes a snapshot or copy that should exist.
type wanted struct {
	// name is the name of the resource.
	name string
	tags cloud.Tags
	// source is the ID of the disk or snapshot, uid its unique ID; empty is not compared.
	source, uid string
	option      armcompute.DiskCreateOption
	sizeBytes   int64
	// key is the disk encryption set; empty is Azure's key, or that of the source.
	key string
}

// EnsureSnapshot implements cloud.Snapshots.
func (a *account) EnsureSnapshot(ctx context.Context, spec cloud.SnapshotSpec) (cloud.Snapshot, error) {
	r := request{"EnsureSnapshot", typeSnapshots, "write"}
	if len(spec.Locations) > 0 {
		return cloud.Snapshot{}, r.refuse(cloud.ClassUnsupported, "Locations", "a snapshot is stored where its disk is; copy it")
	}
	disk, err := a.locateID(r, typeDisks, spec.Source.Handle)
	if err != nil {
		return cloud.Snapshot{}, err
	}
	name := attempted(spec.Name, spec.Attempt)
	want := wanted{
		name: name, source: spec.Source.Handle, uid: spec.SourceUID, option: armcompute.DiskCreateOptionCopy,
		tags: spec.Tags.With(cloud.Tags{cloud.TagName: name}),
	}
	found, ok, err := a.findSnapshot(ctx, r, want, spec.MaySend)
	if ok || err != nil {
		return found, err
	}
	source, err := a.readDisk(ctx, r, disk)
	if err != nil {
		return cloud.Snapshot{}, err
	}
	if location := region(deref(source.Location)); location != a.region {
		return cloud.Snapshot{}, r.refuse(cloud.ClassInvalid, "OtherRegion", "the disk is in region "+location+", the session in "+a.region)
	}
	uid := deref(source.Properties.UniqueID)
	if spec.SourceUID != "" && !strings.EqualFold(uid, spec.SourceUID) {
		return cloud.Snapshot{}, r.refuse(cloud.ClassConflict, "OtherVolume", "the disk was deleted and created again with the same name")
	}
	want.source, want.sizeBytes = a.spelled(deref(source.ID)), sizeOf(source.Properties.DiskSizeBytes, source.Properties.DiskSizeGB)
	if uid != "" {
		want.uid, want.tags[cloud.TagVolume] = uid, uid
	}
	return a.createSnapshot(ctx, r, want)
}

// EnsureCopy implements cloud.Snapshots.
func (a *account) EnsureCopy(ctx context.Context, spec cloud.CopySpec) (cloud.Snapshot, error) {
	r := request{"EnsureCopy", typeSnapshots, "write"}
	from, err := a.locateID(r, typeSnapshots, spec.Source.ID)
	if err != nil {
		return cloud.Snapshot{}, err
	}
	name := attempted(spec.Name, spec.Attempt)
	want := wanted{
		name: copied(name, a.region), source: spec.Source.ID, option: armcompute.DiskCreateOptionCopyStart,
		tags: spec.Tags.With(cloud.Tags{cloud.TagName: name, cloud.TagCopyOf: spec.Source.ID}),
		key:  string(a.config.Spec.Azure.Keys[a.region]),
	}
	found, ok, err := a.findSnapshot(ctx, r, want, spec.MaySend)
	if ok || err != nil {
		return found, err
	}
	source, _, err := a.readSnapshot(ctx, r, from)
	if err != nil {
		return cloud.Snapshot{}, err
	}
	want.sizeBytes = sizeOf(source.Properties.DiskSizeBytes, source.Properties.DiskSizeGB)
	return a.createSnapshot(ctx, r, want)
}

// findSnapshot returns the snapshot of a name, and whether it exists. If it does not exist and
// may not be created, the error is Ambiguous.
func (a *account) findSnapshot(ctx context.Context, r request, want wanted, maySend bool) (cloud.Snapshot, bool, error) {
	found, at, err := a.readSnapshot(ctx, r, located{a.group, want.name})
	switch {
	case err == nil:
		got, err := a.adopt(r, found, at, want)
		return got, err == nil, err
	case cloud.ClassOf(err) != cloud.ClassNotFound:
		return cloud.Snapshot{}, false, err
	case !maySend:
		return cloud.Snapshot{}, false, r.refuse(cloud.ClassAmbiguous, codeNotVisible, "the snapshot is not there, or not visible yet")
	default:
		return cloud.Snapshot{}, false, nil
	}
}

// adopt returns a snapshot if it is the one that is wanted.
func (a *account) adopt(r request, found armcompute.Snapshot, at time.Time, want wanted) (cloud.Snapshot, error) {
	var zero cloud.Snapshot
	got := a.toSnapshot(found, at)
	data := creation(found.Properties)
	switch uid := deref(data.SourceUniqueID); {
	case got.Ref.Region != a.region:
		return zero, r.refuse(cloud.ClassConflict, codeNameTaken, "a snapshot with this name is in region "+got.Ref.Region)
	case !strings.EqualFold(got.SourceHandle, want.source):
		return zero, r.refuse(cloud.ClassConflict, codeNameTaken, "a snapshot with this name was made from another disk or snapshot")
	case want.uid != "" && uid != "" && !strings.EqualFold(uid, want.uid):
		return zero, r.refuse(cloud.ClassConflict, "OtherVolume", "the snapshot is of a disk that had the same name before")
	case !owner(want.tags).Owns(got.Tags):
		return zero, r.refuse(cloud.ClassConflict, cloud.CodeForeign, "a snapshot with this name exists, and this hub does not own it")
	}
	return got, nil
}

// createSnapshot requests a snapshot. It ignores the content of the response, which may describe an
// operation, the snapshot, or one that another client created.
func (a *account) createSnapshot(ctx context.Context, r request, want wanted) (cloud.Snapshot, error) {
	body := armcompute.Snapshot{
		Location: new(a.region), Tags: toTags(want.tags),
		Properties: &armcompute.SnapshotProperties{
			CreationData: &armcompute.CreationData{CreateOption: new(want.option), SourceResourceID: new(want.source)},
			Incremental:  new(true), NetworkAccessPolicy: new(armcompute.NetworkAccessPolicyDenyAll),
			PublicNetworkAccess: new(armcompute.PublicNetworkAccessDisabled),
		},
	}
	if want.key != "" {
		body.Properties.Encryption = &armcompute.Encryption{
			DiskEncryptionSetID: new(want.key), Type: new(armcompute.EncryptionTypeEncryptionAtRestWithCustomerKey),
		}
	}
	_, err := a.snapshots.BeginCreateOrUpdate(ctx, a.group, want.name, body, nil)
	if failed := a.fail(r, err); failed != nil {
		if !takenOrUnderWay(failed) {
			return cloud.Snapshot{}, a.ofKey(r, want, failed)
		}
		// It may exist: from an earlier request, or from another leader.
		found, at, err := a.readSnapshot(ctx, r, located{a.group, want.name})
		if err != nil {
			return cloud.Snapshot{}, failed
		}
		return a.adopt(r, found, at, want)
	}
	return cloud.Snapshot{
		Ref: cloud.SnapshotRef{Region: a.region, ID: a.id(typeSnapshots, want.name)}, Name: want.tags[cloud.TagName],
		State: cloud.StateCreating, Progress: -1, SizeBytes: want.sizeBytes, Encrypted: true, SourceHandle: want.source, Tags: want.tags,
	}, nil
}

// ofKey names the field of the account in a refusal that the disk encryption set may cause. The
// service refuses one that is missing as NotFound, which would be taken for the source.
func (a *account) ofKey(r request, want wanted, failed error) error {
	e, ok := errors.AsType[*cloud.Error](failed)
	if !ok || want.key == "" || e.Class != cloud.ClassInvalid && e.Class != cloud.ClassNotFound {
		return failed
	}
	return r.refuse(cloud.ClassInvalid, e.Code, e.Message+"; spec.azure.keys."+a.region+" of the CloudAccount must be a disk encryption set of that region")
}

// GetSnapshot implements cloud.Snapshots.
func (a *account) GetSnapshot(ctx context.Context, ref cloud.SnapshotRef) (cloud.Snapshot, error) {
	r := request{"GetSnapshot", typeSnapshots, "read"}
	where, err := a.locateID(r, typeSnapshots, ref.ID)
	if err != nil {
		return cloud.Snapshot{}, err
	}
	found, at, err := a.readSnapshot(ctx, r, where)
	if err != nil {
		return cloud.Snapshot{}, err
	}
	return a.toSnapshot(found, at), nil
}

// ListSnapshots lists the owner's snapshots in the session's region.
func (a *account) ListSnapshots(ctx context.Context, owner cloud.Owner) iter.Seq2[cloud.Snapshot, error] {
	r := request{"ListSnapshots", typeSnapshots, "read"}
	return func(yield func(cloud.Snapshot, error) bool) {
		for pager := a.snapshots.NewListByResourceGroupPager(a.group, nil); pager.More(); {
			var raw *http.Response
			page, err := pager.NextPage(policy.WithCaptureResponse(ctx, &raw))
			if err != nil {
				yield(cloud.Snapshot{}, a.fail(r, err))
				return
			}
			if page.Value == nil { // A page without a value is not from Azure.
				yield(cloud.Snapshot{}, r.refuse(cloud.ClassTransient, "InvalidAnswer", "a page has no list"))
				return
			}
			for _, one := range page.Value {
				if one == nil || region(deref(one.Location)) != a.region || !owner.Owns(fromTags(one.Tags)) {
					continue
				}
				if !yield(a.toSnapshot(*one, date(raw)), nil) {
					return
				}
			}
		}
	}
}

// DeleteSnapshot deletes a snapshot of the owner.
func (a *account) DeleteSnapshot(ctx context.Context, ref cloud.SnapshotRef, owner cloud.Owner) error {
	r := request{"DeleteSnapshot", typeSnapshots, "delete"}
	where, err := a.locateID(r, typeSnapshots, ref.ID)
	if err != nil {
		return err
	}
	found, _, err := a.readSnapshot(ctx, r, where)
	switch {
	case cloud.ClassOf(err) == cloud.ClassNotFound:
		return nil
	case err != nil:
		return err
	case !owner.Owns(fromTags(found.Tags)):
		return r.refuse(cloud.ClassDenied, cloud.CodeForeign, "the snapshot is not the owner's")
	case deref(found.Properties.ProvisioningState) == "Deleting":
		return nil
	}
	_, err = a.snapshots.BeginDelete(ctx, where.group, where.name, nil)
	if err = a.fail(r, err); cloud.ClassOf(err) == cloud.ClassNotFound {
		return nil
	}
	return err
}

// readSnapshot returns a snapshot, with properties, and the time of the response.
func (a *account) readSnapshot(ctx context.Context, r request, where located) (armcompute.Snapshot, time.Time, error) {
	var raw *http.Response
	r = r.reading(typeSnapshots)
	got, err := a.snapshots.Get(policy.WithCaptureResponse(ctx, &raw), where.group, where.name, nil)
	if err != nil {
		return armcompute.Snapshot{}, time.Time{}, a.fail(r, err)
	}
	if got.Properties == nil || got.ID == nil {
		return armcompute.Snapshot{}, time.Time{}, r.refuse(cloud.ClassTransient, "InvalidAnswer", "the answer is not a snapshot")
	}
	return got.Snapshot, date(raw), nil
}

// date returns the service's time of a response.
func date(raw *http.Response) time.Time {
	if raw == nil {
		return time.Time{}
	}
	at, err := http.ParseTime(raw.Header.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return at
}
