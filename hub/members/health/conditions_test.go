package health

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/ownership"
)

// short is a condition as a test reads it: T, F or U and the reason.
type short struct{ ready, connected, authorized, identity, credentials string }

func shorten(c Conditions) short {
	one := func(c Condition) string { return string(c.Status[0]) + " " + c.Reason }
	return short{one(c.Ready), one(c.Connected), one(c.Authorized), one(c.IdentityVerified), one(c.CredentialsValid)}
}

func missing() []authorizationv1.ResourceAttributes {
	return []authorizationv1.ResourceAttributes{{Group: "apps", Resource: "statefulsets", Verb: "create"}}
}

// computeCase holds an observation, the conditions before it and the expected conditions.
type computeCase struct {
	last    Conditions
	picture Observation
	want    short
}

func failed(stage Step, reason string) Observation {
	return Observation{Failure: &Failure{Step: stage, Reason: reason, Message: "m"}}
}

func TestCompute(t *testing.T) {
	good := Compute(NotObserved(), Observation{Engaged: true})
	tests := map[string]computeCase{
		"unseen": {
			NotObserved(), Observation{},
			short{"U Connecting", "U Connecting", "U NotChecked", "U NotChecked", "U NotChecked"},
		},
		"engaged": {
			NotObserved(), Observation{Engaged: true},
			short{"T Connected", "T Connected", "T Authorized", "T Verified", "T Valid"},
		},
		"engaged without a permission": {
			good, Observation{Engaged: true, Missing: missing()},
			short{"F PermissionsMissing", "T Connected", "F PermissionsMissing", "T Verified", "T Valid"},
		},
		"engaged, and a definition is being deleted": {
			good, Observation{Engaged: true, Deleting: []string{"d"}},
			short{"F SetupFailed", "T Connected", "T Authorized", "T Verified", "T Valid"},
		},
		"engaged without a permission, and a definition is being deleted": {
			good, Observation{Engaged: true, Missing: missing(), Deleting: []string{"d"}},
			short{"F PermissionsMissing", "T Connected", "F PermissionsMissing", "T Verified", "T Valid"},
		},
		"engaged, and the next kubeconfig is bad": {
			good, Observation{Engaged: true, Failure: &Failure{Step: StepReach, Reason: v1.ReasonUnauthorized, Message: "m"}},
			short{"T Connected", "T Connected", "T Authorized", "T Verified", "F Unauthorized"},
		},
		"engaged, and wanted with an agent that is not there": {
			good, Observation{Engaged: true, Wanted: v1.ModeAgent, Failure: AgentSilent(LeaseMonitor{State: LeaseMissing})},
			short{"T Connected", "T Connected", "T Authorized", "T Verified", "T Valid"},
		},
		"with an agent": {
			good, Observation{Engaged: true, Mode: v1.ModeAgent, Wanted: v1.ModeAgent, Lease: LeaseMonitor{State: LeaseRenewed}},
			short{"T Connected", "T Connected", "T Authorized", "T Verified", "T Valid"},
		},
		"with an agent that is not known yet": {
			good, Observation{Engaged: true, Mode: v1.ModeAgent, Wanted: v1.ModeAgent},
			short{"U Connecting", "T Connected", "T Authorized", "T Verified", "T Valid"},
		},
		"with a silent agent": {
			good, Observation{Engaged: true, Mode: v1.ModeAgent, Wanted: v1.ModeAgent, Lease: LeaseMonitor{State: LeaseExpired}},
			short{"F AgentSilent", "T Connected", "T Authorized", "T Verified", "T Valid"},
		},
		"with an old definition": {
			good, Observation{Engaged: true, Mode: v1.ModeAgent, Wanted: v1.ModeAgent, Lease: LeaseMonitor{State: LeaseRenewed}, Outdated: []string{"d"}},
			shorten(good),
		},
		"with an agent, and wanted without, and not allowed": {
			good, Observation{Engaged: true, Mode: v1.ModeAgent, Lease: LeaseMonitor{State: LeaseRenewed}, Failure: PermissionsMissing("us-1", missing())},
			short{"T Connected", "T Connected", "F PermissionsMissing", "T Verified", "T Valid"},
		},
		"connecting again": {good, Observation{}, shorten(good)},
	}
	for name, test := range tests {
		t.Run(name, test.check)
	}
}

