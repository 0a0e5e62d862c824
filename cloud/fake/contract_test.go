package fake_test

import (
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

// TestContract puts the suite to the three kinds of cloud that there are.
func TestContract(t *testing.T) {
	t.Parallel()
	kinds := map[string]fake.Rules{
		"tags":      {},
		"names":     {UniqueNames: true},
		"locations": {UniqueNames: true, Locations: true},
	}
	for name, rules := range kinds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloudtest.Run(t, func(t testing.TB) *cloudtest.Backend {
				t.Helper()
				return newBackend(t, rules)
			})
		})
	}
}

const (
	noPermissions = "it has no permissions"
	noKeys        = "it has no keys"
)

// newBackend returns a Backend on a fake.Cloud with these rules.
func newBackend(t testing.TB, rules fake.Rules) *cloudtest.Backend {
	t.Helper()
	clock := testclock.NewFakeClock(time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC))
	fakeCloud, script := fake.NewCloud(clock), &faults.Script{}
	b := &cloudtest.Backend{
		Provider: fake.ProviderMemory, Clock: clock, Cloud: fakeCloud, Script: script,
		Regions:  [2]string{"north", "south"},
		Refusal:  fake.Refusal,
		PageSize: func(n int) { rules.PageSize = n },
		VolumeRate: func() (faults.Answer, time.Duration) {
			return fake.Refusal(cloud.ClassThrottled, faults.OpCreateSnapshot, 15*time.Second), 15 * time.Second
		},
		UnknownState:       func(testing.TB, cloud.SnapshotRef) faults.Answer { return fake.UnknownState("unknown-state") },
		ValidateSkipReason: "it sends no HTTP requests",
		Unsupported:        map[int]string{16: "snapshots have a region, and are copied: see case 15", 46: noPermissions, 47: noKeys, 48: noKeys, 49: noPermissions},
	}
	b.Connect = func(_ testing.TB, o cloudtest.Options) cloud.Session {
		account := "first"
		if o.OtherAccount {
			account = "second"
		}
		return fake.Connect(fakeCloud, script, fake.Options{Account: account, Region: b.Regions[o.Region], BadCredentials: o.BadCredentials, Rules: &rules})
	}
	b.Disk = func(_ testing.TB, name string, size int64) cloud.VolumeRef {
		v := fakeCloud.AddVolume(fake.Volume{Account: "first", Region: "north", Zone: "north-a", ID: fake.Handle("first", "north-a", name), SizeBytes: size})
		return cloud.VolumeRef{Region: v.Region, Zone: v.Zone, Handle: v.ID}
	}
	b.ForeignSnapshot = func(testing.TB) cloud.SnapshotRef {
		s := fakeCloud.AddSnapshot(fake.Snapshot{Account: "first", Region: "north", ID: "memory/first/north/snapshots/by-hand", Source: "somewhere", SizeBytes: 1 << 30})
		return cloud.SnapshotRef{Region: s.Region, ID: s.ID}
	}
	if rules.Locations {
		none := "snapshots are global: see case 16"
		b.Unsupported = map[int]string{15: none, 33: none, 46: noPermissions, 47: noKeys, 48: noKeys, 49: noPermissions}
	}
	if !rules.UniqueNames {
		b.Double = func(t testing.TB, id string) cloud.SnapshotRef {
			t.Helper()
			s, ok := fakeCloud.Snapshot(id)
			if !ok {
				t.Fatalf("there is no snapshot %q", id)
			}
			s.ID = "snap-double-" + time.Duration(fakeCloud.Serial()).String()
			fakeCloud.AddSnapshot(s)
			return cloud.SnapshotRef{Region: s.Region, ID: s.ID}
		}
	}
	return b
}
