package spoke_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// awaitCause waits until Ready and Degraded of an app have a reason, and Ready says something.
func (e *environment) awaitCause(t *testing.T, app *v1.EcommerceApp, reason string, texts ...string) {
	t.Helper()
	framework.Await(t, e, app, "the app to wait for "+reason, func(app *v1.EcommerceApp) error {
		ready := meta.FindStatusCondition(app.Status.Conditions, v1.ConditionReady)
		degraded := meta.FindStatusCondition(app.Status.Conditions, v1.ConditionDegraded)
		if ready == nil || ready.Reason != reason || degraded == nil || degraded.Status != metav1.ConditionTrue || degraded.Reason != reason {
			return fmt.Errorf("Ready is %v, Degraded %v", ready, degraded)
		}
		for _, text := range texts {
			if !strings.Contains(ready.Message, text) {
				return fmt.Errorf("message %q lacks %q", ready.Message, text)
			}
		}
		if strings.Contains(ready.Message, "is not bound") {
			return fmt.Errorf("message %q names a claim that is not the cause", ready.Message)
		}
		return nil
	})
}

// testCauses creates applications where pods or volumes cannot be created, which is told by events alone.
func testCauses(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		t.Run("quota", func(t *testing.T) {
			t.Parallel()
			app := w.shop(t)
			w.limit(t, app.Namespace, corev1.ResourceLimitsMemory)
			app.Spec.Database.Resources = v1.Resources{}
			framework.Create(t, w, app)
			w.awaitCause(t, app, v1.ReasonFailedCreate, "database: ", "rejects the creation of pods: failed quota: "+quotaName+": must specify limits.memory for: ")
			awaitEvents(t, w, app, v1.ReasonFailedCreate)
		})
		t.Run("LimitRange", func(t *testing.T) {
			t.Parallel()
			app := w.shop(t)
			limits := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: "limits"}}
			limits.Spec.Limits = []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Max: corev1.ResourceList{corev1.ResourceMemory: quantity("16Mi")}}}
			framework.Create(t, w, limits)
			app.Spec.Database.Resources.Limits = v1.Amounts{v1.ResourceMemory: quantity("4Gi")}
			framework.Create(t, w, app)
			w.awaitCause(t, app, v1.ReasonFailedCreate, "database: ", "maximum memory usage per Container is 16Mi")
		})
		t.Run("class", func(t *testing.T) {
			t.Parallel()
			app := w.shop(t)
			app.Spec.Database.StorageClassName = new("nope")
			framework.Create(t, w, app)
			w.awaitCause(t, app, v1.ReasonProvisioningFailed, "database: claim data-"+app.Name+"-database-0 gets no volume: ", `"nope" not found`)
		})
		t.Run("quota of a Deployment", func(t *testing.T) {
			t.Parallel()
			app := w.runningShop(t)
			w.limit(t, app.Namespace, corev1.ResourcePods)
			framework.Edit(t, w, app, func(app *v1.EcommerceApp) { app.Spec.Backend.Replicas = new(*replicasOf(app) + 2) })
			w.awaitCause(t, app, v1.ReasonFailedCreate, "backend: ", "exceeded quota: "+quotaName+", requested: pods=1, limited: pods=0")
		})
	}
}

func replicasOf(app *v1.EcommerceApp) *int32 {
	if app.Spec.Backend.Replicas == nil {
		return new(int32(1))
	}
	return app.Spec.Backend.Replicas
}

// quotaName is the name of the quotas that limit creates.
const quotaName = "quota"

// limit creates a quota for pods of a namespace that allows none of a resource, and waits until it is enforced.
func (e *environment) limit(t *testing.T, namespace string, name corev1.ResourceName) {
	t.Helper()
	hard := quantity("0")
	if name != corev1.ResourcePods {
		hard = quantity("10Gi")
	}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: quotaName}}
	quota.Spec.Hard = corev1.ResourceList{name: hard}
	framework.Create(t, e, quota)
	framework.Await(t, e, quota, "the quota to be enforced", func(q *corev1.ResourceQuota) error {
		if _, enforced := q.Status.Hard[name]; !enforced {
			return errNotYet
		}
		return nil
	})
}

