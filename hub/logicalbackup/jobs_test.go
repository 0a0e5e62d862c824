package logicalbackup

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
)

// member is a fake of a member's API server.
type member struct {
	client.Reader
	client.Writer
	pods []corev1.Pod
	// there holds the objects, and log the requests.
	there   map[string]client.Object
	log     []string
	refuses error
}

func nameOf(o client.Object) string {
	if _, is := o.(*corev1.Secret); is {
		return "Secret " + o.GetName()
	}
	return "Job " + o.GetName()
}

func (m *member) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	if m.refuses != nil {
		return m.refuses
	}
	pods, ok := list.(*corev1.PodList)
	if !ok || asked.LabelSelector.String() != "job-name=job" || asked.Namespace != "shops" {
		return errors.New("another list is asked for")
	}
	pods.Items = slices.Clone(m.pods)
	return nil
}

func (m *member) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	m.log = append(m.log, "create "+nameOf(o))
	switch {
	case m.refuses != nil:
		return m.refuses
	case m.there[nameOf(o)] != nil:
		return apierrors.NewAlreadyExists(schema.GroupResource{}, o.GetName())
	}
	m.there[nameOf(o)] = o
	return nil
}

func (m *member) Delete(_ context.Context, o client.Object, _ ...client.DeleteOption) error {
	m.log = append(m.log, "delete "+nameOf(o))
	if m.there[nameOf(o)] == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, o.GetName())
	}
	delete(m.there, nameOf(o))
	return nil
}

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

func TestLook(t *testing.T) {
	t.Parallel()
	failed, complete := ended(batchv1.JobFailed, "too often"), ended(batchv1.JobComplete, "")
	doubtful := failed
	doubtful.Status = corev1.ConditionFalse
	tests := map[string]struct {
		job  *batchv1.Job
		pods []corev1.Pod
		want Outcome
	}{
		"no pod yet":     {aJob(), nil, Outcome{ExitCode: NoExitCode}},
		"under way":      {aJob(), []corev1.Pod{pod("job-1", containers(waiting("ContainerCreating")))}, Outcome{ExitCode: NoExitCode}},
		"not failed yet": {aJob(doubtful), nil, Outcome{ExitCode: NoExitCode}},
		"no image":       {aJob(), []corev1.Pod{pod("job-1", containers(waiting("ImagePullBackOff")))}, Outcome{ExitCode: NoExitCode, Why: "ImagePullBackOff"}},
		"no node": {aJob(), []corev1.Pod{pod("job-1", corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/1 nodes\nare available"},
		}})}, Outcome{ExitCode: NoExitCode, Why: "Unschedulable: 0/1 nodes are available"}},
		"done": {aJob(complete), []corev1.Pod{pod("job-1", containers(terminated(1, 0, "sent\n")))}, Outcome{Ended: true, Succeeded: true, Container: "c1", Said: "sent"}},
		"failed": {aJob(failed), []corev1.Pod{pod("job-1", containers(terminated(1, 3, "no such\tsum")))},
			Outcome{Ended: true, Container: "c1", ExitCode: 3, Why: "R: too often", Said: "no such sum"}},
		"failed at first": {aJob(complete), []corev1.Pod{pod("job-1", containers(terminated(2, 0, "sent"))), pod("job-1", containers(terminated(1, 1, "away")))},
			Outcome{Ended: true, Succeeded: true, Container: "c2", Said: "sent"}},
		"failed before it began": {aJob(failed), []corev1.Pod{pod("job-1", corev1.PodStatus{
			InitContainerStatuses: []corev1.ContainerStatus{terminated(1, 4, "expired")}, ContainerStatuses: []corev1.ContainerStatus{waiting("PodInitializing")},
		})}, Outcome{Ended: true, Container: "c1", ExitCode: 4, Why: "R: too often", Said: "expired"}},
		"failed after it began": {aJob(failed), []corev1.Pod{pod("job-1", corev1.PodStatus{
			InitContainerStatuses: []corev1.ContainerStatus{terminated(1, 0, "")}, ContainerStatuses: []corev1.ContainerStatus{terminated(2, 10, "not empty")},
		})}, Outcome{Ended: true, Container: "c2", ExitCode: 10, Why: "R: too often", Said: "not empty"}},
		"the word of another": {aJob(failed), []corev1.Pod{pod("job-2", containers(terminated(1, 3, "x"))), {Status: containers(terminated(1, 3, "x"))}},
			Outcome{Ended: true, ExitCode: NoExitCode, Why: "R: too often"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Look(t.Context(), &member{pods: tt.pods}, tt.job)
			if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
	if _, err := Look(t.Context(), &member{refuses: errors.New("away")}, aJob()); err == nil {
		t.Error("a member that does not answer")
	}
}

func TestEndsAreInOrder(t *testing.T) {
	t.Parallel()
	m := &member{pods: []corev1.Pod{
		pod("job-1", containers(terminated(3, 0, "third"), waiting("x"))),
		pod("job-1", corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{terminated(1, 1, "first")}, ContainerStatuses: []corev1.ContainerStatus{terminated(2, 2, "second\n")}}),
	}}
	got, err := Ends(t.Context(), m, aJob())
	at := func(minute int) time.Time { return now().Add(time.Duration(minute) * time.Minute) }
	want := []End{{"c1", 1, "first", at(1)}, {"c2", 2, "second\n", at(2)}, {"c3", 0, "third", at(3)}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestSaidIsOneLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"pg_dump: error:\n\tno  route\x00": "pg_dump: error: no route", "": "", "\xff\n": "",
		strings.Repeat("x", 5000): strings.Repeat("x", 509) + "...",
		strings.Repeat("é", 300):  strings.Repeat("é", 254) + "...",
	} {
		if got := Said(text); got != want {
			t.Errorf("%.40q becomes %.40q of %d bytes, want %.40q", text, got, len(got), want)
		}
	}
}

