package ec2

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

// Disk is a volume as a claim asks for it.
type Disk struct {
	Account, Zone string
	// Name is the PersistentVolume's.
	Name             string
	SizeBytes        int64
	Type             string
	IOPS, Throughput int64
	Encrypted        bool
	Tags             map[string]string
}

// Provision makes a volume as the EBS CSI driver does; its ID is the volume handle.
func (s *Server) Provision(d Disk) fake.Volume {
	tags := map[string]string{"ebs.csi.aws.com/cluster": "true", "CSIVolumeName": d.Name}
	maps.Copy(tags, d.Tags)
	if d.Type == "" {
		d.Type = "gp3"
	}
	if d.Type == "gp3" {
		d.IOPS, d.Throughput = max(d.IOPS, 3000), max(d.Throughput, 125)
	}
	id := s.id("vol")
	return s.cloud.AddVolume(fake.Volume{
		Account: d.Account, Region: regionOf(d.Zone), Zone: d.Zone, ID: id, UID: id, SizeBytes: d.SizeBytes,
		Type: d.Type, IOPS: d.IOPS, Throughput: d.Throughput, Encrypted: d.Encrypted, Tags: tags,
	})
}

// regionOf returns the region of a zone, which has a letter more.
func regionOf(zone string) string { return strings.TrimRight(zone, "abcdef") }

// volume reads a volume of the caller's account and region.
func (s *Server) volume(who caller, id string) (fake.Volume, bool) {
	v, ok := s.cloud.Volume(id)
	return v, ok && v.Account == who.account && v.Region == who.region
}

func (s *Server) describeVolumes(who caller, p *params) (answer, *fault) {
	q := p.query("VolumeId", "volume-id", "status", "snapshot-id", "availability-zone", "volume-type", "size", "encrypted")
	for _, id := range q.ids {
		p.formed(id, "vol")
	}
	if wrong := p.done(); wrong != nil {
		return nil, wrong
	}
	var items []item
	seen := map[string]volumeItem{}
	for _, volume := range s.cloud.Volumes() {
		if _, visible := s.volume(who, volume.ID); !visible || len(q.ids) > 0 && !slices.Contains(q.ids, volume.ID) {
			continue
		}
		d := describeVolume(volume)
		seen[d.ID] = d
		items = append(items, item{id: d.ID, tags: volume.Tags, fields: map[string]string{
			"volume-id": d.ID, "status": d.State, "snapshot-id": d.Snapshot, "availability-zone": d.Zone,
			"volume-type": d.Type, "size": fmt.Sprint(d.Size), "encrypted": fmt.Sprint(d.Encrypted),
		}})
	}
	for _, id := range q.ids {
		if _, ok := seen[id]; !ok {
			return nil, missing("InvalidVolume.NotFound", "volume", id)
		}
	}
	out := &volumesAnswer{}
	ids, next := s.page(q, items)
	for _, id := range ids {
		out.Items = append(out.Items, seen[id])
	}
	out.Next = next
	return out, nil
}

// tokenUse records the request and the volume of a ClientToken.
type tokenUse struct {
	request string
	volume  fake.Volume
}

// wanted is a volume that is asked for.
type wanted struct {
	zone, snapshot, kind, key, token string
	size, iops, throughput, rate     int64 // Size in GiB.
	encrypted                        bool
	tags                             map[string]string
}

