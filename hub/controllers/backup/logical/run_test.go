package logical

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/accounts/stepresult"
)

const (
	jobName = "shop-database-backup-fee858c0"
	sum     = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	line    = `{"file":"backup-20260302T020000Z.dump","bytes":1048576,"sha256":"` + sum +
		`","engine":"postgresql","version":"15.4","snapshotTime":"2026-03-02T02:00:00Z","completionTime":"2026-03-02T02:01:00Z"}` + "\n"
)

func now() time.Time { return time.Date(2026, 3, 2, 2, 0, 30, 0, time.UTC) }

// member stands for the API server of a member.
type member struct {
	client.Writer
	cronJob *batchv1.CronJob
	job     *batchv1.Job
	pods    []corev1.Pod
	// refuses answers all requests, refusesWrites those that write.
	refuses, refusesWrites error
	made                   int
	// down tells that the database is not ready.
	down bool
	// loading is the Restore that works on it.
	loading string
	// jobName is the one whose pods are asked for, if not that of a person.
	jobName string
}

func (m *member) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if m.refuses != nil {
		return m.refuses
	}
	switch into := into.(type) {
	case *v1.EcommerceApp:
		into.Annotations = map[string]string{v1.LoadingAnnotation: m.loading}
		return nil
	case *corev1.Pod:
		if key.Name == "shop-database-0" {
			ready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue}
			if m.down {
				ready.Status = corev1.ConditionFalse
			}
			into.Status.Conditions = []corev1.PodCondition{ready}
			return nil
		}
	case *batchv1.CronJob:
		if m.cronJob != nil && client.ObjectKeyFromObject(m.cronJob) == key {
			m.cronJob.DeepCopyInto(into)
			return nil
		}
	case *batchv1.Job:
		if m.job != nil && client.ObjectKeyFromObject(m.job) == key {
			m.job.DeepCopyInto(into)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func (m *member) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	pods, ok := list.(*corev1.PodList)
	wanted := jobName
	if m.jobName != "" {
		wanted = m.jobName
	}
	if !ok || asked.LabelSelector.String() != "job-name="+wanted || asked.Namespace != "shops" {
		return fmt.Errorf("listing %T by %v in %q", list, asked.LabelSelector, asked.Namespace)
	}
	pods.Items = m.pods
	return nil
}

func (m *member) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	if m.refusesWrites != nil {
		return m.refusesWrites
	}
	job, ok := o.(*batchv1.Job)
	if !ok {
		return fmt.Errorf("creating %T", o)
	}
	job.UID = "job-1"
	m.made++
	m.job = job.DeepCopy()
	return nil
}

// ends lets the Job end.
func (m *member) ends(condition batchv1.JobConditionType, message string) {
	m.job.Status.Conditions = []batchv1.JobCondition{{Type: condition, Status: corev1.ConditionTrue, Reason: "R", Message: message}}
}

// says adds a pod of an owner that ended with a message.
func (m *member) says(owner types.UID, minute int, message string) {
	m.pods = append(m.pods, corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: new(true)}}},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Message: message, FinishedAt: metav1.NewTime(now().Add(time.Duration(minute) * time.Minute))},
		}}}},
	})
}

func newMember() *member {
	return &member{cronJob: &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shops", Name: "shop-database-backup", UID: "cron-1",
			Labels:          map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.InstanceLabel: "shop"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "EcommerceApp", Name: "shop", UID: "copy-1", Controller: new(true), BlockOwnerDeletion: new(true)}},
		},
		Spec: batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1.ComponentLabel: "database-backup"}},
			Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "backup", Image: "postgres:15.4"}},
				Volumes: []corev1.Volume{{Name: "tmp"}, {Name: "backups", VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "shop-database-backup"},
				}}},
			}}},
		}},
	}}
}

func newBackup() *v1.Backup {
	return &v1.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "shop-eu-1-manual", UID: "backup-1"},
		Spec:       v1.BackupSpec{AppRef: v1.ObjectReference{Name: "shop"}, ClusterRef: v1.ObjectReference{Name: "eu-1"}, Method: v1.BackupDump},
		Status:     v1.BackupStatus{StartTime: &metav1.Time{Time: now()}},
	}
}

func look(t *testing.T, m *member, b *v1.Backup) stepresult.Result {
	t.Helper()
	return Run{Backup: b, Reader: m, Writer: m, Now: now()}.Advance(t.Context())
}

