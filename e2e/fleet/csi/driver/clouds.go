package driver

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/shopfleet/shopfleet/cloud/fake"
)

// Cloud represents what differs from cloud to cloud: EBS, PD or AzureDisk. Its methods return errors of gRPC.
type Cloud interface {
	// place returns the zone of a new volume, empty for one that is in several, and the zones from which it can be attached.
	place(zone string, parameters map[string]string) (in string, reach []string, err error)
	// find returns the snapshot of a handle; the error is NotFound without one, and PermissionDenied if the driver's identity may
	// not read it.
	find(in *fake.Cloud, handle string) (fake.Snapshot, error)
	// mayDelete returns an error if the driver's identity may not delete the volume or snapshot.
	mayDelete(id string, tags map[string]string) error
	// snapshotOf returns a new snapshot, without what it has from its volume.
	snapshotOf(v fake.Volume, name string) fake.Snapshot
}

func missing(handle string) error {
	return status.Errorf(codes.NotFound, "the snapshot %q does not exist", handle)
}

// EBS is a region of Amazon, and an account with the permissions of AmazonEBSCSIDriverPolicy.
type EBS struct{ Account, Region string }

func (e EBS) place(zone string, _ map[string]string) (string, []string, error) {
	if letter, in := strings.CutPrefix(zone, e.Region); !in || len(letter) != 1 {
		return "", nil, status.Errorf(codes.InvalidArgument, "InvalidParameterValue: the zone %q is not one of the region %q", zone, e.Region)
	}
	return zone, []string{zone}, nil
}

func (e EBS) find(in *fake.Cloud, handle string) (fake.Snapshot, error) {
	if s, exists := in.Snapshot(handle); exists && s.Account == e.Account && s.Region == e.Region {
		return s, nil
	}
	return fake.Snapshot{}, missing(handle)
}

// mayDelete implements Cloud: the policy permits deletions of what has the driver's tags alone.
func (e EBS) mayDelete(id string, tags map[string]string) error {
	const cluster = "ebs.csi.aws.com/cluster"
	if tags[cluster] == "true" || tags[nameTag] != "" || tags[snapshotNameTag] != "" {
		return nil
	}
	return status.Errorf(codes.PermissionDenied, "UnauthorizedOperation: %q has none of the tags %s, %s and %s", id, cluster, nameTag, snapshotNameTag)
}

func (e EBS) snapshotOf(_ fake.Volume, name string) fake.Snapshot {
	sum := sha256.Sum256([]byte(name))
	return fake.Snapshot{
		Account: e.Account, Region: e.Region, ID: "snap-" + hex.EncodeToString(sum[:])[:17], Tags: map[string]string{snapshotNameTag: name},
	}
}

// PD is a region and a project of Google Cloud, whose service agent has no permission in other projects but in Readable.
type PD struct {
	Project, Region string
	// Readable are projects in which it may read snapshots.
	Readable []string
}

func (p PD) place(zone string, _ map[string]string) (string, []string, error) {
	if letter, in := strings.CutPrefix(zone, p.Region+"-"); !in || len(letter) != 1 {
		return "", nil, status.Errorf(codes.InvalidArgument, "the zone %q is not one of the region %q", zone, p.Region)
	}
	return zone, []string{zone}, nil
}

// find implements Cloud. For the driver a handle of another form does not exist.
func (p PD) find(in *fake.Cloud, handle string) (fake.Snapshot, error) {
	parts := strings.Split(handle, "/")
	if len(parts) != 5 || parts[0] != "projects" || parts[2] != "global" || parts[3] != "snapshots" && parts[3] != "images" {
		return fake.Snapshot{}, missing(handle)
	}
	if parts[1] != p.Project && !slices.Contains(p.Readable, parts[1]) {
		return fake.Snapshot{}, status.Errorf(codes.PermissionDenied, "required 'compute.snapshots.get' permission for %q", handle)
	}
	if s, exists := in.Snapshot(handle); exists {
		return s, nil
	}
	return fake.Snapshot{}, missing(handle)
}

func (p PD) mayDelete(id string, _ map[string]string) error {
	if !strings.HasPrefix(id, "projects/"+p.Project+"/") {
		return status.Errorf(codes.PermissionDenied, "required 'compute.snapshots.delete' permission for %q", id)
	}
	return nil
}

func (p PD) snapshotOf(_ fake.Volume, name string) fake.Snapshot {
	return fake.Snapshot{
		Account: p.Project, ID: "projects/" + p.Project + "/global/snapshots/" + name, Tags: map[string]string{snapshotNameTag: name},
	}
}

// AzureDisk is a region and a resource group of Azure, that of a cluster's nodes: its identity has no permission in other
// groups but in Readable.
type AzureDisk struct {
	Subscription, Group, Region string
	// Readable are groups in which it may read snapshots.
	Readable []string
}

// place implements Cloud. Nodes of a region without zones have an empty label. A number alone is a fault domain of theirs
// and no zone; and a disk that is in all zones is made in none.
func (a AzureDisk) place(zone string, parameters map[string]string) (string, []string, error) {
	zones := []string{a.Region + "-1", a.Region + "-2", a.Region + "-3"}
	if zone != "" && !slices.Contains(zones, zone) {
		return "", nil, status.Errorf(codes.InvalidArgument, "InvalidAvailabilityZone: the zone %q is not supported; those of %q are 1, 2 and 3", zone, a.Region)
	}
	if group := parameters["resourceGroup"]; group != "" && !strings.EqualFold(group, a.Group) {
		return "", nil, status.Errorf(codes.PermissionDenied, "AuthorizationFailed: no permission for 'Microsoft.Compute/disks/write' in the resource group %q", group)
	}
	if strings.HasSuffix(parameters["skuName"], "_ZRS") {
		return "", append(zones, ""), nil
	}
	return zone, []string{zone}, nil
}

func (a AzureDisk) find(in *fake.Cloud, handle string) (fake.Snapshot, error) {
	parts := strings.Split(handle, "/")
	if len(parts) != 9 || !strings.EqualFold(parts[7], "snapshots") {
		return fake.Snapshot{}, missing(handle)
	}
	may := slices.ContainsFunc(append([]string{a.Group}, a.Readable...), func(group string) bool { return strings.EqualFold(group, parts[4]) })
	if !may {
		return fake.Snapshot{}, status.Errorf(codes.PermissionDenied, "AuthorizationFailed: no permission for 'Microsoft.Compute/snapshots/read' on %q", handle)
	}
	all := in.Visible()
	at := slices.IndexFunc(all, func(s fake.Snapshot) bool { return strings.EqualFold(s.ID, handle) && s.Region == a.Region })
	if at < 0 {
		return fake.Snapshot{}, missing(handle)
	}
	return all[at], nil
}

func (a AzureDisk) mayDelete(id string, _ map[string]string) error {
	if parts := strings.Split(id, "/"); len(parts) != 9 || !strings.EqualFold(parts[4], a.Group) {
		return status.Errorf(codes.PermissionDenied, "AuthorizationFailed: no permission to delete %q outside of the resource group %q", id, a.Group)
	}
	return nil
}

func (a AzureDisk) snapshotOf(v fake.Volume, name string) fake.Snapshot {
	return fake.Snapshot{
		Account: a.Subscription, Region: a.Region, ID: path.Join(path.Dir(path.Dir(v.ID)), "snapshots", name), Tags: map[string]string{snapshotNameTag: name},
	}
}
