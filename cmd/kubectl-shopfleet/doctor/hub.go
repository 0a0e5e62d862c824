package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/crds"
)

// minSilence is the least age of the last renewal of a Lease after which it counts as
// expired, by the clock of the user.
const minSilence = time.Minute

// The checks of a hub.
const (
	CheckDeployment  = "Deployment"
	CheckLeader      = "Leader"
	CheckDefinitions = "Definitions"
	CheckPolicies    = "AdmissionPolicies"
	CheckVersion     = "Version"
	CheckMembers     = "Members"
	CheckScale       = "Scale"
)

// HubFacts holds the objects of a hub, and the errors of reading them.
type HubFacts struct {
	// Namespace and Name identify both the Deployment and the Lease.
	Namespace, Name string
	// Deployment and Lease are nil if they do not exist.
	Deployment *appsv1.Deployment
	Lease      *coordinationv1.Lease
	// Definitions compares the CRDs of the hub with those in the plugin.
	Definitions crds.DefinitionFacts
	// MissingPolicies are the names of the admission policies and bindings that are not there. A policy
	// and its binding have one name, which is listed for each of them.
	MissingPolicies []string
	// Unscalable are the applications that Unscalable returns.
	Unscalable []string
	// Hub and Plugin are versions; empty if unknown.
	Hub, Plugin string
	// Unreadable are the errors of checks whose objects could not be read.
	Unreadable map[string]error
}

// Hub returns the checks of a hub at a time.
func Hub(f HubFacts, now time.Time) []Check {
	checks := map[string]func() Check{
		CheckDeployment:  func() Check { return f.deployment(now) },
		CheckLeader:      func() Check { return f.leader(now) },
		CheckDefinitions: f.definitions,
		CheckPolicies:    f.policies,
		CheckVersion:     f.version,
		CheckMembers:     func() Check { return good(CheckMembers, reasonRead) },
		CheckScale:       f.scale,
	}
	var all []Check
	for _, name := range []string{CheckDeployment, CheckLeader, CheckDefinitions, CheckPolicies, CheckVersion, CheckMembers, CheckScale} {
		if err := f.Unreadable[name]; err != nil {
			all = append(all, unreadable(name, err))
			continue
		}
		all = append(all, checks[name]())
	}
	return all
}

func good(name, reason string) Check {
	return Check{Object: HubName, Check: name, Status: metav1.ConditionTrue, Reason: reason}
}

func bad(name, reason, message, remedy string) Check {
	return Check{Object: HubName, Check: name, Status: metav1.ConditionFalse, Reason: reason, Message: message, Remedy: remedy, Failed: true}
}

func (f *HubFacts) logs() string {
	return fmt.Sprintf("kubectl logs -n %s deployment/%s --since=15m", f.Namespace, f.Name)
}

// alive reports whether a leader renews the Lease.
func (f *HubFacts) alive(now time.Time) bool { return now.Before(LeadsUntil(f.Lease)) }

// LeadsUntil returns the end of the time for which a Lease counts as renewed, by the clock of the user; zero if it is nil or
// has no holder.
func LeadsUntil(lease *coordinationv1.Lease) time.Time {
	if lease == nil || ptr.Deref(lease.Spec.HolderIdentity, "") == "" || lease.Spec.RenewTime == nil {
		return time.Time{}
	}
	silence := max(minSilence, 2*time.Duration(ptr.Deref(lease.Spec.LeaseDurationSeconds, 0))*time.Second)
	return lease.Spec.RenewTime.Add(silence)
}

func (f *HubFacts) deployment(now time.Time) Check {
	if f.Deployment == nil {
		if f.alive(now) {
			check := good(CheckDeployment, reasonNoDeployment)
			check.Message = "the hub runs without a Deployment"
			return check
		}
		return bad(CheckDeployment, reasonDeploymentMissing, fmt.Sprintf("there is no Deployment %s/%s", f.Namespace, f.Name),
			"kubectl shopfleet install hub --image IMAGE, or choose the hub with --context and --hub-namespace")
	}
	want, have := ptr.Deref(f.Deployment.Spec.Replicas, 1), f.Deployment.Status.AvailableReplicas
	message := fmt.Sprintf("%d of %d pods are available", have, want)
	switch {
	case want == 0:
		return bad(CheckDeployment, reasonScaledToZero, message, fmt.Sprintf("kubectl scale deployment/%s -n %s --replicas=2", f.Name, f.Namespace))
	case have < want:
		return bad(CheckDeployment, reasonPodsNotAvailable, message,
			fmt.Sprintf("kubectl describe pods -n %s -l app.kubernetes.io/name=%s", f.Namespace, f.Name))
	case f.stuck():
		// Those of the release before are available meanwhile.
		return bad(CheckDeployment, reasonNewPodsNotReady, message+", and a new one does not become ready",
			fmt.Sprintf("kubectl logs -n %s -l app.kubernetes.io/name=%s --tail=-1 --prefix", f.Namespace, f.Name))
	}
	check := good(CheckDeployment, v1.ReasonAvailable)
	check.Message = message
	return check
}

