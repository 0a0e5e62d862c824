package component_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// ingress returns an Ingress that uses a Secret.
func ingress(secret string, change ...func(*networkingv1.Ingress)) *networkingv1.Ingress {
	i := &networkingv1.Ingress{TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"}, ObjectMeta: metadata("app-ingress", "ingress")}
	i.Spec.TLS = []networkingv1.IngressTLS{{SecretName: secret}}
	for _, c := range change {
		c(i)
	}
	return i
}

type fields = map[string]any

// certificate returns a Certificate of generation 2, with the fields of its condition if it has one.
func certificate(ready ...fields) *unstructured.Unstructured {
	meta := metadata("app-certificate", "ingress")
	meta.Generation = 2
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion("cert-manager.io/v1")
	u.SetKind("Certificate")
	u.SetNamespace(meta.Namespace)
	u.SetName(meta.Name)
	u.SetGeneration(meta.Generation)
	u.SetAnnotations(meta.Annotations)
	u.SetOwnerReferences(meta.OwnerReferences)
	if len(ready) > 0 {
		condition := maps.Clone(ready[0])
		condition["type"] = "Ready"
		u.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Issuing", "status": "True"}, condition}}
	}
	return u
}

func selfSigned() *corev1.Secret {
	return &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metadata("app-tls", "ingress")}
}

func TestObserveEdge(t *testing.T) {
	class := func(i *networkingv1.Ingress) { i.Spec.IngressClassName = new("nginx") }
	annotated := func(i *networkingv1.Ingress) { i.Annotations["kubernetes.io/ingress.class"] = "traefik" }
	at := func(point networkingv1.IngressLoadBalancerIngress) func(*networkingv1.Ingress) {
		return func(i *networkingv1.Ingress) {
			i.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{point}
		}
	}
	ip, host := networkingv1.IngressLoadBalancerIngress{IP: "192.0.2.1"}, networkingv1.IngressLoadBalancerIngress{Hostname: "lb.example.com"}
	const hint = ` exists, and that its controller runs and its load balancer has an address`
	tests := map[string]struct {
		live            component.Resource
		reason, message string
	}{
		"address":  {ingress("tls", class, at(ip)), v1.ReasonRunning, "ready"},
		"hostname": {ingress("tls", class, at(host)), v1.ReasonRunning, "ready"},
		"no class": {ingress("tls"), v1.ReasonRunning, "ready; the cluster had no default ingress class when Ingress app-ingress was created, " +
			"so the application is not reachable from outside: set spec.ingress.className"},
		"no address":                 {ingress("tls", class), v1.ReasonWaitingForAddress, `Ingress app-ingress has no address: check that the IngressClass "nginx"` + hint},
		"an empty address":           {ingress("tls", class, at(networkingv1.IngressLoadBalancerIngress{})), v1.ReasonWaitingForAddress, `Ingress app-ingress has no address: check that the IngressClass "nginx"` + hint},
		"class by the annotation":    {ingress("tls", annotated), v1.ReasonWaitingForAddress, `Ingress app-ingress has no address: check that the IngressClass "traefik"` + hint},
		"issued":                     {certificate(fields{"status": "True", "observedGeneration": int64(2)}), v1.ReasonRunning, "ready"},
		"issued, generation unknown": {certificate(fields{"status": "True"}), v1.ReasonRunning, "ready"},
		"issued for the spec before": {certificate(fields{"status": "True", "observedGeneration": int64(1)}), v1.ReasonWaitingForCertificate,
			"Certificate app-certificate is not ready: cert-manager has not reported a condition"},
		"refused": {certificate(fields{"status": "False", "message": "issuer letsencrypt not found"}), v1.ReasonWaitingForCertificate,
			"Certificate app-certificate is not ready: issuer letsencrypt not found"},
		"refused in silence": {certificate(fields{"status": "False"}), v1.ReasonWaitingForCertificate, "Certificate app-certificate is not ready"},
		"not seen yet": {certificate(), v1.ReasonWaitingForCertificate,
			"Certificate app-certificate is not ready: cert-manager has not reported a condition"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			want := component.Resource(ingress("tls"))
			if tt.live.GetObjectKind().GroupVersionKind().Kind == "Certificate" {
				want = certificate()
			}
			got := component.Observe(part("ingress", nil, want), live(tt.live), true)
			if got.Reason != tt.reason || got.Message != tt.message || got.Ready != (tt.reason == v1.ReasonRunning) {
				t.Errorf("got ready %v, %s, %q", got.Ready, got.Reason, got.Message)
			}
		})
	}
}

// edge returns an ingress component whose Certificate replaces a self-signed Secret.
func edge() component.Component {
	c := part("ingress", nil, certificate(), ingress("app-certificate"))
	fallback := ingress("app-tls")
	fallback.Annotations[v1.SpecHashAnnotation] = "self-signed"
	c.Fallbacks = []component.Fallback{{
		Until:   component.KeyOf(certificate()),
		Objects: []component.Object{{Resource: selfSigned(), Once: true}, {Resource: fallback}},
	}}
	return c
}

