package driver_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/arm"
	"github.com/shopfleet/shopfleet/cloud/fake/ec2"
	"github.com/shopfleet/shopfleet/cloud/fake/gce"
	"github.com/shopfleet/shopfleet/e2e/fleet/binaries"
	disks "github.com/shopfleet/shopfleet/e2e/fleet/csi"
	"github.com/shopfleet/shopfleet/e2e/fleet/csi/driver"
)

const (
	account, project, subscription = "123456789012", "shops", "00000000-0000-0000-0000-000000000001"
	gib                            = 1 << 30
)

// inGroup returns the handle of a snapshot of Azure.
func inGroup(group, name string) string {
	return "/subscriptions/" + subscription + "/resourceGroups/" + group + "/providers/Microsoft.Compute/snapshots/" + name
}

// newCloud returns a cloud whose snapshots are ready at once.
func newCloud() *fake.Cloud {
	c := fake.NewCloud(clock.RealClock{})
	c.SetPace(fake.Pace{})
	return c
}

func ebs() driver.Options {
	c := newCloud()
	return driver.Options{
		Driver: disks.EBS(c, ec2.New(c, ec2.Options{Clock: clock.RealClock{}}), account),
		Cloud:  driver.EBS{Account: account, Region: "eu-west-1"}, Zones: []string{"eu-west-1a", "eu-west-1b"},
	}
}

func pd() driver.Options {
	c := newCloud()
	return driver.Options{
		Driver: disks.PD(c, gce.New(c, gce.Options{Clock: clock.RealClock{}}), project),
		Cloud:  driver.PD{Project: project, Region: "europe-west1", Readable: []string{"backups"}}, Zones: []string{"europe-west1-b"},
	}
}

func azureDisk() driver.Options {
	c := newCloud()
	return driver.Options{
		Driver: disks.AzureDisk(c, arm.New(c, arm.Options{Clock: clock.RealClock{}}), arm.Disk{Subscription: subscription, Group: "MC_nodes", Region: "westeurope"}),
		Cloud:  driver.AzureDisk{Subscription: subscription, Group: "MC_nodes", Region: "westeurope", Readable: []string{"backups"}},
		Zones:  []string{"westeurope-1", "westeurope-2"},
	}
}

