package memberjob

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func now() time.Time { return time.Date(2026, 3, 2, 2, 5, 0, 0, time.UTC) }

func aJob(conditions ...batchv1.JobCondition) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "job", UID: "job-1"},
		Status:     batchv1.JobStatus{Conditions: conditions},
	}
}

func ended(kind batchv1.JobConditionType, message string) batchv1.JobCondition {
	return batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, Reason: "R", Message: message}
}

func terminated(minute int, code int32, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{Name: fmt.Sprint("c", minute), State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, Message: message, FinishedAt: metav1.NewTime(now().Add(time.Duration(minute) * time.Minute)),
	}}}
}

func waiting(reason string) corev1.ContainerStatus {
	return corev1.ContainerStatus{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
}

func pod(owner types.UID, status corev1.PodStatus) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: owner, Controller: new(true)}}},
		Status:     status,
	}
}

func containers(all ...corev1.ContainerStatus) corev1.PodStatus {
	return corev1.PodStatus{ContainerStatuses: all}
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	failed, complete := ended(batchv1.JobFailed, "too often"), ended(batchv1.JobComplete, "")
	doubtful := failed
	doubtful.Status = corev1.ConditionFalse
	expired := failed
	expired.Reason = batchv1.JobReasonDeadlineExceeded
	counted := aJob(failed)
	counted.Status.Failed = 2
	started := func(minute int) *batchv1.Job {
		job := aJob(failed)
		job.Status.StartTime = &metav1.Time{Time: now().Add(-time.Duration(minute) * time.Minute)}
		return job
	}
	created := pod("job-1", containers(terminated(1, 10, "not empty")))
	created.CreationTimestamp = metav1.NewTime(now())
	notEmpty := Outcome{Ended: true, Container: "c1", ExitCode: 10, Why: "R: too often", Message: "not empty"}
	again := notEmpty
	again.Repeated = true
	tests := map[string]struct {
		job  *batchv1.Job
		pods []corev1.Pod
		want Outcome
	}{
		"too late":                 {aJob(expired), nil, Outcome{Ended: true, Expired: true, ExitCode: NoExitCode, Why: "DeadlineExceeded: too often"}},
		"after a failure":          {counted, []corev1.Pod{created}, again},
		"at once":                  {started(0), []corev1.Pod{created}, notEmpty},
		"after a node was drained": {started(2), []corev1.Pod{created}, again},
		"no pod yet":               {aJob(), nil, Outcome{ExitCode: NoExitCode}},
		"under way":                {aJob(), []corev1.Pod{pod("job-1", containers(waiting("ContainerCreating")))}, Outcome{ExitCode: NoExitCode}},
		"not failed yet":           {aJob(doubtful), nil, Outcome{ExitCode: NoExitCode}},
		"no image":                 {aJob(), []corev1.Pod{pod("job-1", containers(waiting("ImagePullBackOff")))}, Outcome{ExitCode: NoExitCode, Why: "ImagePullBackOff"}},
		"no node": {aJob(), []corev1.Pod{pod("job-1", corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes\nare available"},
		}})}, Outcome{ExitCode: NoExitCode, Why: "Unschedulable: 0/1 nodes are available"}},
		"done": {aJob(complete), []corev1.Pod{pod("job-1", containers(terminated(1, 0, "sent\n")))}, Outcome{Ended: true, Succeeded: true, Container: "c1", Message: "sent"}},
		"failed": {aJob(failed), []corev1.Pod{pod("job-1", containers(terminated(1, 3, "no such\tsum")))},
			Outcome{Ended: true, Container: "c1", ExitCode: 3, Why: "R: too often", Message: "no such sum"}},
		"failed at first": {aJob(complete), []corev1.Pod{pod("job-1", containers(terminated(2, 0, "sent"))), pod("job-1", containers(terminated(1, 1, "away")))},
			Outcome{Ended: true, Succeeded: true, Repeated: true, Container: "c2", Message: "sent"}},
		"failed before it began": {aJob(failed), []corev1.Pod{pod("job-1", corev1.PodStatus{
			InitContainerStatuses: []corev1.ContainerStatus{terminated(1, 4, "expired")}, ContainerStatuses: []corev1.ContainerStatus{waiting("PodInitializing")},
		})}, Outcome{Ended: true, Container: "c1", ExitCode: 4, Why: "R: too often", Message: "expired"}},
		"failed after it began": {aJob(failed), []corev1.Pod{pod("job-1", corev1.PodStatus{
			InitContainerStatuses: []corev1.ContainerStatus{terminated(1, 0, "")}, ContainerStatuses: []corev1.ContainerStatus{terminated(2, 10, "not empty")},
		})}, Outcome{Ended: true, Container: "c2", ExitCode: 10, Why: "R: too often", Message: "not empty"}},
		"the word of another": {aJob(failed), []corev1.Pod{pod("job-2", containers(terminated(1, 3, "x"))), {Status: containers(terminated(1, 3, "x"))}},
			Outcome{Ended: true, ExitCode: NoExitCode, Why: "R: too often"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, outcome(tt.job, tt.pods)); diff != "" {
				t.Errorf("outcome (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEndsAreInOrder(t *testing.T) {
	t.Parallel()
	got := endsOf([]corev1.Pod{
		pod("job-1", containers(terminated(3, 0, "third"), waiting("x"))),
		pod("job-1", corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{terminated(1, 1, "first")}, ContainerStatuses: []corev1.ContainerStatus{terminated(2, 2, "second\n")}}),
	})
	at := func(minute int) time.Time { return now().Add(time.Duration(minute) * time.Minute) }
	want := []End{{"c1", 1, "first", at(1)}, {"c2", 2, "second\n", at(2)}, {"c3", 0, "third", at(3)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
}

func TestSanitize(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"pg_dump: error:\n\tno  route\x00": "pg_dump: error: no route", "": "", "\xff\n": "",
		strings.Repeat("x", 5000): strings.Repeat("x", 509) + "...",
		strings.Repeat("é", 300):  strings.Repeat("é", 254) + "...",
	} {
		if got := Sanitize(text); got != want {
			t.Errorf("%.40q becomes %.40q of %d bytes, want %.40q", text, got, len(got), want)
		}
	}
}