func TestDeliver(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		there  []string
		secret bool
		want   []string
	}{
		"for the first time": {nil, true, []string{"create Secret job", "create Job job"}},
		"an attempt without a Job": {[]string{"Secret job"}, true,
			[]string{"create Secret job", "delete Secret job", "create Secret job", "create Job job"}},
		"created meanwhile": {[]string{"Job job"}, true, []string{"create Secret job", "create Job job"}},
		"without an order":  {nil, false, []string{"create Job job"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &member{there: map[string]client.Object{}}
			for _, name := range tt.there {
				m.there[name] = &corev1.Secret{}
			}
			var secret *corev1.Secret
			if tt.secret {
				secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "job"}}
			}
			err := Deliver(t.Context(), m, aJob(), secret)
			if diff := cmp.Diff(tt.want, m.log); diff != "" || err != nil {
				t.Errorf("%v, done (-want +got):\n%s", err, diff)
			}
			if tt.secret && m.there["Secret job"] != client.Object(secret) {
				t.Error("the order is not the one of this attempt")
			}
		})
	}
	m := &member{refuses: apierrors.NewForbidden(schema.GroupResource{}, "x", nil)}
	err := Deliver(t.Context(), m, aJob(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "job"}})
	if diff := cmp.Diff([]string{"create Secret job"}, m.log); diff != "" || !apierrors.IsForbidden(err) {
		t.Errorf("%v, done (-want +got):\n%s", err, diff)
	}
}

func TestWhatIsGoneIsGone(t *testing.T) {
	t.Parallel()
	m := &member{there: map[string]client.Object{"Secret job": &corev1.Secret{}, "Job job": aJob()}}
	key := client.ObjectKey{Namespace: "shops", Name: "job"}
	for pass := range 2 {
		if err := errors.Join(Withdraw(t.Context(), m, key), Stop(t.Context(), m, key)); err != nil || len(m.there) != 0 {
			t.Errorf("pass %d: %v, left %v", pass, err, m.there)
		}
	}
}
