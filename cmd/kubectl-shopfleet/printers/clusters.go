package printers

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Readiness returns the Ready condition of a MemberCluster. It is Unknown before the
// hub has connected for the first time.
func Readiness(c *v1.MemberCluster) metav1.Condition {
	if ready := meta.FindStatusCondition(c.Status.Conditions, v1.ConditionReady); ready != nil {
		return *ready
	}
	return metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionUnknown, Reason: v1.ReasonNotChecked}
}

// Summary describes a MemberCluster in one line.
func Summary(m *v1.MemberCluster) string {
	mode := "without an agent"
	if m.Spec.Mode == v1.ModeAgent {
		mode = "with an agent"
	}
	return fmt.Sprintf("provider %s, region %s, Kubernetes %s, %d of %d nodes ready, %s",
		cmp.Or(string(m.Status.Provider), unknown), cmp.Or(m.Status.Region, unknown), m.Status.KubernetesVersion,
		m.Status.ReadyNodes, m.Status.Nodes, mode)
}

// unknown stands for what could not be detected.
const unknown = "unknown"
