package verdict

import (
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
			good, Picture{Failure: Undefined([]string{"d"})},
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
	got.Ready = Judge(got, Picture{Failure: Undefined([]string{"a.example.com", "b.example.com"})}).Ready
	if want := "the cluster has lost the definition a.example.com, b.example.com: it is installed again"; got.Ready.Message != want {
		t.Errorf("message %q, want %q", got.Ready.Message, want)
	}
	if want := "user.exec; the previous kubeconfig is still in use"; got.CredentialsValid.Message != want {
		t.Errorf("message %q, want %q", got.CredentialsValid.Message, want)
	}
}
