package gcp

import (
	"context"
	"errors"
	"slices"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/googleapis/gax-go/v2"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/gcp/identity"
)

// probe is the name of the snapshot and disk whose permissions are tested.
const probe = "eb-preflight"

type access struct{ session *session }

// Identity reads the project, and returns the identity of the credentials.
func (a access) Identity(ctx context.Context) (cloud.Identity, error) {
	found, _, err := do(ctx, a.session, call[*compute.ProjectsClient, *computepb.Project]{
		op: "Identity", client: compute.NewProjectsRESTClient,
		send: func(ctx context.Context, c *compute.ProjectsClient, o ...gax.CallOption) (*computepb.Project, error) {
			return c.Get(ctx, &computepb.GetProjectRequest{Project: a.session.project}, o...)
		},
	})
	if err != nil {
		return cloud.Identity{}, err
	}
	if found.GetName() != a.session.project {
		return cloud.Identity{}, refuseCode("Identity", cloud.ClassDenied, "WrongAccount", "the project is %q, not %q as spec.gcp.project says", found.GetName(), a.session.project)
	}
	named, cancel := context.WithTimeout(ctx, identity.RequestTimeout)
	defer cancel()
	return cloud.Identity{Name: a.session.credentials.Name(named), Account: found.GetName()}, nil
}

// The means of checks.
const (
	byRequest = "request"
	byTest    = "testIamPermissions"
)

// neededOfSnapshots returns the permissions of a session that are tested on a snapshot.
func neededOfSnapshots() []string {
	return []string{
		"compute.snapshots.create", "compute.snapshots.delete", "compute.snapshots.get", "compute.snapshots.list",
		"compute.snapshots.setLabels",
	}
}

// neededOfDisks returns those that are tested on a disk.
func neededOfDisks() []string {
	return []string{"compute.disks.createSnapshot", "compute.disks.get", "compute.disks.useReadOnly"}
}

// neededOfOperations returns those that no method tests.
func neededOfOperations() []string {
	return []string{"compute.globalOperations.get", "compute.globalOperations.list"}
}

// Preflight tests the permissions for snapshots, and those for disks in a zone of the
// region.
func (a access) Preflight(ctx context.Context, _ cloud.Owner) ([]cloud.PermissionCheck, error) {
	checks, err := a.snapshots(ctx)
	if err != nil {
		return nil, err
	}
	for i := range checks {
		checks[i].Deletion = checks[i].Permission == "compute.snapshots.delete"
	}
	zone, err := a.zone(ctx)
	listed := cloud.PermissionCheck{Permission: "compute.zones.list", By: byRequest, Granted: err == nil}
	switch {
	case cloud.ClassOf(err) == cloud.ClassDenied:
		checks = append(checks, unchecked(neededOfDisks(), "the zones of the region cannot be listed")...)
	case err != nil:
		return nil, err
	case zone == "":
		checks = append(checks, unchecked(neededOfDisks(), "the region has no zone")...)
	default:
		disks, err := a.disks(ctx, zone)
		if err != nil {
			return nil, err
		}
		checks = append(checks, disks...)
	}
	return slices.Concat(checks, []cloud.PermissionCheck{listed}, unchecked(neededOfOperations(), "Google Cloud has no test for it")), nil
}

// unchecked returns checks that were not made, for one reason.
func unchecked(permissions []string, reason string) []cloud.PermissionCheck {
	out := make([]cloud.PermissionCheck, 0, len(permissions))
	for _, permission := range permissions {
		out = append(out, cloud.PermissionCheck{Permission: permission, Unchecked: reason})
	}
	return out
}

func (a access) snapshots(ctx context.Context) ([]cloud.PermissionCheck, error) {
	asked := neededOfSnapshots()
	held, _, err := do(ctx, a.session, call[*compute.SnapshotsClient, *computepb.TestPermissionsResponse]{
		op: "Preflight", client: compute.NewSnapshotsRESTClient,
		send: func(ctx context.Context, c *compute.SnapshotsClient, o ...gax.CallOption) (*computepb.TestPermissionsResponse, error) {
			return c.TestIamPermissions(ctx, &computepb.TestIamPermissionsSnapshotRequest{
				Project: a.session.project, Resource: probe, TestPermissionsRequestResource: &computepb.TestPermissionsRequest{Permissions: asked},
			}, o...)
		},
	})
	return checked(asked, held, err)
}

func (a access) disks(ctx context.Context, zone string) ([]cloud.PermissionCheck, error) {
	asked := neededOfDisks()
	held, _, err := do(ctx, a.session, call[*compute.DisksClient, *computepb.TestPermissionsResponse]{
		op: "Preflight", client: compute.NewDisksRESTClient,
		send: func(ctx context.Context, c *compute.DisksClient, o ...gax.CallOption) (*computepb.TestPermissionsResponse, error) {
			return c.TestIamPermissions(ctx, &computepb.TestIamPermissionsDiskRequest{
				Project: a.session.project, Zone: zone, Resource: probe, TestPermissionsRequestResource: &computepb.TestPermissionsRequest{Permissions: asked},
			}, o...)
		},
	})
	return checked(asked, held, err)
}

// checked compares the tested permissions with the granted ones. The tested resource does not
// exist: if Google Cloud refuses the test for that, there is no result. The test of snapshots
// needs a permission itself:
// https://cloud.google.com/compute/docs/reference/rest/v1/snapshots/testIamPermissions.
func checked(asked []string, held *computepb.TestPermissionsResponse, err error) ([]cloud.PermissionCheck, error) {
	var e *cloud.Error
	switch errors.As(err, &e); cloud.ClassOf(err) {
	case "":
	case cloud.ClassNotFound:
		return unchecked(asked, "Google Cloud tests no permissions on what does not exist"), nil
	case cloud.ClassDenied:
		return slices.Concat(
			unchecked(slices.DeleteFunc(slices.Clone(asked), func(p string) bool { return p == e.Code }), "the test is denied: "+e.Code),
			[]cloud.PermissionCheck{{Permission: e.Code, By: byTest}},
		), nil
	default:
		return nil, err
	}
	out := make([]cloud.PermissionCheck, 0, len(asked))
	for _, permission := range asked {
		out = append(out, cloud.PermissionCheck{Permission: permission, By: byTest, Granted: slices.Contains(held.GetPermissions(), permission)})
	}
	return out, nil
}

// zone returns a zone of the session's region, or an empty string if there is none.
func (a access) zone(ctx context.Context) (string, error) {
	name, _, err := do(ctx, a.session, call[*compute.ZonesClient, string]{
		op: "Preflight", client: compute.NewZonesRESTClient,
		send: func(ctx context.Context, c *compute.ZonesClient, o ...gax.CallOption) (string, error) {
			all := c.List(ctx, &computepb.ListZonesRequest{Project: a.session.project}, o...)
			for {
				found, err := all.Next()
				if done, err := finished(err); done || err != nil {
					return "", err
				}
				if regionOf(found.GetName()) == a.session.region {
					return found.GetName(), nil
				}
			}
		},
	})
	return name, err
}
