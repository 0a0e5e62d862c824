package restore

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestNoneIn checks that a Restore says why a region has no snapshot.
func TestNoneIn(t *testing.T) {
	t.Parallel()
	b := &v1.Backup{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	s := &v1.VolumeSnapshot{
		CloudSnapshot: v1.CloudSnapshot{Region: "eu-1", ID: "snap", State: "Ready"},
		Copies:        []v1.CloudSnapshot{{Region: "us-2", State: "Failed", Message: "no key"}},
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
