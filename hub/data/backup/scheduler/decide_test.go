package scheduler

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/data/retention"
)

// created returns when the application was created; backups are due at 02:00.
func created() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

// situation returns an application in eu-1, which is on AWS and has an account.
func situation(now string) input {
	app := &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "shop", UID: "u-1", CreationTimestamp: metav1.NewTime(created())},
		Spec: v1.EcommerceAppSpec{Database: &v1.Database{
			Engine: v1.EnginePostgreSQL, Version: "13.4",
			Backup: v1.BackupPolicy{Enabled: true, Schedule: "0 2 * * *", CopyToRegions: []string{"us-east-1"}},
		}},
		Status: v1.EcommerceAppStatus{Clusters: []v1.ClusterStatus{{Name: "eu-1"}}},
	}
	member := &v1.MemberCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "eu-1"},
		Spec:       v1.MemberClusterSpec{CloudAccountRef: &v1.ObjectReference{Name: "prod"}},
		Status: v1.MemberClusterStatus{
			ClusterUID: "c-1", Provider: v1.ProviderAWS, Region: "eu-west-1", Capabilities: []string{csi.CapabilitySnapshots},
		},
	}
	return input{app: app, members: map[string]*v1.MemberCluster{"eu-1": member}, compared: map[string]bool{"eu-1": true}, now: at(now)}
}

// place places the application in a further cluster like eu-1.
func (in *input) place(cluster string) {
	in.app.Status.Clusters = append(in.app.Status.Clusters, v1.ClusterStatus{Name: cluster})
	in.members[cluster], in.compared[cluster] = in.members["eu-1"].DeepCopy(), true
}

// backup returns a Backup of a scheduled time in a phase, with a snapshot time one minute later.
func backup(scheduledTime string, phase v1.BackupPhase) v1.Backup {
	when := at(scheduledTime)
	b := v1.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "shop-eu-1-" + when.Format("20060102-1504"), CreationTimestamp: metav1.NewTime(when)},
		Spec:       v1.BackupSpec{AppRef: v1.ObjectReference{Name: "shop"}, ClusterRef: v1.ObjectReference{Name: "eu-1"}, Method: v1.BackupSnapshot, ScheduledTime: &metav1.Time{Time: when}},
		Status:     v1.BackupStatus{Phase: phase, Message: "the cloud said no"},
	}
	if phase.IsSuccessful() {
		b.Status.StartTime = &metav1.Time{Time: when}
		b.Status.SnapshotTime = &metav1.Time{Time: when.Add(time.Minute)}
		b.Status.CompletionTime = &metav1.Time{Time: when.Add(2 * time.Minute)}
		b.Spec.CopyToRegions = []string{"us-east-1"}
		b.Status.Provider = v1.ProviderAWS
		b.Status.Snapshots = []v1.VolumeSnapshot{{
			CloudSnapshot: v1.CloudSnapshot{Region: "eu-west-1", State: "Ready"}, Copies: []v1.CloudSnapshot{{Region: "us-east-1", State: "Ready"}},
		}}
	}
	if phase == v1.BackupPartiallyCompleted {
		b.Status.Snapshots[0].Copies[0] = v1.CloudSnapshot{Region: "us-east-1", State: "Failed", Message: "the cloud said no"}
	}
	return b
}