func TestComputeFailures(t *testing.T) {
	good := Compute(NotObserved(), Observation{Engaged: true})
	tests := map[string]computeCase{
		"unsafe kubeconfig": {
			NotObserved(), failed(StepKubeconfig, v1.ReasonUnsafeKubeconfig),
			short{"F UnsafeKubeconfig", "F UnsafeKubeconfig", "U NotChecked", "U NotChecked", "F UnsafeKubeconfig"},
		},
		"never answered": {
			NotObserved(), failed(StepReach, v1.ReasonProbeFailed),
			short{"F ProbeFailed", "F ProbeFailed", "U NotChecked", "U NotChecked", "U NotChecked"},
		},
		"lost": {
			good, failed(StepReach, v1.ReasonProbeFailed),
			short{"F ProbeFailed", "F ProbeFailed", "T Authorized", "T Verified", "T Valid"},
		},
		"lost, after the kubeconfig was mended": {
			Compute(good, failed(StepKubeconfig, v1.ReasonUnsafeKubeconfig)), failed(StepReach, v1.ReasonProbeFailed),
			short{"F ProbeFailed", "F ProbeFailed", "T Authorized", "T Verified", "U NotChecked"},
		},
		"expired": {
			good, failed(StepReach, v1.ReasonExpired),
			short{"F Expired", "F Expired", "T Authorized", "T Verified", "F Expired"},
		},
		"wrong authority": {
			NotObserved(), failed(StepReach, v1.ReasonCertificateInvalid),
			short{"F CertificateInvalid", "F CertificateInvalid", "U NotChecked", "U NotChecked", "F CertificateInvalid"},
		},
		"may not be probed": {
			NotObserved(), failed(StepReach, v1.ReasonPermissionsMissing),
			short{"F PermissionsMissing", "F PermissionsMissing", "F PermissionsMissing", "U NotChecked", "T Valid"},
		},
		"another cluster": {
			good, failed(StepIdentity, v1.ReasonClusterIdentityChanged),
			short{"F ClusterIdentityChanged", "T Connected", "T Authorized", "F ClusterIdentityChanged", "T Valid"},
		},
		"may not read": {
			NotObserved(), Observation{Failure: PermissionsMissing("us-1", missing())},
			short{"F PermissionsMissing", "T Connected", "F PermissionsMissing", "T Verified", "T Valid"},
		},
		"a definition is lost": {
			good, Observation{Failure: DefinitionsMissing(v1.ModeAgentless, []string{"d"})},
			short{"F SetupFailed", "T Connected", "T Authorized", "T Verified", "T Valid"},
		},
		"caches do not sync": {
			NotObserved(), failed(StepSetup, v1.ReasonSetupFailed),
			short{"F SetupFailed", "T Connected", "T Authorized", "T Verified", "T Valid"},
		},
	}
	for name, test := range tests {
		t.Run(name, test.check)
	}
}

func (c computeCase) check(t *testing.T) {
	t.Helper()
	got := Compute(c.last, c.picture)
	if diff := cmp.Diff(c.want, shorten(got), cmp.AllowUnexported(short{})); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	if again := Compute(got, c.picture); again != got {
		t.Errorf("the same picture changes the conditions: %+v", again)
	}
	for _, condition := range []Condition{got.Ready, got.Connected, got.Authorized, got.IdentityVerified, got.CredentialsValid} {
		if condition.Message == "" || condition.Status == metav1.ConditionStatus("") {
			t.Errorf("condition says nothing: %+v", condition)
		}
	}
}

func TestMessages(t *testing.T) {
	got := Compute(NotObserved(), Observation{
		Member: "us-1", Engaged: true, Missing: missing(), Failure: &Failure{Step: StepKubeconfig, Reason: v1.ReasonUnsafeKubeconfig, Message: "user.exec"},
	})
	if want := "the credentials do not allow: create statefulsets.apps: run kubectl shopfleet join us-1 again, which grants it"; got.Authorized.Message != want || got.Ready.Message != want {
		t.Errorf("messages %q and %q, want %q", got.Authorized.Message, got.Ready.Message, want)
	}
	got.Ready = Compute(got, Observation{Failure: DefinitionsMissing(v1.ModeAgentless, []string{"a.example.com", "b.example.com"})}).Ready
	if want := "the cluster lost the CustomResourceDefinition a.example.com, b.example.com: the hub installs it again"; got.Ready.Message != want {
		t.Errorf("message %q, want %q", got.Ready.Message, want)
	}
	if want := "user.exec; the previous kubeconfig is still in use"; got.CredentialsValid.Message != want {
		t.Errorf("message %q, want %q", got.CredentialsValid.Message, want)
	}
}

