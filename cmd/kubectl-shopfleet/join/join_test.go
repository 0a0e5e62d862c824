package join

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/hub/members/connect/kubeconfig"
)

const (
	memberUID = "member-uid"
	hubUID    = "hub-uid"
)

func endpoint() Endpoint { return Endpoint{Server: "https://eu-1.example.com:6443"} }

func TestCheckName(t *testing.T) {
	for name, want := range map[string]error{
		"eu-1":                  nil,
		"eu.west-1":             nil,
		strings.Repeat("a", 63): nil,
		strings.Repeat("a", 64): errName,
		"":                      errName,
		"EU":                    errName,
		"-eu":                   errName,
		"eu/1":                  errName,
	} {
		if err := CheckName(name); !errors.Is(err, want) {
			t.Errorf("name %q: %v, want %v", name, err, want)
		}
	}
}

// known returns the state of a hub with one member.
func known(name, uid string, change func(*Known)) Known {
	k := Known{HubUID: hubUID, Members: []v1.MemberCluster{{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.MemberClusterStatus{ClusterUID: uid},
	}}}
	change(&k)
	return k
}

// stored returns a registration Secret for an endpoint.
func stored(t *testing.T, at Endpoint) *corev1.Secret {
	t.Helper()
	file, err := at.Kubeconfig("eu-1", Token{Value: "t"})
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "eu-1", Namespace: "shopfleet-system", Labels: map[string]string{v1.MemberClusterLabel: "false"}},
		Data:       map[string][]byte{v1.KubeconfigKey: file},
	}
}

func TestCheck(t *testing.T) {
	same := func(k *Known) { k.Secret = stored(t, endpoint()) }
	moved := func(k *Known) { k.Secret = stored(t, Endpoint{Server: "https://elsewhere.example.com"}) }
	foreign := func(k *Known) { k.Secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}} }
	tests := map[string]struct {
		known     Known
		uid       string
		overwrite bool
		want      error
		hint      string
	}{
		"new":                            {known: known("us-1", "us-uid", func(*Known) {}), uid: memberUID},
		"again":                          {known: known("eu-1", memberUID, same), uid: memberUID},
		"again at another address":       {known: known("eu-1", memberUID, moved), uid: memberUID},
		"never connected, same address":  {known: known("eu-1", "", same), uid: memberUID},
		"never connected, other address": {known: known("eu-1", "", moved), uid: memberUID, want: errSecretTaken, hint: "--overwrite"},
		"overwritten":                    {known: known("eu-1", "", moved), uid: memberUID, overwrite: true},
		"a Secret for something else":    {known: known("us-1", "us-uid", foreign), uid: memberUID, want: errSecretTaken, hint: "another name"},
		"the hub itself":                 {known: known("us-1", "us-uid", func(*Known) {}), uid: hubUID, want: errHubItself, hint: "--context"},
		"a member under another name":    {known: known("us-1", memberUID, func(*Known) {}), uid: memberUID, want: errAlready, hint: "unjoin us-1"},
		"a name of another cluster":      {known: known("eu-1", "other", func(*Known) {}), uid: memberUID, want: errAnother, hint: "unjoin eu-1"},
		"overwriting does not help that": {known: known("eu-1", "other", moved), uid: memberUID, overwrite: true, want: errAnother, hint: "unjoin eu-1"},
		"leaving": {
			known: known("eu-1", memberUID, func(k *Known) { k.Members[0].DeletionTimestamp = new(metav1.NewTime(time.Unix(1, 0))) }),
			uid:   memberUID, want: errLeaving, hint: "again",
		},
		"a hub that cannot be identified": {known: known("us-1", "", func(k *Known) { k.HubUID = "" }), uid: memberUID},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := test.known.Check("eu-1", test.uid, endpoint(), test.overwrite)
			if !errors.Is(err, test.want) {
				t.Fatalf("got %v, want %v", err, test.want)
			}
			if text := hint.For(err); !strings.Contains(text, test.hint) {
				t.Errorf("hint %q, want %q in it", text, test.hint)
			}
		})
	}
}

