package scheduler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// gone returns a successful backup that the cloud does not have any more.
func gone(scheduledTime string) v1.Backup {
	b := backup(scheduledTime, v1.BackupCompleted)
	b.Status.Message = "The cloud does not have the snapshot of data in eu-west-1 any more"
	b.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1.ReasonSnapshotMissing, Message: b.Status.Message}}
	b.Status.Snapshots[0].State = v1.SnapshotMissing
	return b
}

// TestMissingBackups checks that a backup that the cloud does not have any more is reported and not counted.
func TestMissingBackups(t *testing.T) {
	t.Parallel()
	const lost = "eu-1: the newest backup, shop-eu-1-20260303-0200, is lost: The cloud does not have the snapshot of data in eu-west-1 any more; "
	older := backup("2026-03-02T02:00:00Z", v1.BackupCompleted)
	conditions{
		"the newest": {soon, func(in *input) {
			in.app.Spec.Database.Backup.MaxRPO = &metav1.Duration{Duration: 26 * time.Hour}
			in.backups = []v1.Backup{older, gone("2026-03-03T02:00:00Z")}
		}, metav1.ConditionFalse, v1.ReasonBackupTooOld,
			lost + "the newest one that is left, shop-eu-1-20260302-0200, is of 2026-03-02T02:01:00Z; " +
				"eu-1: the newest successful backup, shop-eu-1-20260302-0200, is older than 26h0m0s"},
		"the newest, and another is young enough": {soon, func(in *input) {
			in.backups = []v1.Backup{older, gone("2026-03-03T02:00:00Z")}
		}, metav1.ConditionFalse, v1.ReasonSnapshotMissing, lost + "the newest one that is left, shop-eu-1-20260302-0200, is of 2026-03-02T02:01:00Z"},
		"the only one": {soon, func(in *input) {
			in.backups = []v1.Backup{gone("2026-03-03T02:00:00Z")}
		}, metav1.ConditionFalse, v1.ReasonNoBackup, lost + "no other is left; eu-1: there is no successful backup"},
		"an older one": {soon, func(in *input) {
			in.backups = []v1.Backup{gone("2026-03-02T02:00:00Z"), backup("2026-03-03T02:00:00Z", v1.BackupCompleted)}
		}, metav1.ConditionTrue, v1.ReasonBackupsRecent, good},
	}.run(t)
}

// TestMissingBackupsReplaceNone checks that retention keeps the newest backup that is in the cloud, and deletes one
// that is not only if it is older than that.
func TestMissingBackupsReplaceNone(t *testing.T) {
	t.Parallel()
	in := situation("2026-06-01T03:00:00Z")
	in.app.Spec.Database.Backup.Retention = v1.Retention{KeepLast: new(int32(1)), KeepDays: new(int32(1))}
	in.backups = []v1.Backup{
		backup("2026-03-01T02:00:00Z", v1.BackupCompleted), gone("2026-03-02T02:00:00Z"),
		backup("2026-03-03T02:00:00Z", v1.BackupCompleted), gone("2026-06-01T02:00:00Z"),
	}
	var deleted []string
	for _, d := range decide(in).Delete {
		deleted = append(deleted, d.Name)
	}
	if diff := cmp.Diff([]string{"shop-eu-1-20260301-0200", "shop-eu-1-20260302-0200"}, deleted); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
}