// TestFailures checks that each failure names the remedy and who can apply it.
func TestFailures(t *testing.T) {
	t.Parallel()
	definitions := []string{"a.example.com", "b.example.com"}
	for _, test := range []struct {
		failure      *Failure
		reason, says string
	}{
		{DefinitionsMissing(v1.ModeAgent, definitions), v1.ReasonAgentMissing, "lacks the CustomResourceDefinition a.example.com, b.example.com: " + messageInstall},
		{DefinitionsHeldBack(v1.ModeAgent, definitions), v1.ReasonAgentMissing, "lacks the CustomResourceDefinition a.example.com, b.example.com: " + messageInstall},
		{DefinitionsHeldBack(v1.ModeAgentless, definitions), v1.ReasonSetupFailed, "the hub installs it at the end of spec.paused"},
		{ManagedByAnotherHub(ownership.Record{Hub: "other"}), v1.ReasonManagedByAnotherHub, "the hub with the UID other manages the cluster"},
		{ManagedByAnotherHub(ownership.Record{}), v1.ReasonManagedByAnotherHub, "no longer names the hub"},
		{AgentSilent(LeaseMonitor{}), v1.ReasonAgentSilent, LeaseMonitor{State: LeaseExpired}.Condition().Message},
		{AgentSilent(LeaseMonitor{State: LeaseMissing}), v1.ReasonAgentMissing, LeaseMonitor{State: LeaseMissing}.Condition().Message},
	} {
		if test.failure.Reason != test.reason || !strings.Contains(test.failure.Message, test.says) {
			t.Errorf("%s: %q, want %s: %q", test.failure.Reason, test.failure.Message, test.reason, test.says)
		}
	}
}

// TestPauseIsReported checks that a member that is paused is ready and says why nothing is written there, unless
// something is wrong.
func TestPauseIsReported(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		picture Observation
		ready   string
		message string
	}{
		"paused":    {Observation{Engaged: true, Paused: true}, "T Paused", "the cluster is connected; spec.paused is set, and the hub writes nothing there"},
		"safe mode": {Observation{Engaged: true, Paused: true, SafeMode: true}, "T Paused", "the cluster is connected; the hub runs in safe mode and writes nothing there"},
		"paused, and a definition is being deleted": {
			Observation{Engaged: true, Paused: true, Deleting: []string{"d"}}, "F SetupFailed",
			"the CustomResourceDefinition d is being deleted in the cluster, with all objects of that kind: the hub installs it again after the deletion and the pause",
		},
		"not engaged": {Observation{Paused: true, SafeMode: true}, "U Connecting", NotObserved().Ready.Message},
	} {
		got := Compute(NotObserved(), tt.picture)
		if short := shorten(got); short.ready != tt.ready || got.Ready.Message != tt.message {
			t.Errorf("%s: %s, %q, want %s, %q", name, short.ready, got.Ready.Message, tt.ready, tt.message)
		}
	}
}

// TestComputeAgents checks the condition that only members in mode Agent have.
func TestComputeAgents(t *testing.T) {
	good := Compute(NotObserved(), Observation{Engaged: true, Mode: v1.ModeAgent, Wanted: v1.ModeAgent, Lease: LeaseMonitor{State: LeaseRenewed}})
	tests := map[string]struct {
		picture Observation
		want    string
	}{
		"agentless":                  {Observation{Engaged: true}, ""},
		"alive":                      {Observation{Engaged: true, Mode: v1.ModeAgent, Wanted: v1.ModeAgent, Lease: LeaseMonitor{State: LeaseRenewed}}, "True AgentAlive"},
		"silent":                     {Observation{Engaged: true, Mode: v1.ModeAgent, Wanted: v1.ModeAgent, Lease: LeaseMonitor{State: LeaseExpired}}, "False AgentSilent"},
		"missing":                    {Observation{Engaged: true, Mode: v1.ModeAgent, Wanted: v1.ModeAgent, Lease: LeaseMonitor{State: LeaseMissing}}, "False AgentMissing"},
		"out of reach":               {Observation{Wanted: v1.ModeAgent, Failure: &Failure{Step: StepReach, Reason: v1.ReasonProbeFailed, Message: "m"}}, "Unknown NotChecked"},
		"without the definition":     {Observation{Wanted: v1.ModeAgent, Failure: DefinitionsMissing(v1.ModeAgent, []string{"d"})}, "False AgentMissing"},
		"to come, and silent":        {Observation{Engaged: true, Wanted: v1.ModeAgent, Failure: AgentSilent(LeaseMonitor{State: LeaseExpired})}, "False AgentSilent"},
		"to go, and still at work":   {Observation{Engaged: true, Mode: v1.ModeAgent, Lease: LeaseMonitor{State: LeaseRenewed}}, "True AgentAlive"},
		"gone from the fleet's care": {Observation{Failure: &Failure{Step: StepReach, Reason: v1.ReasonProbeFailed, Message: "m"}}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := Compute(good, tt.picture).AgentReady
			if got := strings.TrimSpace(string(c.Status) + " " + c.Reason); got != tt.want {
				t.Errorf("AgentReady is %q, want %q", got, tt.want)
			}
		})
	}
}

