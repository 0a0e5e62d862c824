package csi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// staticCase is a volume, and the driver that it is for.
type staticCase struct {
	driver, fsType string
	volume         cloud.Volume
}

func staticCases() []staticCase {
	sized := func(region, zone, handle, kind string) cloud.Volume {
		return cloud.Volume{Ref: cloud.VolumeRef{Region: region, Zone: zone, Handle: handle}, Type: kind, SizeBytes: 100 << 30}
	}
	return []staticCase{
		{DriverEBS, "xfs", sized("us-west-2", "us-west-2b", "vol-0abc", "gp3")},
		{DriverEBSAuto, "", sized("us-west-2", "us-west-2b", "vol-0abc", "gp3")},
		{DriverPD, "", sized("us-central1", "us-central1-a", "projects/p/zones/us-central1-a/disks/d", "pd-ssd")},
		{DriverAzureDisk, "", sized("eastus", "1", azureDisk, "Premium_LRS")},
		{DriverAzureDisk, "", sized("eastus", "", azureDiskLow, "Premium_LRS")},
		{DriverAzureDisk, "", sized("eastus", "2", azureDisk, premiumV2)},
		{DriverAzureDisk, "", sized("eastus", "", azureDisk, "StandardSSD_ZRS")},
		{"", "", sized("home", "node-1", "/var/d", "")},
		{"", "", sized("home", "", "/var/d", "")},
	}
}

func (c staticCase) spec() PVSpec {
	return PVSpec{
		Name: "restored", Driver: c.driver, ClaimNamespace: "shop", ClaimName: "data-shop-database-0",
		StorageClass: "shopfleet-fast-ba842203", FSType: c.fsType, Labels: map[string]string{v1.InstanceLabel: "shop"},
	}
}

func TestStaticPV(t *testing.T) {
	t.Parallel()
	var all strings.Builder
	for _, c := range staticCases() {
		pv, err := StaticPV(c.volume, c.spec())
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		raw, err := yaml.Marshal(pv)
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString("---\n" + string(raw))
		got, err := ParsePV(pv, Defaults{Region: c.volume.Ref.Region})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.volume.Ref, got); diff != "" {
			t.Errorf("read again (-want +got):\n%s", diff)
		}
	}
	apitest.Golden(t, "volumes.golden.yaml", all.String())
}

func TestStaticPVRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*cloud.Volume, *PVSpec)
		says   string
	}{
		"nothing wrong":      {func(*cloud.Volume, *PVSpec) {}, ""},
		"no size":            {func(v *cloud.Volume, _ *PVSpec) { v.SizeBytes = 0 }, "the size of volume"},
		"no name":            {func(_ *cloud.Volume, s *PVSpec) { s.Name = "" }, "its name and its claim must be given"},
		"no claim":           {func(_ *cloud.Volume, s *PVSpec) { s.ClaimName = "" }, "its name and its claim must be given"},
		"no namespace":       {func(_ *cloud.Volume, s *PVSpec) { s.ClaimNamespace = "" }, "its name and its claim must be given"},
		"unknown driver":     {func(_ *cloud.Volume, s *PVSpec) { s.Driver = "efs.csi.aws.com" }, `the driver "efs.csi.aws.com" is not known`},
		"other driver":       {func(_ *cloud.Volume, s *PVSpec) { s.Driver = DriverPD }, "is not of the form projects/"},
		"no zone":            {func(v *cloud.Volume, _ *PVSpec) { v.Ref.Zone = "" }, "is in no zone, or in several"},
		"no region nor zone": {func(v *cloud.Volume, _ *PVSpec) { v.Ref.Region, v.Ref.Zone = "", "x" }, "the region of its volume"},
		"other zone": {func(v *cloud.Volume, s *PVSpec) {
			s.Driver, v.Ref.Handle, v.Ref.Zone = DriverPD, "projects/p/zones/us-central1-a/disks/d", "us-central1-b"
		}, `is in zone "us-central1-a", not in "us-central1-b"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := staticCases()[0]
			volume, spec := c.volume, c.spec()
			tt.change(&volume, &spec)
			pv, err := StaticPV(volume, spec)
			expect(t, err, tt.says)
			if (err == nil) != (pv != nil) {
				t.Errorf("PersistentVolume %v with error %v", pv, err)
			}
			if pv != nil && pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimRetain {
				t.Error("deleting it would delete the volume")
			}
		})
	}
}
