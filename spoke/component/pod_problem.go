package component

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

const (
	// manyRestarts is how many restarts are too many for a container that waits for another at its start,
	// and recently is how long ago the last one may be: the kubelet forgets them after that time, too.
	manyRestarts = 3
	recently     = 10 * time.Minute
)

// WaitsForPods returns the state of the component whose pods an application waits for, and since when: by
// the conditions of its last status, since now unless they are about this generation and component. It
// returns false if the application waits for nothing or something else.
func WaitsForPods(previous []metav1.Condition, generation int64, states []State, now time.Time) (State, time.Time, bool) {
	i := slices.IndexFunc(states, func(s State) bool { return s.Phase == v1.PhaseFailed })
	if i < 0 {
		i = slices.IndexFunc(states, func(s State) bool { return !s.Ready })
	}
	if i < 0 || states[i].Replicas <= 0 {
		return State{}, time.Time{}, false
	}
	switch states[i].Reason {
	case v1.ReasonWaitingForReplicas, v1.ReasonWaitingForStorage, v1.ReasonFailedCreate, v1.ReasonProgressing, v1.ReasonDeadlineExceeded:
	default:
		return State{}, time.Time{}, false
	}
	if progressing := find(previous, v1.ConditionProgressing); progressing != nil && progressing.ObservedGeneration == generation && waitedFor(previous, states[i].Name) {
		return states[i], progressing.LastTransitionTime.Time, true
	}
	return states[i], now, true
}

// PodProblem returns why pods are not ready: of several reasons the one that a pod gets past last. It
// returns false if all reasons end by themselves. The same reason has the same message, whichever pod
// has it, and however often. Of a Deployment only the pods of the newest ReplicaSet count.
func PodProblem(pods []corev1.Pod, now time.Time) (Problem, bool) {
	var found []Problem
	newest := newestTemplate(pods)
	for i := range pods {
		pod := &pods[i]
		if pod.DeletionTimestamp != nil || IsReady(pod) || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed ||
			pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] != newest {
			continue
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
				found = append(found, explanation(v1.ReasonUnschedulable, "no node fits: "+nodesMessage(c.Message)))
			}
		}
		for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			if p, ok := containerProblem(c, now); ok {
				found = append(found, p)
			}
		}
	}
	if len(found) == 0 {
		return Problem{}, false
	}
	return slices.MinFunc(found, compareProblems), true
}

// compareProblems orders reasons why a component is waited for: a pod gets past the first last.
func compareProblems(a, b Problem) int {
	order := []string{
		v1.ReasonCrashLoopBackOff, v1.ReasonCreateContainerConfigError, v1.ReasonImagePullBackOff,
		v1.ReasonFailedCreate, v1.ReasonProvisioningFailed, v1.ReasonUnschedulable,
	}
	return cmp.Or(slices.Index(order, a.Reason)-slices.Index(order, b.Reason), cmp.Compare(a.Message, b.Message))
}

// newestTemplate returns the hash of the pod template of a Deployment's youngest pod; empty for other
// pods. Times have whole seconds: of two that are as young, the one that is not ready is the newer one.
func newestTemplate(pods []corev1.Pod) string {
	var newest *corev1.Pod
	for i := range pods {
		pod := &pods[i]
		switch {
		case pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey] == "":
		case newest == nil, newest.CreationTimestamp.Before(&pod.CreationTimestamp),
			newest.CreationTimestamp.Equal(&pod.CreationTimestamp) && IsReady(newest):
			newest = pod
		}
	}
	if newest == nil {
		return ""
	}
	return newest.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
}

// nodesMessage returns the reasons of the scheduler without the numbers of nodes, which change with each
// node, and without what it says about preemption.
func nodesMessage(message string) string {
	message, _, _ = strings.Cut(message, ". ")
	_, reasons, listed := strings.Cut(message, "nodes are available: ")
	if !listed {
		return strings.TrimSuffix(message, ".")
	}
	all := strings.Split(strings.TrimSuffix(reasons, "."), ", ")
	for i, reason := range all {
		all[i] = strings.TrimLeft(reason, "0123456789 ")
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ", ")
}

// containerProblem returns why a container does not run. The kubelet takes turns between a reason and
// its back-off, which are the same here. What a container runtime says may name the attempt.
func containerProblem(c corev1.ContainerStatus, now time.Time) (Problem, bool) {
	var reason, message string
	if c.State.Waiting != nil {
		reason, message = c.State.Waiting.Reason, c.State.Waiting.Message
	}
	last := c.LastTerminationState.Terminated
	switch reason {
	case "ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed":
		return explanation(v1.ReasonImagePullBackOff, fmt.Sprintf("image %s of container %s cannot be pulled", c.Image, c.Name)), true
	case "CreateContainerConfigError":
		message, _, _ = strings.Cut(message, " (pod:")
		return explanation(v1.ReasonCreateContainerConfigError, fmt.Sprintf("container %s cannot be created: %s", c.Name, message)), true
	case "CreateContainerError":
		return explanation(v1.ReasonCreateContainerConfigError, fmt.Sprintf("container %s cannot be created, as the events of its pod say", c.Name)), true
	case "RunContainerError", "CrashLoopBackOff":
	default:
		if c.Ready || c.RestartCount < manyRestarts || last == nil || now.Sub(last.FinishedAt.Time) > recently {
			return Problem{}, false
		}
	}
	text := fmt.Sprintf("container %s ends and is restarted again and again", c.Name)
	switch {
	case reason == "RunContainerError", last != nil && (last.Reason == "StartError" || last.Reason == "ContainerCannotRun"):
		text = fmt.Sprintf("container %s cannot be started, as the events of its pod say", c.Name)
	case last != nil:
		text += fmt.Sprintf("; it last ended with exit code %d", last.ExitCode)
		if last.Reason == "OOMKilled" {
			text += " (OOMKilled)"
		}
	}
	return explanation(v1.ReasonCrashLoopBackOff, text), true
}

// explanation returns a problem with a message of one line.
func explanation(reason, message string) Problem {
	printable := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, message)
	return Problem{Reason: reason, Message: v1.Excerpt(strings.Join(strings.Fields(printable), " "), maxMessage), Optional: true, Explains: true}
}

// explains reports whether a reason says why pods are waited for.
func explains(reason string) bool {
	switch reason {
	case v1.ReasonMissing, v1.ReasonCrashLoopBackOff, v1.ReasonImagePullBackOff, v1.ReasonCreateContainerConfigError, v1.ReasonUnschedulable,
		v1.ReasonFailedCreate, v1.ReasonProvisioningFailed:
		return true
	default:
		return false
	}
}
