package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestReorderedByHand puts variables of an object in another order, with and without another edit, and checks
// that one apply restores it, and that the fields are owned as before.
func TestReorderedByHand(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]func(*corev1.Container){
		"order alone":       func(*corev1.Container) {},
		"order and a value": func(c *corev1.Container) { c.Env[0].Value = "other" },
		"and one of others": func(c *corev1.Container) { c.Env = append([]corev1.EnvVar{{Name: "X"}}, c.Env...) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithReturnManagedFields().Build()
			applier := New(Options{Client: server, Reader: server, FieldManager: "test"})
			intent := func() component.Resource {
				d := webOf(t, "web:1")
				d.Annotations = nil
				d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "HOST", Value: "h"}, {Name: "URL", Value: "http://$(HOST)"}}
				if err := Stamp(d); err != nil {
					t.Fatal(err)
				}
				return d
			}
			owned := func(component.Resource) bool { return true }
			if _, err := applier.Apply(t.Context(), Request{Intent: intent(), Uncached: true, Owned: owned}); err != nil {
				t.Fatal(err)
			}
			live := &appsv1.Deployment{}
			get := func() {
				t.Helper()
				if err := server.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, live); err != nil {
					t.Fatal(err)
				}
				live.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
			}
			get()
			web := &live.Spec.Template.Spec.Containers[0]
			web.Env[0], web.Env[1] = web.Env[1], web.Env[0]
			other(web)
			if err := server.Update(t.Context(), live, client.FieldOwner("stranger")); err != nil {
				t.Fatal(err)
			}
			get()
			result, err := applier.Apply(t.Context(), Request{Intent: intent(), Live: live, Owned: owned})
			if err != nil || result.Outcome != Updated {
				t.Fatalf("%s, %v", result.Outcome, err)
			}
			get()
			var names []string
			for _, e := range live.Spec.Template.Spec.Containers[0].Env {
				if e.Name != "X" {
					names = append(names, e.Name+"="+e.Value)
				}
			}
			if diff := cmp.Diff([]string{"HOST=h", "URL=http://$(HOST)"}, names); diff != "" {
				t.Errorf("variables (-want +got):\n%s", diff)
			}
			for _, entry := range live.ManagedFields {
				if entry.Manager == "test" && entry.Operation != metav1.ManagedFieldsOperationApply {
					t.Errorf("fields are owned by an update: %v", entry)
				}
			}
			if again, err := applier.Apply(t.Context(), Request{Intent: intent(), Live: live, Owned: owned}); err != nil || again.Outcome != Unchanged {
				t.Errorf("once more: %s, %v", again.Outcome, err)
			}
		})
	}
}
