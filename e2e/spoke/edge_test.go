package spoke_test

import (
	"context"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
)

// podSettings returns settings of all sorts, which the simulated nodes meet.
func podSettings() v1.PodSettings {
	linux := v1.LabelRequirement{Key: corev1.LabelOSStable, Operator: "In", Values: []string{"linux"}}
	others := v1.PodAffinityTerm{
		TopologyKey: corev1.LabelHostname, Namespaces: []string{"kube-system"},
		LabelSelector: &v1.PodSelector{MatchLabels: map[string]string{"a": "b"}, MatchExpressions: []v1.LabelRequirement{{Key: "c", Operator: "Exists"}}},
	}
	return v1.PodSettings{
		ImagePullSecrets: []v1.LocalSecretReference{{Name: "registry"}, {Name: "mirror"}},
		NodeSelector:     map[string]string{corev1.LabelOSStable: "linux"},
		Tolerations: []v1.Toleration{
			{Key: "dedicated", Operator: v1.TolerationExists},
			{Key: "spot", Value: "true", Effect: v1.ToleratesNoExecute, TolerationSeconds: new(int64(60))},
		},
		Affinity: &v1.Affinity{
			NodeAffinity: &v1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution:  &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.LabelRequirement{linux}}}},
				PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredNodes{{Weight: 1, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.LabelRequirement{linux}}}},
			},
			PodAntiAffinity: &v1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution:  []v1.PodAffinityTerm{others},
				PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredPods{{Weight: 100, PodAffinityTerm: others}},
			},
		},
		PriorityClassName:         "shops",
		ServiceAccountAnnotations: map[string]string{"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/shop"},
		PodLabels:                 map[string]string{"azure.workload.identity/use": "true"},
		PodAnnotations:            map[string]string{"sidecar.istio.io/inject": "false"},
	}
}

// testPodSettings checks that the API server accepts all settings of pods, and that an unchanged
// application with them costs no write.
func testPodSettings(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		framework.Create(t, w, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "shops"}, Value: 1000})
		app := w.shop(t)
		spec := &app.Spec
		spec.Database.PodSettings, spec.Backend.PodSettings, spec.Frontend.PodSettings = podSettings(), podSettings(), podSettings()
		spec.Database.Resources = v1.Resources{Requests: v1.Amounts{v1.ResourceCPU: quantity("100m")}, Limits: v1.Amounts{v1.ResourceMemory: quantity("1Gi")}}
		spec.Backend.Probes = v1.Probes{ReadinessPath: "/ready", LivenessPath: "/live"}
		spec.Frontend.Probes = v1.Probes{ReadinessPath: "/ready?deep=1"}
		spec.Monitoring.Labels = map[string]string{"release": "prometheus"}
		spec.Security.Authentication.Image = "registry.example.com/oauth2-proxy:v7.13.0"
		spec.Security.Authentication.EmailDomains, spec.Security.Authentication.AllowedGroups = []string{"example.com"}, []string{"buyers"}
		framework.Create(t, w, app)
		w.awaitRunning(t, app)
		pods := &corev1.PodList{}
		if err := w.List(t.Context(), pods, client.InNamespace(app.Namespace)); err != nil {
			t.Fatal(err)
		}
		for _, pod := range pods.Items {
			if pod.Spec.PriorityClassName != "shops" || len(pod.Spec.ImagePullSecrets) != 2 || pod.Spec.Affinity.PodAntiAffinity == nil {
				t.Errorf("pod %s lacks settings: %+v", pod.Name, pod.Spec)
			}
		}
		for _, name := range []string{"database", "backend", "frontend"} {
			account := &corev1.ServiceAccount{}
			if err := w.Get(t.Context(), client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-" + name}, account); err != nil {
				t.Fatal(err)
			}
			if account.Annotations["eks.amazonaws.com/role-arn"] == "" {
				t.Errorf("ServiceAccount %s has annotations %v", account.Name, account.Annotations)
			}
		}
		database := &appsv1.StatefulSet{}
		if err := w.Get(t.Context(), client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-database"}, database); err != nil {
			t.Fatal(err)
		}
		if got := database.Spec.Template.Spec.ServiceAccountName; got != database.Name {
			t.Errorf("the database has the ServiceAccount %q", got)
		}
		mark := w.markSettled(t, app.Namespace)
		w.reconcile(t, app, "unchanged")
		w.checkStatusWrites(t, mark, app, 1)
	}
}

