package scheduler

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestBackupsAreProven goes through verifications: due, under way, failed, good, and deleted.
func TestBackupsAreProven(t *testing.T) {
	t.Parallel()
	in := situation("2026-03-02T09:00:00Z")
	in.app.Spec.Database.Backup.Verify.Schedule = "0 4 * * *"
	pass := func(now string) Plan {
		in.now = at(now)
		plan := decide(in)
		in.app.Status.Backups = entries(plan.Clusters)
		for _, r := range plan.Verify {
			r.CreationTimestamp = metav1.NewTime(in.now)
			in.restores = append(in.restores, *r)
		}
		return plan
	}
	if plan := pass("2026-03-02T04:10:00Z"); len(plan.Verify) != 0 {
		t.Errorf("without a backup there is nothing to prove, but %s", plan.Verify[0].Name)
	}
	in.backups = []v1.Backup{backup("2026-03-03T02:00:00Z", v1.BackupCompleted)}
	plan := pass("2026-03-03T04:10:00Z")
	if len(plan.Verify) != 1 {
		t.Fatalf("%d verifications are due, want one", len(plan.Verify))
	}
	want := v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: "shop-eu-1-20260303-0200"}, ClusterRef: v1.ObjectReference{Name: "eu-1"}, Verify: true}
	if diff := cmp.Diff(want, plan.Verify[0].Spec); diff != "" || plan.Verify[0].Name != "shop-eu-1-20260303-0400-verify" {
		t.Errorf("%s (-want +got):\n%s", plan.Verify[0].Name, diff)
	}
	if plan := pass("2026-03-04T04:10:00Z"); len(plan.Verify) != 0 {
		t.Error("a second one while the first is under way")
	}
	in.restores[0].Status = v1.RestoreStatus{Phase: v1.RestoreFailed, Message: "not verified"}
	plan = pass("2026-03-04T04:20:00Z")
	if plan.Condition.Reason != v1.ReasonVerificationFailed || plan.Condition.Message != "eu-1: backup shop-eu-1-20260303-0200 could not be verified: not verified" {
		t.Errorf("condition %+v", plan.Condition)
	}
	if len(plan.Verify) != 1 {
		t.Fatalf("%d verifications after one that failed, want the next one", len(plan.Verify))
	}
	if history := plan.Clusters[0]; !history.VerifyFailed || !history.VerifyDeadline.Equal(at("2026-03-05T16:00:00Z")) {
		t.Errorf("failed %t, the next proof is late at %s", history.VerifyFailed, history.VerifyDeadline)
	}
	in.restores[1].Status.Phase = v1.RestoreCompleted
	in.backups[0].Status.LastVerifiedTime = &metav1.Time{Time: at("2026-03-04T04:21:00Z")}
	plan = pass("2026-03-04T05:00:00Z")
	if plan.Condition.Status != metav1.ConditionTrue || len(plan.DeleteVerify) != 1 || plan.DeleteVerify[0].Name != in.restores[0].Name {
		t.Errorf("condition %+v, deleted %v", plan.Condition, plan.DeleteVerify)
	}
	if history := plan.Clusters[0]; history.VerifyFailed || !history.VerifyDeadline.Equal(at("2026-03-05T16:21:00Z")) {
		t.Errorf("failed %t, the next proof is late at %s", history.VerifyFailed, history.VerifyDeadline)
	}
	if got := in.app.Status.Backups[0].LastVerifiedTime; got == nil || !got.Time.Equal(at("2026-03-04T04:21:00Z")) {
		t.Errorf("last verified %v", got)
	}
	in.members["eu-1"].Spec.Mode = v1.ModeAgent
	if plan := pass("2026-03-05T04:20:00Z"); len(plan.Verify) != 0 || !plan.Clusters[0].VerifyDeadline.IsZero() {
		t.Error("a verification in a member where the hub may start nothing")
	}
}
