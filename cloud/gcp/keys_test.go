package gcp

import (
	"testing"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/gce"
)

// TestKeysOfSnapshots checks which key encrypts a snapshot, which the Session interface does not show. Google Cloud
// refuses the account's key for a disk that has none, so that it must not be sent.
func TestKeysOfSnapshots(t *testing.T) {
	t.Parallel()
	api, keys := discover(t), newKeys(t)
	ours, copies := kmsKey(region, "disks"), kmsKey("us-central1", "copies")
	for name, tt := range map[string]struct {
		disk      string
		locations []string
		want      string
	}{
		"elsewhere":                         {ours, []string{"us-central1"}, copies},
		"elsewhere without an account's":    {ours, []string{"us-east1"}, ours},
		"where the provider puts it":        {ours, nil, ours},
		"of a disk with Google's key":       {"", []string{"us-central1"}, ""},
		"of a disk with Google's, anywhere": {"", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t, api, keys, gce.Options{})
			config := e.config(t)
			config.Spec.GCP.Keys = map[string]v1.CryptoKey{"us-central1": v1.CryptoKey(copies)}
			volume := e.disk(t, "data", 20<<30)
			e.cloud.EditVolume(volume.Handle, func(v *fake.Volume) { v.KMSKey = tt.disk })
			wanted := spec("backup", volume)
			wanted.Locations = tt.locations
			made, err := connect(t, config).Snapshots.EnsureSnapshot(t.Context(), wanted)
			if err != nil {
				t.Fatal(err)
			}
			e.clock.Step(time.Hour)
			if got, _ := e.cloud.Snapshot(made.Ref.ID); got.KMSKey != tt.want || got.State != cloud.StateReady {
				t.Errorf("key %q in state %q, want %q", got.KMSKey, got.State, tt.want)
			}
		})
	}
}