// testIngress follows an Ingress through the classes of a cluster: without one, the default, one
// whose controller gives no address, and one whose controller does.
func testIngress(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		namespace := w.namespace(t)
		outside := framework.Small(namespace, "outside")
		framework.Create(t, w, outside)
		w.awaitRunning(t, outside)
		if err := messageContains(outside, "ingress", "not reachable from outside: set spec.ingress.className"); err != nil {
			t.Error(err)
		}

		class := &networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: "standard", Annotations: map[string]string{networkingv1.AnnotationIsDefaultIngressClass: "true"}}}
		class.Spec.Controller = "example.com/ingress"
		framework.Create(t, w, class)
		app := framework.Small(namespace, "inside")
		framework.Create(t, w, app)
		w.awaitRunning(t, app)
		if got := part(app, "ingress").Message; got != "ready" {
			t.Errorf("with an address the ingress says %q", got)
		}
		framework.Delete(t, w, class)

		framework.Edit(t, w, app, func(app *v1.EcommerceApp) { app.Spec.Ingress.ClassName = new("gone.invalid") })
		ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: app.Name + "-ingress"}}
		// The address is that of the class before, until its controller takes it away.
		framework.Await(t, w, ingress, "the class to change", func(i *networkingv1.Ingress) error {
			if i.Spec.IngressClassName == nil || *i.Spec.IngressClassName != "gone.invalid" {
				return errNotYet
			}
			return nil
		})
		before := ingress.DeepCopy()
		ingress.Status.LoadBalancer.Ingress = nil
		if err := w.Status().Patch(t.Context(), ingress, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
		framework.Await(t, w, app, "the ingress to have no address", func(app *v1.EcommerceApp) error {
			if c := part(app, "ingress"); c.Ready || c.Reason != v1.ReasonWaitingForAddress {
				return fmt.Errorf("ready %t, reason %s", c.Ready, c.Reason)
			}
			return messageContains(app, "ingress", `Ingress inside-ingress has no address: check that the IngressClass "gone.invalid" exists`)
		})
		framework.Edit(t, w, app, func(app *v1.EcommerceApp) { app.Spec.Ingress.ClassName = new("standard") })
		w.awaitRunning(t, app)
	}
}

// testCertificate installs cert-manager beside an application with a self-signed certificate, which
// stays in use until cert-manager has issued one. No other case may have defined Certificates.
func testCertificate(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		app := framework.Small(w.namespace(t), "shop")
		app.Spec.Ingress.Host = "shop.example.com"
		app.Spec.Security.TLS = v1.TLS{Enabled: true, IssuerRef: &v1.IssuerReference{Name: "letsencrypt"}}
		framework.Create(t, w, app)
		w.awaitRunning(t, app)
		w.checkCertificate(t, app, "shop-tls")
		if c := framework.Condition(app.Status.Conditions, v1.ConditionCertificateTrusted); c.Status != metav1.ConditionFalse || c.Reason != v1.ReasonSelfSignedCertificate {
			t.Errorf("without cert-manager the condition is %+v", c)
		}
		if err := w.cluster.Apply(t.Context(), []byte(certificates())); err != nil {
			t.Fatal(err)
		}
		issued := &unstructured.Unstructured{}
		issued.SetGroupVersionKind(schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"})
		issued.SetNamespace(app.Namespace)
		issued.SetName("shop-certificate")
		framework.Await(t, w, app, "the certificate to be waited for", func(app *v1.EcommerceApp) error {
			if meta.IsStatusConditionTrue(app.Status.Conditions, v1.ConditionReady) {
				return errNotYet
			}
			return messageContains(app, "ingress", "Certificate shop-certificate is not ready: cert-manager has not reported a condition")
		})
		w.checkCertificate(t, app, "shop-tls")
		framework.Edit(t, w, issued, func(u *unstructured.Unstructured) {
			u.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "False", "message": "issuer not found"}}}
		})
		framework.Await(t, w, app, "cert-manager's message", func(app *v1.EcommerceApp) error {
			return messageContains(app, "ingress", "Certificate shop-certificate is not ready: issuer not found")
		})
		w.checkCertificate(t, app, "shop-tls")
		w.issueCertificates(t)
		w.awaitRunning(t, app)
		w.checkCertificate(t, app, "shop-certificate")
		if c := framework.Condition(app.Status.Conditions, v1.ConditionCertificateTrusted); c.Type != "" {
			t.Errorf("with a certificate of the issuer the condition is %+v", c)
		}
		w.env.ExpectDeletes(invariants.Expected{Resource: "secrets", Namespace: app.Namespace, Name: "shop-tls"})
		framework.AwaitGone(t, w, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: "shop-tls"}})
		framework.Delete(t, w, app)
		framework.Delete(t, w, definition("certificates.cert-manager.io"))
	}
}

// checkCertificate waits until the Ingress of an application uses a Secret.
func (e *environment) checkCertificate(t *testing.T, app *v1.EcommerceApp, secret string) {
	t.Helper()
	framework.Eventually(t, "the Ingress to use "+secret, func(ctx context.Context) error {
		ingress := &networkingv1.Ingress{}
		if err := e.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-ingress"}, ingress); err != nil {
			return err
		}
		if got := ingress.Spec.TLS[0].SecretName; got != secret {
			return fmt.Errorf("it uses %s", got)
		}
		return nil
	})
}

// issueCertificates makes each Certificate ready, as cert-manager does, until the test ends.
func (e *environment) issueCertificates(t *testing.T) {
	t.Helper()
	all := &unstructured.UnstructuredList{}
	all.SetGroupVersionKind(schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "CertificateList"})
	framework.Eventually(t, "Certificates to be served", func(ctx context.Context) error { return e.List(ctx, all) })
	changes, err := e.Watch(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	ready := []byte(`{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`)
	go func() {
		for change := range changes.ResultChan() {
			certificate, ok := change.Object.(*unstructured.Unstructured)
			if !ok || change.Type != watch.Added && change.Type != watch.Modified {
				continue
			}
			err := e.Patch(t.Context(), certificate, client.RawPatch(types.MergePatchType, ready), client.FieldOwner("cert-manager"))
			if client.IgnoreNotFound(err) != nil && t.Context().Err() == nil {
				t.Errorf("issuing a certificate: %v", err)
			}
		}
	}()
	t.Cleanup(changes.Stop)
}