// TestDump goes from the request to the manifest, with a hub that forgets in between.
func TestDump(t *testing.T) {
	t.Parallel()
	m, b := newMember(), newBackup()
	want := stepresult.Result{Reason: v1.ReasonDumping, Message: "the Job " + jobName + " dumps the database", Wait: stepresult.PollFirst}
	for pass := range 3 {
		if pass == 1 {
			b = newBackup() // The status was not written.
		}
		if diff := cmp.Diff(want, look(t, m, b)); diff != "" {
			t.Errorf("pass %d (-want +got):\n%s", pass, diff)
		}
		if diff := cmp.Diff(&v1.DumpFile{Claim: "shop-database-backup", Job: jobName}, b.Status.Dump); diff != "" || b.Status.Phase != v1.BackupInProgress {
			t.Errorf("pass %d: phase %s, dump (-want +got):\n%s", pass, b.Status.Phase, diff)
		}
	}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shops", Name: jobName, UID: "job-1",
			Labels:          map[string]string{v1.ComponentLabel: "database-backup", v1.BackupLabel: "shop-eu-1-manual"},
			Annotations:     map[string]string{"cronjob.kubernetes.io/instantiate": "manual"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "EcommerceApp", Name: "shop", UID: "copy-1"}},
		},
		Spec: m.cronJob.Spec.JobTemplate.Spec,
	}
	job.Spec.TTLSecondsAfterFinished = new(int32(3600))
	if diff := cmp.Diff(job, m.job); diff != "" || m.made != 1 {
		t.Errorf("%d Jobs were made (-want +got):\n%s", m.made, diff)
	}
	m.ends(batchv1.JobComplete, "")
	m.says("job-0", 1, strings.ReplaceAll(line, "1048576", "1"))
	m.says("job-1", 2, line)
	if v := look(t, m, b); v.Stops() {
		t.Fatalf("a Job that is complete: %+v", v)
	}
	status := v1.BackupStatus{
		Phase: v1.BackupInProgress, StartTime: b.Status.StartTime, SnapshotTime: &metav1.Time{Time: time.Date(2026, 3, 2, 2, 0, 0, 0, time.UTC)},
		Engine: v1.EnginePostgreSQL, Version: "15.4", Size: "1Mi", Consistency: v1.ConsistencyApplication,
		Dump: &v1.DumpFile{Claim: "shop-database-backup", Job: jobName, File: "backup-20260302T020000Z.dump", Bytes: 1 << 20, SHA256: sum},
	}
	if diff := cmp.Diff(status, b.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

// TestWhatComesOfIt tells what stands in the way of a Backup.
func TestWhatComesOfIt(t *testing.T) {
	t.Parallel()
	forbidden := apierrors.NewForbidden(schema.GroupResource{}, "x", nil)
	tests := map[string]struct {
		change  func(*member, *v1.Backup)
		reason  string
		message string
		fatal   bool
	}{
		"no CronJob": {func(m *member, _ *v1.Backup) { m.cronJob = nil },
			v1.ReasonCronJobNotFound, "eu-1 does not have the CronJob shop-database-backup yet", false},
		"a CronJob of another": {func(m *member, _ *v1.Backup) { m.cronJob.Labels[v1.InstanceLabel] = "other" },
			v1.ReasonCronJobNotFound, "the CronJob shop-database-backup in eu-1 is not the application's", true},
		"no database yet": {func(m *member, _ *v1.Backup) { m.down = true },
			v1.ReasonStartingDatabase, "waiting for the database in eu-1 to be ready", false},
		"being restored": {func(m *member, _ *v1.Backup) { m.loading = "monday" },
			v1.ReasonInUse, "the Restore monday works on the database in eu-1", false},
		"forbidden":        {func(m *member, _ *v1.Backup) { m.refuses = forbidden }, v1.ReasonForbidden, "the hub may not make or read Jobs in eu-1: run kubectl shopfleet join again", false},
		"forbidden writes": {func(m *member, _ *v1.Backup) { m.refusesWrites = forbidden }, v1.ReasonForbidden, "the hub may not make or read Jobs in eu-1: run kubectl shopfleet join again", false},
		"no answer":        {func(m *member, _ *v1.Backup) { m.refuses = errors.New("connection refused") }, v1.ReasonClusterUnreachable, "eu-1 does not answer", false},
		"invalid": {func(m *member, _ *v1.Backup) { m.refusesWrites = apierrors.NewInvalid(schema.GroupKind{}, "x", nil) },
			v1.ReasonDumpFailed, `eu-1 does not accept the Job ` + jobName + `: "x" is invalid`, true},
		"no image": {func(m *member, b *v1.Backup) {
			Run{Backup: b, Reader: m, Writer: m, Now: now()}.Advance(t.Context())
			m.says("job-1", 0, "")
			m.pods[0].Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}
		}, v1.ReasonDumping, "the Job " + jobName + " is to dump the database, and waits: ErrImagePull", false},
		"the Job is gone": {func(_ *member, b *v1.Backup) { b.Status.Dump = &v1.DumpFile{Claim: "c"} },
			v1.ReasonDumpFailed, "the Job " + jobName + " was gone before it was seen to end", true},
		"a Job of another": {func(m *member, _ *v1.Backup) {
			m.job = &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: jobName}}
		}, v1.ReasonDumpFailed, "the Job " + jobName + " is not that of this Backup", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, b := newMember(), newBackup()
			tt.change(m, b)
			got := look(t, m, b)
			if diff := cmp.Diff([]any{tt.reason, tt.message, tt.fatal}, []any{got.Reason, got.Message, got.Fatal}); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if !got.Fatal && got.Wait <= 0 {
				t.Error("it is never looked at again")
			}
		})
	}
}

