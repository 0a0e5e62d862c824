package driver

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake"
	disks "github.com/shopfleet/shopfleet/e2e/fleet/csi"
)

const (
	gib = 1 << 30
	// defaultSize is that of a volume of which no size is requested.
	defaultSize = 10 * gib
	// nameTag has the name of a volume of EBS, whose ID does not contain it.
	nameTag = "CSIVolumeName"
	// metadataPrefix begins the parameters that csi-provisioner adds with --extra-create-metadata.
	metadataPrefix = "csi.storage.k8s.io/"
)

// CreateVolume implements csi.ControllerServer.
func (d *Driver) CreateVolume(_ context.Context, r *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	size, err := checkVolume(r)
	if err != nil {
		return nil, err
	}
	zone, reach, err := d.Cloud.place(d.zone(r.GetAccessibilityRequirements()), r.GetParameters())
	if err != nil {
		return nil, err
	}
	from := r.GetVolumeContentSource().GetSnapshot().GetSnapshotId()
	if made, exists := d.named(r.GetName()); exists {
		if made.SizeBytes != size || !strings.EqualFold(made.From, from) || made.Zone != zone {
			return nil, status.Errorf(codes.AlreadyExists, "the volume %q exists, with another size, zone or source", r.GetName())
		}
		return d.describe(made, r, reach), nil
	}
	if from != "" {
		if from, err = d.source(from, size); err != nil {
			return nil, err
		}
	}
	handle, err := d.Driver.Provision(disks.Volume{
		Name: r.GetName(), Zone: zone, SizeBytes: size, Snapshot: from, Parameters: r.GetParameters(), Tags: tagsOf(r.GetParameters()),
	})
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "making volume %q: %v", r.GetName(), err)
	}
	made, _ := d.Driver.Cloud().Volume(handle)
	return d.describe(made, r, reach), nil
}

// checkVolume returns the size in bytes of the volume that a request asks for, in whole GiB.
func checkVolume(r *csi.CreateVolumeRequest) (int64, error) {
	switch {
	case r.GetName() == "":
		return 0, status.Error(codes.InvalidArgument, "the volume has no name")
	case r.GetVolumeContentSource().GetVolume() != nil:
		return 0, status.Error(codes.InvalidArgument, "volumes are not cloned")
	}
	if problem := unsupported(r.GetVolumeCapabilities()); problem != "" {
		return 0, status.Error(codes.InvalidArgument, problem)
	}
	size := cmp.Or(r.GetCapacityRange().GetRequiredBytes(), defaultSize)
	size = (size + gib - 1) / gib * gib
	if limit := r.GetCapacityRange().GetLimitBytes(); limit > 0 && limit < size {
		return 0, status.Errorf(codes.OutOfRange, "the least size is %d bytes, and the limit %d", size, limit)
	}
	return size, nil
}

// unsupported returns what of the capabilities a disk lacks, which is attached to one node; empty if nothing.
func unsupported(all []*csi.VolumeCapability) string {
	if len(all) == 0 {
		return "the volume has no capabilities"
	}
	for _, one := range all {
		if mode := one.GetAccessMode().GetMode().String(); !strings.HasPrefix(mode, "SINGLE_NODE_") {
			return "the access mode " + mode + " is not supported"
		}
	}
	return ""
}

// zone returns where a volume is requested: csi-provisioner prefers the zone of the node that was chosen.
func (d *Driver) zone(r *csi.TopologyRequirement) string {
	for _, one := range slices.Concat(r.GetPreferred(), r.GetRequisite()) {
		if zone, has := one.GetSegments()[d.Driver.TopologyKey()]; has {
			return zone
		}
	}
	return d.Zones[0]
}

// named returns the volume of a name: Azure and Google Cloud have it in the ID, and EBS has it in a tag.
func (d *Driver) named(name string) (fake.Volume, bool) {
	volumes := d.Driver.Cloud().Volumes()
	at := slices.IndexFunc(volumes, func(v fake.Volume) bool { return v.Tags[nameTag] == name || path.Base(v.ID) == name })
	if at < 0 {
		return fake.Volume{}, false
	}
	return volumes[at], true
}

