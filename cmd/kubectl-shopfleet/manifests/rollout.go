package manifests

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/watch"
)

// Why a wait ended without what was waited for.
var (
	// ErrNotRolledOut tells that a Deployment's pods did not become ready in time.
	ErrNotRolledOut = errors.New("not rolled out")
	// ErrNotStopped tells that a Deployment's pods did not end in time.
	ErrNotStopped = errors.New("not stopped")
)

// Rollout is a wait for one Deployment.
type Rollout struct {
	// Query follows objects of the cluster; what to list is filled in. Its clients
	// know apps/v1 and v1.
	Query           watch.Query
	Namespace, Name string
	// Report is told the progress whenever it changes; it may be nil.
	Report func(string)
}

// Wait waits until all replicas are of the Deployment's generation and available.
// A context that ends with a deadline gives ErrNotRolledOut with what the pods say.
func (r Rollout) Wait(ctx context.Context) error {
	last := "no such Deployment"
	err := r.only().Run(ctx, func(objects []client.Object) (bool, error) {
		for _, object := range objects {
			deployment, ok := object.(*appsv1.Deployment)
			if !ok {
				continue
			}
			done, now := progress(deployment)
			if now != last && r.Report != nil {
				r.Report(now)
			}
			if last = now; done {
				return true, nil
			}
		}
		return false, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return r.late(ctx, last)
	}
	return err
}

// Gone waits until the Deployment is gone, and with it its pods when it was deleted
// in the foreground. A context that ends with a deadline gives ErrNotStopped.
func (r Rollout) Gone(ctx context.Context) error {
	err := r.only().Run(ctx, func(objects []client.Object) (bool, error) { return len(objects) == 0, nil })
	if errors.Is(err, context.DeadlineExceeded) {
		return hint.With(fmt.Errorf("deployment %q: %w", r.Namespace+"/"+r.Name, ErrNotStopped),
			"Its pods end as soon as their nodes answer. Run the same command again for the rest.")
	}
	return err
}

// only narrows the query to the Deployment.
func (r Rollout) only() watch.Query {
	q := r.Query
	q.List = &appsv1.DeploymentList{}
	q.Options = []client.ListOption{client.InNamespace(r.Namespace), client.MatchingFields{"metadata.name": r.Name}}
	return q
}

// progress tells whether a Deployment is rolled out, and how far it is.
func progress(d *appsv1.Deployment) (bool, string) {
	want, status := ptr.Deref(d.Spec.Replicas, 1), d.Status
	switch {
	case status.ObservedGeneration < d.Generation:
		return false, "waiting for the cluster to take it up"
	case status.UpdatedReplicas < want:
		return false, fmt.Sprintf("%d of %d pods made", status.UpdatedReplicas, want)
	case status.AvailableReplicas < want:
		return false, fmt.Sprintf("%d of %d pods ready", status.AvailableReplicas, want)
	case status.Replicas > status.UpdatedReplicas:
		return false, fmt.Sprintf("%d old pods are ending", status.Replicas-status.UpdatedReplicas)
	}
	return true, fmt.Sprintf("%d of %d pods ready", status.AvailableReplicas, want)
}

// late asks the pods why the Deployment is not rolled out. The time is up, so that
// the question has the request's own deadline alone.
func (r Rollout) late(ctx context.Context, last string) error {
	ctx = context.WithoutCancel(ctx)
	err := fmt.Errorf("deployment %q: %w: %s", r.Namespace+"/"+r.Name, ErrNotRolledOut, last)
	todo := "It goes on without this command. See why: kubectl -n " + r.Namespace + " describe pods -l " + labelName + "=" + r.Name
	pods := &corev1.PodList{}
	listed := r.Query.Lister.List(ctx, pods, client.InNamespace(r.Namespace), client.MatchingLabels{labelName: r.Name})
	if listed != nil {
		return hint.With(err, todo)
	}
	if len(pods.Items) == 0 {
		return hint.With(err, "The cluster makes no pods: a quota, or its admission, refuses them. See why: kubectl -n "+
			r.Namespace+" describe replicasets -l "+labelName+"="+r.Name)
	}
	for i := range pods.Items {
		if reason, message := trouble(&pods.Items[i]); reason != "" {
			return hint.With(fmt.Errorf("%w; pod %s: %s: %s", err, pods.Items[i].Name, reason, message), remedy(reason, todo))
		}
	}
	return hint.With(err, todo)
}

// labelName is the label by which the manifests select pods.
const labelName = "app.kubernetes.io/name"

// trouble is what keeps a pod from running.
func trouble(pod *corev1.Pod) (reason, message string) {
	for _, container := range pod.Status.ContainerStatuses {
		if waiting := container.State.Waiting; waiting != nil && waiting.Reason != "ContainerCreating" {
			message := waiting.Message
			if ended := container.LastTerminationState.Terminated; ended != nil {
				message = fmt.Sprintf("%s (exit code %d)", message, ended.ExitCode)
			}
			return waiting.Reason, message
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionStatus(metav1.ConditionFalse) {
			return c.Reason, c.Message
		}
	}
	return "", ""
}

// remedy says what to do about what keeps a pod from running.
func remedy(reason, otherwise string) string {
	switch reason {
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName":
		return "The nodes cannot get the image: push it to a registry that they reach, and name it with --image."
	case "CrashLoopBackOff":
		return "The process ends. See what it says: kubectl logs, with -n and --previous."
	case corev1.PodReasonUnschedulable:
		return "No node takes the pod. " + otherwise
	}
	return otherwise
}
