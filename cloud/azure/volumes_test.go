package azure

import (
	"strings"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

func TestVolumeNameTaken(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		edit func(*fake.Volume)
		want cloud.Class
	}{
		"ours":                {func(*fake.Volume) {}, ""},
		"of another snapshot": {func(v *fake.Volume) { v.From += "x" }, cloud.ClassConflict},
		"another hub's":       {func(v *fake.Volume) { v.Tags[cloud.TagHub] = "other" }, cloud.ClassConflict},
		"in another region":   {func(v *fake.Volume) { v.Region = "westeurope" }, cloud.ClassConflict},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			session := e.connect(t, nil)
			from, err := session.Snapshots.EnsureSnapshot(t.Context(), snapshotOf(e.disk("d", gib)))
			if err != nil {
				t.Fatal(err)
			}
			e.clock.Step(time.Minute)
			spec := cloud.VolumeSpec{Name: "v", Zone: "1", Snapshot: from.Ref, Tags: ours()}
			made, err := session.Volumes.EnsureVolume(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			e.cloud.EditVolume(made.Ref.Handle, tt.edit)
			got, err := session.Volumes.EnsureVolume(t.Context(), spec)
			if cloud.ClassOf(err) != tt.want || err == nil && got.UID != made.UID {
				t.Errorf("%+v, %v; want class %q", got, err, tt.want)
			}
			// What is not shown yet is refused by the service itself.
			e.script.Add(faults.Fault{Op: faults.OpDescribeVolume, Kind: faults.Refuse, Answer: refusalOf(cloud.ClassNotFound, faults.OpDescribeVolume, 0)})
			if _, err := session.Volumes.EnsureVolume(t.Context(), spec); tt.want != "" && name != "another hub's" && cloud.ClassOf(err) != tt.want {
				t.Errorf("when hidden: %v, want class %q", err, tt.want)
			}
			if n := len(e.cloud.Volumes()); n != 2 {
				t.Errorf("%d disks, want the first and one of it", n)
			}
		})
	}
}

func TestZones(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		zone, want string
		class      cloud.Class
	}{
		"as nodes are labelled": {"eastus-2", "2", ""},
		"as disks have it":      {"3", "3", ""},
		"none":                  {"", "", ""},
		"of another region":     {"westeurope-1", "", cloud.ClassInvalid},
		"of a fault domain":     {"0", "", cloud.ClassInvalid},
		"that no region has":    {"eastus-4", "", cloud.ClassInvalid},
		"of another provider":   {"us-east-1a", "", cloud.ClassInvalid},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			session := e.connect(t, nil)
			made, err := session.Snapshots.EnsureSnapshot(t.Context(), snapshotOf(e.disk("d", gib)))
			if err != nil {
				t.Fatal(err)
			}
			e.clock.Step(time.Minute)
			got, err := session.Volumes.EnsureVolume(t.Context(), cloud.VolumeSpec{Name: "v", Zone: tt.zone, Snapshot: made.Ref, Tags: ours()})
			if cloud.ClassOf(err) != tt.class {
				t.Fatalf("error %v, want class %q", err, tt.class)
			}
			if err == nil && (got.Ref.Zone != tt.want || got.Type != "StandardSSD_LRS") {
				t.Errorf("zone %q of a %s, want %q", got.Ref.Zone, got.Type, tt.want)
			}
		})
	}
}

// TestZoneRedundant checks that a zone-redundant disk is created without a zone, whatever the zone of the volume that
// it replaces.
func TestZoneRedundant(t *testing.T) {
	t.Parallel()
	for _, sku := range []string{"StandardSSD_ZRS", "Premium_ZRS"} {
		for _, zone := range []string{"", "1", "eastus-3", "0", "none"} {
			t.Run(sku+" in "+zone, func(t *testing.T) {
				t.Parallel()
				e := newTestEnv(t)
				session := e.connect(t, nil)
				made, err := session.Snapshots.EnsureSnapshot(t.Context(), snapshotOf(e.disk("d", gib)))
				if err != nil {
					t.Fatal(err)
				}
				e.clock.Step(time.Minute)
				got, err := session.Volumes.EnsureVolume(t.Context(), cloud.VolumeSpec{
					Name: "v", Zone: zone, Snapshot: made.Ref, Tags: ours(), Class: map[string]string{"skuName": sku},
				})
				if err != nil || got.Ref.Zone != "" || got.Type != sku {
					t.Errorf("%+v, %v; want a %s without a zone", got, err, sku)
				}
			})
		}
	}
}

func TestClassParameters(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	session := e.connect(t, nil)
	made, err := session.Snapshots.EnsureSnapshot(t.Context(), snapshotOf(e.disk("d", gib)))
	if err != nil {
		t.Fatal(err)
	}
	e.clock.Step(time.Minute)
	spec := cloud.VolumeSpec{Name: "v", Zone: "1", Snapshot: made.Ref, Tags: ours(), Class: map[string]string{
		"SKUNAME": "PremiumV2_LRS", "diskIopsReadWrite": "4000", "DiskMBpsReadWrite": "200", "diskEncryptionSetID": set("us"), "cachingMode": "None",
	}}
	if _, err := session.Volumes.EnsureVolume(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`"sku":{"name":"PremiumV2_LRS"}`, `"diskIOPSReadWrite":4000`, `"diskMBpsReadWrite":200`, `"zones":["1"]`,
		`"encryption":{"diskEncryptionSetId":"` + set("us") + `","type":"EncryptionAtRestWithCustomerKey"}`,
	} {
		if body := e.sent(t, faults.OpCreateVolume); !strings.Contains(body, part) {
			t.Errorf("no %s in %s", part, body)
		}
	}
	before := e.script.Count(faults.OpCreateVolume)
	for _, wrong := range []string{"many", "-1", "0", "4000.5"} {
		spec.Name, spec.Class = "w", map[string]string{"DiskIOPSReadWrite": wrong}
		if _, err := session.Volumes.EnsureVolume(t.Context(), spec); cloud.ClassOf(err) != cloud.ClassInvalid {
			t.Errorf("%q IOPS: %v, want class %q", wrong, err, cloud.ClassInvalid)
		}
	}
	if n := e.script.Count(faults.OpCreateVolume) - before; n != 0 {
		t.Errorf("%d requests with what is no number", n)
	}
}

func TestAttachedIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	session, volume := e.connect(t, nil), e.disk("d", gib)
	e.cloud.EditVolume(volume.Handle, func(v *fake.Volume) { v.Attached, v.Tags = true, ours() })
	if err := session.Volumes.DeleteVolume(t.Context(), volume, owner(ours())); cloud.ClassOf(err) != cloud.ClassInUse {
		t.Errorf("%v, want class %q", err, cloud.ClassInUse)
	}
	if n := e.script.Count(faults.OpDeleteVolume); n != 0 {
		t.Errorf("%d requests to delete what a machine has", n)
	}
}
