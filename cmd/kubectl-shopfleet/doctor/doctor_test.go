package doctor

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/members/crds"
)

func condition(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason}
}

// failing returns the checks that failed as text.
func failing(all []Check) []string {
	var texts []string
	for _, c := range Failures(all) {
		texts = append(texts, c.Check+" "+string(c.Status)+" "+c.Reason)
	}
	return texts
}

// TestMember: one cause is one line, with a command for this member.
func TestMember(t *testing.T) {
	t.Parallel()
	const yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	for name, tt := range map[string]struct {
		mode       v1.Mode
		agent      string
		conditions []metav1.Condition
		want       []string
		remedy     string
	}{
		"healthy": {"", "", []metav1.Condition{condition(v1.ConditionReady, yes, v1.ReasonConnected), condition(v1.ConditionStorageReady, yes, v1.ReasonProvisioned)}, nil, ""},
		"paused":  {"", "", []metav1.Condition{condition(v1.ConditionReady, yes, v1.ReasonPaused)}, nil, ""},
		"new":     {"", "", nil, []string{"Ready Unknown NotChecked"}, "Look up"},
		"taken over": {"", "", []metav1.Condition{
			condition(v1.ConditionReady, no, v1.ReasonManagedByAnotherHub), condition(v1.ConditionConnected, yes, v1.ReasonConnected),
			condition(v1.ConditionIdentityVerified, no, v1.ReasonManagedByAnotherHub), condition(v1.ConditionAuthorized, unknown, v1.ReasonNotChecked),
		}, []string{"IdentityVerified False ManagedByAnotherHub"}, "kubectl shopfleet recover take-over eu-1"},
		"not ready for a reason of no other condition": {"", "", []metav1.Condition{
			condition(v1.ConditionDefinitionsCurrent, no, v1.ReasonDefinitionOutdated), condition(v1.ConditionStorageReady, no, v1.ReasonDriverMissing),
			condition(v1.ConditionReady, no, v1.ReasonSetupFailed), condition(v1.ConditionConnected, yes, v1.ReasonConnected),
		}, []string{"Ready False SetupFailed", "DefinitionsCurrent False DefinitionOutdated", "StorageReady False DriverMissing"}, ""},
		"not ready for a reason of a later condition": {v1.ModeAgent, "v1.2.3", []metav1.Condition{
			condition(v1.ConditionReady, no, v1.ReasonAgentSilent), condition(v1.ConditionConnected, yes, v1.ReasonConnected),
			condition(v1.ConditionDefinitionsCurrent, no, v1.ReasonDefinitionOutdated), condition(v1.ConditionAgentReady, no, v1.ReasonAgentSilent),
		}, []string{"AgentReady False AgentSilent", "DefinitionsCurrent False DefinitionOutdated"}, "kubectl rollout restart"},
		"connecting": {"", "", []metav1.Condition{
			condition(v1.ConditionReady, unknown, v1.ReasonConnecting), condition(v1.ConditionConnected, unknown, v1.ReasonConnecting),
			condition(v1.ConditionAuthorized, unknown, v1.ReasonNotChecked),
		}, []string{"Connected Unknown Connecting"}, ""},
		"ready with a problem": {"", "", []metav1.Condition{
			condition(v1.ConditionReady, yes, v1.ReasonConnected), condition(v1.ConditionCredentialsRenewed, no, v1.ReasonExpiring),
			condition(v1.ConditionStorageReady, unknown, v1.ReasonProviderUnknown),
		}, []string{"CredentialsRenewed False Expiring", "StorageReady Unknown ProviderUnknown"}, "eu-1"},
		"a reason without an entry":     {"", "", []metav1.Condition{condition(v1.ConditionReady, no, "Odd")}, []string{"Ready False Odd"}, "kubectl describe membercluster eu-1"},
		"an agent of the hub's version": {v1.ModeAgent, "v1.2.9", []metav1.Condition{condition(v1.ConditionReady, yes, v1.ReasonConnected)}, nil, ""},
		"an agent that is too old": {v1.ModeAgent, "v1.0.0", []metav1.Condition{condition(v1.ConditionReady, yes, v1.ReasonConnected)},
			[]string{"AgentVersion False VersionSkew"}, "kubectl shopfleet join eu-1 --member-kubeconfig FILE --mode agent"},
		"an agent of the minor version before": {v1.ModeAgent, "v1.1.0", []metav1.Condition{condition(v1.ConditionReady, yes, v1.ReasonConnected)}, nil, ""},
		"an agent without a version":           {v1.ModeAgent, "", []metav1.Condition{condition(v1.ConditionReady, yes, v1.ReasonConnected)}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}}
			m.Spec.Mode, m.Status.AgentVersion, m.Status.Conditions = tt.mode, tt.agent, tt.conditions
			all := Member(m, "v1.2.3")
			if diff := cmp.Diff(tt.want, failing(all)); diff != "" {
				t.Errorf("failed checks (-want +got):\n%s", diff)
			}
			for _, c := range Failures(all) {
				if c.Object != "eu-1" || c.Remedy == "" || strings.Contains(c.Remedy, "MEMBER") {
					t.Errorf("%s of %q has the remedy %q", c.Check, c.Object, c.Remedy)
				}
			}
			if tt.remedy != "" && !strings.Contains(Failures(all)[0].Remedy, tt.remedy) {
				t.Errorf("remedy %q, want %q in it", Failures(all)[0].Remedy, tt.remedy)
			}
		})
	}
}

