package members_test

import (
	"encoding/base64"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

type badKubeconfig struct {
	kubeconfig []byte
	// condition is False with the reason, and Ready with it.
	condition, reason string
	// says is a part of the message.
	says string
}

// badKubeconfigs returns kubeconfigs that a cluster, or the check, refuses.
func badKubeconfigs(t *testing.T, e *environment) map[string]badKubeconfig {
	t.Helper()
	good := e.kubeconfig(t, e.Member("us-1"))
	edit := func(change func(*api.Cluster, *api.AuthInfo)) []byte {
		t.Helper()
		file, err := clientcmd.Load(good)
		if err != nil {
			t.Fatal(err)
		}
		context := file.Contexts[file.CurrentContext]
		change(file.Clusters[context.Cluster], file.AuthInfos[context.AuthInfo])
		raw, err := clientcmd.Write(*file)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	// The expiry of a token is read from it, but that it does not work any more is
	// what the cluster says.
	expired := strings.Join([]string{
		"e30", base64.RawURLEncoding.EncodeToString([]byte(`{"exp": 1000000000}`)), "c2ln",
	}, ".")
	return map[string]badKubeconfig{
		"unparsable": {
			[]byte("clusters: [{name: a\n"), v1.ConditionCredentialsValid, v1.ReasonKubeconfigInvalid, "cannot be parsed",
		},
		"exec": {
			edit(func(_ *api.Cluster, user *api.AuthInfo) {
				user.Exec = &api.ExecConfig{Command: "/bin/true", APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: api.NeverExecInteractiveMode}
			}), v1.ConditionCredentialsValid, v1.ReasonUnsafeKubeconfig, "user.exec",
		},
		"wrong authority": {
			edit(func(cluster *api.Cluster, _ *api.AuthInfo) {
				cluster.CertificateAuthorityData = e.Member("eu-1").AdminConfig().CAData
			}), v1.ConditionCredentialsValid, v1.ReasonCertificateInvalid, "certificate-authority-data",
		},
		"wrong host": {
			edit(func(cluster *api.Cluster, _ *api.AuthInfo) { cluster.TLSServerName = "elsewhere.example.com" }),
			v1.ConditionCredentialsValid, v1.ReasonCertificateInvalid, "tls-server-name",
		},
		"unauthorized": {
			edit(func(_ *api.Cluster, user *api.AuthInfo) { user.Token = "unknown" }),
			v1.ConditionCredentialsValid, v1.ReasonUnauthorized, "rejects the credentials",
		},
		"expired": {
			edit(func(_ *api.Cluster, user *api.AuthInfo) { user.Token = expired }),
			v1.ConditionCredentialsValid, v1.ReasonExpired, "have expired: store new ones in the registration Secret, or run kubectl shopfleet join bad",
		},
		"connection refused": {
			edit(func(cluster *api.Cluster, _ *api.AuthInfo) { cluster.Server = "https://127.0.0.1:1" }),
			v1.ConditionConnected, v1.ReasonProbeFailed, "the cluster refuses connections",
		},
	}
}

func (s *suite) testBadKubeconfigs(t *testing.T) {
	s.awaitGone(t)
	for name, bad := range badKubeconfigs(t, s.environment) {
		t.Run(name, func(t *testing.T) {
			s.awaitGone(t)
			s.register(t, "bad", bad.kubeconfig)
			m, _ := s.await(t, "bad", bad.condition, metav1.ConditionFalse, bad.reason)
			if got := message(m, bad.condition); !strings.Contains(got, bad.says) {
				t.Errorf("message %q does not say %q", got, bad.says)
			}
			s.await(t, "bad", v1.ConditionReady, metav1.ConditionFalse, bad.reason)
			if s.process.engaged.has("bad") {
				t.Error("the hub's reconcilers are engaged")
			}
		})
	}
}

// newRestrictedAccount makes an account in a cluster with all permissions but one, and returns its
// kubeconfig and what grants the rest.
func (e *environment) newRestrictedAccount(t *testing.T, account string, without func(resource, verb string) bool) (kubeconfig []byte, grant func()) {
	t.Helper()
	us := e.Member("us-1")
	admin := framework.Admin(t, us)
	rules, err := config.Member.Rules()
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: account}}
	for _, rule := range rules {
		for _, resource := range rule.Resources {
			one := *rule.DeepCopy()
			one.Resources = []string{resource}
			one.Verbs = nil
			for _, verb := range rule.Verbs {
				if !without(resource, verb) {
					one.Verbs = append(one.Verbs, verb)
				}
			}
			role.Rules = append(role.Rules, one)
		}
	}
	for _, object := range []client.Object{
		role,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: account},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: account},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
		},
	} {
		if err := admin.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	kubeconfig, err = us.ServiceAccountKubeconfig(t.Context(), namespace, account)
	if err != nil {
		t.Fatal(err)
	}
	return kubeconfig, func() {
		t.Helper()
		role.Rules = rules
		if err := admin.Update(t.Context(), role); err != nil {
			t.Fatal(err)
		}
	}
}

