package memberjob

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

const (
	// maxMessage is the maximum length of a message from a container, in bytes.
	maxMessage = 512
	// maxEvents bounds the events of a Job that are listed.
	maxEvents = 20
	// firstPodGrace is how long after the start of a Job its first pod is created at the latest.
	firstPodGrace = time.Minute
	// NoExitCode means that no container reported an exit status.
	NoExitCode = -1
)

// Outcome is the state of a Job.
type Outcome struct {
	// Ended reports whether the Job has ended, Succeeded whether it succeeded, and Expired whether it had no more
	// time.
	Ended, Succeeded, Expired bool
	// Repeated reports whether a pod may have run before the one that ended last.
	Repeated bool
	// Container is the name of the container that ended last, and ExitCode its exit
	// status: "" and NoExitCode if none has.
	Container string
	ExitCode  int32
	// Why is the reason of a failed Job, or what a pod of a running one waits for. It may
	// be empty.
	Why string
	// Message is the message of the container that ended last. Why and Message are one line of
	// at most 512 bytes each.
	Message string
}

// End describes a container that has ended.
type End struct {
	// Container is its name.
	Container string
	ExitCode  int32
	// Message is the container's termination message, unchanged.
	Message string
	At      time.Time
}

// ReadResult returns the state of a Job, from its status and its pods, or from its events if it cannot have a pod.
func ReadResult(ctx context.Context, reader client.Reader, job *batchv1.Job) (Outcome, error) {
	pods, err := podsOf(ctx, reader, job)
	if err != nil {
		return Outcome{}, err
	}
	out := outcome(job, pods)
	if !out.Ended && out.Why == "" && job.Status.StartTime != nil && job.Status.Active == 0 && len(owned(job, pods)) == 0 {
		out.Why = Sanitize(refusal(ctx, reader, job))
	}
	return out, nil
}

// refusal returns why the cluster rejects the pods of a Job, which its events alone say. It is empty if none do, or
// if the credentials do not allow to list events.
func refusal(ctx context.Context, reader client.Reader, job *batchv1.Job) string {
	events := &corev1.EventList{}
	about := client.MatchingFields{
		"involvedObject.kind": "Job", "involvedObject.name": job.Name, "involvedObject.uid": string(job.UID), "reason": "FailedCreate",
	}
	if err := reader.List(ctx, events, client.InNamespace(job.Namespace), about, client.Limit(maxEvents)); err != nil || len(events.Items) == 0 {
		return ""
	}
	last := slices.MaxFunc(events.Items, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
	return "the cluster rejects its pod: " + apierror.Refusal(last.Message)
}

func outcome(job *batchv1.Job, pods []corev1.Pod) Outcome {
	pods = owned(job, pods)
	out := Outcome{ExitCode: NoExitCode, Repeated: repeated(job, pods)}
	for _, c := range job.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == batchv1.JobComplete:
			out.Ended, out.Succeeded = true, true
		case c.Type == batchv1.JobFailed:
			out.Ended, out.Expired, out.Why = true, c.Reason == batchv1.JobReasonDeadlineExceeded, Sanitize(c.Reason+": "+c.Message)
		}
	}
	if !out.Ended {
		out.Why = Sanitize(waitsFor(pods))
	}
	if ends := endsOf(pods); len(ends) > 0 {
		last := ends[len(ends)-1]
		out.Container, out.ExitCode, out.Message = last.Container, last.ExitCode, Sanitize(last.Message)
	}
	return out
}

// repeated reports whether a Job may have had a pod before the last one. One whose node was drained is not counted
// and not kept: it is seen by the time after which the next one was created.
func repeated(job *batchv1.Job, pods []corev1.Pod) bool {
	if job.Status.Failed > 1 || len(pods) > 1 {
		return true
	}
	return len(pods) == 1 && job.Status.StartTime != nil && pods[0].CreationTimestamp.Sub(job.Status.StartTime.Time) > firstPodGrace
}

// Ends returns the ended containers of a Job's pods, init containers included, the last
// one at the end.
func Ends(ctx context.Context, reader client.Reader, job *batchv1.Job) ([]End, error) {
	pods, err := podsOf(ctx, reader, job)
	if err != nil {
		return nil, err
	}
	return endsOf(owned(job, pods)), nil
}

