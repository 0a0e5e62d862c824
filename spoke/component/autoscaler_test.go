package component_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// scaler returns the autoscaler of a Deployment; with a reason it has not scaled since minute 0.
func scaler(name, reason string) *autoscalingv2.HorizontalPodAutoscaler {
	a := &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta: metav1.TypeMeta{APIVersion: "autoscaling/v2", Kind: "HorizontalPodAutoscaler"}, ObjectMeta: metadata("app-"+name, name),
	}
	a.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{
		{Type: autoscalingv2.AbleToScale, Status: corev1.ConditionTrue, Reason: "ReadyForNewScale"},
		{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionTrue, Reason: "ValidMetricFound", LastTransitionTime: at(0)},
	}
	if reason != "" {
		a.Status.Conditions[1].Status, a.Status.Conditions[1].Reason = corev1.ConditionFalse, reason
	}
	return a
}

// TestInactiveAutoscaler checks that an autoscaler that does not scale is reported after five minutes, since a
// LimitRange of the cluster may set the request that its target is a part of.
func TestInactiveAutoscaler(t *testing.T) {
	t.Parallel()
	cpu := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}
	resources := func(r corev1.ResourceRequirements) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Resources = r }
	}
	const (
		noRequest = "web: HorizontalPodAutoscaler app-web does not scale (FailedGetResourceMetric): set resources.requests.cpu, or see that a LimitRange does and that the cluster serves metrics.k8s.io"
		noMetrics = "web: HorizontalPodAutoscaler app-web does not scale (FailedGetResourceMetric): see that the cluster serves metrics.k8s.io, as metrics-server does"
	)
	for name, tt := range map[string]struct {
		reason  string
		want    func(*appsv1.Deployment)
		after   time.Duration
		message string
		due     time.Duration
	}{
		"it scales":               {"", nil, time.Hour, "", 0},
		"the workload has none":   {"ScalingDisabled", nil, time.Hour, "", 0},
		"at first":                {"FailedGetResourceMetric", nil, time.Minute, "", 4 * time.Minute},
		"no request":              {"FailedGetResourceMetric", nil, 5 * time.Minute, noRequest, 0},
		"a request":               {"FailedGetResourceMetric", resources(corev1.ResourceRequirements{Requests: cpu}), 5 * time.Minute, noMetrics, 0},
		"a limit is one":          {"FailedGetResourceMetric", resources(corev1.ResourceRequirements{Limits: cpu}), time.Hour, noMetrics, 0},
		"memory is none":          {"FailedGetResourceMetric", resources(corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}), time.Hour, noRequest, 0},
		"another reason, at once": {"InvalidSelector", nil, 0, "", 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := deployment("web", 2, 0)
			if tt.want != nil {
				tt.want(want)
			}
			state := component.Observe(part("web", nil, want, scaler("web", "")), live(deployment("web", 2, 2), scaler("web", tt.reason)), true)
			summary := component.Summarize(component.SummaryInput{Generation: 1, States: []component.State{state}, Now: metav1.NewTime(at(0).Add(tt.after))})
			degraded := meta.FindStatusCondition(summary.Conditions, v1.ConditionDegraded)
			if is := degraded.Status == metav1.ConditionTrue; is != (tt.message != "") || is && (degraded.Reason != v1.ReasonAutoscalerInactive || degraded.Message != tt.message) {
				t.Errorf("Degraded is %+v", degraded)
			}
			if summary.Phase != v1.PhaseRunning || summary.DeadlineIn != tt.due {
				t.Errorf("phase %s, looked at again in %s, want %s", summary.Phase, summary.DeadlineIn, tt.due)
			}
		})
	}
}
