package gcp

import (
	"context"
	"slices"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/googleapis/gax-go/v2"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/gcp/identity"
)

// probe is the name of the snapshot and disk whose permissions are tested.
const probe = "eb-preflight"

type access struct{ s *session }

// Identity reads the project, and returns the identity of the credentials.
func (p access) Identity(ctx context.Context) (cloud.Identity, error) {
	found, _, err := do(ctx, p.s, call[*compute.ProjectsClient, *computepb.Project]{
		op: "Identity", client: compute.NewProjectsRESTClient,
		send: func(ctx context.Context, c *compute.ProjectsClient, o ...gax.CallOption) (*computepb.Project, error) {
			return c.Get(ctx, &computepb.GetProjectRequest{Project: p.s.project}, o...)
		},
	})
	if err != nil {
		return cloud.Identity{}, err
	}
	if found.GetName() != p.s.project {
		return cloud.Identity{}, refuseCode("Identity", cloud.ClassDenied, "WrongAccount", "the project is %q, not %q as spec.gcp.project says", found.GetName(), p.s.project)
	}
	named, cancel := context.WithTimeout(ctx, identity.RequestTimeout)
	defer cancel()
	return cloud.Identity{Name: p.s.credentials.Name(named), Account: found.GetName()}, nil
}

// Preflight tests the permissions for snapshots, and those for disks in a zone of the
// region.
func (p access) Preflight(ctx context.Context, _ cloud.Owner) ([]cloud.PermissionCheck, error) {
	checks, err := p.snapshots(ctx)
	if err != nil {
		return nil, err
	}
	zone, err := p.zone(ctx)
	if err != nil || zone == "" {
		return checks, err
	}
	disks, err := p.disks(ctx, zone)
	return append(checks, disks...), err
}

func (p access) snapshots(ctx context.Context) ([]cloud.PermissionCheck, error) {
	asked := []string{
		"compute.snapshots.create", "compute.snapshots.delete", "compute.snapshots.get", "compute.snapshots.list",
		"compute.snapshots.setLabels", "compute.snapshots.useReadOnly",
	}
	held, _, err := do(ctx, p.s, call[*compute.SnapshotsClient, *computepb.TestPermissionsResponse]{
		op: "Preflight", client: compute.NewSnapshotsRESTClient,
		send: func(ctx context.Context, c *compute.SnapshotsClient, o ...gax.CallOption) (*computepb.TestPermissionsResponse, error) {
			return c.TestIamPermissions(ctx, &computepb.TestIamPermissionsSnapshotRequest{
				Project: p.s.project, Resource: probe, TestPermissionsRequestResource: &computepb.TestPermissionsRequest{Permissions: asked},
			}, o...)
		},
	})
	return checked(asked, held, err)
}

func (p access) disks(ctx context.Context, zone string) ([]cloud.PermissionCheck, error) {
	asked := []string{
		"compute.disks.create", "compute.disks.createSnapshot", "compute.disks.delete", "compute.disks.get",
		"compute.disks.setLabels", "compute.disks.useReadOnly",
	}
	held, _, err := do(ctx, p.s, call[*compute.DisksClient, *computepb.TestPermissionsResponse]{
		op: "Preflight", client: compute.NewDisksRESTClient,
		send: func(ctx context.Context, c *compute.DisksClient, o ...gax.CallOption) (*computepb.TestPermissionsResponse, error) {
			return c.TestIamPermissions(ctx, &computepb.TestIamPermissionsDiskRequest{
				Project: p.s.project, Zone: zone, Resource: probe, TestPermissionsRequestResource: &computepb.TestPermissionsRequest{Permissions: asked},
			}, o...)
		},
	})
	return checked(asked, held, err)
}

// checked compares the tested permissions with the granted ones. A missing resource gives
// no result.
func checked(asked []string, held *computepb.TestPermissionsResponse, err error) ([]cloud.PermissionCheck, error) {
	switch cloud.ClassOf(err) {
	case "":
	case cloud.ClassNotFound:
		return nil, nil
	default:
		return nil, err
	}
	out := make([]cloud.PermissionCheck, 0, len(asked))
	for _, permission := range asked {
		out = append(out, cloud.PermissionCheck{Permission: permission, Granted: slices.Contains(held.GetPermissions(), permission)})
	}
	return out, nil
}

// zone returns a zone of the session's region, or an empty string if there is none or
// zones cannot be listed.
func (p access) zone(ctx context.Context) (string, error) {
	name, _, err := do(ctx, p.s, call[*compute.ZonesClient, string]{
		op: "Preflight", client: compute.NewZonesRESTClient,
		send: func(ctx context.Context, c *compute.ZonesClient, o ...gax.CallOption) (string, error) {
			all := c.List(ctx, &computepb.ListZonesRequest{Project: p.s.project}, o...)
			for {
				found, err := all.Next()
				if done, err := finished(err); done || err != nil {
					return "", err
				}
				if regionOf(found.GetName()) == p.s.region {
					return found.GetName(), nil
				}
			}
		},
	})
	if cloud.ClassOf(err) == cloud.ClassDenied {
		return "", nil
	}
	return name, err
}
