package ec2

import (
	"fmt"
	"maps"
	"slices"
	"strings"

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
