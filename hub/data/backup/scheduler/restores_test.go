package scheduler

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
)

// TestWithoutSnapshotKinds checks that a member that cannot restore snapshots goes on with them: BackupReady stays as it
// is, its message ends with what to install, and nothing is verified in vain.
func TestWithoutSnapshotKinds(t *testing.T) {
	t.Parallel()
	const needed = ". Snapshots cannot be restored in eu-1: " + csi.InstallSnapshots
	for name, tt := range map[string]struct {
		change   func(*input)
		message  string
		status   metav1.ConditionStatus
		verified int
	}{
		"the kinds are there": {func(in *input) {
			in.members["eu-1"].Status.Capabilities = []string{csi.CapabilitySnapshots}
		}, "Each cluster has a recent successful backup", metav1.ConditionTrue, 1},
		"they are not": {func(*input) {}, "Each cluster has a recent successful backup" + needed, metav1.ConditionTrue, 0},
		"and the backup is too old": {func(in *input) {
			in.backups = in.backups[:1]
			in.app.Spec.Database.Backup.MaxRPO = &metav1.Duration{Duration: 1}
		}, "eu-1: the newest successful backup, shop-eu-1-20260302-0200, is older than 1ns" + needed, metav1.ConditionFalse, 0},
		"and there is much to say": {func(in *input) {
			in.backups = in.backups[:1]
			in.backups[0].Status.Phase, in.backups[0].Status.Message = v1.BackupFailed, strings.Repeat("m", 2000)
			in.app.Spec.Database.Backup.MaxRPO = &metav1.Duration{Duration: 1}
		}, needed, metav1.ConditionFalse, 0},
		"not inspected yet": {func(in *input) { in.members["eu-1"].Status.Provider = "" }, "", metav1.ConditionUnknown, 0},
		"dumps": {func(in *input) {
			in.app.Spec.Database.Backup.Method, in.app.Spec.Database.Backup.CopyToRegions = v1.BackupDump, nil
			for i := range in.backups {
				in.backups[i].Spec.Method = v1.BackupDump
			}
		}, "dumps are not in a bucket, and can only be verified there", metav1.ConditionTrue, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := situation("2026-03-03T05:00:00Z")
			in.app.Spec.Database.Backup.Verify.Schedule = "0 4 * * *"
			in.members["eu-1"].Status.Capabilities = nil
			in.backups = []v1.Backup{backup("2026-03-02T02:00:00Z", v1.BackupCompleted), backup("2026-03-03T02:00:00Z", v1.BackupCompleted)}
			tt.change(&in)
			decision := decide(in)
			c := decision.Condition
			if c.Status != tt.status || !strings.HasSuffix(c.Message, tt.message) || len(c.Message) > 1024 {
				t.Errorf("condition %s with the message %q, want %s and %q", c.Status, c.Message, tt.status, tt.message)
			}
			if tt.message == "" && strings.Contains(c.Message, csi.InstallSnapshots) {
				t.Errorf("message %q about a member of which nothing is known", c.Message)
			}
			if len(decision.Verify) != tt.verified {
				t.Errorf("%d are to be verified, want %d", len(decision.Verify), tt.verified)
			}
		})
	}
}