// source returns the ID of the snapshot of a handle, if a volume of the size can be made from it.
func (d *Driver) source(handle string, size int64) (string, error) {
	found, err := d.Cloud.find(d.Driver.Cloud(), handle)
	switch {
	case err != nil:
		return "", err
	case found.State != cloud.StateReady:
		return "", status.Errorf(codes.Unavailable, "the snapshot %q is not ready", handle)
	case size < found.SizeBytes:
		return "", status.Errorf(codes.OutOfRange, "%d bytes are less than the %d of the snapshot %q", size, found.SizeBytes, handle)
	}
	return found.ID, nil
}

// tagsOf returns the tags that tell of a volume whose it is.
func tagsOf(parameters map[string]string) map[string]string {
	tags := map[string]string{}
	for parameter, tag := range map[string]string{
		"pvc/namespace": "kubernetes.io/created-for/pvc/namespace", "pvc/name": "kubernetes.io/created-for/pvc/name",
	} {
		if value := parameters[metadataPrefix+parameter]; value != "" {
			tags[tag] = value
		}
	}
	return tags
}

func (d *Driver) describe(v fake.Volume, r *csi.CreateVolumeRequest, reach []string) *csi.CreateVolumeResponse {
	volume := &csi.Volume{VolumeId: v.ID, CapacityBytes: v.SizeBytes, ContentSource: r.GetVolumeContentSource(), VolumeContext: maps.Clone(r.GetParameters())}
	maps.DeleteFunc(volume.VolumeContext, func(key, _ string) bool { return strings.HasPrefix(key, metadataPrefix) })
	for _, zone := range reach {
		volume.AccessibleTopology = append(volume.AccessibleTopology, &csi.Topology{Segments: map[string]string{d.Driver.TopologyKey(): zone}})
	}
	return &csi.CreateVolumeResponse{Volume: volume}
}

// DeleteVolume implements csi.ControllerServer.
func (d *Driver) DeleteVolume(_ context.Context, r *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	if r.GetVolumeId() == "" {
		return nil, status.Error(codes.InvalidArgument, "the volume has no ID")
	}
	v, exists := d.Driver.Cloud().Volume(r.GetVolumeId())
	if !exists {
		return &csi.DeleteVolumeResponse{}, nil
	}
	if err := d.Cloud.mayDelete(v.ID, v.Tags); err != nil {
		return nil, err
	}
	if v.Attached {
		return nil, status.Errorf(codes.FailedPrecondition, "the volume %q is attached", v.ID)
	}
	d.Driver.Cloud().RemoveVolume(v.ID)
	return &csi.DeleteVolumeResponse{}, nil
}

// ValidateVolumeCapabilities implements csi.ControllerServer.
func (d *Driver) ValidateVolumeCapabilities(_ context.Context, r *csi.ValidateVolumeCapabilitiesRequest) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	if r.GetVolumeId() == "" || len(r.GetVolumeCapabilities()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "the volume has no ID or no capabilities")
	}
	if _, exists := d.Driver.Cloud().Volume(r.GetVolumeId()); !exists {
		return nil, status.Errorf(codes.NotFound, "the volume %q does not exist", r.GetVolumeId())
	}
	if problem := unsupported(r.GetVolumeCapabilities()); problem != "" {
		return &csi.ValidateVolumeCapabilitiesResponse{Message: problem}, nil
	}
	return &csi.ValidateVolumeCapabilitiesResponse{Confirmed: &csi.ValidateVolumeCapabilitiesResponse_Confirmed{
		VolumeContext: r.GetVolumeContext(), VolumeCapabilities: r.GetVolumeCapabilities(), Parameters: r.GetParameters(),
	}}, nil
}
