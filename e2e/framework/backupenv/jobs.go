package backupenv

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// DumpContainer is the container of the CronJob.
const DumpContainer = "backup"

// RunJob runs the pod of the only Job that has not ended, and returns it.
func (e *Env) RunJob(t *testing.T) *corev1.Pod {
	t.Helper()
	return e.runJob(t, e.job(t))
}

func (e *Env) runJob(t *testing.T, job *batchv1.Job) *corev1.Pod {
	t.Helper()
	if err := createServiceAccount(t.Context(), e, job.Namespace); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: job.Namespace, GenerateName: job.Name + "-", Labels: job.Spec.Template.Labels,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
	}}
	job.Spec.Template.Spec.DeepCopyInto(&pod.Spec)
	e.MustCreate(t, pod)
	pod.Status.Phase = corev1.PodRunning
	e.mustUpdateStatus(t, pod)
	return pod
}

// HoldJob creates the pod of the only Job that has not ended, which waits for a reason.
func (e *Env) HoldJob(t *testing.T, reason string) {
	t.Helper()
	pod := e.RunJob(t)
	pod.Status.Phase = corev1.PodPending
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: pod.Spec.Containers[0].Name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}},
	}}
	e.mustUpdateStatus(t, pod)
}

// Exit describes how a container ended.
type Exit struct {
	Container string
	Code      int32
	// Message is the container's termination message; optional.
	Message string
}

// EndJob runs the only Job that has not ended, until containers of its pod exit, one after
// the other. The last one decides whether the Job succeeded.
func (e *Env) EndJob(t *testing.T, exits ...Exit) {
	t.Helper()
	e.endJob(t, e.job(t), exits...)
}

func (e *Env) endJob(t *testing.T, job *batchv1.Job, exits ...Exit) {
	t.Helper()
	pod := e.runJob(t, job)
	now, last := metav1.Now(), exits[len(exits)-1]
	pod.Status.Phase = corev1.PodFailed
	if last.Code == 0 {
		pod.Status.Phase = corev1.PodSucceeded
	}
	for _, exit := range exits {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: exit.Container, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: exit.Code, Message: exit.Message, FinishedAt: now,
			}},
		})
	}
	e.mustUpdateStatus(t, pod)
	kinds := []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobFailed}
	job.Status.StartTime = &now
	if last.Code == 0 {
		kinds = []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete}
		job.Status.CompletionTime, job.Status.Succeeded = &now, 1
	}
	for _, kind := range kinds {
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: kind, Status: corev1.ConditionTrue, Reason: "PodEnded", Message: "the pod ended", LastTransitionTime: now,
		})
	}
	e.mustUpdateStatus(t, job)
}

// job returns the only Job that has not ended.
func (e *Env) job(t *testing.T) *batchv1.Job {
	t.Helper()
	all := e.jobs(t)
	if len(all) != 1 {
		t.Fatalf("%d Jobs run, not 1", len(all))
	}
	return &all[0]
}

// jobs returns the Jobs that have not ended.
func (e *Env) jobs(t *testing.T) []batchv1.Job {
	t.Helper()
	list := &batchv1.JobList{}
	if err := e.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(list.Items, func(job batchv1.Job) bool { return len(job.Status.Conditions) > 0 })
}

// CreateCronJob creates the CronJob that dumps the shop's database, and returns it.
func (e *Env) CreateCronJob(t *testing.T) *batchv1.CronJob {
	t.Helper()
	app := &v1.EcommerceApp{}
	if !e.Exists(t, Shop, app) {
		t.Fatal("there is no shop")
	}
	c := &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: Namespace, Name: render.DatabaseCronJob(Shop), Labels: map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.InstanceLabel: Shop},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(app, v1.GroupVersion.WithKind("EcommerceApp"))},
		},
		Spec: batchv1.CronJobSpec{Schedule: "0 2 * * *", JobTemplate: batchv1.JobTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1.ComponentLabel: "database-backup"}},
			Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: DumpContainer, Image: "postgres:15.4"}},
				Volumes: []corev1.Volume{{Name: "tmp"}, {Name: "backups", VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: render.DatabaseDumps(Shop)},
				}}},
			}}},
		}},
	}
	e.MustCreate(t, c)
	return c
}

func (e *Env) mustUpdateStatus(t *testing.T, o client.Object) {
	t.Helper()
	if err := e.Status().Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// DenyJobs creates a policy in the member that denies Jobs in a namespace; see fleettest.Deny.
func (e *Env) DenyJobs(t *testing.T, namespace string) (lift func()) {
	t.Helper()
	err := e.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	if client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	return fleettest.Deny(t, e, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "trial"},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}},
		}}},
	})
}
