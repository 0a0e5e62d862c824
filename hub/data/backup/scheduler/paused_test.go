package scheduler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// actions returns the number of objects that a Decision creates, deletes or changes, by action.
func (d *Decision) actions() map[string]int {
	all := map[string]int{
		"backed up": len(d.Create), "verified": len(d.Verify), "verifications deleted": len(d.DeleteVerify),
		"deleted": len(d.Delete), "kept": len(d.Keep),
	}
	for what, n := range all {
		if n == 0 {
			delete(all, what)
		}
	}
	return all
}

// dueForAll returns a situation in which all actions of the scheduler are due.
func dueForAll() input {
	in := situation("2026-06-02T05:00:00Z")
	in.app.Spec.Database.Backup.Retention = v1.Retention{KeepLast: new(int32(1)), KeepDays: new(int32(5))}
	in.app.Spec.Database.Backup.Verify.Schedule = "0 4 * * *"
	for days := range 9 {
		in.backups = append(in.backups, backup(at("2026-06-01T02:00:00Z").AddDate(0, 0, -days).Format(time.RFC3339), v1.BackupCompleted))
	}
	in.backups[2].Annotations = map[string]string{v1.PrunedAnnotation: "true"}
	for _, scheduledTime := range []string{"2026-05-30T04:00:00Z", "2026-05-31T04:00:00Z"} {
		r := in.verification("eu-1", &in.backups[0], at(scheduledTime))
		r.CreationTimestamp, r.Status.Phase = metav1.NewTime(at(scheduledTime)), v1.RestoreCompleted
		in.restores = append(in.restores, *r)
	}
	return in
}

// TestPaused checks that safe mode does nothing, that nothing with data in a paused member is deleted, and that due
// work is done when the pause ends.
func TestPaused(t *testing.T) {
	t.Parallel()
	all := map[string]int{"backed up": 1, "verified": 1, "verifications deleted": 1, "deleted": 5, "kept": 1}
	byStatus := metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1.ReasonPaused}
	for name, tt := range map[string]struct {
		pause func(*input)
		want  map[string]int
	}{
		"not paused": {func(*input) {}, all},
		"safe mode":  {func(in *input) { in.safeMode = true }, map[string]int{}},
		"member, by its spec": {func(in *input) { in.members["eu-1"].Spec.Paused = true },
			map[string]int{"backed up": 1, "verified": 1, "verifications deleted": 1}},
		"member, by its status": {func(in *input) { in.members["eu-1"].Status.Conditions = []metav1.Condition{byStatus} },
			map[string]int{"backed up": 1, "verified": 1, "verifications deleted": 1}},
		"safe mode, for an upgrade": {func(in *input) {
			in.safeMode, in.now, in.backups = true, at("2026-06-01T05:00:00Z"), in.backups[:1]
			in.app.Spec.Database.Version = "13.5"
			in.app.Status.Backups = []v1.ClusterBackups{{Name: "eu-1", Version: "13.4", Image: "postgres:13.4"}}
		}, map[string]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := dueForAll()
			tt.pause(&in)
			decision := decide(in)
			if diff := cmp.Diff(tt.want, decision.actions()); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			const held = "Each cluster has a recent successful backup; eu-1: old backups are not deleted while writes are paused"
			if expired := len(in.backups) > 1; expired && tt.want["deleted"] == 0 && (decision.Condition.Status != metav1.ConditionTrue || decision.Condition.Message != held) {
				t.Errorf("condition %+v", decision.Condition)
			}
			in.app.Status.Backups = entries(decision.Clusters)
			in.safeMode = false
			if diff := cmp.Diff(all["backed up"]-tt.want["backed up"], len(decide(in).Create)); diff != "" && len(in.backups) > 1 {
				t.Errorf("Backups that are made after the pause (-want +got):\n%s", diff)
			}
		})
	}
}
