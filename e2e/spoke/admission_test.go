package spoke_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// admission is a policy of a cluster that changes the workloads of applications.
type admission struct {
	// patch is the list of a JSON patch, in CEL.
	patch string
	// says contains what the condition StoredAsApplied says; empty if nothing that was applied is changed.
	says string
	// stored reports whether a workload has what the policy makes of it.
	stored func(spec appsv1.StatefulSetSpec) bool
}

const mirror = "mirror.example.com/"

// admissions returns a policy for each thing that clusters change of workloads.
func admissions() map[string]admission {
	const container = "/spec/template/spec/containers/0"
	mirrored := func(list string) string {
		image := "object.spec.template.spec." + list + "[0].image"
		return `(has(object.spec.template.spec.` + list + `) && !` + image + `.startsWith("` + mirror + `") ? [JSONPatch{op: "replace", path: "/spec/template/spec/` +
			list + `/0/image", value: "` + mirror + `" + ` + image + `}] : [])`
	}
	first := func(s appsv1.StatefulSetSpec) corev1.Container { return s.Template.Spec.Containers[0] }
	return map[string]admission{
		"image": {mirrored("containers") + " + " + mirrored("initContainers"), ".image " + mirror,
			func(s appsv1.StatefulSetSpec) bool { return strings.HasPrefix(first(s).Image, mirror) }},
		"labels": {`[JSONPatch{op: "add", path: "/spec/template/metadata/labels/team", value: "shops"}]`, "",
			func(s appsv1.StatefulSetSpec) bool { return s.Template.Labels["team"] == "shops" }},
		"sidecar": {`(object.spec.template.spec.containers.exists(c, c.name == "mesh") ? [] : ` +
			`[JSONPatch{op: "add", path: "/spec/template/spec/containers/-", value: {"name": "mesh", "image": "mesh:1"}}])`, "",
			func(s appsv1.StatefulSetSpec) bool { return len(s.Template.Spec.Containers) > 1 }},
		"resources": {`[JSONPatch{op: "add", path: "` + container + `/resources", value: {"requests": {"cpu": "11m", "memory": "33Mi"}, "limits": {"cpu": "3", "memory": "3Gi"}}}]`,
			".resources.", func(s appsv1.StatefulSetSpec) bool {
				cpu := first(s).Resources.Requests[corev1.ResourceCPU]
				return cpu.String() == "11m"
			}},
		"security context": {`[JSONPatch{op: "add", path: "` + container + `/securityContext", value: {"readOnlyRootFilesystem": false, "runAsNonRoot": true, "allowPrivilegeEscalation": true}}]`,
			".securityContext", func(s appsv1.StatefulSetSpec) bool { return *first(s).SecurityContext.AllowPrivilegeEscalation }},
		"replicas": {`(object.spec.replicas > 1 ? [JSONPatch{op: "replace", path: "/spec/replicas", value: 1}] : [])`, "spec.replicas 1 in place of",
			func(s appsv1.StatefulSetSpec) bool { return *s.Replicas == 1 }},
		"claim templates": {`(has(object.spec.volumeClaimTemplates) ? [JSONPatch{op: "add", path: "/spec/volumeClaimTemplates/0/metadata/annotations", value: {"class": "gold"}}, ` +
			`JSONPatch{op: "replace", path: "/spec/volumeClaimTemplates/0/spec/resources/requests/storage", value: "5Gi"}] : [])`, "spec.volumeClaimTemplates", nil},
	}
}

// testAdmission installs an application under each policy, updates it and rolls it back: it runs each time,
// nothing is written again and again, and the status says what the policy changes.
func testAdmission(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		for name, policy := range admissions() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				app := w.shop(t)
				remove := w.enforce(t, app.Namespace, policy)
				framework.Create(t, w, app)
				w.awaitStored(t, app, policy)
				image := app.Spec.Backend.Image
				for _, image := range []string{"ecommerce-backend:v9.0.0", image} {
					framework.Edit(t, w, app, func(app *v1.EcommerceApp) {
						app.Spec.Backend.Image, app.Spec.Frontend.Replicas = image, new(*app.Spec.Frontend.Replicas+1)
					})
					w.awaitStored(t, app, policy)
				}
				before := w.versions(t, app)
				w.reconcile(t, app, "again")
				w.awaitStored(t, app, policy)
				w.checkSilence(t, app)
				if after := w.versions(t, app); !reflect.DeepEqual(before, after) {
					t.Errorf("a reconciliation changed %v into %v", before, after)
				}
				if name == "image" {
					w.checkLifted(t, app, remove)
				}
			})
		}
	}
}

