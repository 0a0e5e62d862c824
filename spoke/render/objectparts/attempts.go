package objectparts

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// FailurePolicy returns the policy for the pods of a Job: one that was ended because its node is drained, or for
// another pod, is not counted as failed, and some rules decide about the others. It applies to pods that are
// never restarted.
func FailurePolicy(rules ...batchv1.PodFailurePolicyRule) *batchv1.PodFailurePolicy {
	disrupted := batchv1.PodFailurePolicyRule{
		Action:          batchv1.PodFailurePolicyActionIgnore,
		OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
	}
	return &batchv1.PodFailurePolicy{Rules: append([]batchv1.PodFailurePolicyRule{disrupted}, rules...)}
}
