package restore

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestMissingIn checks that a Restore looks again for what the cloud did not have when it was last looked at, and says why
// a region has no snapshot.
func TestMissingIn(t *testing.T) {
	t.Parallel()
	b := &v1.Backup{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Status: v1.BackupStatus{Provider: v1.ProviderAWS}}
	s := &v1.VolumeSnapshot{
		CloudSnapshot: v1.CloudSnapshot{Region: "eu-1", ID: "snap", State: v1.SnapshotMissing},
		Copies: []v1.CloudSnapshot{
			{Region: "us-1", ID: "copy", State: v1.SnapshotMissing}, {Region: "us-2", State: "Failed", Message: "no key"}, {Region: "us-4", ID: "half", State: "Creating"},
		},
	}
	for region, want := range map[string]string{"eu-1": "snap", "us-1": "copy", "us-2": "", "us-3": "", "us-4": ""} {
		if got := missingIn(region, &b.Status, s); got != want {
			t.Errorf("%s: %q, want %q", region, got, want)
		}
	}
	if s.State != v1.SnapshotMissing || s.Copies[0].State != v1.SnapshotMissing {
		t.Error("the Backup was changed")
	}
	for region, want := range map[string]string{
		"us-2": `Backup "b" has no snapshot in us-2, because the copy failed: no key`,
		"us-3": `Backup "b" has no snapshot in us-3: give us-3 in copyToRegions of the backups to come`,
	} {
		if got := noneIn(region, b, s); got.Message != want || got.Reason != v1.ReasonSnapshotMissing || !got.Fatal {
			t.Errorf("%s: %+v, want %q", region, got, want)
		}
	}
}
