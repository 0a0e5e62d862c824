package component_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// container gives a pod a container named web, which waits for a reason.
func container(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		status := corev1.ContainerStatus{Name: "web", Image: "web:2", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, status)
	}
}

// restarted lets the last container have ended some times.
func restarted(times, exitCode int32, reason string) func(*corev1.Pod) {
	return ended(9, times, exitCode, reason)
}

// ended lets the last container have ended some times, the last time in a minute. It is minute 10.
func ended(minute int, times, exitCode int32, reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		c := &p.Status.ContainerStatuses[len(p.Status.ContainerStatuses)-1]
		c.RestartCount = times
		c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: exitCode, Reason: reason, FinishedAt: at(minute)}
	}
}

func unschedulable(message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message}}
	}
}

// podProblem holds pods and the problem that is found in them.
type podProblem struct {
	pods            []*corev1.Pod
	reason, message string
}

func podProblems() map[string]podProblem {
	const (
		crashes = "container web ends and is restarted again and again; it last ended with exit code "
		starts  = "container web cannot be started, as the events of its pod say"
	)
	version := func(hash string, minute int) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Labels, p.CreationTimestamp = map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: hash}, at(minute)
		}
	}
	phase := func(phase corev1.PodPhase) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Status.Phase = phase } }
	running := func(p *corev1.Pod) {
		p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: "web", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})
	}
	prepared := func(p *corev1.Pod) {
		p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", RestartCount: 5, Ready: true,
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}}
	}
	image := container("ErrImagePull", "not found")
	return map[string]podProblem{
		"no pods":        {},
		"it starts":      {pods: []*corev1.Pod{pod("a", container("ContainerCreating", ""))}},
		"it is prepared": {pods: []*corev1.Pod{pod("a", prepared, running)}},
		"an image": {[]*corev1.Pod{pod("a", container("ImagePullBackOff", "Back-off"))},
			v1.ReasonImagePullBackOff, "image web:2 of container web cannot be pulled"},
		"the same image": {[]*corev1.Pod{pod("b", image)}, v1.ReasonImagePullBackOff, "image web:2 of container web cannot be pulled"},
		"a Secret": {[]*corev1.Pod{pod("a", container("CreateContainerConfigError", "secret \"a\"\n\x1b  not found (pod: \"web-1_shop(u)\", container: web)"))},
			v1.ReasonCreateContainerConfigError, `container web cannot be created: secret "a" not found`},
		"a crash":                   {[]*corev1.Pod{pod("a", container("CrashLoopBackOff", "back-off 10s"), restarted(1, 1, "Error"))}, v1.ReasonCrashLoopBackOff, crashes + "1"},
		"no memory":                 {[]*corev1.Pod{pod("a", container("CrashLoopBackOff", ""), restarted(1, 137, "OOMKilled"))}, v1.ReasonCrashLoopBackOff, crashes + "137 (OOMKilled)"},
		"a crash, and it runs":      {[]*corev1.Pod{pod("a", running, restarted(3, 1, "Error"))}, v1.ReasonCrashLoopBackOff, crashes + "1"},
		"two restarts, and it runs": {pods: []*corev1.Pod{pod("a", running, restarted(2, 1, "Error"))}},
		"no node": {[]*corev1.Pod{pod("a", unschedulable("0/57 nodes are available: 54 node(s) didn't match Pod's node affinity/selector, 3 Insufficient cpu. no new claims to deallocate, preemption: 0/57 nodes are available."))},
			v1.ReasonUnschedulable, "no node fits: Insufficient cpu, node(s) didn't match Pod's node affinity/selector"},
		"no nodes":                      {[]*corev1.Pod{pod("a", unschedulable("no nodes available to schedule pods"))}, v1.ReasonUnschedulable, "no node fits: no nodes available to schedule pods"},
		"a program that does not exist": {[]*corev1.Pod{pod("a", container("RunContainerError", "exec: not found"))}, v1.ReasonCrashLoopBackOff, starts},
		"the same program":              {[]*corev1.Pod{pod("a", container("CrashLoopBackOff", ""), restarted(1, 128, "StartError"))}, v1.ReasonCrashLoopBackOff, starts},
		"a runtime that fails": {[]*corev1.Pod{pod("a", container("CreateContainerError", "failed to reserve name web_1"))},
			v1.ReasonCreateContainerConfigError, "container web cannot be created, as the events of its pod say"},
		"restarts of last week": {pods: []*corev1.Pod{pod("a", running, ended(-1, 3, 137, "OOMKilled"))}},
		"a pod of the second in which those before were created": {[]*corev1.Pod{pod("a", image, version("2", 1)), pod("b", serves("web:1"), version("1", 1))},
			v1.ReasonImagePullBackOff, "image web:2 of container web cannot be pulled"},
		"pods of the version before": {[]*corev1.Pod{pod("a", container("CrashLoopBackOff", ""), version("1", 1)), pod("b", image, version("2", 2))},
			v1.ReasonImagePullBackOff, "image web:2 of container web cannot be pulled"},
		"several":       {[]*corev1.Pod{pod("a", unschedulable("full")), pod("b", image), pod("c", container("CrashLoopBackOff", ""))}, v1.ReasonCrashLoopBackOff, "container web ends and is restarted again and again"},
		"it is ready":   {pods: []*corev1.Pod{pod("a", image, serves("web:1"))}},
		"it ended":      {pods: []*corev1.Pod{pod("a", image, phase(corev1.PodSucceeded)), pod("b", image, phase(corev1.PodFailed))}},
		"it is leaving": {pods: []*corev1.Pod{pod("a", image, func(p *corev1.Pod) { p.DeletionTimestamp = new(at(0)) })}},
		"a long message": {[]*corev1.Pod{pod("a", container("CreateContainerConfigError", strings.Repeat("x", 2000)))},
			v1.ReasonCreateContainerConfigError, "container web cannot be created: " + strings.Repeat("x", 1024-33-3) + "..."},
	}
}