// TestEndpointIsKept: joining again keeps the address that is registered for the same cluster, and
// no other one.
func TestEndpointIsKept(t *testing.T) {
	const registered = "https://10.0.0.1:6443"
	given := Endpoint{Server: "https://127.0.0.1:6443", CA: []byte("new"), ServerName: "kubernetes"}
	secret := func(change func(*corev1.Secret)) func(*Known) {
		return func(k *Known) {
			k.Secret = stored(t, Endpoint{Server: registered})
			change(k.Secret)
		}
	}
	same := secret(func(*corev1.Secret) {})
	for name, test := range map[string]struct {
		known Known
		want  string
	}{
		"new":                {known("us-1", "us-uid", func(*Known) {}), given.Server},
		"again":              {known("eu-1", memberUID, same), registered},
		"never connected":    {known("eu-1", "", same), given.Server},
		"another cluster":    {known("eu-1", "other", same), given.Server},
		"under other name":   {known("us-1", memberUID, same), given.Server},
		"no Secret":          {known("eu-1", memberUID, func(*Known) {}), given.Server},
		"no registration":    {known("eu-1", memberUID, secret(func(s *corev1.Secret) { s.Labels = nil })), given.Server},
		"invalid kubeconfig": {known("eu-1", memberUID, secret(func(s *corev1.Secret) { s.Data = nil })), given.Server},
	} {
		t.Run(name, func(t *testing.T) {
			want := given
			want.Server = test.want
			if diff := cmp.Diff(want, test.known.Endpoint("eu-1", memberUID, given)); diff != "" {
				t.Errorf("endpoint (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVerify(t *testing.T) {
	tests := map[string]struct {
		leaving Leaving
		uid     string
		at      Endpoint
		want    error
	}{
		"the member":                     {Leaving{UID: memberUID}, memberUID, Endpoint{}, nil},
		"another cluster":                {Leaving{UID: memberUID}, "other", Endpoint{}, errOtherCluster},
		"never connected, same address":  {Leaving{secret: true, at: endpoint()}, memberUID, endpoint(), nil},
		"never connected, other address": {Leaving{secret: true, at: endpoint()}, memberUID, Endpoint{}, errOtherCluster},
		"nothing known":                  {Leaving{}, memberUID, Endpoint{}, errOtherCluster},
		"the hub itself":                 {Leaving{secret: true, at: endpoint()}, hubUID, endpoint(), errOtherCluster},
		"the hub by another's mistake":   {Leaving{UID: hubUID}, hubUID, endpoint(), errOtherCluster},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if err := test.leaving.Verify(hubUID, test.uid, test.at); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

func TestKubeconfig(t *testing.T) {
	at := Endpoint{Server: "https://eu-1.example.com:6443", ServerName: "kubernetes"}
	raw, err := at.Kubeconfig("eu-1", Token{Value: "a-token"})
	if err != nil {
		t.Fatal(err)
	}
	access, err := kubeconfig.Parse(raw)
	if err != nil {
		t.Fatalf("the hub would refuse it: %v", err)
	}
	type view struct{ Host, Token, Name string }
	got := view{access.Config.Host, access.Config.BearerToken, access.Config.ServerName}
	if diff := cmp.Diff(view{at.Server, "a-token", "kubernetes"}, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	stored, ok := endpointIn(raw)
	if !ok || !stored.Same(at) {
		t.Errorf("read back %v, %v; want %v", stored, ok, at)
	}
}

func TestKubeconfigIsCheckedBeforeItIsWritten(t *testing.T) {
	_, err := Endpoint{Server: "http://eu-1.example.com"}.Kubeconfig("eu-1", Token{Value: "t"})
	var refused *kubeconfig.Error
	if !errors.As(err, &refused) || refused.Reason != v1.ReasonUnsafeKubeconfig {
		t.Errorf("got %v, want what the hub says against plain HTTP", err)
	}
}

func TestEndpointOf(t *testing.T) {
	caller := &rest.Config{Host: "https://127.0.0.1:6443", TLSClientConfig: rest.TLSClientConfig{CAData: []byte("ca"), ServerName: "n"}}
	tests := map[string]struct {
		server string
		want   Endpoint
	}{
		"the caller's address": {"", Endpoint{Server: "https://127.0.0.1:6443", CA: []byte("ca"), ServerName: "n"}},
		"another address":      {"https://10.0.0.1:6443", Endpoint{Server: "https://10.0.0.1:6443", CA: []byte("ca"), ServerName: "n"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := EndpointOf(caller, test.server)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("endpoint (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("unverified", func(t *testing.T) {
		_, err := EndpointOf(&rest.Config{TLSClientConfig: rest.TLSClientConfig{Insecure: true}}, "")
		if !errors.Is(err, errInsecure) {
			t.Errorf("got %v, want %v", err, errInsecure)
		}
	})
}

func TestLoopback(t *testing.T) {
	for server, want := range map[string]bool{
		"https://127.0.0.1:6443": true, "https://localhost": true, "https://[::1]:6443": true,
		"https://10.0.0.1:6443": false, "https://eu-1.example.com": false, "::": false,
	} {
		if got := (Endpoint{Server: server}).Loopback(); got != want {
			t.Errorf("%q: %v, want %v", server, got, want)
		}
	}
}

func TestMode(t *testing.T) {
	known := Known{Members: []v1.MemberCluster{
		{ObjectMeta: metav1.ObjectMeta{Name: "with"}, Spec: v1.MemberClusterSpec{Mode: v1.ModeAgent}},
		{ObjectMeta: metav1.ObjectMeta{Name: "without"}},
	}}
	for _, tt := range []struct{ name, asked, want string }{
		{"new", "", "Agentless"}, {"new", "agent", "Agent"},
		{"with", "", "Agent"}, {"with", "agentless", "Agentless"},
		{"without", "", "Agentless"}, {"without", "agent", "Agent"},
	} {
		if got := known.Mode(tt.name, ModeOf(tt.asked)); string(got) != tt.want {
			t.Errorf("%s, requested %q: %s, want %s", tt.name, tt.asked, got, tt.want)
		}
	}
}

func TestState(t *testing.T) {
	ready := metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1.ReasonConnected}
	bad := metav1.Condition{Type: v1.ConditionCredentialsValid, Status: metav1.ConditionFalse, Reason: v1.ReasonUnsafeKubeconfig}
	alive := metav1.Condition{Type: v1.ConditionAgentReady, Status: metav1.ConditionTrue, Reason: v1.ReasonAgentAlive}
	silent := metav1.Condition{Type: v1.ConditionAgentReady, Status: metav1.ConditionFalse, Reason: v1.ReasonAgentSilent}
	forbidden := metav1.Condition{Type: v1.ConditionAuthorized, Status: metav1.ConditionFalse, Reason: v1.ReasonPermissionsMissing}
	tests := map[string]struct {
		conditions []metav1.Condition
		mode       v1.Mode
		want       string
	}{
		"not connected":                                   {nil, "", v1.ReasonNotChecked},
		"ready":                                           {[]metav1.Condition{ready}, v1.ModeAgentless, v1.ReasonConnected},
		"ready with the old credentials":                  {[]metav1.Condition{ready, bad}, v1.ModeAgentless, v1.ReasonUnsafeKubeconfig},
		"ready with an agent":                             {[]metav1.Condition{ready, alive}, v1.ModeAgent, v1.ReasonConnected},
		"switching to an agent":                           {[]metav1.Condition{ready}, v1.ModeAgent, reasonSwitching},
		"switching to an agent that is silent":            {[]metav1.Condition{ready, silent}, v1.ModeAgent, v1.ReasonAgentSilent},
		"switching from the agent":                        {[]metav1.Condition{ready, alive}, v1.ModeAgentless, reasonSwitching},
		"switching from the agent, hub lacks permissions": {[]metav1.Condition{ready, alive, forbidden}, v1.ModeAgentless, v1.ReasonPermissionsMissing},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Waiting{Mode: test.mode}.state(&v1.MemberCluster{Status: v1.MemberClusterStatus{Conditions: test.conditions}})
			if got.Reason != test.want {
				t.Errorf("reason %q, want %q", got.Reason, test.want)
			}
		})
	}
}

// TestRemedies checks that every reason why a member is not ready has a hint.
func TestRemedies(t *testing.T) {
	for reason, want := range map[string]string{
		v1.ReasonProbeFailed:        "--member-server",
		v1.ReasonCertificateInvalid: "CA",
		v1.ReasonUnauthorized:       "again",
		v1.ReasonPermissionsMissing: "config/rbac/member",
		v1.ReasonDuplicateCluster:   "unjoin eu-1",
		v1.ReasonAgentSilent:        "kubectl get pods -n shopfleet-system",
		v1.ReasonSetupFailed:        "kubectl describe membercluster eu-1",
	} {
		err := Waiting{Name: "eu-1", At: endpoint()}.notReady(&v1.MemberCluster{}, metav1.Condition{Reason: reason, Message: "m"})
		if !errors.Is(err, ErrNotReady) {
			t.Errorf("%s: %v, want %v", reason, err, ErrNotReady)
		}
		if text := hint.For(err); !strings.Contains(text, want) {
			t.Errorf("%s: hint %q, want %q in it", reason, text, want)
		}
	}
}

func TestRegistrationObjects(t *testing.T) {
	r := Registration{Name: "eu-1", Kubeconfig: []byte("file"), Region: "eu-west-1", Labels: map[string]string{"tier": "prod"}}
	want := map[string]any{
		"apiVersion": "ecommerce.io/v1", "kind": "MemberCluster",
		"metadata": map[string]any{"name": "eu-1", "labels": map[string]any{"tier": "prod"}},
		"spec":     map[string]any{"region": "eu-west-1"},
	}
	if diff := cmp.Diff(want, r.memberCluster().Object); diff != "" {
		t.Errorf("MemberCluster (-want +got):\n%s", diff)
	}
	want = map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata": map[string]any{
			"name": "eu-1", "namespace": "ns", "labels": map[string]any{"ecommerce.io/member-cluster": "true"},
			"annotations": map[string]any{"ecommerce.io/renewed-account": "shopfleet-system/shopfleet-hub"},
		},
		"data": map[string]any{"kubeconfig": "ZmlsZQ=="},
	}
	if diff := cmp.Diff(want, r.secret("ns").Object); diff != "" {
		t.Errorf("secret (-want +got):\n%s", diff)
	}
}

// TestKubeconfigHasOnlyTheToken checks that the hub gets no credentials of the user.
func TestKubeconfigHasOnlyTheToken(t *testing.T) {
	caller := &rest.Config{Host: "https://eu-1.example.com", BearerToken: "mine", Username: "me", Password: "secret"}
	at, err := EndpointOf(caller, "")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := at.Kubeconfig("eu-1", Token{Value: "minted"})
	if err != nil {
		t.Fatal(err)
	}
	file, err := clientcmd.Load(raw)
	if err != nil {
		t.Fatal(err)
	}
	if got := file.AuthInfos["eu-1"]; got.Token != "minted" || got.Username != "" || strings.Contains(string(raw), "mine") {
		t.Error("the user's credentials are in the kubeconfig for the hub")
	}
}

// TestCheckKubernetes checks that a cluster that the hub would refuse is not joined.
func TestCheckKubernetes(t *testing.T) {
	t.Parallel()
	if err := CheckKubernetes("v" + config.OldestKubernetes + ".0"); err != nil {
		t.Errorf("the oldest version is refused: %v", err)
	}
	if err := CheckKubernetes("v1.29.15"); !errors.Is(err, errTooOld) {
		t.Errorf("error = %v, want one about the version", err)
	}
}