// listen serves a driver until the test ends.
func listen(t *testing.T, o driver.Options) *driver.Driver {
	t.Helper()
	d, err := driver.Listen(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func dial(t *testing.T, o driver.Options) csi.ControllerClient {
	t.Helper()
	connection, err := grpc.NewClient("unix://"+listen(t, o).Socket(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return csi.NewControllerClient(connection)
}

// TestSanity runs the suite of csi-test on the drivers.
func TestSanity(t *testing.T) {
	t.Parallel()
	programs, err := binaries.EnsureCSI(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	for name, options := range map[string]driver.Options{"EBS": ebs(), "PD": pd(), "AzureDisk": azureDisk()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			suite := exec.CommandContext(t.Context(), programs.Path(binaries.Sanity),
				"--csi.endpoint=unix://"+listen(t, options).Socket(), "--csi.mountdir="+filepath.Join(dir, "mount"), "--csi.stagingdir="+filepath.Join(dir, "staging"), "--ginkgo.no-color")
			suite.Dir = dir
			if out, err := suite.CombinedOutput(); err != nil {
				t.Errorf("csi-sanity: %v\n%s", err, out)
			}
			if left := options.Driver.Cloud().Volumes(); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// request returns what csi-provisioner sends for a claim on a node of a zone.
func request(key, zone, snapshot string, parameters map[string]string) *csi.CreateVolumeRequest {
	r := &csi.CreateVolumeRequest{
		Name: "pvc-1", CapacityRange: &csi.CapacityRange{RequiredBytes: 20 * gib}, Parameters: parameters,
		VolumeCapabilities: []*csi.VolumeCapability{{
			AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{FsType: "ext4"}},
			AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
		}},
		AccessibilityRequirements: &csi.TopologyRequirement{Preferred: []*csi.Topology{{Segments: map[string]string{key: zone}}}},
	}
	if snapshot != "" {
		r.VolumeContentSource = &csi.VolumeContentSource{Type: &csi.VolumeContentSource_Snapshot{
			Snapshot: &csi.VolumeContentSource_SnapshotSource{SnapshotId: snapshot},
		}}
	}
	return r
}

// createTest is a request for a volume, and what becomes of it.
type createTest struct {
	options        driver.Options
	zone, snapshot string
	parameters     map[string]string
	code           codes.Code
	// reach are the zones from which the volume is attached.
	reach []string
}

func TestCreateVolume(t *testing.T) {
	zrs := map[string]string{"skuName": "Premium_ZRS"}
	ebsSnapshot, pdSnapshot := "snap-0123456789abcdef0", "projects/backups/global/snapshots/daily"
	for name, test := range map[string]createTest{
		"EBS: from a snapshot":                      {options: ebs(), zone: "eu-west-1b", snapshot: ebsSnapshot, reach: []string{"eu-west-1b"}},
		"EBS: a zone of another region":             {options: ebs(), zone: "us-east-1a", code: codes.InvalidArgument},
		"EBS: a snapshot that does not exist":       {options: ebs(), zone: "eu-west-1b", snapshot: "snap-0123456789abcdef9", code: codes.NotFound},
		"EBS: a snapshot of another region":         {options: ebs(), zone: "eu-west-1b", snapshot: "snap-of-another-region", code: codes.NotFound},
		"EBS: a snapshot that is larger":            {options: ebs(), zone: "eu-west-1b", snapshot: "snap-large", code: codes.OutOfRange},
		"PD: from a snapshot of another project":    {options: pd(), zone: "europe-west1-b", snapshot: pdSnapshot, reach: []string{"europe-west1-b"}},
		"PD: a project that may not be read":        {options: pd(), zone: "europe-west1-b", snapshot: "projects/others/global/snapshots/daily", code: codes.PermissionDenied},
		"PD: a handle of another form":              {options: pd(), zone: "europe-west1-b", snapshot: "global/snapshots/daily", code: codes.NotFound},
		"Azure: from a snapshot of another group":   {options: azureDisk(), zone: "westeurope-2", snapshot: inGroup("backups", "daily"), reach: []string{"westeurope-2"}},
		"Azure: a group that may not be read":       {options: azureDisk(), zone: "westeurope-2", snapshot: inGroup("others", "daily"), code: codes.PermissionDenied},
		"Azure: a snapshot that does not exist":     {options: azureDisk(), zone: "westeurope-2", snapshot: inGroup("backups", "none"), code: codes.NotFound},
		"Azure: a region without zones":             {options: azureDisk(), reach: []string{""}},
		"Azure: a fault domain":                     {options: azureDisk(), zone: "0", code: codes.InvalidArgument},
		"Azure: zone 0":                             {options: azureDisk(), zone: "westeurope-0", code: codes.InvalidArgument},
		"Azure: in all zones":                       {options: azureDisk(), zone: "westeurope-1", parameters: zrs, reach: []string{"westeurope-1", "westeurope-2", "westeurope-3", ""}},
		"Azure: another resource group for volumes": {options: azureDisk(), zone: "westeurope-1", parameters: map[string]string{"resourceGroup": "backups"}, code: codes.PermissionDenied},
	} {
		t.Run(name, test.run)
	}
}

func (c createTest) run(t *testing.T) {
	in := c.options.Driver.Cloud()
	for _, s := range []fake.Snapshot{
		{Account: account, Region: "eu-west-1", ID: "snap-0123456789abcdef0", SizeBytes: 20 * gib},
		{Account: account, Region: "eu-west-1", ID: "snap-large", SizeBytes: 30 * gib},
		{Account: account, Region: "us-east-1", ID: "snap-of-another-region", SizeBytes: 20 * gib},
		{Account: "backups", ID: "projects/backups/global/snapshots/daily", SizeBytes: 20 * gib},
		{Account: "others", ID: "projects/others/global/snapshots/daily", SizeBytes: 20 * gib},
		{Account: subscription, Region: "westeurope", ID: inGroup("backups", "daily"), SizeBytes: 20 * gib},
		{Account: subscription, Region: "westeurope", ID: inGroup("others", "daily"), SizeBytes: 20 * gib},
	} {
		in.AddSnapshot(s)
	}
	client, key := dial(t, c.options), c.options.Driver.TopologyKey()
	made, err := client.CreateVolume(t.Context(), request(key, c.zone, c.snapshot, c.parameters))
	if status.Code(err) != c.code {
		t.Fatalf("got %v, want %s", err, c.code)
	}
	if c.code != codes.OK {
		if left := in.Volumes(); len(left) > 0 {
			t.Errorf("a refused request made %v", left)
		}
		return
	}
	var reach []string
	for _, one := range made.GetVolume().GetAccessibleTopology() {
		reach = append(reach, one.GetSegments()[key])
	}
	if diff := cmp.Diff(c.reach, reach); diff != "" {
		t.Errorf("attached from (-want +got):\n%s", diff)
	}
	v, _ := in.Volume(made.GetVolume().GetVolumeId())
	zone := c.zone
	if len(c.reach) > 1 {
		zone = ""
	}
	if v.From != c.snapshot || v.Zone != zone || v.SizeBytes != 20*gib {
		t.Errorf("the volume is %+v", v)
	}
}

// TestDelete expects that only what the driver's identity may delete is deleted.
func TestDelete(t *testing.T) {
	for name, test := range map[string]struct {
		options  driver.Options
		snapshot fake.Snapshot
		code     codes.Code
	}{
		"EBS: with the driver's tag": {options: ebs(), snapshot: fake.Snapshot{Account: account, Region: "eu-west-1", ID: "snap-1", Tags: map[string]string{"CSIVolumeSnapshotName": "snapshot-1"}}},
		"EBS: without tags":          {options: ebs(), snapshot: fake.Snapshot{Account: account, Region: "eu-west-1", ID: "snap-1"}, code: codes.PermissionDenied},
		"PD: of its project":         {options: pd(), snapshot: fake.Snapshot{ID: "projects/shops/global/snapshots/daily"}},
		"PD: of another project":     {options: pd(), snapshot: fake.Snapshot{ID: "projects/backups/global/snapshots/daily"}, code: codes.PermissionDenied},
		"Azure: of its group":        {options: azureDisk(), snapshot: fake.Snapshot{Region: "westeurope", ID: inGroup("mc_nodes", "daily")}},
		"Azure: of another group":    {options: azureDisk(), snapshot: fake.Snapshot{Region: "westeurope", ID: inGroup("backups", "daily")}, code: codes.PermissionDenied},
		"EBS: that is locked":        {options: ebs(), snapshot: fake.Snapshot{Account: account, Region: "eu-west-1", ID: "snap-1", Locked: true, Tags: map[string]string{"CSIVolumeSnapshotName": "snapshot-1"}}, code: codes.FailedPrecondition},
		"EBS: of another account":    {options: ebs(), snapshot: fake.Snapshot{Account: "others", Region: "eu-west-1", ID: "snap-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := test.options.Driver.Cloud()
			in.AddSnapshot(test.snapshot)
			_, err := dial(t, test.options).DeleteSnapshot(t.Context(), &csi.DeleteSnapshotRequest{SnapshotId: test.snapshot.ID})
			if status.Code(err) != test.code {
				t.Errorf("got %v, want %s", err, test.code)
			}
			_, exists := in.Snapshot(test.snapshot.ID)
			foreign := test.snapshot.Account == "others"
			if deleted := test.code == codes.OK && !foreign; exists == deleted {
				t.Errorf("the snapshot exists: %t", exists)
			}
		})
	}
}