// TestHowJobsEnd tells what is made of the end of a Job.
func TestHowJobsEnd(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		end func(*member)
		// want is the message; empty: it is complete.
		want string
	}{
		"failed, and said why": {func(m *member) {
			m.says("job-1", 2, "pg_dump: error:\n\tno  route\x00")
			m.says("job-1", 1, "before")
			m.ends(batchv1.JobFailed, "too often")
		}, "failed: R: too often: pg_dump: error: no route"},
		"failed without a word": {func(m *member) { m.ends(batchv1.JobFailed, "too late") }, "failed: R: too late"},
		"failed at length": {func(m *member) {
			m.says("job-1", 1, strings.Repeat("x", 5000))
			m.ends(batchv1.JobFailed, "m")
		}, "failed: R: m: " + strings.Repeat("x", 509) + "..."},
		"failed in pruning": {func(m *member) {
			m.says("job-1", 1, line)
			m.says("job-1", 2, "disk full")
			m.ends(batchv1.JobFailed, "m")
		}, ""},
		"the word of another": {func(m *member) {
			m.says("job-2", 1, line)
			m.ends(batchv1.JobComplete, "")
		}, "succeeded, but no pod of it says which file the dump is"},
		"nonsense": {func(m *member) {
			m.says("job-1", 1, strings.Replace(line, "backup-", "../backup-", 1))
			m.ends(batchv1.JobComplete, "")
		}, "succeeded, but no pod of it says which file the dump is"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, b := newMember(), newBackup()
			look(t, m, b)
			tt.end(m)
			want := stepresult.Result{}
			if tt.want != "" {
				want = stepresult.Fail(v1.ReasonDumpFailed, "the Job %s %s", jobName, tt.want)
			}
			if diff := cmp.Diff(want, look(t, m, b)); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if complete := b.Status.SnapshotTime != nil && b.Status.Dump.File != ""; complete != (tt.want == "") {
				t.Errorf("status %+v", b.Status)
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

// TestJobForScheduledTime is the CronJob's own: its controller takes it for the one that it would make.
func TestJobForScheduledTime(t *testing.T) {
	t.Parallel()
	m, b := newMember(), newBackup()
	b.Spec.ScheduledTime = &metav1.Time{Time: time.Date(2026, 3, 2, 2, 0, 0, 0, time.UTC)}
	m.jobName = fmt.Sprintf("shop-database-backup-%d", b.Spec.ScheduledTime.Unix()/60)
	look(t, m, b)
	if m.job == nil || m.job.Name != m.jobName || !metav1.IsControlledBy(m.job, m.cronJob) ||
		m.job.Annotations[batchv1.CronJobScheduledTimestampAnnotation] != "2026-03-02T02:00:00Z" {
		t.Errorf("the Job is %+v", m.job)
	}
}

// TestNoDumpIsOfTheFuture: a node's clock may be ahead.
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
