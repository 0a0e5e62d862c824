package doctor

import (
	"cmp"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/config"
)

// HubName stands for the hub where checks have the name of an object.
const HubName = "(hub)"

// Check is the result of one check.
type Check struct {
	// Object is the name of the member or of the CloudAccount, the namespace and the name of another object, or HubName.
	Object string `json:"object"`
	// Check is the type of a condition, or the name of a check.
	Check  string                 `json:"check"`
	Status metav1.ConditionStatus `json:"status"`
	Reason string                 `json:"reason"`
	// Message explains the status; it may be empty.
	Message string `json:"message,omitempty"`
	// Remedy is a command or a sentence; empty if there is nothing to do.
	Remedy string `json:"remedy,omitempty"`
	// Failed is set if the user has to do something.
	Failed bool `json:"failed"`
}

// Failures returns the checks that failed.
func Failures(all []Check) []Check {
	return slices.DeleteFunc(slices.Clone(all), func(c Check) bool { return !c.Failed })
}

// agentVersion is the name of the check of an agent's version.
const agentVersion = "AgentVersion"

// kubernetesVersion is the name of the check of a member's API server. That of one that is too old is in its conditions.
const kubernetesVersion = "KubernetesVersion"

// snapshotRestores is the name of the check of a member in which snapshots cannot be restored. Backups go on there.
const snapshotRestores = "SnapshotRestores"

// Member returns the checks of a member of a hub with a version.
func Member(m *v1.MemberCluster, hub string) []Check {
	conditions := m.Status.Conditions
	if len(conditions) == 0 {
		conditions = []metav1.Condition{{
			Type: v1.ConditionReady, Status: metav1.ConditionUnknown, Reason: v1.ReasonNotChecked, Message: "the hub has not observed the member yet",
		}}
	}
	var all []Check
	for _, c := range causesFirst(conditions) {
		all = append(all, ofCondition(m.Name, c))
	}
	if m.Spec.Mode == v1.ModeAgent {
		all = append(all, ofAgent(m, hub))
	}
	if server := m.Status.KubernetesVersion; config.IsNewerThanTested(server) {
		all = append(all, Check{Object: m.Name, Check: kubernetesVersion, Status: metav1.ConditionUnknown, Reason: reasonNewerThanTested,
			Message: fmt.Sprintf("the cluster runs Kubernetes %s, and %s is the newest that this release was tested with", server, config.NewestKubernetes)})
	}
	if csi.BySnapshots(v1.BackupAuto, m) && !csi.HasSnapshots(m) {
		all = append(all, Check{Object: m.Name, Check: snapshotRestores, Status: metav1.ConditionFalse, Reason: reasonSnapshotsNotServed,
			Message: "snapshots are taken of the databases and cannot be restored there: " + csi.InstallSnapshots,
			Remedy:  remedyOf(reasonSnapshotsNotServed)})
	}
	return all
}

// causesFirst returns the conditions of a member that is not Ready in the order in which they explain that: first those
// with the reason of Ready, or Ready itself if no other has it. What is not checked for that is left out.
func causesFirst(conditions []metav1.Condition) []metav1.Condition {
	ready := meta.FindStatusCondition(conditions, v1.ConditionReady)
	if ready == nil || ready.Status == metav1.ConditionTrue {
		return conditions
	}
	var causes, others []metav1.Condition
	for _, c := range conditions {
		switch {
		case c.Type == v1.ConditionReady:
		case c.Status != metav1.ConditionTrue && c.Reason == ready.Reason:
			causes = append(causes, c)
		case c.Reason != v1.ReasonNotChecked:
			others = append(others, c)
		}
	}
	if len(causes) == 0 {
		causes = []metav1.Condition{*ready}
	}
	return append(causes, others...)
}

func ofCondition(member string, c metav1.Condition) Check {
	check := Check{Object: member, Check: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message, Failed: c.Status != metav1.ConditionTrue}
	if check.Failed || c.Reason == v1.ReasonPaused {
		check.Remedy = cmp.Or(remedyOf(c.Reason, "MEMBER", member), "kubectl describe membercluster "+member)
	}
	return check
}

func ofAgent(m *v1.MemberCluster, hub string) Check {
	check := Check{
		Object: m.Name, Check: agentVersion,
		Message: fmt.Sprintf("agent %s, hub %s", cmp.Or(m.Status.AgentVersion, "unknown"), cmp.Or(hub, "unknown")),
	}
	remedy := "kubectl shopfleet join " + m.Name + " --member-kubeconfig FILE --mode agent --spoke-image IMAGE"
	return ofSkew(check, Skew(m.Status.AgentVersion, hub), remedy)
}

// ofSkew completes a check of two versions. What is unknown does not fail.
func ofSkew(check Check, skew, remedy string) Check {
	check.Status, check.Reason = metav1.ConditionTrue, reasonSupported
	switch skew {
	case SkewUnknown:
		check.Status, check.Reason = metav1.ConditionUnknown, reasonVersionUnknown
	case SkewUnsupported:
		check.Status, check.Reason, check.Remedy, check.Failed = metav1.ConditionFalse, reasonVersionSkew, remedy, true
	}
	return check
}

// unreadable returns the result of a check whose objects could not be read.
func unreadable(name string, err error) Check {
	check := Check{Object: HubName, Check: name, Status: metav1.ConditionUnknown, Reason: reasonReadFailed, Message: err.Error(), Failed: true,
		Remedy: "Check that the API server of the hub answers: kubectl get --raw /readyz"}
	switch {
	case meta.IsNoMatchError(err):
		check.Reason, check.Remedy = reasonDefinitionMissing, again
	case apierrors.IsForbidden(err):
		check.Reason, check.Failed = v1.ReasonForbidden, false
		check.Remedy = "Ask an administrator for the permission in the message (-o wide), or for the output of this command."
	}
	return check
}