// stuck reports whether an update of the Deployment has not got on for longer than it allows.
func (f *HubFacts) stuck() bool {
	return slices.ContainsFunc(f.Deployment.Status.Conditions, func(c appsv1.DeploymentCondition) bool {
		return c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse
	})
}

func (f *HubFacts) leader(now time.Time) Check {
	if f.alive(now) {
		return good(CheckLeader, reasonLeaseRenewed)
	}
	if f.Lease == nil {
		return bad(CheckLeader, reasonLeaseMissing, fmt.Sprintf("there is no Lease %s/%s, so no hub leads", f.Namespace, f.Name), f.logs())
	}
	return bad(CheckLeader, reasonLeaseExpired, "no hub renews its Lease, so the status of all objects is outdated", f.logs())
}

// again is the remedy for objects of an installation by this program.
const again = "Install the hub again with the same flags: kubectl shopfleet install hub"

// isOLMs reports whether the Operator Lifecycle Manager installed the hub: it labels what it installs.
func (f *HubFacts) isOLMs() bool {
	return f.Deployment != nil && f.Deployment.Labels["olm.owner"] != ""
}

// reinstall returns the remedy for objects of the installation.
func (f *HubFacts) reinstall() string {
	if f.isOLMs() {
		return "The Operator Lifecycle Manager installs them. See what it says: kubectl get subscriptions.operators.coreos.com,clusterserviceversions -n " + f.Namespace + " -o yaml"
	}
	return again
}

// lacking returns the check of objects that the cluster lacks. A hub of an earlier release than this program works without
// what only later ones have, so that it does not fail for that.
func (f *HubFacts) lacking(check Check) Check {
	if IsOlder(f.Hub, f.Plugin) {
		check.Failed = false
		check.Message += fmt.Sprintf("; the hub has release %s, and may not have them before it is upgraded", f.Hub)
		check.Remedy = fmt.Sprintf("Nothing before that. Whether the hub lacks what it has itself, the doctor of kubectl-shopfleet %s says.", f.Hub)
	}
	return check
}

func (f *HubFacts) definitions() Check {
	d := f.Definitions
	switch {
	case len(d.Absent) > 0:
		return f.lacking(bad(CheckDefinitions, reasonDefinitionMissing, "missing: "+strings.Join(d.Absent, ", "), f.reinstall()))
	case len(d.Deleting) > 0:
		return bad(CheckDefinitions, reasonDefinitionDeleting, "being deleted: "+strings.Join(d.Deleting, ", "),
			"Delete their remaining objects, or restore them from a backup of the hub: kubectl get "+d.Deleting[0]+" -A")
	case len(d.Outdated) > 0:
		return f.lacking(bad(CheckDefinitions, v1.ReasonDefinitionOutdated, "without fields that this program has: "+strings.Join(d.Outdated, ", "), f.reinstall()))
	}
	return good(CheckDefinitions, reasonCurrent)
}

func (f *HubFacts) policies() Check {
	if len(f.MissingPolicies) == 0 {
		return good(CheckPolicies, reasonInstalled)
	}
	missing := slices.Compact(slices.Sorted(slices.Values(f.MissingPolicies)))
	remedy := again
	if f.isOLMs() { // It installs no policies.
		remedy = "Apply the policies of the hub's release: kubectl apply --server-side -f install-hub-policies.yaml"
	}
	return f.lacking(bad(CheckPolicies, v1.ReasonPolicyMissing,
		"deletion is not protected, Plans are refused, or users are not warned, policies or bindings that are missing: "+strings.Join(missing, ", "), remedy))
}

func (f *HubFacts) version() Check {
	check := Check{Object: HubName, Check: CheckVersion,
		Message: fmt.Sprintf("hub %s, plugin %s", cmp.Or(f.Hub, "unknown"), cmp.Or(f.Plugin, "unknown"))}
	upgrade := "upgrade the hub: kubectl shopfleet install hub"
	if f.isOLMs() {
		upgrade = "approve the upgrade of its Subscription: kubectl get installplans -n " + f.Namespace
	}
	return ofSkew(check, Skew(f.Hub, f.Plugin), "Use kubectl-shopfleet of the version of the hub, or "+upgrade)
}
