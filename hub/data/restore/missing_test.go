package restore

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestMissingIn checks that a Restore says why a region has no snapshot.
func TestMissingIn(t *testing.T) {
	t.Parallel()
	b := &v1.Backup{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	s := &v1.VolumeSnapshot{
		CloudSnapshot: v1.CloudSnapshot{Region: "eu-1", ID: "snap", State: v1.SnapshotMissing},
		Copies:        []v1.CloudSnapshot{{Region: "us-1", ID: "copy", State: v1.SnapshotMissing}, {Region: "us-2", State: "Failed", Message: "no key"}},
	}
	for region, want := range map[string]string{
		"eu-1": `the cloud does not have the snapshot of Backup "b" in eu-1 any more`,
		"us-1": `the cloud does not have the copy of Backup "b" in us-1 any more`,
		"us-2": `Backup "b" has no snapshot in us-2, because the copy failed: no key`,
		"us-3": `Backup "b" has no snapshot in us-3: give us-3 in copyToRegions of the backups to come`,
	} {
		if got := missingIn(region, b, s); got.Message != want || got.Reason != v1.ReasonSnapshotMissing || !got.Fatal {
			t.Errorf("%s: %+v, want %q", region, got, want)
		}
	}
}
