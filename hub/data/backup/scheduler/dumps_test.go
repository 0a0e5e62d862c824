package scheduler

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// dumpOf returns the Backup of a dump that a user requested.
func dumpOf(day string) v1.Backup {
	b := backup(day, v1.BackupCompleted)
	b.Name, b.Spec.ScheduledTime, b.Spec.Method = "dump-"+day[:10], nil, v1.BackupDump
	b.Spec.CopyToRegions, b.Status.Snapshots = nil, nil
	b.Status.Dump = &v1.DumpFile{Claim: "shop-database-backup"}
	// The node's clock is its own.
	b.Status.SnapshotTime = &metav1.Time{Time: b.Status.SnapshotTime.Add(-time.Hour)}
	return b
}

// TestDumpsAreNoSnapshots checks that dumps and snapshots neither replace each other nor protect each other from
// pruning.
func TestDumpsAreNoSnapshots(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		method v1.BackupMethod
		want   []string
		reason string
	}{
		"in a cluster with snapshots": {v1.BackupSnapshot, []string{"dump-2026-03-01", "shop-eu-1-20260301-0200"}, v1.ReasonBackupTooOld},
		"in a cluster that is dumped": {v1.BackupDump, []string{"dump-2026-03-01"}, v1.ReasonBackupsRecent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := situation("2026-05-20T03:00:00Z")
			policy := &in.app.Spec.Database.Backup
			policy.Method, policy.Verify.Schedule, policy.CopyToRegions = tt.method, "0 4 * * *", nil
			policy.Retention = v1.Retention{KeepLast: new(int32(1)), KeepDays: new(int32(5))}
			in.backups = []v1.Backup{
				backup("2026-03-01T02:00:00Z", v1.BackupCompleted), backup("2026-03-02T02:00:00Z", v1.BackupCompleted),
				dumpOf("2026-03-01T09:00:00Z"), dumpOf("2026-05-20T02:30:00Z"),
			}
			decision := decide(in)
			var got []string
			for _, d := range decision.Delete {
				got = append(got, d.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || decision.Condition.Reason != tt.reason {
				t.Errorf("condition %s, deleted (-want +got):\n%s", fmt.Sprint(decision.Condition), diff)
			}
			// The dump is in no bucket.
			proven := map[v1.BackupMethod]int{v1.BackupSnapshot: 1}[tt.method]
			if len(decision.Verify) != proven {
				t.Fatalf("%d are to be proven, want %d", len(decision.Verify), proven)
			}
			for _, r := range decision.Verify {
				if r.Spec.BackupRef.Name != "shop-eu-1-20260302-0200" {
					t.Errorf("%s is to be proven", r.Spec.BackupRef.Name)
				}
			}
		})
	}
}

// dumped returns an application whose databases are dumped.
func dumped(now string, backups ...v1.Backup) input {
	in := situation(now)
	in.app.Spec.Database.Backup.Method, in.app.Spec.Database.Backup.CopyToRegions = v1.BackupDump, nil
	in.backups = backups
	return in
}

// sent returns a dump that is in the bucket.
func sent(day string) v1.Backup {
	b := dumpOf(day)
	b.Status.Dump.Object = &v1.DumpObject{Bucket: "dumps", Prefix: "p", State: v1.DumpSent}
	return b
}

// TestDumpForScheduledTime checks that a dump has the name that the CronJob's controller uses, and goes to no region.
func TestDumpForScheduledTime(t *testing.T) {
	t.Parallel()
	made := decide(dumped("2026-03-02T02:02:00Z")).Create
	if len(made) != 1 {
		t.Fatalf("made %d", len(made))
	}
	want := v1.BackupSpec{
		AppRef: v1.ObjectReference{Name: "shop"}, ClusterRef: v1.ObjectReference{Name: "eu-1"}, Method: v1.BackupDump, ScheduledTime: &metav1.Time{Time: at("2026-03-02T02:00:00Z")},
		Deletion: v1.DeletionRetain,
	}
	if diff := cmp.Diff(want, made[0].Spec); diff != "" || made[0].Name != "shop-eu-1-20260302-0200" {
		t.Errorf("%s, spec (-want +got):\n%s", made[0].Name, diff)
	}
}