func (s *suite) testMissingWrite(t *testing.T) {
	s.awaitGone(t)
	kubeconfig, grant := s.newRestrictedAccount(t, "no-writer", func(resource, verb string) bool {
		return resource == "statefulsets" && verb == "create"
	})
	s.register(t, "us-1", kubeconfig)
	m, _ := s.await(t, "us-1", v1.ConditionAuthorized, metav1.ConditionFalse, v1.ReasonPermissionsMissing)
	if got, want := message(m, v1.ConditionAuthorized), "the credentials do not allow: create statefulsets.apps: run kubectl shopfleet join us-1 again, which grants it"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	s.await(t, "us-1", v1.ConditionReady, metav1.ConditionFalse, v1.ReasonPermissionsMissing)
	s.await(t, "us-1", v1.ConditionConnected, metav1.ConditionTrue, "")
	marked := framework.Mark(t, s.Fleet)
	grant()
	_, took := s.await(t, "us-1", v1.ConditionReady, metav1.ConditionTrue, "")
	t.Logf("healed %s after the permission was granted", took)
	// What noticed it is an inspection, which looks at the definition too.
	log := marked.By(t, s.Member("us-1"), "no-writer")
	if looked := log.Of("customresourcedefinitions").Verb("get"); len(looked) == 0 {
		t.Errorf("the definition was not looked at:\n%s", log)
	}
	if writes := log.Writes(); len(writes) > 0 {
		t.Errorf("the inspection wrote:\n%s", writes)
	}
	if n := s.process.engaged.times("us-1"); n != 1 {
		t.Errorf("engaged %d times, want once: granting a permission needs no new connection", n)
	}
}

// testNotServed checks that a member that joined before its role had a permission for an API, which it does not
// serve, stays Ready.
func (s *suite) testNotServed(t *testing.T) {
	s.awaitGone(t)
	kubeconfig, _ := s.newRestrictedAccount(t, "no-routes", func(resource, verb string) bool {
		return resource == "httproutes" && verb != "get" // A rule has one verb at least.
	})
	s.register(t, "us-1", kubeconfig)
	s.await(t, "us-1", v1.ConditionReady, metav1.ConditionTrue, "")
}

func (s *suite) testMissingRead(t *testing.T) {
	s.awaitGone(t)
	kubeconfig, grant := s.newRestrictedAccount(t, "no-reader", func(resource, verb string) bool {
		return resource == "secrets" && (verb == "list" || verb == "watch")
	})
	s.register(t, "us-1", kubeconfig)
	m, _ := s.await(t, "us-1", v1.ConditionAuthorized, metav1.ConditionFalse, v1.ReasonPermissionsMissing)
	if got, want := message(m, v1.ConditionAuthorized), "the credentials do not allow: list secrets, watch secrets: run kubectl shopfleet join us-1 again, which grants it"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	if s.process.engaged.has("us-1") {
		t.Error("engaged without permission to list Secrets")
	}
	grant()
	_, took := s.await(t, "us-1", v1.ConditionReady, metav1.ConditionTrue, "")
	t.Logf("healed %s after the permission was granted", took)
}
