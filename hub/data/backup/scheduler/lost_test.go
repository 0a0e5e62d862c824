package scheduler

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestALostDatabase checks that no backup of a lost database is created or pruned.
func TestALostDatabase(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*input){
		"snapshots": func(*input) {},
		"dumps": func(in *input) {
			in.app.Spec.Database.Backup.Method, in.app.Spec.Database.Backup.CopyToRegions = v1.BackupDump, nil
			in.backups = []v1.Backup{dumpOf("2026-03-01T02:00:00Z"), dumpOf("2026-03-02T02:00:00Z"), dumpOf("2026-03-03T02:00:00Z")}
		},
		"dumps of a former method": func(in *input) {
			in.backups = append(in.backups, dumpOf("2026-03-01T02:00:00Z"), dumpOf("2026-03-02T02:00:00Z"))
		},
		"an upgrade is asked for": func(in *input) {
			in.app.Spec.Database.Version = "13.5"
			in.app.Status.Backups = []v1.ClusterBackups{{Name: "eu-1", Version: "13.4"}}
		},
		"its provider is not known": func(in *input) { in.members["eu-1"].Status.Provider = "" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := situation("2026-06-01T03:00:00Z")
			in.app.Spec.Database.Backup.Retention = v1.Retention{KeepLast: new(int32(1)), KeepDays: new(int32(1))}
			for _, day := range []string{"2026-05-01", "2026-05-02", "2026-05-03"} {
				in.backups = append(in.backups, backup(day+"T02:00:00Z", v1.BackupCompleted))
			}
			change(&in)
			in.app.Status.Clusters[0].DatabaseLost = true
			in.backups[0].Annotations = map[string]string{v1.PrunedAnnotation: "true"}
			in.place("us-1") // Its backups are made and pruned as ever.
			in.members["us-1"].Status.Provider = v1.ProviderAWS
			checkLost(t, in)
		})
	}
}

// checkLost checks the Decision while the database is lost in eu-1, and when it is there again.
func checkLost(t *testing.T, in input) {
	t.Helper()
	decision := decide(in)
	if len(decision.Create) > 1 || len(decision.Create) == 1 && decision.Create[0].Spec.ClusterRef.Name != "us-1" || len(decision.Delete) > 0 {
		t.Errorf("made %v, deleted %v", decision.Create, decision.Delete)
	}
	if c := decision.Condition; c.Status != metav1.ConditionFalse || c.Reason != v1.ReasonDatabaseLost {
		t.Errorf("condition %+v", c)
	}
	if in.members["eu-1"].Status.Provider == "" {
		return // Neither is pruned.
	}
	if len(decision.Keep) != 1 || decision.Keep[0].Name != in.backups[0].Name {
		t.Errorf("kept %v, want the one that is marked for deletion", decision.Keep)
	}
	in.app.Status.Clusters[0].DatabaseLost = false
	if decision := decide(in); len(decision.Delete) == 0 {
		t.Error("nothing is deleted when the database is there again")
	}
}