// podsOf returns the pods with the label of a Job.
func podsOf(ctx context.Context, reader client.Reader, job *batchv1.Job) ([]corev1.Pod, error) {
	pods := &corev1.PodList{}
	if err := reader.List(ctx, pods, client.InNamespace(job.Namespace), client.MatchingLabels{"job-name": job.Name}); err != nil {
		return nil, fmt.Errorf("listing the pods of the Job %s: %w", job.Name, err)
	}
	return pods.Items, nil
}

// owned returns the pods that a Job owns: others may have its label.
func owned(job *batchv1.Job, pods []corev1.Pod) []corev1.Pod {
	return slices.DeleteFunc(pods, func(p corev1.Pod) bool { return !metav1.IsControlledBy(&p, job) })
}

func endsOf(pods []corev1.Pod) []End {
	var ends []End
	for i := range pods {
		for _, c := range slices.Concat(pods[i].Status.InitContainerStatuses, pods[i].Status.ContainerStatuses) {
			if t := c.State.Terminated; t != nil {
				ends = append(ends, End{Container: c.Name, ExitCode: t.ExitCode, Message: t.Message, At: t.FinishedAt.Time})
			}
		}
	}
	slices.SortStableFunc(ends, func(a, b End) int { return a.At.Compare(b.At) })
	return ends
}

// waitsFor returns the reason why a pod does not run, unless it is a usual one.
func waitsFor(pods []corev1.Pod) string {
	for i := range pods {
		for _, c := range slices.Concat(pods[i].Status.InitContainerStatuses, pods[i].Status.ContainerStatuses) {
			if w := c.State.Waiting; w != nil && w.Reason != "" && w.Reason != "ContainerCreating" && w.Reason != "PodInitializing" {
				return w.Reason
			}
		}
		for _, c := range pods[i].Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				return c.Reason + ": " + c.Message
			}
		}
	}
	return ""
}

// Sanitize converts an untrusted message to one line of at most 512 bytes.
func Sanitize(text string) string {
	return v1.Excerpt(strings.Join(strings.Fields(text), " "), maxMessage)
}

// Create creates a Job, and before it the Secret with the order that the Job reads, if any. An existing Job is left
// unchanged.
func Create(ctx context.Context, writer client.Writer, job *batchv1.Job, secret *corev1.Secret) error {
	if secret != nil {
		if err := WriteOrder(ctx, writer, secret); err != nil {
			return err
		}
	}
	if err := writer.Create(ctx, job, client.FieldOwner(v1.HubFieldManager)); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating the Job %s: %w", job.Name, err)
	}
	return nil
}

// WriteOrder creates the Secret with an order, or replaces it.
func WriteOrder(ctx context.Context, writer client.Writer, secret *corev1.Secret) error {
	err := writer.Create(ctx, secret, client.FieldOwner(v1.HubFieldManager))
	if apierrors.IsAlreadyExists(err) {
		if err := DeleteOrder(ctx, writer, client.ObjectKeyFromObject(secret)); err != nil {
			return err
		}
		err = writer.Create(ctx, secret, client.FieldOwner(v1.HubFieldManager))
	}
	if err != nil {
		return fmt.Errorf("creating the Secret %s: %w", secret.Name, err)
	}
	return nil
}

// DeleteOrder deletes the Secret of an order. It succeeds if there is none. The Secret is deleted by
// its name, which only this order has, because the hub must not read Secrets.
func DeleteOrder(ctx context.Context, writer client.Writer, key client.ObjectKey) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	if err := writer.Delete(ctx, secret); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the Secret %s: %w", key.Name, err)
	}
	return nil
}

// Stop deletes a Job that was read, and its pods. It succeeds if the Job is gone; another one of
// its name is a conflict.
func Stop(ctx context.Context, writer client.Writer, job *batchv1.Job) error {
	same := client.Preconditions{UID: new(job.UID)}
	err := writer.Delete(ctx, job, same, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("deleting the Job %s: %w", job.Name, err)
	}
	return nil
}