func TestFallback(t *testing.T) {
	issued, pending := certificate(fields{"status": "True"}), certificate(fields{"status": "False", "message": "pending"})
	used := []string{"apply Secret app-tls", "apply Certificate app-certificate", "apply Ingress app-ingress with app-tls"}
	replaced := []string{"apply Certificate app-certificate", "apply Ingress app-ingress with app-certificate", "delete app-tls"}
	tests := map[string]struct {
		live component.Live
		want []string
	}{
		"nothing is self-signed":                           {live(pending, ingress("")), replaced[:2]},
		"nothing exists":                                   {live(), replaced[:2]},
		"the Certificate is new":                           {live(selfSigned(), ingress("app-tls")), used},
		"the Certificate is not issued":                    {live(selfSigned(), ingress("app-tls"), pending), used},
		"the Certificate is issued":                        {live(selfSigned(), ingress("app-tls"), issued), replaced},
		"the Secret is gone, and it is not valid any more": {live(ingress("app-certificate"), pending), replaced[:2]},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := component.Decide(component.Input{Components: []component.Component{edge()}, Live: tt.live, OwnerUID: owner, Generation: 1})
			if err != nil {
				t.Fatal(err)
			}
			var steps []string
			for _, s := range got.Steps {
				if s.Action == component.Delete {
					steps = append(steps, "delete "+s.Target.GetName())
					continue
				}
				step := "apply " + s.Object.Resource.GetObjectKind().GroupVersionKind().Kind + " " + s.Object.Resource.GetName()
				if i, ok := s.Object.Resource.(*networkingv1.Ingress); ok {
					step += " with " + i.Spec.TLS[0].SecretName
				}
				steps = append(steps, step)
			}
			if diff := cmp.Diff(tt.want, steps); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

// TestSelfSigned checks that the condition is there while the certificate is self-signed in place of
// one of an issuer, and no longer.
func TestSelfSigned(t *testing.T) {
	c := part("ingress", nil, ingress("app-tls"))
	c.SelfSigned = "install it"
	conditions := []metav1.Condition{}
	for _, want := range []string{"install it", ""} {
		c.SelfSigned = want
		state := component.Observe(c, live(ingress("app-tls")), true)
		conditions = component.Summarize(component.SummaryInput{Generation: 1, States: []component.State{state}, Previous: conditions, Now: at(0)}).Conditions
		got := apimeta.FindStatusCondition(conditions, v1.ConditionCertificateTrusted)
		if got == nil && want == "" {
			continue
		}
		if got == nil || got.Message != want || got.Status != metav1.ConditionFalse || got.Reason != v1.ReasonSelfSignedCertificate {
			t.Errorf("the condition is %+v, want %q", got, want)
		}
	}
}

func TestAddresses(t *testing.T) {
	entry := func(points ...networkingv1.IngressLoadBalancerIngress) func(*networkingv1.Ingress) {
		return func(i *networkingv1.Ingress) { i.Status.LoadBalancer.Ingress = points }
	}
	for name, tt := range map[string]struct {
		live component.Live
		want []string
	}{
		"no Ingress":  {live(), nil},
		"no address":  {live(ingress("tls", entry())), nil},
		"IP and name": {live(ingress("tls", entry(networkingv1.IngressLoadBalancerIngress{Hostname: "lb.example.test"}, networkingv1.IngressLoadBalancerIngress{IP: "192.0.2.1"}))), []string{"192.0.2.1", "lb.example.test"}},
		"not a name":  {live(ingress("tls", entry(networkingv1.IngressLoadBalancerIngress{Hostname: "not a name"}))), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := component.Addresses([]component.Component{part("ingress", nil, ingress("tls"))}, tt.live)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
		})
	}
}

// TestImpaired checks that a component that is ready and of no use to users is Degraded.
func TestImpaired(t *testing.T) {
	c := part("ingress", nil, configMap("rules", "ingress"))
	c.Impaired, c.Impairment = v1.ReasonLoginNotConfigured, "set the secret"
	got, err := component.Decide(component.Input{Components: []component.Component{c}, Live: live(configMap("rules", "ingress")), OwnerUID: owner, Generation: 1})
	if err != nil {
		t.Fatal(err)
	}
	if want := "ready; set the secret"; got.States[0].Message != want {
		t.Errorf("message %q, want %q", got.States[0].Message, want)
	}
	summary := component.Summarize(component.SummaryInput{Generation: 1, States: got.States, Now: at(0)})
	want := map[string]string{
		v1.ConditionReady: "True Running", v1.ConditionProgressing: "False Running",
		v1.ConditionDegraded: "True LoginNotConfigured ingress: set the secret", v1.ConditionInitialized: "True Running",
		v1.ConditionStalled: "False Reconciled no change waits for a user, and the condition Degraded says what is wrong",
	}
	for _, c := range summary.Conditions {
		said := string(c.Status) + " " + c.Reason
		if c.Type == v1.ConditionDegraded || c.Type == v1.ConditionStalled {
			said += " " + c.Message
		}
		if expected, known := want[c.Type]; known && said != expected {
			t.Errorf("%s is %q, want %q", c.Type, said, expected)
		}
	}
	if summary.Phase != v1.PhaseRunning || summary.ObservedGeneration != 1 {
		t.Errorf("phase %s, generation %d", summary.Phase, summary.ObservedGeneration)
	}
}
