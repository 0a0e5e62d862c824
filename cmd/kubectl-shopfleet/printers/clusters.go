package printers

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// columns is how many there are at most.
const columns = 16

// Clusters shows the members of the fleet, one a row.
func Clusters(clusters []v1.MemberCluster, o Options) Table {
	t := Table{Header: []string{"NAME", "READY", "REASON", "PROVIDER", "REGION", "VERSION", "NODES", "APPS", "AGE"}}
	if o.Wide {
		t.Header = append(t.Header, "MODE", "ORPHANS", "ZONES", "ALLOCATABLE", "CAPABILITIES", "OBSERVED", "MESSAGE")
	}
	for i := range clusters {
		t.add(clusterRow(&clusters[i], o)...)
	}
	return t
}

func clusterRow(c *v1.MemberCluster, o Options) []string {
	ready := Readiness(c)
	row := make([]string, 0, columns)
	row = append(row,
		c.Name, string(ready.Status), ready.Reason, string(c.Status.Provider), c.Status.Region, c.Status.KubernetesVersion,
		fraction(c.Status.ReadyNodes, c.Status.Nodes), fmt.Sprint(c.Status.Apps), age(o.Now, &c.CreationTimestamp))
	if !o.Wide {
		return row
	}
	return append(row,
		string(cmp.Or(c.Spec.Mode, v1.ModeAgentless)), fmt.Sprint(c.Status.OrphanCount), strings.Join(c.Status.Zones, ","), allocatable(c.Status.Allocatable), strings.Join(c.Status.Capabilities, ","),
		age(o.Now, c.Status.LastObservedTime), ready.Message,
	)
}

// Readiness returns the Ready condition of a cluster; one that the hub has not
// looked at yet is Unknown.
func Readiness(c *v1.MemberCluster) metav1.Condition {
	if ready := meta.FindStatusCondition(c.Status.Conditions, v1.ConditionReady); ready != nil {
		return *ready
	}
	return metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionUnknown, Reason: v1.ReasonNotChecked}
}

// Facts says what the hub found out about a member.
func Facts(m *v1.MemberCluster) string {
	how := "without an agent"
	if m.Spec.Mode == v1.ModeAgent {
		how = "with an agent"
	}
	return fmt.Sprintf("provider %s, region %s, Kubernetes %s, %d of %d nodes ready, %s",
		cmp.Or(string(m.Status.Provider), unknown), cmp.Or(m.Status.Region, unknown), m.Status.KubernetesVersion,
		m.Status.ReadyNodes, m.Status.Nodes, how)
}

// unknown stands for what the nodes do not say.
const unknown = "unknown"

func allocatable(list corev1.ResourceList) string {
	var parts []string
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
		if amount, ok := list[name]; ok {
			parts = append(parts, fmt.Sprintf("%s=%s", name, amount.String()))
		}
	}
	return strings.Join(parts, ",")
}
