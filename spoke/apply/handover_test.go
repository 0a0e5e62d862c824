package apply_test

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/spoke/apply"
)

// testHandover leaves the number of replicas to an autoscaler: a stopped Deployment starts with what it asks for.
func testHandover(s *server) func(*testing.T) {
	return func(t *testing.T) {
		for name, tt := range map[string]struct{ has, start, want int32 }{
			"running": {3, 2, 3}, "stopped": {0, 2, 2}, "stopped-by-default": {0, 0, 1},
		} {
			labels := map[string]string{"app": name}
			intent := &appsv1.Deployment{
				TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: configMap().Labels},
				Spec: appsv1.DeploymentSpec{
					Replicas: &tt.has, Selector: &metav1.LabelSelector{MatchLabels: labels},
					Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}}},
				},
			}
			a := s.applier()
			do(t, a, apply.Request{Intent: intent, Owned: labelled}, apply.Created)
			live := intent.DeepCopy()
			if err := s.Get(t.Context(), client.ObjectKeyFromObject(intent), live); err != nil {
				t.Fatal(err)
			}
			live.ManagedFields = nil // As in the cache.
			intent = intent.DeepCopy()
			intent.Spec.Replicas = nil
			do(t, a, apply.Request{Intent: intent, Live: live, Owned: labelled, StartReplicas: tt.start}, apply.Updated)
			if err := s.Get(t.Context(), client.ObjectKeyFromObject(intent), live); err != nil {
				t.Fatal(err)
			}
			if *live.Spec.Replicas != tt.want {
				t.Errorf("%s: %d replicas, want %d", name, *live.Spec.Replicas, tt.want)
			}
		}
	}
}
