package driver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"

	disks "github.com/shopfleet/shopfleet/e2e/fleet/csi"
)

// version goes into the driver's GetPluginInfo.
const version = "v0.0.0"

// Options describes a driver.
type Options struct {
	// Driver makes the volumes.
	Driver disks.Driver
	// Cloud describes where they are, with the permissions of the driver's identity.
	Cloud Cloud
	// Zones lists the zones of the cluster's nodes. A volume without requirements is created in the first one.
	Zones []string
}

// Driver is a CSI driver that listens. It is safe for concurrent use.
type Driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedControllerServer
	csi.UnimplementedNodeServer
	Options

	socket string
	server *grpc.Server
	// served receives the error with which the server ends.
	served chan error

	// mu makes looking for a name and using it one step.
	mu sync.Mutex
}

// Listen serves a driver at a unix socket until Stop. Its folder is a new one, because the path of a socket must be short.
func Listen(ctx context.Context, o Options) (*Driver, error) {
	if len(o.Zones) == 0 {
		return nil, errors.New("listening: a driver needs at least one zone")
	}
	dir, err := os.MkdirTemp("", "csi-")
	if err != nil {
		return nil, fmt.Errorf("creating the folder of a socket: %w", err)
	}
	socket := filepath.Join(dir, "csi.sock")
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", socket)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listening at %q: %w", socket, err), os.RemoveAll(dir))
	}
	d := &Driver{Options: o, socket: socket, server: grpc.NewServer(), served: make(chan error, 1)}
	csi.RegisterIdentityServer(d.server, d)
	csi.RegisterControllerServer(d.server, d)
	csi.RegisterNodeServer(d.server, d)
	go func() { d.served <- d.server.Serve(listener) }()
	return d, nil
}

// Socket returns the path of the driver's socket.
func (d *Driver) Socket() string { return d.socket }

// Stop ends the requests under way and removes the socket.
func (d *Driver) Stop() error {
	d.server.Stop()
	if err := errors.Join(<-d.served, os.RemoveAll(filepath.Dir(d.socket))); err != nil {
		return fmt.Errorf("serving the driver %s: %w", d.Driver.Name(), err)
	}
	return nil
}

// GetPluginInfo implements csi.IdentityServer.
func (d *Driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: d.Driver.Name(), VendorVersion: version}, nil
}

// GetPluginCapabilities implements csi.IdentityServer.
func (d *Driver) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	out := &csi.GetPluginCapabilitiesResponse{}
	for _, kind := range []csi.PluginCapability_Service_Type{
		csi.PluginCapability_Service_CONTROLLER_SERVICE, csi.PluginCapability_Service_VOLUME_ACCESSIBILITY_CONSTRAINTS,
	} {
		out.Capabilities = append(out.Capabilities, &csi.PluginCapability{
			Type: &csi.PluginCapability_Service_{Service: &csi.PluginCapability_Service{Type: kind}},
		})
	}
	return out, nil
}

// Probe implements csi.IdentityServer.
func (d *Driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{}, nil
}

// ControllerGetCapabilities implements csi.ControllerServer.
func (d *Driver) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	out := &csi.ControllerGetCapabilitiesResponse{}
	for _, kind := range []csi.ControllerServiceCapability_RPC_Type{
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME,
		csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
		csi.ControllerServiceCapability_RPC_LIST_SNAPSHOTS,
	} {
		out.Capabilities = append(out.Capabilities, &csi.ControllerServiceCapability{
			Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: kind}},
		})
	}
	return out, nil
}
