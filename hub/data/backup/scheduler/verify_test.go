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
	pass := func(now string) Decision {
		in.now = at(now)
		decision := decide(in)
		in.app.Status.Backups = entries(decision.Clusters)
		for _, r := range decision.Verify {
			r.CreationTimestamp = metav1.NewTime(in.now)
			in.restores = append(in.restores, *r)
		}
		return decision
	}
	if decision := pass("2026-03-02T04:10:00Z"); len(decision.Verify) != 0 {
		t.Errorf("without a backup there is nothing to prove, but %s", decision.Verify[0].Name)
	}
	in.backups = []v1.Backup{backup("2026-03-03T02:00:00Z", v1.BackupCompleted)}
	decision := pass("2026-03-03T04:10:00Z")
	if len(decision.Verify) != 1 {
		t.Fatalf("%d verifications are due, want one", len(decision.Verify))
	}
	want := v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: "shop-eu-1-20260303-0200"}, ClusterRef: v1.ObjectReference{Name: "eu-1"}, Verify: true}
	if diff := cmp.Diff(want, decision.Verify[0].Spec); diff != "" || decision.Verify[0].Name != "shop-eu-1-20260303-0400-verify" {
		t.Errorf("%s (-want +got):\n%s", decision.Verify[0].Name, diff)
	}
	if decision := pass("2026-03-04T04:10:00Z"); len(decision.Verify) != 0 {
		t.Error("a second one while the first is under way")
	}
	in.restores[0].Status = v1.RestoreStatus{Phase: v1.RestoreFailed, Message: "not verified"}
	decision = pass("2026-03-04T04:20:00Z")
	if decision.Condition.Reason != v1.ReasonVerificationFailed || decision.Condition.Message != "eu-1: backup shop-eu-1-20260303-0200 could not be verified: not verified" {
		t.Errorf("condition %+v", decision.Condition)
	}
	if len(decision.Verify) != 1 {
		t.Fatalf("%d verifications after one that failed, want the next one", len(decision.Verify))
	}
	if history := decision.Clusters[0]; !history.VerifyFailed || !history.VerifyDeadline.Equal(at("2026-03-05T16:00:00Z")) {
		t.Errorf("failed %t, the next proof is late at %s", history.VerifyFailed, history.VerifyDeadline)
	}
	in.restores[1].Status.Phase = v1.RestoreCompleted
	in.backups[0].Status.LastVerifiedTime = &metav1.Time{Time: at("2026-03-04T04:21:00Z")}
	decision = pass("2026-03-04T05:00:00Z")
	if decision.Condition.Status != metav1.ConditionTrue || len(decision.DeleteVerify) != 1 || decision.DeleteVerify[0].Name != in.restores[0].Name {
		t.Errorf("condition %+v, deleted %v", decision.Condition, decision.DeleteVerify)
	}
	if history := decision.Clusters[0]; history.VerifyFailed || !history.VerifyDeadline.Equal(at("2026-03-05T16:21:00Z")) {
		t.Errorf("failed %t, the next proof is late at %s", history.VerifyFailed, history.VerifyDeadline)
	}
	if got := in.app.Status.Backups[0].LastVerifiedTime; got == nil || !got.Time.Equal(at("2026-03-04T04:21:00Z")) {
		t.Errorf("last verified %v", got)
	}
	in.members["eu-1"].Spec.Mode = v1.ModeAgent
	if decision := pass("2026-03-05T04:20:00Z"); len(decision.Verify) != 0 || !decision.Clusters[0].VerifyDeadline.IsZero() {
		t.Error("a verification in a member where the hub may start nothing")
	}
}