func (s *Server) createVolume(who caller, p *params) (answer, *fault) {
	w := wanted{
		zone: p.required("AvailabilityZone"), snapshot: p.text("SnapshotId"), kind: p.text("VolumeType"),
		key: p.text("KmsKeyId"), token: p.text("ClientToken"), size: p.number("Size"), iops: p.number("Iops"),
		throughput: p.number("Throughput"), rate: p.number("VolumeInitializationRate"),
		encrypted: p.flag("Encrypted"), tags: p.tags("volume"),
	}
	p.formed(w.snapshot, "snap")
	if len(w.token) > 64 {
		p.fail(invalid("InvalidParameterValue", "ClientToken has at most 64 characters"))
	}
	if wrong := p.done(); wrong != nil {
		return nil, wrong
	}
	if wrong := s.authorize(who, p, s.resources(who, w)...); wrong != nil {
		return nil, wrong
	}
	request, token := fingerprint(p.form), who.account+"/"+who.region+"/"+w.token
	if used, ok := s.tokens[token]; ok && w.token != "" {
		if used.request != request {
			return nil, invalid("IdempotentParameterMismatch", "The request uses the same client token as a previous, but non-identical request.")
		}
		return &volumeAnswer{volumeItem: describeVolume(used.volume)}, nil
	}
	source, wrong := s.source(who, &w)
	if wrong == nil {
		wrong = w.check(who)
	}
	if wrong != nil {
		return nil, wrong
	}
	id := s.id("vol")
	made := s.cloud.AddVolume(fake.Volume{
		Account: who.account, Region: who.region, Zone: w.zone, ID: id, UID: id, SizeBytes: w.size * gib, Type: w.kind,
		IOPS: w.iops, Throughput: w.throughput, Encrypted: w.encrypted || source.Encrypted, KMSKey: w.key,
		Tags: w.tags, Token: w.token, From: w.snapshot,
	})
	s.tokens[token] = tokenUse{request: request, volume: made}
	if !s.mayUse(who, source.KMSKey, w.key) || !s.hasKey(who, w.key) {
		s.cloud.RemoveVolume(id)
	}
	return &volumeAnswer{volumeItem: describeVolume(made)}, nil
}

// resources returns what a request concerns that creates a volume.
func (s *Server) resources(who caller, w wanted) []resource {
	out := []resource{created(volumeARN(who, "*"), w.tags)}
	if from, ok := s.cloud.Snapshot(w.snapshot); ok {
		out = append(out, existingSnapshot(from))
	}
	return out
}

// fingerprint returns a string that is equal for repeated requests.
func fingerprint(form url.Values) string { return form.Encode() }

// source reads the snapshot that a volume is to be made from, and its size where none is given.
func (s *Server) source(who caller, w *wanted) (fake.Snapshot, *fault) {
	if w.snapshot == "" {
		return fake.Snapshot{}, nil
	}
	snapshot, ok := s.cloud.Snapshot(w.snapshot)
	if w.size == 0 {
		w.size = snapshot.SizeBytes / gib
	}
	switch {
	case !ok || snapshot.Region != who.region || snapshot.Account != who.account:
		return snapshot, missing("InvalidSnapshot.NotFound", "snapshot", w.snapshot)
	case snapshot.State != cloud.StateReady:
		return snapshot, invalid("IncorrectState", fmt.Sprintf("Snapshot is in invalid state - %s", snapshotState(snapshot.State)))
	case w.size*gib < snapshot.SizeBytes:
		return snapshot, invalid("InvalidParameterValue", fmt.Sprintf("Volume of %dGiB is smaller than snapshot '%s'", w.size, w.snapshot))
	}
	return snapshot, nil
}

func (s *Server) deleteVolume(who caller, p *params) (answer, *fault) {
	id := p.id("VolumeId", "vol")
	if wrong := p.done(); wrong != nil {
		return nil, wrong
	}
	volume, ok := s.volume(who, id)
	if !ok {
		return nil, missing("InvalidVolume.NotFound", "volume", id)
	}
	if wrong := s.authorize(who, p, existingVolume(who, volume)); wrong != nil {
		return nil, wrong
	}
	if volume.Attached {
		return nil, invalid("VolumeInUse", fmt.Sprintf("Volume %s is currently attached to i-00000000000000001", id))
	}
	s.cloud.RemoveVolume(id)
	return &doneAnswer{Return: true}, nil
}
