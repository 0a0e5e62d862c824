package dump

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/hub/data/memberjob"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

const (
	sum  = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	line = `{"file":"backup-20260302T020000Z.dump","bytes":1048576,"sha256":"` + sum +
		`","engine":"postgresql","version":"15.4","snapshotTime":"2026-03-02T02:00:00Z","completionTime":"2026-03-02T02:01:00Z"}` + "\n"
)

// dump goes from the request to the manifest, with a hub that forgets in between.
func (e *testEnv) dump(t *testing.T) {
	e.reset(t)
	want := steps.Result{Reason: v1.ReasonDumping, Message: "the Job " + jobName + " dumps the database", Wait: steps.PollFirst}
	for pass := range 3 {
		if pass == 1 {
			e.backup = manualBackup() // The status was not written.
		}
		if diff := cmp.Diff(want, e.run(t)); diff != "" {
			t.Errorf("pass %d (-want +got):\n%s", pass, diff)
		}
		if diff := cmp.Diff(&v1.DumpFile{Claim: cronJobName, Job: jobName}, e.backup.Status.Dump); diff != "" || e.backup.Status.Phase != v1.BackupInProgress {
			t.Errorf("pass %d: phase %s, dump (-want +got):\n%s", pass, e.backup.Status.Phase, diff)
		}
	}
	job := e.job(t, jobName)
	wantMeta := metav1.ObjectMeta{
		Labels:          map[string]string{v1.ComponentLabel: "database-backup", v1.BackupLabel: e.backup.Name},
		Annotations:     map[string]string{"cronjob.kubernetes.io/instantiate": "manual"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: v1.GroupVersion.String(), Kind: "EcommerceApp", Name: backupenv.Shop, UID: e.cronJob.OwnerReferences[0].UID}},
	}
	gotMeta := metav1.ObjectMeta{Labels: job.Labels, Annotations: job.Annotations, OwnerReferences: job.OwnerReferences}
	if diff := cmp.Diff(wantMeta, gotMeta); diff != "" {
		t.Errorf("metadata of the Job (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(e.cronJob.Spec.JobTemplate.Spec.Template.Spec, job.Spec.Template.Spec); diff != "" || *job.Spec.TTLSecondsAfterFinished != keepSeconds {
		t.Errorf("pod of the Job (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"create jobs.batch"}, e.process.Sent()); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	e.EndJob(t, backupenv.Exit{Container: backupenv.DumpContainer, Code: 1, Message: strings.NewReplacer("1048576", "1", "02:01", "02:00").Replace(line)}, backupenv.Exit{Container: backupenv.DumpContainer, Message: line})
	if result := e.run(t); result.Stops() {
		t.Fatalf("a Job that is complete: %+v", result)
	}
	status := v1.BackupStatus{
		Phase: v1.BackupInProgress, StartTime: e.backup.Status.StartTime, SnapshotTime: &metav1.Time{Time: now().Truncate(time.Minute)},
		Engine: v1.EnginePostgreSQL, Version: "15.4", Size: "1Mi", Consistency: v1.ConsistencyApplication,
		Dump: &v1.DumpFile{Claim: cronJobName, Job: jobName, File: "backup-20260302T020000Z.dump", Bytes: 1 << 20, SHA256: sum},
	}
	if diff := cmp.Diff(status, e.backup.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func (e *testEnv) job(t *testing.T, name string) *batchv1.Job {
	t.Helper()
	job := &batchv1.Job{}
	if !e.Exists(t, name, job) {
		t.Fatalf("there is no Job %s", name)
	}
	return job
}

// obstaclesOfDump checks the message of each obstacle to a dump.
func (e *testEnv) obstaclesOfDump(t *testing.T) {
	const forbidden = "the hub may not create or read Jobs in eu-1: run kubectl shopfleet join again"
	for name, tt := range map[string]struct {
		change  func(*testing.T)
		reason  string
		message string
		fatal   bool
	}{
		"no CronJob": {func(t *testing.T) { t.Helper(); e.DeleteAll(t, &batchv1.CronJob{}) },
			v1.ReasonCronJobNotFound, "eu-1 does not have the CronJob shop-database-backup yet", false},
		"a CronJob of another": {func(t *testing.T) {
			t.Helper()
			backupenv.Change(t, e.Env, cronJobName, func(c *batchv1.CronJob) { c.Labels[v1.InstanceLabel] = "other" })
		}, v1.ReasonCronJobNotFound, "the CronJob shop-database-backup in eu-1 does not belong to the application: delete it, and the application creates its own", true},
		"no database yet": {func(t *testing.T) {
			t.Helper()
			backupenv.Change(t, e.Env, "shop-database-0", func(p *corev1.Pod) { p.Status.Conditions[0].Status = corev1.ConditionFalse })
		}, v1.ReasonStartingDatabase, "waiting for the database in eu-1 to be ready", false},
		"being restored": {func(t *testing.T) {
			t.Helper()
			backupenv.Change(t, e.Env, backupenv.Shop, func(a *v1.EcommerceApp) { a.Annotations = map[string]string{v1.LoadingAnnotation: "monday"} })
		}, v1.ReasonInUse, "the Restore monday works on the database in eu-1", false},
		"forbidden":        {func(*testing.T) { e.process.Refuse("get", errForbidden()) }, v1.ReasonForbidden, forbidden, false},
		"forbidden writes": {func(*testing.T) { e.process.Refuse("create", errForbidden()) }, v1.ReasonForbidden, forbidden, false},
		"no answer": {func(*testing.T) { e.process.Refuse("get", errors.New("connection refused")) },
			v1.ReasonClusterUnreachable, "eu-1 does not answer", false},
		"invalid": {func(*testing.T) { e.process.Refuse("create", errInvalid("x")) },
			v1.ReasonApplyFailed, `eu-1 rejects the Job ` + jobName + `: "x" is invalid`, false},
		"no image": {func(t *testing.T) { t.Helper(); e.run(t); e.HoldJob(t, "ErrImagePull") },
			v1.ReasonDumping, "the Job " + jobName + " is to dump the database, and waits: ErrImagePull", false},
		"the Job is gone": {func(*testing.T) { e.backup.Status.Dump = &v1.DumpFile{Claim: "c"} },
			v1.ReasonDumpFailed, "the Job " + jobName + " was gone before it was seen to end", true},
		"a Job of another": {func(t *testing.T) { t.Helper(); e.createJob(t, jobName, "EcommerceApp", backupenv.Shop, nil) },
			v1.ReasonDumpFailed, "the Job " + jobName + " belongs to another Backup", true},
		// A manual Backup has no scheduled time.
		"a Job of the CronJob": {func(t *testing.T) { t.Helper(); e.createJob(t, jobName, "CronJob", cronJobName, nil) },
			v1.ReasonDumpFailed, "the Job " + jobName + " belongs to another Backup", true},
	} {
		t.Run(name, func(t *testing.T) {
			e.reset(t)
			tt.change(t)
			checkObstacle(t, e.run(t), tt.reason, tt.message, tt.fatal)
		})
	}
}

func checkObstacle(t *testing.T, got steps.Result, want ...any) {
	t.Helper()
	if diff := cmp.Diff(want, []any{got.Reason, got.Message, got.Fatal}); diff != "" {
		t.Errorf("reason, message and fatal (-want +got):\n%s", diff)
	}
	if !got.Fatal && got.Wait <= 0 {
		t.Error("it is never looked at again")
	}
}

// createJob creates a Job that an object controls.
func (e *testEnv) createJob(t *testing.T, name, kind, owner string, labels map[string]string) {
	t.Helper()
	e.MustCreate(t, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: backupenv.Namespace, Name: name, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: kind, Name: owner, UID: e.cronJob.UID, Controller: new(true)}},
		},
		Spec: *e.cronJob.Spec.JobTemplate.Spec.DeepCopy(),
	})
}