// awaitStored waits until an application runs, and checks its status and its workloads.
func (e *environment) awaitStored(t *testing.T, app *v1.EcommerceApp, policy admission) {
	t.Helper()
	e.awaitRunning(t, app)
	framework.Await(t, e, app, "the condition", func(app *v1.EcommerceApp) error {
		c := meta.FindStatusCondition(app.Status.Conditions, v1.ConditionStoredAsApplied)
		if (c != nil) != (policy.says != "") || c != nil && (c.Status != metav1.ConditionFalse || c.Reason != v1.ReasonChangedByAdmission || !strings.Contains(c.Message, policy.says)) {
			return fmt.Errorf("condition %+v", c)
		}
		return nil
	})
	deployments, sets := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}
	for _, list := range []client.ObjectList{deployments, sets} {
		if err := e.List(t.Context(), list, client.InNamespace(app.Namespace)); err != nil {
			t.Fatal(err)
		}
	}
	workloads := make(map[string]appsv1.StatefulSetSpec)
	for _, d := range deployments.Items {
		workloads[d.Name] = appsv1.StatefulSetSpec{Replicas: d.Spec.Replicas, Template: d.Spec.Template}
	}
	for _, s := range sets.Items {
		workloads[s.Name] = s.Spec
	}
	for name, spec := range workloads {
		if policy.stored != nil && !policy.stored(spec) {
			t.Errorf("%s is not as the policy makes it", name)
		}
	}
}

// checkSilence checks that nothing is written about an application that does not change.
func (e *environment) checkSilence(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	settled := e.markSettled(t, app.Namespace)
	framework.Pause(t, retry.ProgressPeriod+longestWait)
	if log := e.writes(t, settled, app.Namespace).Except("events"); len(log) > 0 {
		t.Errorf("written although nothing changed:\n%s", log)
	}
}

// checkLifted ends the policy, and checks that an application is as it was applied when that is asked for.
func (e *environment) checkLifted(t *testing.T, app *v1.EcommerceApp, remove func()) {
	t.Helper()
	remove()
	e.reconcile(t, app, "lifted")
	e.awaitStored(t, app, admission{stored: func(s appsv1.StatefulSetSpec) bool {
		return !strings.HasPrefix(s.Template.Spec.Containers[0].Image, mirror)
	}})
}

// enforce makes the API server change the workloads of a namespace, and waits until it does. The end of the
// test lifts the policy, as does remove.
func (e *environment) enforce(t *testing.T, namespace string, of admission) (remove func()) {
	t.Helper()
	unchanged := e.probe(t.Context(), t, namespace)
	metadata := metav1.ObjectMeta{Name: "change-" + namespace}
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: metadata, Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
		ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
		MatchConstraints: &admissionregistrationv1.MatchResources{
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments", "statefulsets"}},
			}}},
		},
		Mutations: []admissionregistrationv1.Mutation{{
			PatchType: admissionregistrationv1.PatchTypeJSONPatch, JSONPatch: &admissionregistrationv1.JSONPatch{Expression: of.patch},
		}},
	}}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: metadata,
		Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: metadata.Name}}
	framework.Create(t, e, policy)
	framework.Create(t, e, binding)
	await := func(changed bool) {
		t.Helper()
		framework.Eventually(t, "the policy", func(ctx context.Context) error {
			if got := e.probe(ctx, t, namespace); reflect.DeepEqual(got, unchanged) == changed {
				return errNotYet
			}
			return nil
		})
	}
	await(true)
	return func() {
		t.Helper()
		framework.Delete(t, e, binding)
		framework.Delete(t, e, policy)
		await(false)
	}
}

// probe returns how the API server would store a StatefulSet.
func (e *environment) probe(ctx context.Context, t *testing.T, namespace string) appsv1.StatefulSetSpec {
	t.Helper()
	labels := map[string]string{"a": "b"}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe"}, Spec: appsv1.StatefulSetSpec{
		Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}},
		VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: quantity("10Gi")}},
		}}},
	}}
	if err := e.Create(ctx, set, client.DryRunAll); err != nil {
		t.Fatal(err)
	}
	return set.Spec
}

// testAdmissionAfterStart starts the spoke again where a policy changes an application: it writes once to know
// that, which changes nothing, and the status goes on saying it.
func testAdmissionAfterStart(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		app, policy := w.shop(t), admissions()["image"]
		w.enforce(t, app.Namespace, policy)
		framework.Create(t, w, app)
		w.awaitStored(t, app, policy)
		before := w.versions(t, app)
		w.stop()
		mark := w.mark(t)
		w.run(t)
		framework.Await(t, w, app, "the workloads to be applied once", func(*v1.EcommerceApp) error {
			if n := len(w.writes(t, mark, app.Namespace).Of("deployments")); n < 2 {
				return fmt.Errorf("%d writes", n)
			}
			return nil
		})
		w.awaitStored(t, app, policy)
		w.checkSilence(t, app)
		if after := w.versions(t, app); !reflect.DeepEqual(before, after) {
			t.Errorf("the start changed %v into %v", before, after)
		}
	}
}
