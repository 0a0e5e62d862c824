package restore

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestDumpRemoved checks that the dump of a backup that failed counts as removed if that is the reason, and it is in no
// bucket.
func TestDumpRemoved(t *testing.T) {
	t.Parallel()
	reason := func(r string) []metav1.Condition { return []metav1.Condition{{Type: v1.ConditionReady, Reason: r}} }
	dump := &v1.DumpFile{File: "f"}
	inBucket := func(state v1.DumpObjectState) *v1.DumpFile { return &v1.DumpFile{Object: &v1.DumpObject{State: state}} }
	for name, tt := range map[string]struct {
		status v1.BackupStatus
		want   bool
	}{
		"removed":               {v1.BackupStatus{Phase: v1.BackupFailed, Dump: dump, Conditions: reason(v1.ReasonDumpMissing)}, true},
		"while it was sent":     {v1.BackupStatus{Phase: v1.BackupFailed, Dump: inBucket(v1.DumpSending), Conditions: reason(v1.ReasonDumpMissing)}, true},
		"after it was sent":     {v1.BackupStatus{Phase: v1.BackupFailed, Dump: inBucket(v1.DumpSent), Conditions: reason(v1.ReasonDumpMissing)}, false},
		"failed otherwise":      {v1.BackupStatus{Phase: v1.BackupFailed, Dump: dump, Conditions: reason(v1.ReasonBackupNotReady)}, false},
		"nothing is said of it": {v1.BackupStatus{Phase: v1.BackupFailed, Dump: dump}, false},
		"not failed":            {v1.BackupStatus{Phase: v1.BackupCompleted, Dump: dump, Conditions: reason(v1.ReasonDumpMissing)}, false},
		"no dump":               {v1.BackupStatus{Phase: v1.BackupFailed, Conditions: reason(v1.ReasonDumpMissing)}, false},
	} {
		if got := dumpRemoved(&tt.status); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestUnsentDump checks that a dump that could not be sent may be restored from its claim, and not verified, if it was made.
func TestUnsentDump(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*work)
		want   string
	}{
		"made":            {func(*work) {}, ""},
		"to be verified":  {func(w *work) { w.restore.Spec.Verify = true }, v1.ReasonBackupNotReady},
		"without a file":  {func(w *work) { w.backup.Status.Dump.File = "" }, v1.ReasonBackupNotReady},
		"at no time":      {func(w *work) { w.backup.Status.SnapshotTime = nil }, v1.ReasonBackupNotReady},
		"not made at all": {func(w *work) { w.backup.Status.Dump = nil }, v1.ReasonBackupNotReady},
	} {
		w := ofDump()
		w.backup.Status.Phase, w.backup.Status.SnapshotTime = v1.BackupFailed, &metav1.Time{}
		w.backup.Status.Dump.File = "f"
		tt.change(w)
		if got := w.canRestore(); got.Reason != tt.want {
			t.Errorf("%s: %+v, want %q", name, got, tt.want)
		}
	}
}

// TestLockRecords checks what a copy says of the Restores of its database: which one works on it, which have ended, and
// whether one has replaced its data or brought that of the backup.
func TestLockRecords(t *testing.T) {
	t.Parallel()
	copied := func(annotation, value string) *v1.EcommerceApp {
		return &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotation: value}}}
	}
	for annotation, want := range map[string]string{v1.RestoringAnnotation: "r", v1.LoadingAnnotation: "r", v1.LoadedAnnotation: ""} {
		if got := lockHolder(copied(annotation, "r")); got != want {
			t.Errorf("%s: %q works on the database", annotation, got)
		}
	}
	r := &v1.Restore{ObjectMeta: metav1.ObjectMeta{UID: "new"}}
	many := strings.TrimPrefix(strings.Repeat(",old", maxRestored), ",")
	for before, want := range map[string]string{"": "new", "a": "a,new", "a,,b,": "a,b,new", many: strings.TrimPrefix(many, "old,") + ",new"} {
		if got := withRestored(copied(v1.RestoredAnnotation, before), r); got != want || !restored(copied(v1.RestoredAnnotation, got), r) {
			t.Errorf("%q becomes %q, want %q", before, got, want)
		}
	}
	if restored(copied(v1.RestoredAnnotation, "newer,a"), r) {
		t.Error("another Restore counts as this one")
	}
	begun := func(step string) v1.RestoreStatus { return v1.RestoreStatus{Steps: []v1.StepStatus{{Name: step}}} }
	bound := func(names ...string) v1.RestoreStatus {
		return v1.RestoreStatus{Volumes: []v1.RestoredVolume{{State: v1.RestoredVolumeBound}}, Steps: recordOf(time.Unix(1, 0), append([]string{stepRetire, stepBind}, names...)...)}
	}
	for name, tt := range map[string]struct {
		status         v1.RestoreStatus
		replaces, data bool
	}{
		"nothing is done":        {v1.RestoreStatus{}, false, false},
		"a volume is imported":   {begun(stepImport), false, false},
		"a claim may be deleted": {begun(stepRetire), true, false},
		"the claim is bound":     {bound(), true, true},
		"it is to go back":       {bound(v1.RestoreStepHalt), true, true},
		"it may be back":         {bound(v1.RestoreStepHalt, stepReturn), true, false},
		"it is bound once more":  {bound(v1.RestoreStepHalt, stepReturn, stepRebind), true, true},
		"a dump is chosen":       {v1.RestoreStatus{Dump: &v1.RestoredDump{}}, false, false},
		"a load has begun":       {v1.RestoreStatus{Dump: &v1.RestoredDump{Started: true}}, true, false},
		"the load has ended":     {v1.RestoreStatus{Dump: &v1.RestoredDump{Started: true, Loaded: true}}, true, true},
	} {
		r := &v1.Restore{Status: tt.status}
		if replacesData(r) != tt.replaces || hasBackupData(r) != tt.data {
			t.Errorf("%s: replaces data: %t, has that of the backup: %t", name, replacesData(r), hasBackupData(r))
		}
	}
}

// TestJobs checks when a Job has ended, and which pods may still be at work.
func TestJobs(t *testing.T) {
	t.Parallel()
	failed := batchv1.JobCondition{Type: batchv1.JobFailed, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonDeadlineExceeded}
	pending, complete := failed, failed
	pending.Status, complete.Type = corev1.ConditionFalse, batchv1.JobComplete
	suspended := batchv1.JobCondition{Type: batchv1.JobSuspended, Status: corev1.ConditionTrue}
	for name, tt := range map[string]struct {
		conditions []batchv1.JobCondition
		ended      bool
	}{
		"runs": {nil, false}, "suspended": {[]batchv1.JobCondition{suspended}, false}, "failed": {[]batchv1.JobCondition{suspended, failed}, true},
		"not failed": {[]batchv1.JobCondition{pending}, false}, "complete": {[]batchv1.JobCondition{complete}, true},
	} {
		job := &batchv1.Job{Status: batchv1.JobStatus{Conditions: tt.conditions}}
		if ended(job) != tt.ended {
			t.Errorf("%s: ended %t", name, ended(job))
		}
	}
	for phase, want := range map[corev1.PodPhase]bool{corev1.PodSucceeded: false, corev1.PodFailed: false, corev1.PodRunning: true, corev1.PodPending: true, corev1.PodUnknown: true, "": true} {
		if got := anyAlive([]corev1.Pod{{Status: corev1.PodStatus{Phase: corev1.PodFailed}}, {Status: corev1.PodStatus{Phase: phase}}}); got != want {
			t.Errorf("%q: at work: %t", phase, got)
		}
	}
}
