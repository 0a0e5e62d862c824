package verdict

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
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

// judgement is what follows from a picture, and from what was before.
type judgement struct {
	last    Conditions
	picture Picture
	want    short
}

func failed(stage Stage, reason string) Picture {
	return Picture{Failure: &Failure{Stage: stage, Reason: reason, Message: "m"}}
}

func TestJudge(t *testing.T) {
	good := Judge(Unseen(), Picture{Engaged: true})
	tests := map[string]judgement{
		"unseen": {
			Unseen(), Picture{},
			short{"U Connecting", "U Connecting", "U NotChecked", "U NotChecked", "U NotChecked"},
		},
		"engaged": {
			Unseen(), Picture{Engaged: true},
			short{"T Connected", "T Connected", "T Authorized", "T Verified", "T Valid"},
		},
		"engaged without a permission": {
			good, Picture{Engaged: true, Missing: missing()},
			short{"F PermissionsMissing", "T Connected", "F PermissionsMissing", "T Verified", "T Valid"},
		},
		"engaged, and a definition is being deleted": {
			good, Picture{Engaged: true, Deleting: []string{"d"}},
			short{"F SetupFailed", "T Connected", "T Authorized", "T Verified", "T Valid"},
		},
		"engaged without a permission, and a definition is being deleted": {
			good, Picture{Engaged: true, Missing: missing(), Deleting: []string{"d"}},
			short{"F PermissionsMissing", "T Connected", "F PermissionsMissing", "T Verified", "T Valid"},
		},
		"engaged, and the next kubeconfig is bad": {
			good, Picture{Engaged: true, Failure: &Failure{StageReach, v1.ReasonUnauthorized, "m"}},
			short{"T Connected", "T Connected", "T Authorized", "T Verified", "F Unauthorized"},
		},
		"engaged, and wanted with an agent that is not there": {
			good, Picture{Engaged: true, Wanted: v1.ModeAgent, Failure: Unheard(Pulse{Beat: BeatMissing})},
			short{"T Connected", "T Connected", "T Authorized", "T Verified", "T Valid"},
		},
		"with an agent": {
			good, Picture{Engaged: true, Mode: v1.ModeAgent, Wanted: v1.ModeAgent, Pulse: Pulse{Beat: BeatAlive}},
			short{"T Connected", "T Connected", "T Authorized", "T Verified", "T Valid"},
		},
		"with an agent that is not known yet": {
			good, Picture{Engaged: true, Mode: v1.ModeAgent, Wanted: v1.ModeAgent},
			short{"U Connecting", "T Connected", "T Authorized", "T Verified", "T Valid"},
		},
		"with a silent agent": {
			good, Picture{Engaged: true, Mode: v1.ModeAgent, Wanted: v1.ModeAgent, Pulse: Pulse{Beat: BeatSilent}},
			short{"F AgentSilent", "T Connected", "T Authorized", "T Verified", "T Valid"},
		},
		"with an old definition": {
			good, Picture{Engaged: true, Mode: v1.ModeAgent, Wanted: v1.ModeAgent, Pulse: Pulse{Beat: BeatAlive}, Outdated: []string{"d"}},
			short{"F SetupFailed", "T Connected", "T Authorized", "T Verified", "T Valid"},
		},
		"with an agent, and wanted without, and not allowed": {
			good, Picture{Engaged: true, Mode: v1.ModeAgent, Pulse: Pulse{Beat: BeatAlive}, Failure: Lacking(missing())},
			short{"T Connected", "T Connected", "F PermissionsMissing", "T Verified", "T Valid"},
		},
		"connecting again": {good, Picture{}, shorten(good)},
	}
	for name, test := range tests {
		t.Run(name, test.check)
	}
}

func TestJudgeFailures(t *testing.T) {
	good := Judge(Unseen(), Picture{Engaged: true})
	tests := map[string]judgement{
		"unsafe kubeconfig": {
			Unseen(), failed(StageKubeconfig, v1.ReasonUnsafeKubeconfig),
			short{"F UnsafeKubeconfig", "F UnsafeKubeconfig", "U NotChecked", "U NotChecked", "F UnsafeKubeconfig"},
		},
		"never answered": {
			Unseen(), failed(StageReach, v1.ReasonProbeFailed),
			short{"F ProbeFailed", "F ProbeFailed", "U NotChecked", "U NotChecked", "U NotChecked"},
		},
		"lost": {
			good, failed(StageReach, v1.ReasonProbeFailed),
			short{"F ProbeFailed", "F ProbeFailed", "T Authorized", "T Verified", "T Valid"},
		},
		"lost, after the kubeconfig was mended": {
			Judge(good, failed(StageKubeconfig, v1.ReasonUnsafeKubeconfig)), failed(StageReach, v1.ReasonProbeFailed),
			short{"F ProbeFailed", "F ProbeFailed", "T Authorized", "T Verified", "U NotChecked"},
		},
		"expired": {
			good, failed(StageReach, v1.ReasonExpired),
			short{"F Expired", "F Expired", "T Authorized", "T Verified", "F Expired"},
		},
		"wrong authority": {
			Unseen(), failed(StageReach, v1.ReasonCertificateInvalid),
			short{"F CertificateInvalid", "F CertificateInvalid", "U NotChecked", "U NotChecked", "F CertificateInvalid"},
		},
		"may not be probed": {
			Unseen(), failed(StageReach, v1.ReasonPermissionsMissing),
			short{"F PermissionsMissing", "F PermissionsMissing", "F PermissionsMissing", "U NotChecked", "T Valid"},
		},
		"another cluster": {
			good, failed(StageIdentity, v1.ReasonClusterIdentityChanged),
			short{"F ClusterIdentityChanged", "T Connected", "T Authorized", "F ClusterIdentityChanged", "T Valid"},
		},
		"may not read": {
			Unseen(), Picture{Failure: Lacking(missing())},
			short{"F PermissionsMissing", "T Connected", "F PermissionsMissing", "T Verified", "T Valid"},
		},
		"a definition is lost": {
			good, Picture{Failure: Undefined(v1.ModeAgentless, []string{"d"})},
			short{"F SetupFailed", "T Connected", "T Authorized", "T Verified", "T Valid"},
		},
		"caches do not sync": {
			Unseen(), failed(StageSetup, v1.ReasonSetupFailed),
			short{"F SetupFailed", "T Connected", "T Authorized", "T Verified", "T Valid"},
		},
	}
	for name, test := range tests {
		t.Run(name, test.check)
	}
}

