package installer

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
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/watchuntil"
)

// Why a wait ended early.
var (
	// ErrNotRolledOut is returned if the pods of a Deployment are not ready in time.
	ErrNotRolledOut = errors.New("not rolled out")
	// ErrNotStopped is returned if the pods of a Deployment do not stop in time.
	ErrNotStopped = errors.New("not stopped")
)

// Rollout waits for one Deployment.
type Rollout struct {
	// Query watches the cluster. List and Options are set here. The scheme of its
	// clients must have apps/v1 and v1.
	Query           watchuntil.Query
	Namespace, Name string
	// Report receives the progress whenever it changes; it may be nil.
	Report func(string)
}

// Wait blocks until all replicas are up to date and available. After the deadline of
// ctx it returns ErrNotRolledOut with the reason from the pods.
func (r Rollout) Wait(ctx context.Context) error {
	last := "the Deployment does not exist"
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

// Gone blocks until the Deployment is gone, and its pods if the deletion is in the
// foreground. After the deadline of ctx it returns ErrNotStopped.
func (r Rollout) Gone(ctx context.Context) error {
	err := r.only().Run(ctx, func(objects []client.Object) (bool, error) { return len(objects) == 0, nil })
	if errors.Is(err, context.DeadlineExceeded) {
		return hint.With(fmt.Errorf("waiting for the pods of Deployment %q: %w", r.Namespace+"/"+r.Name, ErrNotStopped),
			"They stop when their nodes are reachable. Run the same command again to continue.")
	}
	return err
}

// only restricts the query to the Deployment.
func (r Rollout) only() watchuntil.Query {
	q := r.Query
	q.List = &appsv1.DeploymentList{}
	q.Options = []client.ListOption{client.InNamespace(r.Namespace), client.MatchingFields{"metadata.name": r.Name}}
	return q
}

// PullSecrets returns the names of the Secrets with which nodes pull the images of a Deployment. An installation for which
// the user names none keeps them: without them the pods cannot start again.
func PullSecrets(d *appsv1.Deployment) []string {
	names := make([]string, 0, len(d.Spec.Template.Spec.ImagePullSecrets))
	for _, secret := range d.Spec.Template.Spec.ImagePullSecrets {
		names = append(names, secret.Name)
	}
	return names
}

// progress reports whether a Deployment is rolled out, and describes its progress.
func progress(d *appsv1.Deployment) (bool, string) {
	want, status := ptr.Deref(d.Spec.Replicas, 1), d.Status
	switch {
	case status.ObservedGeneration < d.Generation:
		return false, "waiting for the Deployment controller"
	case status.UpdatedReplicas < want:
		return false, fmt.Sprintf("%d of %d pods updated", status.UpdatedReplicas, want)
	case status.AvailableReplicas < want:
		return false, fmt.Sprintf("%d of %d pods ready", status.AvailableReplicas, want)
	case status.Replicas > status.UpdatedReplicas:
		return false, fmt.Sprintf("%d old pods are terminating", status.Replicas-status.UpdatedReplicas)
	}
	return true, fmt.Sprintf("%d of %d pods ready", status.AvailableReplicas, want)
}

// late explains with the state of the pods why the Deployment is not rolled out. The
// deadline of ctx has passed; the request has its own.
func (r Rollout) late(ctx context.Context, last string) error {
	ctx = context.WithoutCancel(ctx)
	err := fmt.Errorf("waiting for Deployment %q: %w: %s", r.Namespace+"/"+r.Name, ErrNotRolledOut, last)
	text := "The rollout continues. See why it takes long: kubectl -n " + r.Namespace + " describe pods -l " + labelName + "=" + r.Name
	pods := &corev1.PodList{}
	listed := r.Query.Lister.List(ctx, pods, client.InNamespace(r.Namespace), client.MatchingLabels{labelName: r.Name})
	if listed != nil {
		return hint.With(err, text)
	}
	if len(pods.Items) == 0 {
		return hint.With(err, "There are no pods; a quota or an admission webhook may reject them. See why: kubectl -n "+
			r.Namespace+" describe replicasets -l "+labelName+"="+r.Name)
	}
	for i := range pods.Items {
		if reason, message := problem(&pods.Items[i]); reason != "" {
			return hint.With(fmt.Errorf("%w; pod %s: %s: %s", err, pods.Items[i].Name, reason, message), remedy(reason, text))
		}
	}
	return hint.With(err, text)
}

// labelName is the label by which the Deployments select their pods.
const labelName = "app.kubernetes.io/name"

// problem returns why a pod does not run.
func problem(pod *corev1.Pod) (reason, message string) {
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

// remedy returns the hint for a reason of problem.
func remedy(reason, otherwise string) string {
	switch reason {
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName":
		return "The nodes cannot pull the image. Push it to a registry that they can reach, and name it with --image."
	case "CrashLoopBackOff":
		return "The container exits. See its log: kubectl logs, with -n and --previous."
	case corev1.PodReasonUnschedulable:
		return "No node fits the pod. " + otherwise
	}
	return otherwise
}