// TestAccountRestricted checks that the policies for the hub's account have a condition of their own, on
// which Ready does not depend, and which stays until the next answer.
func TestAccountRestricted(t *testing.T) {
	for name, tt := range map[string]struct {
		restricted *bool
		want       string
	}{
		"unknown":  {nil, ""},
		"in force": {new(true), v1.ReasonPoliciesInForce},
		"missing":  {new(false), v1.ReasonPoliciesMissing},
	} {
		t.Run(name, func(t *testing.T) {
			got := Compute(NotObserved(), Observation{Member: "eu-1", Engaged: true, Restricted: tt.restricted})
			if got.AccountRestricted.Reason != tt.want || got.Ready.Status != metav1.ConditionTrue {
				t.Errorf("%+v, Ready %s", got.AccountRestricted, got.Ready.Status)
			}
			if lost := Compute(got, failed(StepReach, v1.ReasonProbeFailed)); lost.AccountRestricted != got.AccountRestricted {
				t.Errorf("of a lost member: %+v", lost.AccountRestricted)
			}
			if unanswered := Compute(got, Observation{Member: "eu-1", Engaged: true}); unanswered != got {
				t.Errorf("after a check without an answer: %+v", unanswered.AccountRestricted)
			}
		})
	}
}

// TestDefinitionsCurrent checks that an agent whose definitions are older than the hub's, as while a release is rolled
// out, makes its member no less ready, and is named until it is upgraded.
func TestDefinitionsCurrent(t *testing.T) {
	observed := Observation{Member: "us-1", Engaged: true, Mode: v1.ModeAgent, Wanted: v1.ModeAgent, Lease: LeaseMonitor{State: LeaseRenewed}, Outdated: []string{"a", "b"}}
	got := Compute(NotObserved(), observed)
	want := no(v1.ReasonDefinitionOutdated, "the CustomResourceDefinition a, b in the cluster lacks fields that the hub's has, and the agent may be as old: "+
		"run kubectl shopfleet join us-1 again with the --spoke-image of the hub's release")
	if diff := cmp.Diff(want, got.DefinitionsCurrent); diff != "" || got.Ready.Status != metav1.ConditionTrue {
		t.Errorf("Ready %s, DefinitionsCurrent (-want +got):\n%s", got.Ready.Status, diff)
	}
	silent := &Failure{Step: StepReach, Reason: v1.ReasonProbeFailed, Message: "m"}
	lease := LeaseMonitor{State: LeaseRenewed}
	for name, tt := range map[string]struct {
		next Observation
		want Condition
	}{
		"the agent is upgraded":                {Observation{Engaged: true, Mode: v1.ModeAgent, Wanted: v1.ModeAgent, Lease: lease}, Condition{}},
		"the hub reconciles":                   {Observation{Engaged: true, Mode: v1.ModeAgentless, Wanted: v1.ModeAgentless}, Condition{}},
		"lost":                                 {Observation{Wanted: v1.ModeAgent, Failure: silent}, want},
		"lost, and connecting again":           {Observation{Wanted: v1.ModeAgent}, want},
		"lost, and the hub is to reconcile":    {Observation{Wanted: v1.ModeAgentless, Failure: silent}, Condition{}},
		"connecting, for the hub to reconcile": {Observation{Wanted: v1.ModeAgentless}, Condition{}},
		"the definitions are gone":             {Observation{Wanted: v1.ModeAgent, Failure: DefinitionsMissing(v1.ModeAgent, []string{"a"})}, Condition{}},
	} {
		if next := Compute(got, tt.next).DefinitionsCurrent; next != tt.want {
			t.Errorf("%s: %+v, want %+v", name, next, tt.want)
		}
	}
}
