package plan

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// dumpOf is the Backup of a dump that a person asked for.
func dumpOf(day string) v1.Backup {
	b := backup(day, v1.BackupCompleted)
	b.Name, b.Spec.Slot, b.Spec.Method = "dump-"+day[:10], nil, v1.BackupDump
	b.Status.Dump = &v1.DumpFile{Claim: "shop-database-backup"}
	// The node's clock is its own.
	b.Status.CutTime = &metav1.Time{Time: b.Status.CutTime.Add(-time.Hour)}
	return b
}

// TestDumpsAreNoSnapshots: neither stands in for the other, nor keeps the other from being pruned.
func TestDumpsAreNoSnapshots(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		method v1.BackupMethod
		want   []string
		reason string
	}{
		"in a cluster with snapshots": {v1.BackupSnapshot, []string{"dump-2026-03-01", "shop-eu-1-20260301-0200"}, v1.ReasonBackupTooOld},
		"in a cluster that is dumped": {v1.BackupDump, []string{"dump-2026-03-01"}, v1.ReasonNotChecked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := situation("2026-05-20T03:00:00Z")
			policy := &in.app.Spec.Database.Backup
			policy.Method, policy.Verify.Schedule = tt.method, "0 4 * * *"
			policy.Retention = v1.Retention{KeepLast: new(int32(1)), KeepDays: new(int32(5))}
			in.backups = []v1.Backup{
				backup("2026-03-01T02:00:00Z", v1.BackupCompleted), backup("2026-03-02T02:00:00Z", v1.BackupCompleted),
				dumpOf("2026-03-01T09:00:00Z"), dumpOf("2026-05-20T02:30:00Z"),
			}
			plan := decide(in)
			var got []string
			for _, d := range plan.Delete {
				got = append(got, d.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || plan.Condition.Reason != tt.reason {
				t.Errorf("condition %s, deleted (-want +got):\n%s", fmt.Sprint(plan.Condition), diff)
			}
			for _, r := range plan.Verify {
				if r.Spec.BackupName != "shop-eu-1-20260302-0200" {
					t.Errorf("%s is to be proven", r.Spec.BackupName)
				}
			}
		})
	}
}