func TestPodProblem(t *testing.T) {
	for name, tt := range podProblems() {
		t.Run(name, func(t *testing.T) {
			var pods []corev1.Pod
			for _, p := range tt.pods {
				pods = append(pods, *p)
			}
			want := component.Problem{Reason: tt.reason, Message: tt.message, Optional: true, Explains: true}
			if tt.reason == "" {
				want = component.Problem{}
			}
			got, found := component.PodProblem(pods, at(10).Time)
			if diff := cmp.Diff(want, got); diff != "" || found != (tt.reason != "") {
				t.Errorf("found %t (-want +got):\n%s", found, diff)
			}
		})
	}
}

func TestWaitsForPods(t *testing.T) {
	since, now := time.Unix(100, 0), time.Unix(200, 0)
	waits := func(name, reason string) component.State {
		return component.State{Name: name, Phase: v1.PhaseUpdating, Reason: reason, Replicas: 1}
	}
	web := waits("web", v1.ReasonWaitingForReplicas)
	before := func(name string) []metav1.Condition {
		return []metav1.Condition{
			{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Message: name + ": not yet"},
			{Type: v1.ConditionProgressing, Status: metav1.ConditionTrue, ObservedGeneration: 2, LastTransitionTime: metav1.NewTime(since)},
		}
	}
	failed := waits("web", v1.ReasonDeadlineExceeded)
	failed.Phase = v1.PhaseFailed
	tests := map[string]struct {
		previous   []metav1.Condition
		generation int64
		states     []component.State
		name       string
		since      time.Time
	}{
		"nothing":                       {before("web"), 2, []component.State{ready("web")}, "", time.Time{}},
		"for some time":                 {before("web"), 2, []component.State{ready("db"), web}, "web", since},
		"from now on":                   {nil, 2, []component.State{web}, "web", now},
		"until now for another":         {before("db"), 2, []component.State{ready("db"), web}, "web", now},
		"from now on, for a new spec":   {before("web"), 3, []component.State{web}, "web", now},
		"in order":                      {before("web"), 2, []component.State{waits("db", v1.ReasonProgressing), web}, "db", now},
		"one has failed":                {before("web"), 2, []component.State{waits("db", v1.ReasonProgressing), failed}, "web", since},
		"for a volume":                  {before("web"), 2, []component.State{waits("web", v1.ReasonWaitingForStorage)}, "web", since},
		"for pods that are refused":     {before("web"), 2, []component.State{waits("web", v1.ReasonFailedCreate)}, "web", since},
		"for a certificate":             {before("web"), 2, []component.State{waits("web", v1.ReasonWaitingForCertificate)}, "", time.Time{}},
		"for the address, without pods": {before("web"), 2, []component.State{{Name: "web", Reason: v1.ReasonProgressing}}, "", time.Time{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			state, got, ok := component.WaitsForPods(tt.previous, tt.generation, tt.states, now)
			if state.Name != tt.name || !got.Equal(tt.since) || ok != (tt.name != "") {
				t.Errorf("waits for %q since %s (%t)", state.Name, got, ok)
			}
		})
	}
}