// dumpEnds checks that the last manifest counts, whatever happened to the Job.
func (e *testEnv) dumpEnds(t *testing.T) {
	const failed, silent = "failed: PodEnded: the pod ended", "succeeded, but no pod of it says which file the dump is"
	exit := func(code int32, message string) backupenv.Exit {
		return backupenv.Exit{Container: backupenv.DumpContainer, Code: code, Message: message}
	}
	for name, tt := range map[string]struct {
		exits []backupenv.Exit
		// want is the message; empty: it is complete.
		want string
	}{
		"failed, and said why":  {[]backupenv.Exit{exit(1, "before"), exit(1, "pg_dump: error:\n\tno  route\x01")}, failed + ": pg_dump: error: no route"},
		"failed without a word": {[]backupenv.Exit{exit(1, "")}, failed},
		"failed at length":      {[]backupenv.Exit{exit(1, strings.Repeat("x", 5000))}, failed + ": " + strings.Repeat("x", 509) + "..."},
		"failed in pruning":     {[]backupenv.Exit{exit(0, line), exit(1, "disk full")}, ""},
		"without a manifest":    {[]backupenv.Exit{exit(0, "")}, silent},
		"nonsense":              {[]backupenv.Exit{exit(0, strings.Replace(line, "backup-", "../backup-", 1))}, silent},
	} {
		t.Run(name, func(t *testing.T) {
			e.reset(t)
			e.run(t)
			e.EndJob(t, tt.exits...)
			want := steps.Result{}
			if tt.want != "" {
				want = steps.Fail(v1.ReasonDumpFailed, "the Job %s %s", jobName, tt.want)
			}
			if diff := cmp.Diff(want, e.run(t)); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if complete := e.backup.Status.SnapshotTime != nil && e.backup.Status.Dump.File != ""; complete != (tt.want == "") {
				t.Errorf("status %+v", e.backup.Status)
			}
		})
	}
}

