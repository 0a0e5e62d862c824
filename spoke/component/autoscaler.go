package component

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// unscaledAfter is the time after which an autoscaler that does not work is reported: of new pods there are
// no metrics yet.
const unscaledAfter = 5 * time.Minute

// InactiveAutoscaler returns the condition that says that a HorizontalPodAutoscaler does not scale; nil if it does,
// if its workload is stopped, and while that is not known.
func InactiveAutoscaler(a *autoscalingv2.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscalerCondition {
	for i, c := range a.Status.Conditions {
		if c.Type == autoscalingv2.ScalingActive && c.Status == corev1.ConditionFalse && c.Reason != "ScalingDisabled" {
			return &a.Status.Conditions[i]
		}
	}
	return nil
}

// observeAutoscaler records that the live autoscaler of a component does not work. Whether a request is missing is
// only known in the cluster, where a LimitRange may set it.
func (s *State) observeAutoscaler(c Component, exists Resource) {
	live, ok := exists.(*autoscalingv2.HorizontalPodAutoscaler)
	if !ok {
		return
	}
	inactive := InactiveAutoscaler(live)
	if inactive == nil {
		return
	}
	remedy := "set resources.requests.cpu, or see that a LimitRange does and that the cluster serves metrics.k8s.io"
	if requestsCPU(c) {
		remedy = "see that the cluster serves metrics.k8s.io, as metrics-server does"
	}
	s.Unscaled = fmt.Sprintf("%s does not scale (%s): %s", describe(live), inactive.Reason, remedy)
	s.UnscaledSince = inactive.LastTransitionTime.Time
}

// requestsCPU reports whether all desired containers of a component's Deployments request CPU: a limit is a
// request, too.
func requestsCPU(c Component) bool {
	for _, object := range c.Objects {
		d, ok := object.Resource.(*appsv1.Deployment)
		if !ok {
			continue
		}
		for _, container := range d.Spec.Template.Spec.Containers {
			if container.Resources.Requests.Cpu().IsZero() && container.Resources.Limits.Cpu().IsZero() {
				return false
			}
		}
	}
	return true
}

// withAutoscalers marks components as impaired whose autoscaler has not worked for minutes.
func withAutoscalers(states []State, now time.Time) {
	for i := range states {
		if s := &states[i]; s.Unscaled != "" && s.Impaired == "" && unscaledIn(*s, now) <= 0 {
			s.Impaired, s.Impairment = v1.ReasonAutoscalerInactive, v1.Excerpt(s.Unscaled, maxMessage)
		}
	}
}

// unscaledIn returns the time until an autoscaler that does not work is reported.
func unscaledIn(s State, now time.Time) time.Duration {
	return unscaledAfter - now.Sub(s.UnscaledSince)
}
