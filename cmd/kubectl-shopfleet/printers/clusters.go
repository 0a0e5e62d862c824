package printers

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Clusters lists MemberClusters.
func Clusters(clusters []v1.MemberCluster, o Options) string {
	t := newTable(
		[]string{"NAME", "READY", "REASON", "PROVIDER", "REGION", "VERSION", "NODES", "APPS", "AGE"},
		"MODE", "ORPHANS", "ZONES", "ALLOCATABLE", "REQUESTED", "CAPABILITIES", "OBSERVED", "MESSAGE",
	)
	for i := range clusters {
		c := &clusters[i]
		ready := Readiness(c)
		addRow(t, c,
			c.Name, schedulable(c, string(ready.Status)), ready.Reason, string(c.Status.Provider), c.Status.Region, c.Status.KubernetesVersion,
			fraction(c.Status.ReadyNodes, c.Status.Nodes), fmt.Sprint(c.Status.Apps), age(o.Now, &c.CreationTimestamp),
			string(cmp.Or(c.Spec.Mode, v1.ModeAgentless)), fmt.Sprint(c.Status.OrphanCount), strings.Join(c.Status.Zones, ","),
			resources(c.Status.Allocatable), resources(c.Status.Requested), strings.Join(c.Status.Capabilities, ","), age(o.Now, c.Status.LastObservedTime), ready.Message,
		)
	}
	return Text(t, o)
}

// schedulable adds to the status of a MemberCluster that it is cordoned or drained, as kubectl does
// for nodes, and that it is paused.
func schedulable(c *v1.MemberCluster, status string) string {
	if scheduling := cmp.Or(c.Spec.Scheduling, v1.SchedulingEnabled); scheduling != v1.SchedulingEnabled {
		status += "," + string(scheduling)
	}
	if c.IsPaused() {
		status += ",Paused"
	}
	return status
}

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

func resources(list v1.ResourceList) string {
	var parts []string
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourcePods} {
		if amount, ok := list[name]; ok {
			parts = append(parts, fmt.Sprintf("%s=%s", name, amount.String()))
		}
	}
	return strings.Join(parts, ",")
}