// scheduledName checks that the Job of a scheduled time is the CronJob's if it exists, and is otherwise created under
// its name, so that the CronJob controller adopts it.
func (e *testEnv) scheduledName(t *testing.T) {
	dumping := steps.Result{Reason: v1.ReasonDumping, Message: "the Job " + scheduledJob + " dumps the database", Wait: steps.PollFirst}
	foreign := steps.Fail(v1.ReasonDumpFailed, "the Job %s belongs to another Backup", scheduledJob)
	for name, tt := range map[string]struct {
		kind, owner, backup string
		want                steps.Result
	}{
		"the CronJob's":         {"CronJob", cronJobName, "", dumping},
		"ours":                  {"EcommerceApp", backupenv.Shop, scheduledBackup().Name, dumping},
		"another Backup's":      {"EcommerceApp", backupenv.Shop, "other", foreign},
		"another CronJob's":     {"CronJob", "other-database-backup", "", foreign},
		"of another kind":       {"Workflow", cronJobName, "", foreign},
		"missed by the CronJob": {"", "", "", dumping},
	} {
		t.Run(name, func(t *testing.T) {
			e.reset(t)
			e.backup = scheduledBackup()
			if tt.kind != "" {
				e.createJob(t, scheduledJob, tt.kind, tt.owner, map[string]string{v1.BackupLabel: tt.backup})
			}
			if diff := cmp.Diff(tt.want, e.run(t)); diff != "" || len(e.process.Sent()) > 0 != (tt.kind == "") {
				t.Errorf("changes %s, result (-want +got):\n%s", e.process.Sent(), diff)
			}
			if !tt.want.Fatal {
				e.checkScheduled(t, tt.kind == "")
			}
		})
	}
}

// checkScheduled checks the Job of a scheduled time, and that it is not created again.
func (e *testEnv) checkScheduled(t *testing.T, created bool) {
	t.Helper()
	if diff := cmp.Diff(&v1.DumpFile{Claim: cronJobName, Job: scheduledJob}, e.backup.Status.Dump); diff != "" {
		t.Errorf("dump (-want +got):\n%s", diff)
	}
	job := e.job(t, scheduledJob)
	if created && (!metav1.IsControlledBy(job, e.cronJob) || job.Labels[v1.BackupLabel] != e.backup.Name ||
		job.Annotations[batchv1.CronJobScheduledTimestampAnnotation] != "2026-03-02T02:00:00Z") {
		t.Errorf("the Job is %+v", job)
	}
	e.deleteJob(t, scheduledJob) // As the limits of the history do.
	want := steps.Fail(v1.ReasonDumpFailed, "the Job %s was gone before it was seen to end", scheduledJob)
	if diff := cmp.Diff(want, e.run(t)); diff != "" {
		t.Errorf("once it is gone, result (-want +got):\n%s", diff)
	}
}