// TestHowAClusterIsBackedUp checks the method for each account and provider.
func TestHowAClusterIsBackedUp(t *testing.T) {
	t.Parallel()
	account := &v1.ObjectReference{Name: "prod"}
	for name, tt := range map[string]struct {
		method   v1.BackupMethod
		account  *v1.ObjectReference
		provider v1.Provider
		want     v1.BackupMethod
	}{
		"an account in a cloud":      {v1.BackupAuto, account, v1.ProviderAWS, v1.BackupSnapshot},
		"left to the default":        {"", account, v1.ProviderAWS, v1.BackupSnapshot},
		"an account for the bucket":  {v1.BackupAuto, account, v1.ProviderOther, v1.BackupDump},
		"no account":                 {v1.BackupAuto, nil, v1.ProviderAWS, v1.BackupDump},
		"no account, no provider":    {v1.BackupAuto, nil, "", v1.BackupDump},
		"not known yet":              {v1.BackupAuto, account, "", v1.BackupAuto},
		"dumps all the same":         {v1.BackupDump, account, v1.ProviderAWS, v1.BackupDump},
		"dumps, before it is known":  {v1.BackupDump, account, "", v1.BackupDump},
		"snapshots, whatever it has": {v1.BackupSnapshot, nil, "", v1.BackupSnapshot},
	} {
		m := &v1.MemberCluster{Spec: v1.MemberClusterSpec{CloudAccountRef: tt.account}, Status: v1.MemberClusterStatus{Provider: tt.provider}}
		if got := methodIn(tt.method, m); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// TestWhatWasDumpedBeforeIsNotMissed checks that runs count as missed only from the first pass over a cluster, whose
// CronJob existed before.
func TestWhatWasDumpedBeforeIsNotMissed(t *testing.T) {
	t.Parallel()
	in := dumped("2026-03-09T09:00:00Z")
	first := decide(in)
	if len(first.Create) != 1 || first.Missed["eu-1"] != 0 {
		t.Errorf("made %d, and %d were missed", len(first.Create), first.Missed["eu-1"])
	}
	in.app.Status.Backups = entries(first.Clusters)
	in.now = at("2026-03-12T09:00:00Z")
	if later := decide(in); later.Missed["eu-1"] != 2 || later.Create[0].Name != "shop-eu-1-20260312-0200" {
		t.Errorf("made %v, and %d were missed, want 2", later.Create, later.Missed["eu-1"])
	}
}

// TestDumpsStillOnTheirWay checks that a dump that is being sent does not prevent the next one.
func TestDumpsStillOnTheirWay(t *testing.T) {
	t.Parallel()
	for phase, want := range map[v1.BackupPhase]int{v1.BackupPending: 0, v1.BackupInProgress: 0, v1.BackupFinalizing: 1} {
		b := dumpOf("2026-03-02T02:00:00Z")
		b.Status.Phase = phase
		if got := len(decide(dumped("2026-03-03T02:10:00Z", b)).Create); got != want {
			t.Errorf("beside one that is %s: made %d, want %d", phase, got, want)
		}
	}
}

// TestDumpsAreProven checks that the newest dump in a bucket is verified.
func TestDumpsAreProven(t *testing.T) {
	t.Parallel()
	const good = "Each cluster has a recent successful backup"
	const note = "; eu-1: dumps are not in a bucket, and can only be verified there"
	for name, tt := range map[string]struct {
		backups       []v1.Backup
		mode          v1.Mode
		want, message string
	}{
		"in the bucket":    {[]v1.Backup{sent("2026-03-03T02:00:00Z"), sent("2026-03-04T02:00:00Z")}, "", "dump-2026-03-04", good},
		"in no bucket":     {[]v1.Backup{dumpOf("2026-03-04T02:00:00Z")}, "", "", good + note},
		"in none any more": {[]v1.Backup{sent("2026-03-03T02:00:00Z"), dumpOf("2026-03-04T02:00:00Z")}, "", "dump-2026-03-03", good + note},
		"in mode Agent":    {[]v1.Backup{sent("2026-03-04T02:00:00Z")}, v1.ModeAgent, "dump-2026-03-04", good},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := dumped("2026-03-04T05:00:00Z", tt.backups...)
			in.app.Spec.Database.Backup.Verify.Schedule = "0 4 * * *"
			in.members["eu-1"].Spec.Mode = tt.mode
			decision, got := decide(in), ""
			for _, r := range decision.Verify {
				got += r.Spec.BackupRef.Name
			}
			if got != tt.want || decision.Condition.Message != tt.message {
				t.Errorf("to be proven %q, want %q; %s", got, tt.want, decision.Condition.Message)
			}
			in.app.Spec.Database.Backup.Verify.Schedule = ""
			if message := decide(in).Condition.Message; message != good {
				t.Errorf("without a schedule of verifications, the condition says: %s", message)
			}
		})
	}
}