func healthy(now time.Time) HubFacts {
	f := HubFacts{
		Namespace: "shopfleet-system", Name: "shopfleet-hub", Hub: "v1.2.3", Plugin: "v1.2.2", Unreadable: map[string]error{},
		Deployment: &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: new(int32(2))}, Status: appsv1.DeploymentStatus{AvailableReplicas: 2}},
	}
	renewed := metav1.NewMicroTime(now.Add(-5 * time.Second))
	f.Lease = &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: new("pod-1"), RenewTime: &renewed, LeaseDurationSeconds: new(int32(15))}}
	return f
}

// TestHubOfBundle checks that the remedies fit a hub that the Operator Lifecycle Manager installed.
func TestHubOfBundle(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 8, 0, 0, 0, time.UTC)
	for remedy, change := range map[string]func(*HubFacts){
		"install-hub-policies.yaml": func(f *HubFacts) { f.MissingPolicies = []string{"a"} },
		"kubectl get subscriptions": func(f *HubFacts) { f.Definitions.Outdated = []string{"a"} },
		"-n shopfleet-system":       func(f *HubFacts) { f.Definitions.Absent = []string{"a"} },
		"kubectl get installplans":  func(f *HubFacts) { f.Plugin = "v1.4.0" },
	} {
		f := healthy(now)
		f.Deployment.Labels = map[string]string{"olm.owner": "shopfleet.v1.2.3"}
		change(&f)
		failures := Failures(Hub(f, now))
		if len(failures) != 1 || !strings.Contains(failures[0].Remedy, remedy) || strings.Contains(failures[0].Remedy, "install hub") {
			t.Errorf("failed checks: %+v, want one with the remedy %q", failures, remedy)
		}
	}
}

