package csi

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestMissingSnapshots checks that nothing is restored from a snapshot that the cloud does not have any more.
func TestMissingSnapshots(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		provider       v1.Provider
		snapshot, copy string
		regions        []string
		here, there    string
	}{
		"both":              {v1.ProviderAWS, "Ready", "Ready", []string{"eu-1", "us-1"}, "snap", "copy"},
		"the snapshot":      {v1.ProviderAWS, "Ready", v1.SnapshotMissing, []string{"eu-1"}, "snap", "copy missing"},
		"the copy":          {v1.ProviderAWS, v1.SnapshotMissing, "Ready", []string{"us-1"}, "snap missing", "copy"},
		"neither":           {v1.ProviderAWS, v1.SnapshotMissing, v1.SnapshotMissing, []string{}, "snap missing", "copy missing"},
		"by location":       {v1.ProviderGCP, "Ready", v1.SnapshotMissing, []string{"us-1"}, "snap", "snap"},
		"missing, location": {v1.ProviderGCP, v1.SnapshotMissing, v1.SnapshotMissing, []string{}, "snap missing", "snap missing"},
	} {
		b := &v1.Backup{Spec: v1.BackupSpec{CopyToRegions: []string{"us-1"}}}
		b.Status.Provider = tt.provider
		b.Status.Snapshots = []v1.VolumeSnapshot{{
			CloudSnapshot: v1.CloudSnapshot{Region: "eu-1", ID: "snap", State: tt.snapshot},
			Copies:        []v1.CloudSnapshot{{Region: "us-1", ID: "copy", State: tt.copy}},
		}}
		if diff := cmp.Diff(tt.regions, append([]string{}, RegionsOf(b)...)); diff != "" {
			t.Errorf("%s: regions (-want +got):\n%s", name, diff)
		}
		s := &b.Status.Snapshots[0]
		for region, want := range map[string]string{"eu-1": tt.here, "us-1": tt.there} {
			id, missing := SnapshotIn(region, &b.Status, s)
			if got := strings.TrimSpace(id + map[bool]string{true: " missing"}[missing]); got != want {
				t.Errorf("%s: restored in %s from %q, want %q", name, region, got, want)
			}
		}
	}
}
