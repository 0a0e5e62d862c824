package logical

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/accounts/stepresult"
)

// scheduledJob holds the name that the CronJob controller gives to the Job of 02:00.
const scheduledJob = "shop-database-backup-29540280"

// scheduledBackup is that of 02:00.
func scheduledBackup() *v1.Backup {
	b := newBackup()
	b.Name, b.Spec.ScheduledTime = "shop-eu-1-20260302-0200", &metav1.Time{Time: time.Date(2026, 3, 2, 2, 0, 0, 0, time.UTC)}
	return b
}

// owned is a Job of a name that somebody made.
func owned(kind, owner string, labels map[string]string) *batchv1.Job {
	job := newMember().cronJob.Spec.JobTemplate
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shops", Name: scheduledJob, UID: "job-1", Labels: labels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: kind, Name: owner, UID: "cron-1", Controller: new(true)}},
		},
		Spec: job.Spec,
	}
}

// TestNameOfScheduledJob is the CronJob's where there is one, and else made under its name.
func TestNameOfScheduledJob(t *testing.T) {
	t.Parallel()
	dumping := stepresult.Result{Reason: v1.ReasonDumping, Message: "the Job " + scheduledJob + " dumps the database", Wait: stepresult.PollFirst}
	foreign := stepresult.Fail(v1.ReasonDumpFailed, "the Job %s is not that of this Backup", scheduledJob)
	for name, tt := range map[string]struct {
		job  *batchv1.Job
		made int
		want stepresult.Result
	}{
		"the CronJob's":         {owned("CronJob", "shop-database-backup", nil), 0, dumping},
		"ours":                  {owned("EcommerceApp", "shop", map[string]string{v1.BackupLabel: "shop-eu-1-20260302-0200"}), 0, dumping},
		"another Backup's":      {owned("EcommerceApp", "shop", map[string]string{v1.BackupLabel: "other"}), 0, foreign},
		"another CronJob's":     {owned("CronJob", "other-database-backup", nil), 0, foreign},
		"of another kind":       {owned("Workflow", "shop-database-backup", nil), 0, foreign},
		"missed by the CronJob": {nil, 1, dumping},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, b := newMember(), scheduledBackup()
			m.job, m.jobName = tt.job, scheduledJob
			if diff := cmp.Diff(tt.want, look(t, m, b)); diff != "" || m.made != tt.made {
				t.Errorf("%d made, result (-want +got):\n%s", m.made, diff)
			}
			if tt.want.Fatal {
				return
			}
			if diff := cmp.Diff(&v1.DumpFile{Claim: "shop-database-backup", Job: scheduledJob}, b.Status.Dump); diff != "" {
				t.Errorf("dump (-want +got):\n%s", diff)
			}
			if tt.made == 1 && (m.job.Name != scheduledJob || m.job.Labels[v1.BackupLabel] != b.Name) {
				t.Errorf("made %s with the labels %v", m.job.Name, m.job.Labels)
			}
			m.job = nil // Taken away by the limits of the history.
			want := stepresult.Fail(v1.ReasonDumpFailed, "the Job %s was gone before it was seen to end", scheduledJob)
			if diff := cmp.Diff(want, look(t, m, b)); diff != "" {
				t.Errorf("once it is gone, result (-want +got):\n%s", diff)
			}
		})
	}
}

// TestManualDumpHasNoScheduledTime: the CronJob's Jobs are nobody's who asked for one.
func TestManualDumpHasNoScheduledTime(t *testing.T) {
	t.Parallel()
	m := newMember()
	m.job = owned("CronJob", "shop-database-backup", nil)
	m.job.Name = jobName
	if v := look(t, m, newBackup()); !v.Fatal {
		t.Errorf("result %+v", v)
	}
}

// TestScheduledTimeWithJobOfCronJob long ago is of the time that it was answered.
func TestScheduledTimeWithJobOfCronJob(t *testing.T) {
	t.Parallel()
	m, b := newMember(), scheduledBackup()
	m.job = owned("CronJob", "shop-database-backup", nil)
	m.ends(batchv1.JobComplete, "")
	m.pods = nil
	m.says("job-1", 1, line)
	m.jobName = scheduledJob
	if v := look(t, m, b); v.Stops() {
		t.Fatalf("result %+v", v)
	}
	if b.Status.SnapshotTime == nil || !b.Status.SnapshotTime.Time.Equal(time.Date(2026, 3, 2, 2, 0, 0, 0, time.UTC)) || b.Status.Dump.File == "" {
		t.Errorf("status %+v", b.Status)
	}
}
