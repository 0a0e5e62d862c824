package scheduler

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// partial returns a snapshot whose copy in us-east-1 failed.
func partial(scheduledTime string) v1.Backup {
	return backup(scheduledTime, v1.BackupPartiallyCompleted)
}

// unsent returns a dump that should have been sent to the bucket, and is not there.
func unsent(day, why string) v1.Backup {
	b := dumpOf(day)
	b.Status.Phase = v1.BackupPartiallyCompleted
	b.Status.Conditions = []metav1.Condition{{Type: v1.ConditionCopied, Status: metav1.ConditionFalse, Reason: v1.ReasonCopyFailed, Message: why}}
	return b
}

const (
	soon, late = "2026-03-03T09:00:00Z", "2026-03-05T09:00:00Z"
	good       = "Each cluster has a recent successful backup"
)

// conditions are changes of a situation at a time, and what the condition is then.
type conditions map[string]struct {
	now     string
	change  func(*input)
	status  metav1.ConditionStatus
	reason  string
	message string
}

func (c conditions) run(t *testing.T) {
	t.Helper()
	for name, tt := range c {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := situation(tt.now)
			tt.change(&in)
			want := metav1.Condition{Status: tt.status, Reason: tt.reason, Message: tt.message}
			if diff := cmp.Diff(want, decide(in).Condition); diff != "" {
				t.Errorf("condition (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhereSnapshotsAre checks that BackupReady is not True while the newest backup is missing in a wanted region.
func TestWhereSnapshotsAre(t *testing.T) {
	t.Parallel()
	onGoogle := func(in *input) {
		in.members["eu-1"].Status.Provider, in.members["eu-1"].Status.Region = v1.ProviderGCP, "europe-west1"
		in.app.Spec.Database.Backup.CopyToRegions = []string{"us-east1", "us-west1"}
		b := backup("2026-03-05T02:00:00Z", v1.BackupCompleted)
		b.Spec.CopyToRegions, b.Status.Provider, b.Status.Snapshots[0].Copies = []string{"us-east1"}, v1.ProviderGCP, nil
		in.backups = []v1.Backup{b}
	}
	conditions{
		"a copy failed, and the last one was made": {soon, func(in *input) {
			in.backups = []v1.Backup{backup("2026-03-02T02:00:00Z", v1.BackupCompleted), partial("2026-03-03T02:00:00Z")}
		}, metav1.ConditionUnknown, v1.ReasonNotOffsite,
			"eu-1: the newest successful backup, shop-eu-1-20260303-0200, is not in us-east-1: the cloud said no"},
		"copies fail for longer than maxRPO": {late, func(in *input) {
			in.backups = []v1.Backup{backup("2026-03-03T02:00:00Z", v1.BackupCompleted), partial("2026-03-04T02:00:00Z"), partial("2026-03-05T02:00:00Z")}
		}, metav1.ConditionFalse, v1.ReasonNotOffsite,
			"eu-1: the newest successful backup, shop-eu-1-20260305-0200, is not in us-east-1: the cloud said no"},
		"no copy was ever made": {late, func(in *input) {
			in.backups = []v1.Backup{partial("2026-03-02T02:00:00Z"), partial("2026-03-05T02:00:00Z")}
		}, metav1.ConditionFalse, v1.ReasonNotOffsite,
			"eu-1: the newest successful backup, shop-eu-1-20260305-0200, is not in us-east-1: the cloud said no"},
		"a newer one is there": {late, func(in *input) {
			in.backups = []v1.Backup{partial("2026-03-04T02:00:00Z"), backup("2026-03-05T02:00:00Z", v1.BackupCompleted)}
		}, metav1.ConditionTrue, v1.ReasonBackupsRecent, good},
		"the region is wanted since the last one": {late, func(in *input) {
			b := backup("2026-03-05T02:00:00Z", v1.BackupCompleted)
			b.Spec.CopyToRegions, b.Status.Snapshots[0].Copies = nil, nil
			in.backups = []v1.Backup{b}
		}, metav1.ConditionUnknown, v1.ReasonNotOffsite, "eu-1: the newest successful backup, shop-eu-1-20260305-0200, is not in us-east-1"},
		"the region is the cluster's own": {late, func(in *input) {
			in.app.Spec.Database.Backup.CopyToRegions = []string{"eu-west-1"}
			in.backups = []v1.Backup{partial("2026-03-05T02:00:00Z")}
		}, metav1.ConditionTrue, v1.ReasonBackupsRecent, good},
		"too old in each place": {"2026-03-09T09:00:00Z", func(in *input) {
			in.backups = []v1.Backup{backup("2026-03-02T02:00:00Z", v1.BackupCompleted), partial("2026-03-03T02:00:00Z")}
		}, metav1.ConditionFalse, v1.ReasonBackupTooOld,
			"eu-1: the newest successful backup, shop-eu-1-20260303-0200, is not in us-east-1: the cloud said no; " +
				"eu-1: the newest successful backup, shop-eu-1-20260303-0200, is older than 36h0m0s"},
		"more regions than the provider can": {late, onGoogle, metav1.ConditionFalse, v1.ReasonNotOffsite,
			"eu-1: the newest successful backup, shop-eu-1-20260305-0200, is not in us-west1: the provider gcp cannot store a snapshot in more " +
				"regions than 1: correct spec.database.backup.copyToRegions"},
		"as many regions as the provider can": {late, func(in *input) {
			onGoogle(in)
			in.app.Spec.Database.Backup.CopyToRegions = []string{"us-east1", "europe-west1"}
		}, metav1.ConditionTrue, v1.ReasonBackupsRecent, good},
	}.run(t)
}

// TestWhereDumpsAre checks that dumps belong in a bucket, if there is one or if regions are listed.
func TestWhereDumpsAre(t *testing.T) {
	t.Parallel()
	dumps := func(change func(*input), backups ...v1.Backup) func(*input) {
		return func(in *input) {
			in.app.Spec.Database.Backup.Method, in.app.Spec.Database.Backup.CopyToRegions = v1.BackupDump, nil
			in.buckets = map[string]bool{"eu-1": true}
			in.backups = backups
			change(in)
		}
	}
	conditions{
		"regions of a cluster that is dumped": {late, dumps(func(in *input) {
			in.buckets, in.app.Spec.Database.Backup.CopyToRegions = nil, []string{"us-east-1"}
		}, dumpOf("2026-03-05T02:00:00Z")), metav1.ConditionFalse, v1.ReasonNotOffsite,
			"eu-1: the newest successful backup, dump-2026-03-05, is not in the bucket: dumps are not copied to the regions of " +
				"spec.database.backup.copyToRegions: set spec.objectStorage of the CloudAccount of eu-1"},
		"regions of a cluster whose dumps are in a bucket": {late, dumps(func(in *input) {
			in.app.Spec.Database.Backup.CopyToRegions = []string{"us-east-1"}
		}, sent("2026-03-05T02:00:00Z")), metav1.ConditionTrue, v1.ReasonBackupsRecent, good},
		"no bucket": {late, dumps(func(in *input) { in.buckets = nil }, dumpOf("2026-03-05T02:00:00Z")), metav1.ConditionTrue, v1.ReasonBackupsRecent, good},
		"the bucket is new": {late, dumps(func(*input) {}, dumpOf("2026-03-05T02:00:00Z")), metav1.ConditionUnknown, v1.ReasonNotOffsite,
			"eu-1: the newest successful backup, dump-2026-03-05, is not in the bucket"},
		"a dump that is gone from the bucket": {late, dumps(func(in *input) {
			in.backups[1].Status.Dump.Object.State = v1.DumpMissing
			in.backups[1].Status.Conditions = []metav1.Condition{{Type: v1.ConditionCopied, Status: metav1.ConditionFalse, Reason: v1.ReasonDumpMissing, Message: "it is gone"}}
		}, sent("2026-03-04T02:00:00Z"), sent("2026-03-05T02:00:00Z")), metav1.ConditionUnknown, v1.ReasonNotOffsite,
			"eu-1: the newest successful backup, dump-2026-03-05, is not in the bucket: it is gone"},
		"dumps that are too large to send": {late, dumps(func(*input) {}, unsent("2026-03-03T02:00:00Z", "too large"), unsent("2026-03-05T02:00:00Z", "too large")),
			metav1.ConditionFalse, v1.ReasonNotOffsite, "eu-1: the newest successful backup, dump-2026-03-05, is not in the bucket: too large"},
	}.run(t)
}

// TestOnlyPossibleRegionsAreAskedFor checks that impossible regions are left out, so that the others are backed up.
func TestOnlyPossibleRegionsAreAskedFor(t *testing.T) {
	t.Parallel()
	for provider, want := range map[v1.Provider][]string{v1.ProviderAWS: {"us-1", "us-2"}, v1.ProviderAzure: {"us-1", "us-2"}, v1.ProviderGCP: {"us-1"}} {
		in := situation("2026-03-02T02:10:00Z")
		in.members["eu-1"].Status.Provider = provider
		in.app.Spec.Database.Backup.CopyToRegions = []string{"eu-west-1", "us-1", "us-2"}
		made := decide(in).Create
		if len(made) != 1 {
			t.Fatalf("made %d on %s", len(made), provider)
		}
		if diff := cmp.Diff(want, made[0].Spec.CopyToRegions); diff != "" {
			t.Errorf("regions on %s (-want +got):\n%s", provider, diff)
		}
	}
}

// TestPartialBackupsAreGood checks that partial backups count where they are, and do not replace a complete one
// elsewhere.
func TestPartialBackupsAreGood(t *testing.T) {
	t.Parallel()
	in := situation("2026-06-01T03:00:00Z")
	in.app.Spec.Database.Backup.Retention = v1.Retention{KeepLast: new(int32(2)), KeepDays: new(int32(5))}
	for _, day := range []string{"2026-05-01", "2026-05-02", "2026-05-03"} {
		in.backups = append(in.backups, backup(day+"T02:00:00Z", v1.BackupCompleted))
	}
	for _, day := range []string{"2026-05-20", "2026-05-31", "2026-06-01"} {
		in.backups = append(in.backups, partial(day+"T02:00:00Z"))
	}
	decision := decide(in)
	var got []string
	for _, d := range decision.Delete {
		got = append(got, d.Name)
	}
	slices.Sort(got)
	// The first is not one of the two newest in us-east-1, and the first partial one not one of the
	// two newest anywhere.
	if diff := cmp.Diff([]string{"shop-eu-1-20260501-0200", "shop-eu-1-20260520-0200"}, got); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	if h := decision.Clusters[0]; !h.LastGood.Equal(at("2026-06-01T02:01:00Z")) || h.Completed != 3 || h.Partial != 3 || len(h.Failed) > 0 {
		t.Errorf("history %+v, want the newest partial backup as the last good one", h)
	}
}

// TestPlaces checks the places of a backup.
func TestPlaces(t *testing.T) {
	t.Parallel()
	two := backup("2026-03-02T02:00:00Z", v1.BackupCompleted)
	two.Status.Snapshots = append(two.Status.Snapshots, *two.Status.Snapshots[0].DeepCopy())
	two.Status.Snapshots[1].Copies[0].State = "Creating"
	for name, tt := range map[string]struct {
		backup v1.Backup
		want   []string
	}{
		"complete":                         {backup("2026-03-02T02:00:00Z", v1.BackupCompleted), []string{"eu-west-1", "us-east-1"}},
		"partial":                          {partial("2026-03-02T02:00:00Z"), []string{"eu-west-1"}},
		"one of two volumes is not copied": {two, []string{"eu-west-1"}},
		"a dump":                           {dumpOf("2026-03-02T02:00:00Z"), nil},
		"a dump in a bucket":               {sent("2026-03-02T02:00:00Z"), []string{bucket}},
	} {
		if diff := cmp.Diff(tt.want, placesOf(&tt.backup)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