func TestWhatIsMade(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		now    string
		change func(*input)
		want   []string
	}{
		"nothing is due yet":  {"2026-03-01T18:00:00Z", nil, nil},
		"due":                 {"2026-03-02T02:10:00Z", nil, []string{"shop-eu-1-20260302-0200"}},
		"missed runs, once":   {"2026-03-05T15:00:00Z", nil, []string{"shop-eu-1-20260305-0200"}},
		"done already":        {"2026-03-02T02:10:00Z", func(in *input) { in.backups = []v1.Backup{backup("2026-03-02T02:00:00Z", v1.BackupCompleted)} }, nil},
		"one is on its way":   {"2026-03-03T02:10:00Z", func(in *input) { in.backups = []v1.Backup{backup("2026-03-02T02:00:00Z", v1.BackupInProgress)} }, nil},
		"one still travels":   {"2026-03-03T02:10:00Z", func(in *input) { in.backups = []v1.Backup{backup("2026-03-02T02:00:00Z", v1.BackupFinalizing)} }, []string{"shop-eu-1-20260303-0200"}},
		"the last one failed": {"2026-03-03T02:10:00Z", func(in *input) { in.backups = []v1.Backup{backup("2026-03-02T02:00:00Z", v1.BackupFailed)} }, []string{"shop-eu-1-20260303-0200"}},
		"a person deleted it": {"2026-03-02T09:00:00Z", func(in *input) {
			in.app.Status.Backups = []v1.ClusterBackups{{Name: "eu-1", LastScheduledTime: &metav1.Time{Time: at("2026-03-02T02:00:00Z")}}}
		}, nil},
		"the cluster is left":       {"2026-03-02T02:10:00Z", func(in *input) { in.app.Status.Clusters[0].Phase = v1.PhaseDeleting }, nil},
		"the member has no account": {"2026-03-02T02:10:00Z", func(in *input) { in.members["eu-1"].Spec.CloudAccountRef = nil }, []string{"shop-eu-1-20260302-0200"}},
		"the provider is not known": {"2026-03-02T02:10:00Z", func(in *input) { in.members["eu-1"].Status.Provider = "" }, nil},
		"snapshots all the same": {"2026-03-02T02:10:00Z", func(in *input) {
			in.members["eu-1"].Spec.CloudAccountRef = nil
			in.app.Spec.Database.Backup.Method = v1.BackupSnapshot
		}, []string{"shop-eu-1-20260302-0200"}},
		"dumps are asked for":         {"2026-03-02T02:02:00Z", func(in *input) { in.app.Spec.Database.Backup.Method = v1.BackupDump }, []string{"shop-eu-1-20260302-0200"}},
		"the CronJob is given time":   {"2026-03-02T02:01:59Z", func(in *input) { in.app.Spec.Database.Backup.Method = v1.BackupDump }, nil},
		"in another time zone":        {"2026-03-02T06:10:00Z", func(in *input) { in.app.Spec.Database.Backup.TimeZone = "America/New_York" }, nil},
		"in another time zone, due":   {"2026-03-02T07:10:00Z", func(in *input) { in.app.Spec.Database.Backup.TimeZone = "America/New_York" }, []string{"shop-eu-1-20260302-0700"}},
		"the schedule is no schedule": {"2026-03-02T02:10:00Z", func(in *input) { in.app.Spec.Database.Backup.Schedule = "0 2 31 2 *" }, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := situation(tt.now)
			if tt.change != nil {
				tt.change(&in)
			}
			var got []string
			for _, b := range decide(in).Create {
				got = append(got, b.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("made (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMissedRunsAreTold checks that three of four missed scheduled times are reported and get no Backup.
func TestMissedRunsAreTold(t *testing.T) {
	t.Parallel()
	if got := decide(situation("2026-03-05T15:00:00Z")).Missed["eu-1"]; got != 3 {
		t.Errorf("%d runs were missed, want 3", got)
	}
}

func TestBackupForScheduledTime(t *testing.T) {
	t.Parallel()
	made := decide(situation("2026-03-02T02:10:00Z")).Create
	if len(made) != 1 {
		t.Fatalf("made %d", len(made))
	}
	want := v1.BackupSpec{
		AppRef: v1.ObjectReference{Name: "shop"}, ClusterRef: v1.ObjectReference{Name: "eu-1"}, Method: v1.BackupSnapshot, ScheduledTime: &metav1.Time{Time: at("2026-03-02T02:00:00Z")},
		CopyToRegions: []string{"us-east-1"}, Deletion: v1.DeletionRetain,
	}
	if diff := cmp.Diff(want, made[0].Spec); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	done := func(scheduledTimes ...string) func(*input) {
		return func(in *input) {
			for _, s := range scheduledTimes {
				in.backups = append(in.backups, backup(s, v1.BackupCompleted))
			}
		}
	}
	tests := map[string]struct {
		now     string
		change  func(*input)
		status  metav1.ConditionStatus
		reason  string
		message string
	}{
		"never":   {"2026-03-03T01:00:00Z", nil, metav1.ConditionFalse, v1.ReasonNoBackup, "eu-1: there is no successful backup"},
		"recent":  {"2026-03-02T09:00:00Z", done("2026-03-02T02:00:00Z"), metav1.ConditionTrue, v1.ReasonBackupsRecent, "Each cluster has a recent successful backup"},
		"too old": {"2026-03-04T09:00:00Z", done("2026-03-02T02:00:00Z"), metav1.ConditionFalse, v1.ReasonBackupTooOld, "eu-1: the newest successful backup, shop-eu-1-20260302-0200, is older than 36h0m0s"},
		"by its bound": {"2026-03-02T09:00:00Z", func(in *input) {
			done("2026-03-02T02:00:00Z")(in)
			in.app.Spec.Database.Backup.MaxRPO = &metav1.Duration{Duration: time.Hour}
		}, metav1.ConditionFalse, v1.ReasonBackupTooOld, "eu-1: the newest successful backup, shop-eu-1-20260302-0200, is older than 1h0m0s"},
		"failed": {"2026-03-04T09:00:00Z", func(in *input) {
			done("2026-03-02T02:00:00Z")(in)
			in.backups = append(in.backups, backup("2026-03-03T02:00:00Z", v1.BackupFailed))
		}, metav1.ConditionFalse, v1.ReasonBackupTooOld, "eu-1: the newest successful backup, shop-eu-1-20260302-0200, is older than 36h0m0s; the last one failed: the cloud said no"},
		"too tight": {"2026-03-01T12:20:00Z", func(in *input) {
			in.members["eu-1"].Status.Provider = v1.ProviderGCP
			in.app.Spec.Database.Backup.Schedule = "*/5 * * * *"
			in.backups = []v1.Backup{backup("2026-03-01T12:15:00Z", v1.BackupCompleted)}
		}, metav1.ConditionFalse, v1.ReasonScheduleTooTight, "eu-1: spec.database.backup.schedule requests snapshots every 5m0s, but the provider allows one every 10m0s"},
		"dumps": {"2026-03-04T09:00:00Z", func(in *input) {
			in.app.Spec.Database.Backup.Method, in.app.Spec.Database.Backup.CopyToRegions = v1.BackupDump, nil
			in.backups = []v1.Backup{dumpOf("2026-03-04T02:00:00Z")}
		}, metav1.ConditionTrue, v1.ReasonBackupsRecent, "Each cluster has a recent successful backup"},
		"no dumps": {"2026-03-04T09:00:00Z", func(in *input) { in.app.Spec.Database.Backup.Method = v1.BackupDump },
			metav1.ConditionFalse, v1.ReasonNoBackup, "eu-1: there is no successful backup"},
		"dumps too old": {"2026-03-04T15:00:00Z", func(in *input) {
			in.app.Spec.Database.Backup.Method, in.app.Spec.Database.Backup.CopyToRegions = v1.BackupDump, nil
			failed := dumpOf("2026-03-04T02:00:00Z")
			failed.Status.Phase = v1.BackupFailed
			in.backups = []v1.Backup{dumpOf("2026-03-02T02:00:00Z"), failed}
		}, metav1.ConditionFalse, v1.ReasonBackupTooOld, "eu-1: the newest successful backup, dump-2026-03-02, is older than 36h0m0s; the last one failed: the cloud said no"},
		"the provider is not known": {"2026-03-04T09:00:00Z", func(in *input) { in.members["eu-1"].Status.Provider = "" }, metav1.ConditionUnknown, v1.ReasonNotChecked,
			"The backup method is not known yet for any cluster"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := situation(tt.now)
			if tt.change != nil {
				tt.change(&in)
			}
			want := metav1.Condition{Status: tt.status, Reason: tt.reason, Message: tt.message}
			if diff := cmp.Diff(want, decide(in).Condition); diff != "" {
				t.Errorf("condition (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTheFirstBackup checks that a cluster without a good backup is not reported as backed up.
func TestTheFirstBackup(t *testing.T) {
	t.Parallel()
	backedUp := func(in *input) { in.backups = append(in.backups, backup("2026-03-02T02:00:00Z", v1.BackupCompleted)) }
	for name, tt := range map[string]struct {
		now     string
		change  func(*input)
		reason  string
		message string
	}{
		"new":               {"2026-03-01T18:00:00Z", func(*input) {}, v1.ReasonNoBackupYet, "There is no successful backup yet in eu-1"},
		"new, at the bound": {"2026-03-03T00:00:00Z", func(*input) {}, v1.ReasonNoBackupYet, "There is no successful backup yet in eu-1"},
		"new, and none was good": {"2026-03-02T09:00:00Z", func(in *input) { in.backups = append(in.backups, backup("2026-03-02T02:00:00Z", v1.BackupFailed)) },
			v1.ReasonNoBackupYet, "There is no successful backup yet in eu-1"},
		"one of many is new": {"2026-03-02T09:00:00Z", func(in *input) {
			backedUp(in)
			for i := range 12 {
				in.place(fmt.Sprintf("us-%02d", 12-i))
			}
		}, v1.ReasonNoBackupYet, "There is no successful backup yet in us-01, us-02, us-03, us-04, us-05, us-06, us-07, us-08, us-09, us-10 and 2 more"},
		"one of two is not known": {"2026-03-02T09:00:00Z", func(in *input) {
			backedUp(in)
			in.place("us-1")
			in.members["us-1"].Status.Provider = ""
		}, v1.ReasonNotChecked, "The backup method is not known yet in us-1"},
		"one of two has no member": {"2026-03-02T09:00:00Z", func(in *input) {
			backedUp(in)
			in.place("us-1")
			delete(in.members, "us-1")
		}, v1.ReasonNotChecked, "The backup method is not known yet in us-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := situation(tt.now)
			tt.change(&in)
			want := metav1.Condition{Status: metav1.ConditionUnknown, Reason: tt.reason, Message: tt.message}
			if diff := cmp.Diff(want, decide(in).Condition); diff != "" {
				t.Errorf("condition (-want +got):\n%s", diff)
			}
		})
	}
}

// TestATightScheduleIsThinnedOut checks that scheduled times above the provider's limit are skipped, and the others
// are kept.
func TestATightScheduleIsThinnedOut(t *testing.T) {
	t.Parallel()
	in := situation("2026-03-01T12:20:30Z")
	in.members["eu-1"].Status.Provider = v1.ProviderGCP
	in.app.Spec.Database.Backup.Schedule = "*/5 * * * *"
	in.backups = []v1.Backup{backup("2026-03-01T12:15:00Z", v1.BackupCompleted)}
	if made := decide(in).Create; len(made) != 0 {
		t.Errorf("made %s five minutes after the last one", made[0].Name)
	}
	in.now = at("2026-03-01T12:25:31Z")
	if made := decide(in).Create; len(made) != 1 || made[0].Spec.ScheduledTime.Format("15:04") != "12:25" {
		t.Errorf("made %v ten minutes after the last one", made)
	}
}

// TestTheNextPass checks that the next pass is when a scheduled time is due or an age is reached, whichever comes
// first.
func TestTheNextPass(t *testing.T) {
	t.Parallel()
	in := situation("2026-03-02T01:30:00Z")
	decision := decide(in)
	if decision.RequeueAt.Before(at("2026-03-02T02:00:00Z")) || decision.RequeueAt.After(at("2026-03-02T02:05:00Z")) {
		t.Errorf("again at %s, want with the scheduledTime or minutes later", decision.RequeueAt)
	}
	in.app.Spec.Database.Backup.MaxRPO = &metav1.Duration{Duration: 13*time.Hour + 40*time.Minute}
	if again := decide(in).RequeueAt; !again.Equal(at("2026-03-02T01:40:01Z")) {
		t.Errorf("again at %s, want when the bound is reached", again)
	}
}

func TestWhatIsDeleted(t *testing.T) {
	t.Parallel()
	old := func(days int) v1.Backup {
		return backup(at("2026-06-01T02:00:00Z").AddDate(0, 0, -days).Format(time.RFC3339), v1.BackupCompleted)
	}
	in := situation("2026-06-01T03:00:00Z")
	in.app.Spec.Database.Backup.Retention = v1.Retention{KeepLast: new(int32(2)), KeepDays: new(int32(5))}
	for days := range 9 {
		in.backups = append(in.backups, old(days))
	}
	pinned := in.backups[8].Name
	in.restores = []v1.Restore{{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Spec: v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: pinned}}}}
	names := func() []string {
		var out []string
		for _, d := range decide(in).Delete {
			out = append(out, d.Name)
		}
		return out
	}
	if diff := cmp.Diff([]string{"shop-eu-1-20260525-0200", "shop-eu-1-20260526-0200", "shop-eu-1-20260527-0200"}, names()); diff != "" {
		t.Errorf("deleted (-want +got), with %s pinned:\n%s", pinned, diff)
	}
}

// TestAMonthOfBackups carries out Decisions day by day, as the reconciler does.
func TestAMonthOfBackups(t *testing.T) {
	t.Parallel()
	in := situation("2026-03-01T12:00:00Z")
	in.app.Spec.Database.Backup.Retention = v1.Retention{KeepLast: new(int32(3)), KeepDays: new(int32(7))}
	for hour := range 24 * 60 {
		in.now = created().Add(time.Duration(hour) * time.Hour)
		decision := decide(in)
		in.app.Status.Backups = entries(decision.Clusters)
		in.backups = slices.DeleteFunc(in.backups, func(b v1.Backup) bool {
			return slices.ContainsFunc(decision.Delete, func(d retention.Decision) bool { return d.Name == b.Name })
		})
		for _, b := range decision.Create {
			phase := v1.BackupCompleted
			if b.Spec.ScheduledTime.Day()%5 == 0 {
				phase = v1.BackupFailed
			}
			made := backup(b.Spec.ScheduledTime.Format(time.RFC3339), phase)
			if made.Name != b.Name {
				t.Fatalf("made %s for the scheduledTime of %s", b.Name, made.Name)
			}
			in.backups = append(in.backups, made)
		}
	}
	good, failed := 0, 0
	for _, b := range in.backups {
		if b.Status.Phase == v1.BackupCompleted {
			good++
		} else {
			failed++
		}
	}
	if got := fmt.Sprintf("%d good, %d failed", good, failed); got != "5 good, 2 failed" {
		t.Errorf("after sixty days: %s, want those of a week, of which every fifth day failed", got)
	}
}