// TestAnUpgradeWaitsForADump checks that an upgrade waits for a dump that began after it was requested.
func TestAnUpgradeWaitsForADump(t *testing.T) {
	t.Parallel()
	in := dumped("2026-03-02T09:00:00Z", dumpOf("2026-03-02T02:00:00Z"))
	pass := func(now string) Decision {
		in.now = at(now)
		decision := decide(in)
		in.app.Status.Backups = entries(decision.Clusters)
		return decision
	}
	pass("2026-03-02T09:00:00Z")
	in.app.Spec.Database.Version = "13.5"
	decision := pass("2026-03-02T09:10:00Z")
	if len(decision.Create) != 1 || decision.Create[0].Spec.Method != v1.BackupDump || decision.Create[0].Spec.ScheduledTime != nil || in.app.RecordedServer("eu-1").Version != "13.4" {
		t.Fatalf("made %v, the cluster has %s", decision.Create, in.app.RecordedServer("eu-1").Version)
	}
	failed := dumpOf("2026-03-02T09:10:00Z")
	failed.Name, failed.Status.Phase = decision.Create[0].Name, v1.BackupFailed
	in.backups = append(in.backups, failed)
	if decision = pass("2026-03-02T09:20:00Z"); decision.Condition.Reason != v1.ReasonDumpFailed || in.app.RecordedServer("eu-1").Version != "13.4" {
		t.Errorf("condition %+v, the cluster has %s", decision.Condition, in.app.RecordedServer("eu-1").Version)
	}
	// A node's clock is an hour behind.
	in.backups = append(in.backups, dumpOf("2026-03-02T09:30:00Z"))
	if pass("2026-03-02T09:40:00Z"); in.app.RecordedServer("eu-1").Version != "13.5" {
		t.Errorf("the cluster has %s after a good dump", in.app.RecordedServer("eu-1").Version)
	}
}

// TestScheduledTimeInTheFuture checks that a forged scheduled time does not stop the schedule.
func TestScheduledTimeInTheFuture(t *testing.T) {
	t.Parallel()
	in := situation("2026-05-20T03:00:00Z")
	in.backups = []v1.Backup{backup("2099-01-01T02:00:00Z", v1.BackupCompleted)}
	in.app.Status.Backups = []v1.ClusterBackups{{Name: "eu-1", LastScheduledTime: &metav1.Time{Time: at("2098-01-01T02:00:00Z")}}}
	decision := decide(in)
	if len(decision.Create) != 1 || !decision.Create[0].Spec.ScheduledTime.Time.Equal(at("2026-05-20T02:00:00Z")) {
		t.Errorf("made are %+v", decision.Create)
	}
}
