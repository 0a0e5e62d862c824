package cloud

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

func TestTheWorldIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cloud.json")
	before, err := openWorld(file)
	if err != nil {
		t.Fatal(err)
	}
	before.world.SetPace(fake.Pace{})
	volume := before.world.AddVolume(fake.Volume{ID: "vol-1", Region: "eu-west-1", Tags: map[string]string{"a": "b"}})
	snapshot := before.world.AddSnapshot(fake.Snapshot{ID: "snap-1", Source: "vol-1", Tags: map[string]string{"c": "d"}})
	ended, end := context.WithCancel(t.Context())
	end()
	if err := before.follow(ended); err != nil {
		t.Fatal(err)
	}

	after, err := openWorld(file)
	if err != nil {
		t.Fatal(err)
	}
	after.world.SetPace(fake.Pace{})
	got, there := after.world.Volume(volume.ID)
	if diff := cmp.Diff(volume, got); !there || diff != "" {
		t.Errorf("the volume is there: %t (-want +got):\n%s", there, diff)
	}
	same, there := after.world.Snapshot(snapshot.ID)
	if diff := cmp.Diff(snapshot, same, cmpopts.IgnoreUnexported(fake.Snapshot{})); !there || same.State != cloud.StateReady || diff != "" {
		t.Errorf("the snapshot is there: %t (-want +got):\n%s", there, diff)
	}
	if was, now := before.world.Serial(), after.world.Serial(); now <= was {
		t.Errorf("the number %d is given away after %d", now, was)
	}
}
