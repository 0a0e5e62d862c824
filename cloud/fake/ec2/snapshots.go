package ec2

import (
	"fmt"
	"slices"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

func (s *Server) describeSnapshots(who caller, p *params) (answer, *fault) {
	q := p.query("SnapshotId", "snapshot-id", "volume-id", "status", "owner-id", "description", "volume-size", "encrypted")
	owners := p.list("Owner")
	for _, id := range q.ids {
		p.formed(id, "snap")
	}
	if wrong := p.done(); wrong != nil {
		return nil, wrong
	}
	var items []item
	seen := map[string]snapshotItem{}
	for _, snapshot := range s.cloud.Visible() {
		if snapshot.Region != who.region || !owned(who, owners, snapshot) ||
			len(q.ids) > 0 && !slices.Contains(q.ids, snapshot.ID) {
			continue
		}
		d := describeSnapshot(snapshot)
		seen[d.ID] = d
		items = append(items, item{id: d.ID, tags: snapshot.Tags, fields: map[string]string{
			"snapshot-id": d.ID, "volume-id": d.Volume, "status": d.State, "owner-id": d.Owner,
			"description": d.Description, "volume-size": fmt.Sprint(d.Size), "encrypted": fmt.Sprint(d.Encrypted),
		}})
	}
	for _, id := range q.ids {
		if _, ok := seen[id]; !ok {
			return nil, missing("InvalidSnapshot.NotFound", "snapshot", id)
		}
	}
	out := &snapshotsAnswer{}
	ids, next := s.page(q, items)
	for _, id := range ids {
		out.Items = append(out.Items, seen[id])
	}
	out.Next = next
	return out, nil
}

// owned reports whether a snapshot has one of the owners. Without owners, those of all
// accounts are listed, as if their owners had made them public: a client that forgets to ask for
// its own is to notice.
func owned(who caller, owners []string, s fake.Snapshot) bool {
	return len(owners) == 0 || slices.Contains(owners, s.Account) ||
		slices.Contains(owners, "self") && s.Account == who.account
}

func (s *Server) createSnapshot(who caller, p *params) (answer, *fault) {
	id, description, tags := p.id("VolumeId", "vol"), p.text("Description"), p.tags("snapshot")
	if wrong := p.done(); wrong != nil {
		return nil, wrong
	}
	volume, ok := s.volume(who, id)
	if !ok {
		return nil, missing("InvalidVolume.NotFound", "volume", id)
	}
	if wrong := s.authorize(who, p, existingVolume(who, volume), created(snapshotARN(who.region, "*"), tags)); wrong != nil {
		return nil, wrong
	}
	if wrong := s.exceeds(who, volume); wrong != nil {
		return nil, wrong
	}
	s.last[id] = s.clock.Now()
	made := s.cloud.AddSnapshot(fake.Snapshot{
		Account: who.account, Region: who.region, ID: s.id("snap"), Source: id, SourceUID: volume.UID,
		SizeBytes: volume.SizeBytes, Encrypted: volume.Encrypted, KMSKey: volume.KMSKey, Tags: tags, Description: description,
	})
	return &snapshotAnswer{snapshotItem: describeSnapshot(made)}, nil
}

// exceeds returns which limit forbids another snapshot of a volume.
func (s *Server) exceeds(who caller, volume fake.Volume) *fault {
	pending, all := 0, 0
	for _, other := range s.cloud.Snapshots() {
		if other.Account != who.account || other.Region != who.region {
			continue
		}
		all++
		if other.Source == volume.ID && !settled(other) {
			pending++
		}
	}
	limit := s.limits.PerVolume
	if limit > 0 && (volume.Type == "st1" || volume.Type == "sc1") {
		limit = 1
	}
	last, before := s.last[volume.ID]
	switch {
	case limit > 0 && pending >= limit:
		return invalid("ConcurrentSnapshotLimitExceeded", "Maximum allowed in-progress snapshots for a single volume exceeded.")
	case s.limits.Snapshots > 0 && all >= s.limits.Snapshots:
		return invalid("SnapshotLimitExceeded", fmt.Sprintf("Maximum number of snapshots (%d) exceeded", s.limits.Snapshots))
	case before && s.clock.Since(last) < s.limits.Interval:
		return invalid("SnapshotCreationPerVolumeRateExceeded",
			"The maximum per volume CreateSnapshot request rate has been exceeded. Use an increasing or variable sleep interval between requests.")
	}
	return nil
}

func settled(s fake.Snapshot) bool {
	return s.State == cloud.StateReady || s.State == cloud.StateFailed
}

func (s *Server) copySnapshot(who caller, p *params) (answer, *fault) {
	region, id := p.required("SourceRegion"), p.id("SourceSnapshotId", "snap")
	description, tags, key := p.text("Description"), p.tags("snapshot"), p.text("KmsKeyId")
	encrypted := p.flag("Encrypted")
	p.text("PresignedUrl")      // Of older clients, checked by no current region.
	p.text("DestinationRegion") // What is in a signed URL; ignored in a request.
	if wrong := p.done(); wrong != nil {
		return nil, wrong
	}
	source, ok := s.cloud.Snapshot(id)
	if !ok || source.Region != region {
		return nil, missing("InvalidSnapshot.NotFound", "snapshot", id)
	}
	if wrong := s.authorize(who, p, existingSnapshot(source), created(snapshotARN(who.region, "*"), tags)); wrong != nil {
		return nil, wrong
	}
	switch {
	case source.State != cloud.StateReady:
		return nil, invalid("IncorrectState", fmt.Sprintf("Snapshot %s is not in a valid state for this operation: %s", id, snapshotState(source.State)))
	case key != "" && !encrypted:
		return nil, invalid("InvalidParameterCombination", "KmsKeyId requires Encrypted")
	case s.limits.Copies > 0 && s.copies(who) >= s.limits.Copies:
		return nil, invalid("ResourceLimitExceeded", fmt.Sprintf("Maximum of %d concurrent snapshot copies to a region exceeded", s.limits.Copies))
	}
	if !s.mayUse(who, source.KMSKey, key) || !s.hasKey(who, key) {
		s.cloud.FailNext("Given key ID is not accessible")
	}
	made := s.cloud.AddSnapshot(fake.Snapshot{
		Account: who.account, Region: who.region, ID: s.id("snap"), Source: id, SourceUID: source.SourceUID, IsCopy: true,
		SizeBytes: source.SizeBytes, Encrypted: encrypted || source.Encrypted, KMSKey: key, Tags: tags, Description: description,
	})
	return &copyAnswer{ID: made.ID, Tags: tagSet(made.Tags)}, nil
}

// copies returns the number of copies under way to a region.
func (s *Server) copies(who caller) int {
	n := 0
	for _, other := range s.cloud.Snapshots() {
		if other.Account == who.account && other.Region == who.region && other.IsCopy && !settled(other) {
			n++
		}
	}
	return n
}

func (s *Server) deleteSnapshot(who caller, p *params) (answer, *fault) {
	id := p.id("SnapshotId", "snap")
	if wrong := p.done(); wrong != nil {
		return nil, wrong
	}
	snapshot, ok := s.cloud.Snapshot(id)
	if !ok || snapshot.Region != who.region {
		return nil, missing("InvalidSnapshot.NotFound", "snapshot", id)
	}
	if wrong := s.authorize(who, p, existingSnapshot(snapshot)); wrong != nil {
		return nil, wrong
	}
	switch {
	case snapshot.Account != who.account:
		return nil, unauthorized(who, "DeleteSnapshot")
	case snapshot.Used:
		return nil, invalid("InvalidSnapshot.InUse", fmt.Sprintf("The snapshot %s is currently in use by ami-00000000000000001", id))
	case snapshot.Locked:
		return nil, invalid("OperationNotPermitted", fmt.Sprintf("The snapshot %s is locked and cannot be deleted", id))
	}
	s.cloud.RemoveSnapshot(id)
	return &doneAnswer{Return: true}, nil
}