// testFailingWebhook lets the API server fail on StatefulSets alone, because it cannot call a webhook.
func testFailingWebhook(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		app := w.runningShop(t)
		hook := &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "away"}}
		hook.Webhooks = []admissionv1.ValidatingWebhook{{
			Name: "policy.example.com", ClientConfig: admissionv1.WebhookClientConfig{URL: new("https://127.0.0.1:1/validate")},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.OperationAll},
				Rule:       admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"statefulsets"}},
			}},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: app.Namespace}},
			SideEffects:       new(admissionv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		}}
		framework.Create(t, w, hook)
		set := w.set(app)
		framework.Eventually(t, "the webhook to be called", func(ctx context.Context) error {
			patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"a":"b"}}}`))
			if err := w.Patch(ctx, set.DeepCopy(), patch, client.DryRunAll); !apierrors.IsInternalError(err) {
				return fmt.Errorf("not called: %w", err)
			}
			return nil
		})
		framework.Edit(t, w, app, func(app *v1.EcommerceApp) {
			app.Spec.Database.Resources.Requests = v1.Amounts{v1.ResourceCPU: quantity("11m")}
			app.Spec.Frontend.Image = "shop:v9"
		})
		// The other components have the spec.
		frontend := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-frontend"}}
		framework.Await(t, w, frontend, "the new image of the frontend", func(d *appsv1.Deployment) error {
			if d.Spec.Template.Spec.Containers[0].Image != "shop:v9" {
				return errNotYet
			}
			return nil
		})
		w.awaitFailed(t, app, v1.ReasonApplyFailed, "database: repair what the cluster fails on", `failed calling webhook "policy.example.com"`)
		if ready := framework.Condition(app.Status.Conditions, v1.ConditionReady); strings.Contains(ready.Message, "127.0.0.1") {
			t.Errorf("message %q has an address", ready.Message)
		}
		framework.Delete(t, w, hook)
		w.awaitRunning(t, app)
	}
}

// testHeldDeletion makes a finalizer of another controller hold a Deployment of an application that is deleted.
func testHeldDeletion(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		const finalizer = "example.com/hold"
		app := w.runningShop(t)
		backend := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-backend"}}
		framework.Edit(t, w, backend, func(d *appsv1.Deployment) { d.Finalizers = append(d.Finalizers, finalizer) })
		if err := w.Delete(t.Context(), app); err != nil {
			t.Fatal(err)
		}
		framework.Await(t, w, app, "a message that names the finalizer", func(app *v1.EcommerceApp) error {
			if !strings.Contains(app.Status.Message, "waiting for Deployment "+backend.Name+" to be deleted, which finalizer "+finalizer+" holds") {
				return fmt.Errorf("message %q", app.Status.Message)
			}
			return nil
		})
		framework.Edit(t, w, backend, func(d *appsv1.Deployment) { d.Finalizers = nil })
		framework.AwaitGone(t, w, app)
	}
}

// testProtectedDefinitions checks that the definitions of all kinds are protected in a cluster with a spoke, and in a
// member without an agent.
func testProtectedDefinitions(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		for _, set := range []string{"spoke", "member"} {
			w.protectDefinitions(t, set)
			for _, name := range []string{"ecommerceapps.ecommerce.io", "webapps.example.com", "mysqlclusters.mysql.example.com"} {
				w.awaitProtected(t, set, name)
			}
			// One of a kind that no shop has.
			of := strings.NewReplacer("monitoring.coreos.com", "example.org", "servicemonitor", "widget", "ServiceMonitor", "Widget")
			if err := w.cluster.Apply(t.Context(), []byte(of.Replace(serviceMonitors))); err != nil {
				t.Fatal(err)
			}
			if err := w.Delete(t.Context(), definition("widgets.example.org"), client.DryRunAll); err != nil {
				t.Errorf("%s: the definition of others: %v", set, err)
			}
			name := metav1.ObjectMeta{Name: "shopfleet-deletion-protection-definitions-" + set}
			framework.Delete(t, w, &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: name})
			framework.Delete(t, w, &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: name})
			framework.Eventually(t, "the policy to be gone", func(ctx context.Context) error {
				return w.Delete(ctx, definition("webapps.example.com"), client.DryRunAll)
			})
		}
		framework.Delete(t, w, definition("widgets.example.org"))
	}
}

// protectDefinitions applies the policy of a set of config/admission that protects definitions, and its binding.
func (e *environment) protectDefinitions(t *testing.T, set string) {
	t.Helper()
	for _, file := range []string{"definitions.yaml", "definitions-binding.yaml"} {
		raw, err := os.ReadFile(filepath.Join("..", "..", "config", "admission", set, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := e.cluster.Apply(t.Context(), raw); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitProtected blocks until the API server denies the deletion of a definition, and says how to allow it.
func (e *environment) awaitProtected(t *testing.T, set, name string) {
	t.Helper()
	framework.Eventually(t, set+": the deletion of "+name+" to be denied", func(ctx context.Context) error {
		err := e.Delete(ctx, definition(name), client.DryRunAll)
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "kubectl annotate crd "+name+" ecommerce.io/deletion-protection-") {
			return fmt.Errorf("not denied: %w", errors.Join(err, errNotYet))
		}
		return nil
	})
}