// TestHubBefore checks that a hub of the release before does not fail for what only later ones have, which is said.
func TestHubBefore(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 8, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		hub    string
		change func(*HubFacts)
		want   []string
		note   string
	}{
		"outdated definitions":          {"v1.1.0", func(f *HubFacts) { f.Definitions.Outdated = []string{"a"} }, nil, "DefinitionOutdated"},
		"a kind that it does not have":  {"v1.1.0", func(f *HubFacts) { f.Definitions.Absent = []string{"a"} }, nil, "DefinitionMissing"},
		"policies that it has not":      {"v1.1.0", func(f *HubFacts) { f.MissingPolicies = []string{"a"} }, nil, "PolicyMissing"},
		"a definition that is deleted":  {"v1.1.0", func(f *HubFacts) { f.Definitions.Deleting = []string{"a"} }, []string{"Definitions False DefinitionDeleting"}, ""},
		"two releases before":           {"v1.0.0", func(f *HubFacts) { f.Definitions.Outdated = []string{"a"} }, []string{"Version False VersionSkew"}, "DefinitionOutdated"},
		"a hub whose version is hidden": {"", func(f *HubFacts) { f.Definitions.Outdated = []string{"a"} }, []string{"Definitions False DefinitionOutdated"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := healthy(now)
			f.Hub = tt.hub
			tt.change(&f)
			all := Hub(f, now)
			if diff := cmp.Diff(tt.want, failing(all)); diff != "" {
				t.Errorf("failed checks (-want +got):\n%s", diff)
			}
			noted := slices.IndexFunc(all, func(c Check) bool { return !c.Failed && c.Reason == tt.note && c.Status == metav1.ConditionFalse })
			if tt.note != "" && (noted < 0 || !strings.Contains(all[noted].Message, "the hub has release "+tt.hub)) {
				t.Errorf("no note %s in %+v", tt.note, all)
			}
		})
	}
}

// TestHub: each defect of a hub is found, and what cannot be read does not fail.
func TestHub(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 8, 0, 0, 0, time.UTC)
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, "shopfleet-hub", errors.New("no"))
	for name, tt := range map[string]struct {
		change func(*HubFacts)
		want   []string
		remedy string
	}{
		"healthy":              {func(*HubFacts) {}, nil, ""},
		"without a Deployment": {func(f *HubFacts) { f.Deployment = nil }, nil, ""},
		"not installed":        {func(f *HubFacts) { f.Deployment, f.Lease = nil, nil }, []string{"Deployment False DeploymentMissing", "Leader False LeaseMissing"}, "kubectl shopfleet install hub"},
		"scaled to zero":       {func(f *HubFacts) { f.Deployment.Spec.Replicas = new(int32(0)) }, []string{"Deployment False ScaledToZero"}, "kubectl scale deployment/shopfleet-hub"},
		"one pod is missing":   {func(f *HubFacts) { f.Deployment.Status.AvailableReplicas = 1 }, []string{"Deployment False PodsNotAvailable"}, "kubectl describe pods -n shopfleet-system"},
		"a stuck update": {func(f *HubFacts) {
			f.Deployment.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse}}
		}, []string{"Deployment False NewPodsNotReady"}, "kubectl logs -n shopfleet-system -l app.kubernetes.io/name=shopfleet-hub"},
		"no leader":              {func(f *HubFacts) { f.Lease.Spec.HolderIdentity = new("") }, []string{"Leader False LeaseExpired"}, "kubectl logs"},
		"a silent leader":        {func(f *HubFacts) { f.Lease.Spec.RenewTime.Time = now.Add(-2 * time.Minute) }, []string{"Leader False LeaseExpired"}, "kubectl logs"},
		"a missing definition":   {func(f *HubFacts) { f.Definitions = crds.DefinitionFacts{Absent: []string{"a"}} }, []string{"Definitions False DefinitionMissing"}, again},
		"an old definition":      {func(f *HubFacts) { f.Definitions = crds.DefinitionFacts{Outdated: []string{"a"}} }, []string{"Definitions False DefinitionOutdated"}, again},
		"a deleted definition":   {func(f *HubFacts) { f.Definitions = crds.DefinitionFacts{Deleting: []string{"a"}} }, []string{"Definitions False DefinitionDeleting"}, "kubectl get a -A"},
		"a missing policy":       {func(f *HubFacts) { f.MissingPolicies = []string{"a"} }, []string{"AdmissionPolicies False PolicyMissing"}, again},
		"an old plugin":          {func(f *HubFacts) { f.Plugin = "v1.0.0" }, []string{"Version False VersionSkew"}, "kubectl-shopfleet"},
		"unscalable":             {func(f *HubFacts) { f.Unscalable = []string{"a/shop"} }, nil, ""},
		"an unknown version":     {func(f *HubFacts) { f.Hub = "" }, nil, ""},
		"a Lease not to be read": {func(f *HubFacts) { f.Unreadable[CheckLeader] = forbidden }, nil, ""},
		"a broken server":        {func(f *HubFacts) { f.Unreadable[CheckPolicies] = errors.New("500") }, []string{"AdmissionPolicies Unknown ReadFailed"}, "kubectl get --raw"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := healthy(now)
			tt.change(&f)
			all := Hub(f, now)
			if len(all) != 7 {
				t.Errorf("%d checks, want 7", len(all))
			}
			if diff := cmp.Diff(tt.want, failing(all)); diff != "" {
				t.Errorf("failed checks (-want +got):\n%s", diff)
			}
			if failures := Failures(all); len(failures) > 0 && !strings.Contains(failures[0].Remedy, tt.remedy) {
				t.Errorf("remedy %q, want %q in it", failures[0].Remedy, tt.remedy)
			}
		})
	}
}

