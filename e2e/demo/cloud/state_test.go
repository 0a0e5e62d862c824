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

func TestCloudIsSaved(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cloud.json")
	before, err := openSaved(file)
	if err != nil {
		t.Fatal(err)
	}
	before.cloud.SetPace(fake.Pace{})
	volume := before.cloud.AddVolume(fake.Volume{ID: "vol-1", Region: "eu-west-1", Tags: map[string]string{"a": "b"}})
	snapshot := before.cloud.AddSnapshot(fake.Snapshot{ID: "snap-1", Source: "vol-1", Tags: map[string]string{"c": "d"}})
	ended, end := context.WithCancel(t.Context())
	end()
	if err := before.follow(ended); err != nil {
		t.Fatal(err)
	}

	after, err := openSaved(file)
	if err != nil {
		t.Fatal(err)
	}
	after.cloud.SetPace(fake.Pace{})
	got, there := after.cloud.Volume(volume.ID)
	if diff := cmp.Diff(volume, got); !there || diff != "" {
		t.Errorf("the volume is there: %t (-want +got):\n%s", there, diff)
	}
	same, there := after.cloud.Snapshot(snapshot.ID)
	if diff := cmp.Diff(snapshot, same, cmpopts.IgnoreUnexported(fake.Snapshot{})); !there || same.State != cloud.StateReady || diff != "" {
		t.Errorf("the snapshot is there: %t (-want +got):\n%s", there, diff)
	}
	if was, now := before.cloud.Serial(), after.cloud.Serial(); now <= was {
		t.Errorf("the number %d is given away after %d", now, was)
	}
}