func (test judgement) check(t *testing.T) {
	t.Helper()
	got := Judge(test.last, test.picture)
	if diff := cmp.Diff(test.want, shorten(got), cmp.AllowUnexported(short{})); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	if again := Judge(got, test.picture); again != got {
		t.Errorf("the same picture changes the conditions: %+v", again)
	}
	for _, c := range []Condition{got.Ready, got.Connected, got.Authorized, got.IdentityVerified, got.CredentialsValid} {
		if c.Message == "" || c.Status == metav1.ConditionStatus("") {
			t.Errorf("condition says nothing: %+v", c)
		}
	}
}

func TestMessages(t *testing.T) {
	got := Judge(Unseen(), Picture{Engaged: true, Missing: missing(), Failure: &Failure{StageKubeconfig, v1.ReasonUnsafeKubeconfig, "user.exec"}})
	if want := "the credentials do not allow: create statefulsets.apps"; got.Authorized.Message != want || got.Ready.Message != want {
		t.Errorf("messages %q and %q, want %q", got.Authorized.Message, got.Ready.Message, want)
	}
	got.Ready = Judge(got, Picture{Failure: Undefined(v1.ModeAgentless, []string{"a.example.com", "b.example.com"})}).Ready
	if want := "the cluster has lost the definition a.example.com, b.example.com: it is installed again"; got.Ready.Message != want {
		t.Errorf("message %q, want %q", got.Ready.Message, want)
	}
	if want := "user.exec; the previous kubeconfig is still in use"; got.CredentialsValid.Message != want {
		t.Errorf("message %q, want %q", got.CredentialsValid.Message, want)
	}
}

// TestJudgeAgents is about the condition that only members in mode Agent have.
func TestJudgeAgents(t *testing.T) {
	good := Judge(Unseen(), Picture{Engaged: true, Mode: v1.ModeAgent, Wanted: v1.ModeAgent, Pulse: Pulse{Beat: BeatAlive}})
	tests := map[string]struct {
		picture Picture
		want    string
	}{
		"agentless":                  {Picture{Engaged: true}, ""},
		"alive":                      {Picture{Engaged: true, Mode: v1.ModeAgent, Wanted: v1.ModeAgent, Pulse: Pulse{Beat: BeatAlive}}, "True AgentAlive"},
		"silent":                     {Picture{Engaged: true, Mode: v1.ModeAgent, Wanted: v1.ModeAgent, Pulse: Pulse{Beat: BeatSilent}}, "False AgentSilent"},
		"missing":                    {Picture{Engaged: true, Mode: v1.ModeAgent, Wanted: v1.ModeAgent, Pulse: Pulse{Beat: BeatMissing}}, "False AgentMissing"},
		"out of reach":               {Picture{Wanted: v1.ModeAgent, Failure: &Failure{StageReach, v1.ReasonProbeFailed, "m"}}, "Unknown NotChecked"},
		"without the definition":     {Picture{Wanted: v1.ModeAgent, Failure: Undefined(v1.ModeAgent, []string{"d"})}, "False AgentMissing"},
		"to come, and silent":        {Picture{Engaged: true, Wanted: v1.ModeAgent, Failure: Unheard(Pulse{Beat: BeatSilent})}, "False AgentSilent"},
		"to go, and still at work":   {Picture{Engaged: true, Mode: v1.ModeAgent, Pulse: Pulse{Beat: BeatAlive}}, "True AgentAlive"},
		"gone from the fleet's care": {Picture{Failure: &Failure{StageReach, v1.ReasonProbeFailed, "m"}}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := Judge(good, tt.picture).AgentReady
			if got := strings.TrimSpace(string(c.Status) + " " + c.Reason); got != tt.want {
				t.Errorf("AgentReady is %q, want %q", got, tt.want)
			}
		})
	}
}