// jobOfCronJob checks that a Job that had ended before the Backup was seen completes it.
func (e *testEnv) jobOfCronJob(t *testing.T) {
	e.reset(t)
	e.backup = scheduledBackup()
	e.createJob(t, scheduledJob, "CronJob", cronJobName, nil)
	e.EndJob(t, backupenv.Exit{Container: backupenv.DumpContainer, Message: line})
	if result := e.run(t); result.Stops() {
		t.Fatalf("result %+v", result)
	}
	if s := e.backup.Status; s.SnapshotTime == nil || !s.SnapshotTime.Time.Equal(now().Truncate(time.Minute)) || s.Dump.File == "" {
		t.Errorf("status %+v", s)
	}
}

// TestRemovedUpTo checks that a failed Job names the removed dumps in its message, and a successful one in its
// manifest.
func TestRemovedUpTo(t *testing.T) {
	t.Parallel()
	const said = "pg_dump: error\nDumps up to 20260201T020000Z were removed before their retention ended\n"
	succeeded := strings.Replace(line, `"}`, `","removedEarly":"20260202T020000Z"}`, 1)
	for name, tt := range map[string]struct {
		messages []string
		want     string
	}{
		"none":             {[]string{line, "pg_dump: error"}, ""},
		"failed":           {[]string{said}, "20260201T020000Z"},
		"succeeded":        {[]string{succeeded}, "20260202T020000Z"},
		"the newest":       {[]string{said, succeeded, said}, "20260202T020000Z"},
		"not in its line":  {[]string{said + "more"}, ""},
		"no such day":      {[]string{strings.ReplaceAll(said, "0201T", "0231T")}, ""},
		"of a foreign pod": {[]string{strings.Replace(succeeded, "backup-", "../backup-", 1)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var ends []memberjob.End
			for _, message := range tt.messages {
				ends = append(ends, memberjob.End{Message: message})
			}
			got := ""
			if at := removedUpTo(ends); at != nil {
				got = at.Format(stampLayout)
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	if _, err := parse(line); err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{"backup-20260302T020000Z.dump", "notes.dump"}, {sum, sum[1:]}, {"1048576", "0"}, {"1048576", "-5"},
		{"postgresql", "oracle"}, {`"15.4"`, `"` + strings.Repeat("1", 65) + `"`}, {"T02:01:00Z", "T01:00:00Z"}, {"{", ""},
		{`"snapshotTime":"2026-03-02T02:00:00Z",`, ""},
	} {
		if m, err := parse(strings.Replace(line, change[0], change[1], 1)); err == nil {
			t.Errorf("%s for %s: accepted as %+v", change[1], change[0], m)
		}
	}
}

// TestNoDumpIsOfTheFuture checks that a dump has no later time than the hub's clock, because a node's clock may be
// ahead.
func TestNoDumpIsOfTheFuture(t *testing.T) {
	t.Parallel()
	ahead, err := parse(strings.NewReplacer("2026-03-02T02:00:00Z", "2027-03-02T02:00:00Z", "2026-03-02T02:01:00Z", "2027-03-02T02:01:00Z").Replace(line))
	if err != nil {
		t.Fatal(err)
	}
	s := &v1.BackupStatus{Dump: &v1.DumpFile{}}
	if ahead.record(s, now()); !s.SnapshotTime.Time.Equal(now()) {
		t.Errorf("taken at %s", s.SnapshotTime)
	}
	if _, err := parse(strings.ReplaceAll(line, "2026-03-02T02:00:00Z", "0026-03-02T02:00:00Z")); err == nil {
		t.Error("a dump of antiquity is accepted")
	}
}
