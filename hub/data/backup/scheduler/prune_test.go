package scheduler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestMarks covers Backups that retention had marked when the hub stopped: those that are
// still due are deleted, the others get their data's protection back.
func TestMarks(t *testing.T) {
	t.Parallel()
	in := situation("2026-06-01T03:00:00Z")
	in.app.Spec.Database.Backup.Retention = v1.Retention{KeepLast: new(int32(1)), KeepDays: new(int32(5))}
	for days := range 9 {
		in.backups = append(in.backups, backup(at("2026-06-01T02:00:00Z").AddDate(0, 0, -days).Format(time.RFC3339), v1.BackupCompleted))
	}
	annotate := func(days int, key string) { in.backups[days].Annotations = map[string]string{key: "true"} }
	annotate(2, v1.PrunedAnnotation)
	annotate(7, v1.PrunedAnnotation)
	annotate(8, v1.RediscoveredAnnotation)
	decision := decide(in)
	var deleted, unmarked []string
	for _, d := range decision.Delete {
		deleted = append(deleted, d.Name)
	}
	for _, b := range decision.Keep {
		unmarked = append(unmarked, b.Name)
	}
	if diff := cmp.Diff([]string{"shop-eu-1-20260525-0200", "shop-eu-1-20260526-0200", "shop-eu-1-20260527-0200"}, deleted); diff != "" {
		t.Errorf("deleted (-want +got), all but what was found again:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"shop-eu-1-20260530-0200"}, unmarked); diff != "" {
		t.Errorf("unmarked (-want +got):\n%s", diff)
	}
}

// TestClocks prunes by the clock of the provider that has the data.
func TestClocks(t *testing.T) {
	t.Parallel()
	const old = "eu-1: old backups are not deleted: "
	for name, tt := range map[string]struct {
		now     string
		change  func(*input)
		deleted int
		reason  string
		message string
	}{
		"agree":               {"2026-06-01T03:00:00Z", func(*input) {}, 4, v1.ReasonBackupsRecent, ""},
		"differ":              {"2026-06-01T03:00:00Z", func(in *input) { in.skews["prod"] = -25 * 24 * time.Hour }, 0, v1.ReasonPruningHeld, old + `the clocks of the hub and of the CloudAccount "prod" differ by more than 5m0s`},
		"not known":           {"2026-06-01T03:00:00Z", func(in *input) { in.skews = nil }, 0, v1.ReasonPruningHeld, old + `the clock skew of the CloudAccount "prod" is unknown`},
		"not known yet":       {"2026-06-01T03:00:00Z", func(in *input) { in.skews, in.pastStart = nil, false }, 0, v1.ReasonBackupsRecent, ""},
		"differ, none is due": {"2026-05-26T03:00:00Z", func(in *input) { in.skews["prod"] = time.Hour }, 0, v1.ReasonBackupTooOld, ""},
		"no account": {"2026-06-01T03:00:00Z", func(in *input) {
			in.skews = nil
			for i := range in.backups {
				in.backups[i].Status.Account = ""
			}
		}, 4, v1.ReasonBackupsRecent, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := situation(tt.now)
			in.app.Spec.Database.Backup.Retention = v1.Retention{KeepLast: new(int32(1)), KeepDays: new(int32(5))}
			in.skews, in.pastStart = map[string]time.Duration{"prod": time.Minute}, true
			for days := range 9 {
				b := backup(at("2026-06-01T02:00:00Z").AddDate(0, 0, -days).Format(time.RFC3339), v1.BackupCompleted)
				b.Status.Account = "prod"
				in.backups = append(in.backups, b)
			}
			if tt.reason == v1.ReasonBackupTooOld { // The newest are gone, and nothing is due.
				in.backups = in.backups[8:]
			}
			tt.change(&in)
			decision := decide(in)
			if len(decision.Delete) != tt.deleted || decision.Condition.Reason != tt.reason || tt.message != "" && decision.Condition.Message != tt.message {
				t.Errorf("deletes %d because of %s: %s; want %d because of %s: %s",
					len(decision.Delete), decision.Condition.Reason, decision.Condition.Message, tt.deleted, tt.reason, tt.message)
			}
			if held := tt.deleted == 0 && tt.reason != v1.ReasonBackupTooOld; held && decision.RequeueAt.After(in.now.Add(time.Minute)) {
				t.Errorf("tries again at %s", decision.RequeueAt)
			}
		})
	}
}

// TestNewerInMember prunes nothing by a retention that may be that of an older backup of the hub.
func TestNewerInMember(t *testing.T) {
	t.Parallel()
	for _, origin := range []string{"u/9", v1.DeletionOrigin("u", at("2026-06-01T02:00:00Z"))} {
		in := situation("2026-06-01T03:00:00Z")
		in.app.Spec.Database.Backup.Retention = v1.Retention{KeepLast: new(int32(1)), KeepDays: new(int32(5))}
		for days := range 9 {
			in.backups = append(in.backups, backup(at("2026-06-01T02:00:00Z").AddDate(0, 0, -days).Format(time.RFC3339), v1.BackupCompleted))
		}
		if decision := decide(in); len(decision.Delete) == 0 {
			t.Fatal("none has expired")
		}
		in.app.Status.Clusters[0].UnknownOrigin = origin
		decision := decide(in)
		if len(decision.Delete) > 0 || decision.Condition.Reason != v1.ReasonPruningHeld {
			t.Errorf("%s: deletes %+v, and reports %s: %s", origin, decision.Delete, decision.Condition.Reason, decision.Condition.Message)
		}
	}
}

// TestNotCompared prunes nothing of a cluster that may have a newer state of the application than
// the hub: the retention may be that of an older backup of the hub.
func TestNotCompared(t *testing.T) {
	t.Parallel()
	const note = "eu-1: old backups are not deleted before the cluster is compared with the hub"
	for name, tt := range map[string]struct {
		days      int
		pastStart bool
		message   string
	}{
		"at the start": {9, false, "Each cluster has a recent successful backup"},
		"later":        {9, true, "Each cluster has a recent successful backup; " + note},
		"none is due":  {1, true, "Each cluster has a recent successful backup"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := situation("2026-06-01T03:00:00Z")
			in.compared, in.pastStart = nil, tt.pastStart
			in.app.Spec.Database.Backup.Retention = v1.Retention{KeepLast: new(int32(1)), KeepDays: new(int32(5))}
			for days := range tt.days {
				in.backups = append(in.backups, backup(at("2026-06-01T02:00:00Z").AddDate(0, 0, -days).Format(time.RFC3339), v1.BackupCompleted))
			}
			decision := decide(in)
			if len(decision.Delete) > 0 || decision.Condition.Reason != v1.ReasonBackupsRecent || decision.Condition.Message != tt.message {
				t.Errorf("deletes %+v, and reports %s: %s", decision.Delete, decision.Condition.Reason, decision.Condition.Message)
			}
			if held, soon := tt.days > 1, !decision.RequeueAt.After(in.now.Add(deletionRetry)); held != soon {
				t.Errorf("tries again at %s", decision.RequeueAt)
			}
		})
	}
}
