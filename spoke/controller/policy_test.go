package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
)

var errNoPolicy = errors.New("a new StatefulSet lacks the policy's label")

// policyLabel is added to the claim templates of new StatefulSets, as a label and as an
// annotation.
const policyLabel = "cost-center"

// testPolicy checks that a policy extends the claim templates of a StatefulSet, which cannot be changed afterwards.
// The StatefulSet is neither written again nor recreated, and accepts other changes.
func testPolicy(t *testing.T, w *writer) {
	t.Helper()
	installPolicy(t, w)
	w.patch(t, `{"spec":{"database":{"engine":"postgresql","version":"16","storage":"1Gi"}}}`)
	w.reconcile(t)
	created := w.database(t)
	if template := created.Spec.VolumeClaimTemplates[0]; template.Labels[policyLabel] == "" || template.Annotations[policyLabel] == "" {
		t.Fatal("the policy did not extend the claim templates: the test shows nothing")
	}
	w.reconcile(t)
	if again := w.database(t); again.UID != created.UID || again.ResourceVersion != created.ResourceVersion {
		t.Error("the StatefulSet was written or recreated for what the policy added")
	}
	w.patch(t, `{"spec":{"database":{"version":"16.1"}}}`)
	w.reconcile(t)
	if changed := w.database(t); changed.UID != created.UID || changed.Generation == created.Generation {
		t.Errorf("a new version led to the generation %d of the StatefulSet, recreated: %t, want a later generation of the same",
			changed.Generation, changed.UID != created.UID)
	}
}

// database reads the StatefulSet of the database.
func (w *writer) database(t *testing.T) *appsv1.StatefulSet {
	t.Helper()
	set := &appsv1.StatefulSet{}
	if err := w.Get(t.Context(), client.ObjectKey{Namespace: w.key.Namespace, Name: w.key.Name + "-database"}, set); err != nil {
		t.Fatal(err)
	}
	return set
}

// installPolicy makes the API server add a label and an annotation to the claim templates of
// new StatefulSets, and waits until it does.
func installPolicy(t *testing.T, w *writer) {
	t.Helper()
	metadata := metav1.ObjectMeta{Name: "cost-centers"}
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: metadata, Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
		ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
		MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"statefulsets"},
				},
			},
		}}},
		Mutations: []admissionregistrationv1.Mutation{{
			PatchType: admissionregistrationv1.PatchTypeJSONPatch,
			JSONPatch: &admissionregistrationv1.JSONPatch{Expression: `[JSONPatch{op: "add", ` +
				`path: "/spec/volumeClaimTemplates/0/metadata/labels/` + policyLabel + `", value: "shops"}, JSONPatch{op: "add", ` +
				`path: "/spec/volumeClaimTemplates/0/metadata/annotations", value: {"` + policyLabel + `": "shops"}}]`},
		}},
	}}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: metadata,
		Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: metadata.Name}}
	for _, object := range []client.Object{policy, binding} {
		if err := w.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	fleettest.Within(t, time.Minute, "the policy to be applied", func(ctx context.Context) error {
		probe := probeSet()
		if err := w.Create(ctx, probe, client.DryRunAll); err != nil {
			return err
		}
		if probe.Spec.VolumeClaimTemplates[0].Labels[policyLabel] == "" {
			return errNoPolicy
		}
		return nil
	})
}

// probeSet returns a StatefulSet with a claim template.
func probeSet() *appsv1.StatefulSet {
	labels := map[string]string{"a": "b"}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "probe"},
		Spec: appsv1.StatefulSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "a", Image: "a"}},
			}},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: labels}, Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
				},
			}}},
		},
	}
}
