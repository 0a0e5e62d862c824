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

// reordered represents a Deployment whose variables refer to each other, and the API server that stores it.
type reordered struct {
	client.WithWatch
	applier *Applier
}

// apply applies the Deployment. live is nil if it does not exist.
func (r reordered) apply(t *testing.T, live *appsv1.Deployment) Result {
	t.Helper()
	intent := webOf(t, "web:1")
	intent.Annotations = nil
	intent.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "HOST", Value: "h"}, {Name: "URL", Value: "http://$(HOST)"}}
	if _, err := Stamp(intent); err != nil {
		t.Fatal(err)
	}
	request := Request{Intent: intent, Uncached: live == nil, Owned: func(component.Resource) bool { return true }}
	if live != nil {
		request.Live = live
	}
	result, err := r.applier.Apply(t.Context(), request)
	if err != nil {
		t.Fatalf("%s, %v", result.Outcome, err)
	}
	return result
}

func (r reordered) live(t *testing.T) *appsv1.Deployment {
	t.Helper()
	live := &appsv1.Deployment{}
	if err := r.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, live); err != nil {
		t.Fatal(err)
	}
	live.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	return live
}

// checkRestored checks that the variables have the order and the values of the intent, and that no field is owned by
// an update of the applier.
func checkRestored(t *testing.T, live *appsv1.Deployment) {
	t.Helper()
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
}

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
			r := reordered{WithWatch: server, applier: New(Options{Client: server, Reader: server, FieldManager: "test"})}
			r.apply(t, nil)
			live := r.live(t)
			web := &live.Spec.Template.Spec.Containers[0]
			web.Env[0], web.Env[1] = web.Env[1], web.Env[0]
			other(web)
			if err := server.Update(t.Context(), live, client.FieldOwner("stranger")); err != nil {
				t.Fatal(err)
			}
			if result := r.apply(t, r.live(t)); result.Outcome != Updated {
				t.Fatalf("the object is %s", result.Outcome)
			}
			live = r.live(t)
			checkRestored(t, live)
			if again := r.apply(t, live); again.Outcome != Unchanged {
				t.Errorf("once more: %s", again.Outcome)
			}
		})
	}
}