// TestMissingPolicies: the policy and the binding of a name are one in the message.
func TestMissingPolicies(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 8, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		missing []string
		want    string
	}{
		"both":           {[]string{"plans", "applications", "plans", "applications"}, ": applications, plans"},
		"a binding only": {[]string{"plans"}, ": plans"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := healthy(now)
			f.MissingPolicies = tt.missing
			if failures := Failures(Hub(f, now)); len(failures) != 1 || !strings.HasSuffix(failures[0].Message, tt.want) {
				t.Errorf("failed checks %+v, want one whose message ends with %q", failures, tt.want)
			}
		})
	}
}

// TestNewKubernetes: a version that is newer than those of the tests is said, and does not fail.
func TestNewKubernetes(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]string{"v1.36.3": "", "": "", "v1.99.0": "the cluster runs Kubernetes v1.99.0, and 1.36 is the newest that this release was tested with"} {
		m := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}}
		m.Status.KubernetesVersion, m.Status.Conditions = server, []metav1.Condition{condition(v1.ConditionReady, metav1.ConditionTrue, v1.ReasonConnected)}
		all := Member(m, "v1.2.3")
		if failed := Failures(all); len(failed) > 0 {
			t.Errorf("%q fails: %+v", server, failed)
		}
		if last := all[len(all)-1]; last.Check == kubernetesVersion != (want != "") || want != "" && last.Message != want {
			t.Errorf("%q: the last check is %+v, want the message %q", server, last, want)
		}
	}
}

// TestSnapshotRestores: a member with snapshots that cannot be restored there is named, with what to install, and does not fail.
func TestSnapshotRestores(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		provider     v1.Provider
		account      bool
		capabilities []string
		want         bool
	}{
		"no kinds":           {v1.ProviderAWS, true, nil, true},
		"other capabilities": {v1.ProviderAWS, true, []string{"csi:ebs.csi.aws.com"}, true},
		"the kinds":          {v1.ProviderAWS, true, []string{csi.CapabilitySnapshots}, false},
		"no account":         {v1.ProviderAWS, false, nil, false},
		"dumps":              {v1.ProviderOther, true, nil, false},
		"not connected yet":  {"", true, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}}
			m.Status.Provider, m.Status.Capabilities = tt.provider, tt.capabilities
			m.Status.Conditions = []metav1.Condition{condition(v1.ConditionReady, metav1.ConditionTrue, v1.ReasonConnected)}
			if tt.account {
				m.Spec.CloudAccountRef = &v1.ObjectReference{Name: "prod"}
			}
			all := Member(m, "v1.2.3")
			if failed := Failures(all); len(failed) > 0 {
				t.Errorf("it fails: %+v", failed)
			}
			last := all[len(all)-1]
			if last.Check == snapshotRestores != tt.want || tt.want && (!strings.HasSuffix(last.Message, csi.InstallSnapshots) || last.Remedy == "") {
				t.Errorf("the last check is %+v, want one of restores: %t", last, tt.want)
			}
		})
	}
}
