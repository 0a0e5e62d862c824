package scheduler

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestEachClusterIsBackedUpBeforeAnUpgrade, in one pass.
func TestEachClusterIsBackedUpBeforeAnUpgrade(t *testing.T) {
	t.Parallel()
	in := situation("2026-03-01T18:00:00Z")
	in.app.Status.Clusters = append(in.app.Status.Clusters, v1.ClusterStatus{Name: "eu-2"})
	in.members["eu-2"] = in.members["eu-1"]
	in.app.Status.Backups = []v1.ClusterBackups{{Name: "eu-1", Version: "13.4"}, {Name: "eu-2", Version: "13.4"}}
	in.app.Spec.Database.Version = "13.5"
	if made := decide(in).Create; len(made) != 2 || made[0].Spec.ClusterRef.Name == made[1].Spec.ClusterRef.Name {
		t.Errorf("made %v, want one for each cluster", made)
	}
}

// TestAnUpgradeInTheEditThatEnablesBackups waits too: the copy says which version there is.
func TestAnUpgradeInTheEditThatEnablesBackups(t *testing.T) {
	t.Parallel()
	in := situation("2026-03-01T18:00:00Z")
	in.app.Spec.Database.Version = "13.5"
	pass := func(when, want string, backups int) {
		t.Helper()
		plan := decide(in)
		in.app.Status.Backups = entries(plan.Clusters)
		if got := in.app.RecordedVersion("eu-1"); got != want || len(plan.Create) != backups {
			t.Errorf("%s: version %q and %d backups, want %q and %d", when, got, len(plan.Create), want, backups)
		}
	}
	in.compared = nil
	pass("away", "", 0)
	in.compared, in.versions = map[string]bool{"eu-1": true}, map[string]string{"eu-1": "13.4"}
	pass("before the version is recorded", "13.4", 0)
	pass("after it", "13.4", 1)
	in.app.Status.Backups, in.versions = nil, nil
	pass("without a copy", "13.5", 0)
}

// TestAnUpgradeWaitsForABackup goes through one: asked for, held, failed once, let go.
func TestAnUpgradeWaitsForABackup(t *testing.T) {
	t.Parallel()
	in := situation("2026-03-02T09:00:00Z")
	in.backups = []v1.Backup{backup("2026-03-02T02:00:00Z", v1.BackupCompleted)}
	pass := func(now string) Plan {
		in.now = at(now)
		plan := decide(in)
		in.app.Status.Backups = entries(plan.Clusters)
		return plan
	}
	held := func(step, want string) {
		t.Helper()
		if got := in.app.DatabaseVersion("eu-1", ""); got != want {
			t.Errorf("%s: the cluster has %s, want %s", step, got, want)
		}
	}
	pass("2026-03-02T09:00:00Z")
	held("before", "13.4")
	in.app.Spec.Database.Version = "13.5"
	plan := pass("2026-03-02T09:10:00Z")
	held("asked for", "13.4")
	if len(plan.Create) != 1 || plan.Create[0].Name != "shop-eu-1-manual-20260302-091000" || plan.Create[0].Spec.ScheduledTime != nil {
		t.Fatalf("made %v", plan.Create)
	}
	before := backup("2026-03-02T09:10:00Z", v1.BackupFailed)
	before.Name, before.Spec.ScheduledTime = plan.Create[0].Name, nil
	in.backups = append(in.backups, before)
	plan = pass("2026-03-02T09:20:00Z")
	held("after one that failed", "13.4")
	if plan.Condition.Status != metav1.ConditionFalse || plan.Condition.Reason != v1.ReasonSnapshotFailed || len(plan.Create) != 0 {
		t.Errorf("condition %+v, made %v", plan.Condition, plan.Create)
	}
	in.backups = append(in.backups, backup("2026-03-03T02:00:00Z", v1.BackupCompleted))
	plan = pass("2026-03-03T02:10:00Z")
	held("after a good one", "13.5")
	if plan.Condition.Status != metav1.ConditionTrue || !plan.Clusters[0].UpgradeTime.IsZero() {
		t.Errorf("condition %+v, upgrade time %s", plan.Condition, plan.Clusters[0].UpgradeTime)
	}
}
