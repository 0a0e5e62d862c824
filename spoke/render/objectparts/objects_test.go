package objectparts

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestReferences checks that what is optional, or no reference to an object, is not referred to.
func TestReferences(t *testing.T) {
	t.Parallel()
	secret := func(name string, optional *bool) *v1.KeyReference {
		return &v1.KeyReference{Name: name, Key: "k", Optional: optional}
	}
	r := NewReferences("shops", v1.PodSettings{ImagePullSecrets: []v1.LocalSecretReference{{Name: "pull"}}})
	r.AddSecret(nil)
	r.AddSecret(&v1.LocalSecretReference{Name: "tls"})
	r.AddEnv([]v1.EnvVar{
		{Name: "plain", Value: "v"}, {Name: "s", ValueFrom: &v1.EnvVarSource{SecretKeyRef: secret("of-env", nil)}},
		{Name: "c", ValueFrom: &v1.EnvVarSource{ConfigMapKeyRef: secret("of-env", new(false))}},
		{Name: "o", ValueFrom: &v1.EnvVarSource{SecretKeyRef: secret("optional", new(true))}},
	}, []v1.EnvFromSource{
		{SecretRef: &v1.EnvFromReference{Name: "all"}}, {ConfigMapRef: &v1.EnvFromReference{Name: "all"}}, {SecretRef: &v1.EnvFromReference{Name: "tls"}},
	})
	var got []string
	for _, key := range r.Keys() {
		got = append(got, key.Kind+" "+key.Name)
	}
	want := []string{"ConfigMap all", "ConfigMap of-env", "Secret all", "Secret of-env", "Secret pull", "Secret tls"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

// TestData checks that an object without data has none, and settings beside others are found under a name of their
// own.
func TestData(t *testing.T) {
	t.Parallel()
	p := Part{Owner: Owner{Name: "shop"}}
	if s := Secret(p, "s", nil); s.Data != nil {
		t.Errorf("data %v", s.Data)
	}
	if diff := cmp.Diff(map[string][]byte{"a": []byte("1"), "b": []byte("2")}, Secret(p, "s", map[string]string{"a": "1", "b": "2"}).Data); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
	settings, others := map[string]string{"a": "1"}, map[string]string{"b": "2"}
	alone, beside := VersionedConfigMap(p, "x", settings, nil), VersionedConfigMap(p, "x", settings, others)
	if diff := cmp.Diff(settings, alone.Data) + cmp.Diff(map[string]string{"a": "1", "b": "2"}, beside.Data); diff != "" || alone.Name != beside.Name || len(others) != 1 {
		t.Errorf("%s and %s (-want +got):\n%s", alone.Name, beside.Name, diff)
	}
}

// TestService checks that a port leads to that of the same name in the pods, unless it names another one.
func TestService(t *testing.T) {
	t.Parallel()
	for target, want := range map[intstr.IntOrString]intstr.IntOrString{{}: intstr.FromString("http"), intstr.FromInt32(7): intstr.FromInt32(7)} {
		if got := Service(Part{}, "s", corev1.ServicePort{Name: "http", TargetPort: target}).Spec.Ports[0].TargetPort; got != want {
			t.Errorf("target %v, want %v", got, want)
		}
	}
}

// TestClients checks that clients without a selector are all pods of their namespaces, and those without namespaces
// are of the policy's.
func TestClients(t *testing.T) {
	t.Parallel()
	got := Clients([]v1.ClientPods{{}, {PodSelector: &v1.PodSelector{MatchLabels: map[string]string{"a": "1"}}, Namespaces: []string{"n"}}})
	if got[0].NamespaceSelector != nil || got[0].PodSelector == nil || len(got[0].PodSelector.MatchLabels) > 0 {
		t.Errorf("%+v", got[0])
	}
	if got[1].NamespaceSelector.MatchExpressions[0].Values[0] != "n" || got[1].PodSelector.MatchLabels["a"] != "1" {
		t.Errorf("%+v", got[1])
	}
}

// TestRestrictEgress checks that without peers, pods reach DNS servers alone: a rule without peers would allow all.
func TestRestrictEgress(t *testing.T) {
	t.Parallel()
	p := Part{Owner: Owner{Name: "shop"}}
	for want, n := range map[int]int{1: 0, 2: 1} {
		policy := NetworkPolicy(p, "n", intstr.FromInt32(80))
		RestrictEgress(policy, Clients(make([]v1.ClientPods, n))...)
		if got := len(policy.Spec.Egress); got != want {
			t.Errorf("%d rules for %d peers", got, n)
		}
	}
}

// TestPodSecurity checks that pods run as a user of their own, or as one that the namespace gives them.
func TestPodSecurity(t *testing.T) {
	t.Parallel()
	for from, want := range map[v1.PodUserIDs]bool{"": true, v1.PodUserIDsNamespace: false} {
		if got := PodSecurity(7, from); (got.RunAsUser != nil) != want || (got.FSGroup != nil) != want {
			t.Errorf("%q: %+v", from, got)
		}
	}
}

// TestLabels checks that a label whose value is unknown is not set.
func TestLabels(t *testing.T) {
	t.Parallel()
	base := Part{Owner: Owner{Kind: "ecommerceapp", Name: "shop"}, Component: "backend"}
	for label, change := range map[string]func(*Part){
		versionLabel:     func(p *Part) { p.Version = "value" },
		v1.OwnerUIDLabel: func(p *Part) { p.Owner.UID = "value" },
		v1.ClusterLabel:  func(p *Part) { p.Owner.Cluster = "value" },
	} {
		with := base
		change(&with)
		if value, set := base.Labels()[label]; set || with.Labels()[label] != "value" {
			t.Errorf("%s is %q without a value, and else %q", label, value, with.Labels()[label])
		}
	}
}

// TestInputs checks that the annotations of the ServiceAccount are no input of a pod template, and labels are one.
func TestInputs(t *testing.T) {
	t.Parallel()
	base := Inputs(v1.PodSettings{}, "x")
	if base == "" || base != Inputs(v1.PodSettings{ServiceAccountAnnotations: map[string]string{"a": "1"}}, "x") || base == Inputs(v1.PodSettings{PodLabels: map[string]string{"a": "1"}}, "x") {
		t.Errorf("hash %q", base)
	}
}

// TestDescribe checks that a label of ours comes before one of the user, and hides no other.
func TestDescribe(t *testing.T) {
	t.Parallel()
	for range 20 { // Labels come in any order.
		pod := metav1.ObjectMeta{Labels: map[string]string{"ours": "1"}}
		Describe(&pod, v1.PodSettings{PodLabels: map[string]string{"ours": "2", "a": "2", "b": "2", "c": "2"}})
		if diff := cmp.Diff(map[string]string{"ours": "1", "a": "2", "b": "2", "c": "2"}, pod.Labels); diff != "" {
			t.Fatalf("labels (-want +got):\n%s", diff)
		}
	}
}
