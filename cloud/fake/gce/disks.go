package gce

import (
	"fmt"
	"strings"

	"github.com/shopfleet/shopfleet/cloud/fake"
)

// CSIDisk adds a disk as Google's CSI driver makes one for a claim, and returns its
// volume handle. One with the same name in the zone is replaced.
func (s *Server) CSIDisk(project, zone, name string, sizeBytes int64) string {
	handle := "projects/" + project + "/zones/" + zone + "/disks/" + name
	s.cloud.AddVolume(fake.Volume{
		Account: project, Region: regionOf("zones/" + zone), Zone: zone, ID: handle,
		SizeBytes: sizeBytes, Type: "pd-balanced", Encrypted: true,
		Tags:        map[string]string{"goog-k8s-cluster-name": "member"},
		Description: `{"kubernetes.io/created-for/pv/name":"` + name + `","storage.gke.io/created-by":"pd.csi.storage.gke.io"}`,
	})
	return handle
}

func describeDisk(v fake.Volume) map[string]any {
	place := v.ID[:strings.LastIndex(v.ID, "/disks/")]
	kind, name := "zone", v.Zone
	if v.Zone == "" {
		kind, name = "region", v.Region
	}
	out := map[string]any{
		"kind": "compute#disk", "id": v.UID, "name": v.ID[strings.LastIndex(v.ID, "/")+1:], "selfLink": link(v.ID),
		"creationTimestamp": timestamp(v.Created), "status": "READY", "sizeGb": sizeGB(v.SizeBytes),
		kind: link(place), "type": link("projects/" + v.Account + "/" + kind + "s/" + name + "/diskTypes/" + v.Type),
		"labelFingerprint": "42WmSpB8rSM=", "physicalBlockSizeBytes": "4096",
	}
	if len(v.Tags) > 0 {
		out["labels"] = v.Tags
	}
	if v.Description != "" {
		out["description"] = v.Description
	}
	if v.From != "" {
		out["sourceSnapshot"] = link(v.From)
	}
	if v.KMSKey != "" {
		out["diskEncryptionKey"] = map[string]any{"kmsKeyName": v.KMSKey}
	}
	if v.IOPS > 0 {
		out["provisionedIops"] = fmt.Sprint(v.IOPS)
	}
	if v.Throughput > 0 {
		out["provisionedThroughput"] = fmt.Sprint(v.Throughput)
	}
	if v.Attached {
		out["users"] = []string{link(place + "/instances/node-1")}
	}
	return out
}

func (s *Server) disk(r request) (fake.Volume, error) {
	id := "projects/" + r.project + "/" + r.scope + "/disks/" + r.name()
	v, found := s.cloud.Volume(id)
	if !found {
		return fake.Volume{}, notFound(id)
	}
	return v, nil
}

func (s *Server) getDisk(r request) (any, error) {
	v, err := s.disk(r)
	if err != nil {
		return nil, err
	}
	return describeDisk(v), nil
}
