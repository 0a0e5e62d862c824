package driver

import (
	"context"
	"os"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const onlyOwner = 0o700

// NodeGetInfo implements csi.NodeServer.
func (d *Driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{
		NodeId: "node", AccessibleTopology: &csi.Topology{Segments: map[string]string{d.Driver.TopologyKey(): d.Zones[0]}},
	}, nil
}

// NodeGetCapabilities implements csi.NodeServer.
func (d *Driver) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	return &csi.NodeGetCapabilitiesResponse{}, nil
}

// NodePublishVolume implements csi.NodeServer by an empty folder.
func (d *Driver) NodePublishVolume(_ context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	if r.GetVolumeId() == "" || r.GetTargetPath() == "" || r.GetVolumeCapability() == nil {
		return nil, status.Error(codes.InvalidArgument, "the volume has no ID, no path or no capability")
	}
	if err := os.MkdirAll(r.GetTargetPath(), onlyOwner); err != nil {
		return nil, status.Errorf(codes.Internal, "publishing volume %q: %v", r.GetVolumeId(), err)
	}
	return &csi.NodePublishVolumeResponse{}, nil
}

// NodeUnpublishVolume implements csi.NodeServer.
func (d *Driver) NodeUnpublishVolume(_ context.Context, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	if r.GetVolumeId() == "" || r.GetTargetPath() == "" {
		return nil, status.Error(codes.InvalidArgument, "the volume has no ID or no path")
	}
	if err := os.RemoveAll(r.GetTargetPath()); err != nil {
		return nil, status.Errorf(codes.Internal, "removing volume %q: %v", r.GetVolumeId(), err)
	}
	return &csi.NodeUnpublishVolumeResponse{}, nil
}
