package gce

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

// diskBody represents the body of a request to create a disk.
type diskBody struct {
	Kind                  string            `json:"kind"`
	Name                  string            `json:"name"`
	Description           string            `json:"description"`
	SizeGb                string            `json:"sizeGb"`
	Type                  string            `json:"type"`
	SourceSnapshot        string            `json:"sourceSnapshot"`
	Labels                map[string]string `json:"labels"`
	ReplicaZones          []string          `json:"replicaZones"`
	ProvisionedIops       string            `json:"provisionedIops"`
	ProvisionedThroughput string            `json:"provisionedThroughput"`
	EncryptionKey         *encryptionKey    `json:"diskEncryptionKey"`
}

// permissions returns what creating the disk needs besides compute.disks.create.
func (b diskBody) permissions() []string {
	var out []string
	if b.SourceSnapshot != "" {
		out = append(out, "compute.snapshots.useReadOnly")
	}
	if len(b.Labels) > 0 {
		out = append(out, "compute.disks.setLabels")
	}
	return out
}

// types returns the types of disks, and whether their performance can be provisioned.
func types() map[string]bool {
	return map[string]bool{
		"pd-standard": false, "pd-balanced": false, "pd-ssd": false, "pd-extreme": true,
		"hyperdisk-balanced": true, "hyperdisk-balanced-high-availability": true,
		"hyperdisk-throughput": true, "hyperdisk-extreme": true, "hyperdisk-ml": true,
	}
}

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

func (s *Server) insertDisk(r request) (any, error) {
	var in diskBody
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	if err := checkNames(in.Name, in.Description, in.Labels); err != nil {
		return nil, err
	}
	if err := s.need(r, in.permissions()...); err != nil {
		return nil, err
	}
	id := "projects/" + r.project + "/" + r.scope + "/disks/" + in.Name
	return s.begin(r, operation{kind: "insert", target: id}, func(op *operation) error {
		for _, v := range s.cloud.Volumes() {
			if v.ID == id {
				return problem{http.StatusConflict, "alreadyExists", fmt.Sprintf("The resource '%s' already exists", id)}
			}
		}
		volume, err := s.volume(r, in)
		if err != nil {
			return err
		}
		volume.ID = id
		op.targetID = s.cloud.AddVolume(volume).UID
		return nil
	})
}

// volume returns the volume that a body asks for.
func (s *Server) volume(r request, in diskBody) (fake.Volume, error) {
	v := fake.Volume{
		Account: r.project, Region: regionOf(r.scope), Encrypted: true,
		Type: "pd-standard", Tags: in.Labels, Description: in.Description,
	}
	if zone, zonal := strings.CutPrefix(r.scope, "zones/"); zonal {
		v.Zone = zone
	} else if len(in.ReplicaZones) != 2 {
		return v, invalid("Invalid value for field 'resource.replicaZones': ''. A regional disk needs two zones.")
	}
	if in.EncryptionKey != nil {
		v.KMSKey = in.EncryptionKey.KMSKeyName
	}
	if in.Type != "" {
		v.Type = in.Type[strings.LastIndex(in.Type, "/")+1:]
	}
	provisioned, known := types()[v.Type]
	if !known {
		return v, invalid("Invalid value for field 'resource.type': '%s'. The referenced diskType resource cannot be found.", in.Type)
	}
	var err error
	if v.IOPS, err = number("provisionedIops", in.ProvisionedIops); err != nil {
		return v, err
	}
	if v.Throughput, err = number("provisionedThroughput", in.ProvisionedThroughput); err != nil {
		return v, err
	}
	if !provisioned && v.IOPS+v.Throughput > 0 {
		return v, invalid("Invalid value for field 'resource.provisionedIops': Provisioned performance is not supported for %s.", v.Type)
	}
	size, err := number("sizeGb", in.SizeGb)
	if err != nil {
		return v, err
	}
	v.SizeBytes = size * gib
	if in.SourceSnapshot != "" {
		err = s.fill(r, &v, in.SourceSnapshot)
		return v, err
	}
	if size == 0 {
		v.SizeBytes = 500 * gib
	}
	return v, nil
}

// fill makes a volume one from a snapshot.
func (s *Server) fill(r request, v *fake.Volume, source string) error {
	path := resourcePath(r.project, source)
	snapshot, found := s.shown(path)
	switch {
	case !found:
		return notFound(path)
	case snapshot.State != cloud.StateReady:
		return problem{http.StatusBadRequest, "resourceNotReady", fmt.Sprintf("The resource '%s' is not ready", path)}
	case v.SizeBytes == 0:
		v.SizeBytes = snapshot.SizeBytes
	case v.SizeBytes < snapshot.SizeBytes:
		return invalid("Invalid value for field 'resource.sizeGb': '%s'. Requested disk size cannot be smaller than the snapshot size (%s GB)", sizeGB(v.SizeBytes), sizeGB(snapshot.SizeBytes))
	}
	v.From = path
	return nil
}

// number reads an int64, which JSON has as a string.
func number(field, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 || n > 1<<20 {
		return 0, invalid("Invalid value for field 'resource.%s': '%s'.", field, text)
	}
	return n, nil
}

func (s *Server) deleteDisk(r request) (any, error) {
	id := "projects/" + r.project + "/" + r.scope + "/disks/" + r.name()
	return s.begin(r, operation{kind: "delete", target: id}, func(op *operation) error {
		v, err := s.disk(r)
		if err != nil {
			return err
		}
		if v.Attached {
			return problem{http.StatusBadRequest, "resourceInUseByAnotherResource", fmt.Sprintf("The disk resource '%s' is already being used by 'projects/%s/%s/instances/node-1'", id, r.project, r.scope)}
		}
		op.targetID = v.UID
		s.cloud.RemoveVolume(id)
		return nil
	})
}
