package volumes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"path/filepath"

	spec "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/e2e/kind/clusters"
)

const (
	// RegistryFolder is the path at which a kubelet looks for the sockets of drivers.
	RegistryFolder = "/var/lib/kubelet/plugins_registry"

	socketName = csi.DriverEBS + "-reg.sock"
	// longest is the limit of Linux for the path of a socket.
	longest = 107

	mountFolder   = `mkdir -p "$2"; mountpoint -q "$2" || mount --bind "$1" "$2"`
	unmountFolder = `if mountpoint -q "$1"; then umount "$1"; fi; if [ -e "$1" ]; then rmdir "$1"; fi`
)

// errNotRegistered means that a kubelet refuses the driver.
var errNotRegistered = errors.New("the kubelet does not register the driver")

// node mounts the volumes of a cloud in the node of a cluster, for its kubelet.
type node struct {
	spec.UnimplementedNodeServer
	registration.UnimplementedRegistrationServer

	cloud   *Cloud
	cluster *clusters.Cluster
	server  *grpc.Server
	// served receives the error with which the server ends.
	served chan error
}

// mount registers the driver in the node of a cluster.
func (c *Cloud) mount(ctx context.Context, cluster *clusters.Cluster, registry string) (*node, error) {
	socket := filepath.Join(registry, socketName)
	if len(socket) > longest {
		return nil, fmt.Errorf("registering the driver in cluster %q: the path of the socket %q has %d characters, and may have %d: clone into a folder with a shorter path",
			cluster.Name, socket, len(socket), longest)
	}
	// An earlier process may have left it.
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("registering the driver in cluster %q: %w", cluster.Name, err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("registering the driver in cluster %q: %w", cluster.Name, err)
	}
	n := &node{cloud: c, cluster: cluster, server: grpc.NewServer(), served: make(chan error, 1)}
	spec.RegisterNodeServer(n.server, n)
	registration.RegisterRegistrationServer(n.server, n)
	c.mu.Lock()
	c.clusterOf[cluster.Region] = cluster
	c.mu.Unlock()
	go func() { n.served <- n.server.Serve(listener) }()
	return n, nil
}

// stop ends the requests under way, and removes the socket.
func (n *node) stop() error {
	n.cloud.mu.Lock()
	delete(n.cloud.clusterOf, n.cluster.Region)
	n.cloud.mu.Unlock()
	n.server.Stop()
	if err := <-n.served; err != nil {
		return fmt.Errorf("serving the driver in cluster %q: %w", n.cluster.Name, err)
	}
	return nil
}

// GetInfo implements registration.RegistrationServer.
func (n *node) GetInfo(context.Context, *registration.InfoRequest) (*registration.PluginInfo, error) {
	return &registration.PluginInfo{
		Type: registration.CSIPlugin, Name: csi.DriverEBS, Endpoint: path.Join(RegistryFolder, socketName), SupportedVersions: []string{"1.0.0"},
	}, nil
}

// NotifyRegistrationStatus implements registration.RegistrationServer.
func (n *node) NotifyRegistrationStatus(_ context.Context, r *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	if !r.GetPluginRegistered() {
		n.cloud.logError(fmt.Errorf("%w in cluster %q: %s", errNotRegistered, n.cluster.Name, r.GetError()))
	}
	return &registration.RegistrationStatusResponse{}, nil
}

// NodeGetInfo implements csi.NodeServer.
func (n *node) NodeGetInfo(context.Context, *spec.NodeGetInfoRequest) (*spec.NodeGetInfoResponse, error) {
	return &spec.NodeGetInfoResponse{
		NodeId: n.cluster.Node(), AccessibleTopology: &spec.Topology{Segments: map[string]string{csi.TopologyKey(csi.DriverEBS): n.cluster.Zone}},
	}, nil
}

// NodeGetCapabilities implements csi.NodeServer.
func (n *node) NodeGetCapabilities(context.Context, *spec.NodeGetCapabilitiesRequest) (*spec.NodeGetCapabilitiesResponse, error) {
	return &spec.NodeGetCapabilitiesResponse{}, nil
}

// NodePublishVolume implements csi.NodeServer.
func (n *node) NodePublishVolume(ctx context.Context, r *spec.NodePublishVolumeRequest) (*spec.NodePublishVolumeResponse, error) {
	folder, err := n.cloud.mountable(ctx, r.GetVolumeId(), n.cluster.Zone)
	switch {
	case errors.Is(err, errElsewhere):
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	case err == nil:
		_, err = n.cluster.Exec(ctx, "sh", "-euc", mountFolder, "sh", folder, r.GetTargetPath())
	}
	if err != nil {
		return nil, status.Errorf(codes.Internal, "publishing volume %q: %v", r.GetVolumeId(), err)
	}
	return &spec.NodePublishVolumeResponse{}, nil
}

// NodeUnpublishVolume implements csi.NodeServer.
func (n *node) NodeUnpublishVolume(ctx context.Context, r *spec.NodeUnpublishVolumeRequest) (*spec.NodeUnpublishVolumeResponse, error) {
	if _, err := n.cluster.Exec(ctx, "sh", "-euc", unmountFolder, "sh", r.GetTargetPath()); err != nil {
		return nil, status.Errorf(codes.Internal, "unmounting volume %q: %v", r.GetVolumeId(), err)
	}
	return &spec.NodeUnpublishVolumeResponse{}, nil
}
