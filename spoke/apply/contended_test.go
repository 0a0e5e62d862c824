package apply_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestContendedError checks that the message names a remedy that a user can apply.
func TestContendedError(t *testing.T) {
	t.Parallel()
	key := func(kind string) component.Key {
		return component.Key{GroupKind: schema.GroupKind{Kind: kind}, Name: "web"}
	}
	replicas := []string{"spec.replicas"}
	const ends = `, which is repaired once in 5 minutes`
	for name, tt := range map[string]struct {
		err  apply.ContendedError
		want string
	}{
		"autoscaler": {
			apply.ContendedError{Key: key("Deployment"), Fields: replicas, Manager: "kube-controller-manager", Scales: true, Autoscaler: "web-by-hand"},
			`delete HorizontalPodAutoscaler "web-by-hand", or set autoscaling of the component in place of replicas: it changes spec.replicas of Deployment "web"` + ends,
		},
		"autoscaler of another kind": {
			apply.ContendedError{Key: key("Deployment"), Fields: replicas, Manager: "keda", Scales: true},
			`stop what scales it with field manager "keda", such as an autoscaler, or set autoscaling of the component in place of replicas: it changes spec.replicas of Deployment "web"` + ends,
		},
		"autoscaler of a database": {
			apply.ContendedError{Key: key("StatefulSet"), Fields: replicas, Manager: "kube-controller-manager", Scales: true, Autoscaler: "db"},
			`delete HorizontalPodAutoscaler "db", or change the application: it changes spec.replicas of StatefulSet "web"` + ends,
		},
		"other client": {
			apply.ContendedError{Key: key("ConfigMap"), Fields: []string{"a", "b", "c", "d", "e", "f", "g"}, Manager: "gitops"},
			`stop field manager "gitops", or change the application: it changes a, b, c, d, e and 2 more fields of ConfigMap "web"` + ends,
		},
		"as many fields as are listed": {
			apply.ContendedError{Key: key("ConfigMap"), Fields: []string{"a", "b", "c", "d", "e"}, Manager: "gitops"},
			`stop field manager "gitops", or change the application: it changes a, b, c, d, e of ConfigMap "web"` + ends,
		},
		"unknown client": {apply.ContendedError{Key: key("ConfigMap"), Fields: []string{"a"}}, `stop field manager "unknown", or change the application: it changes a of ConfigMap "web"` + ends},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, tt.want)
		}
	}
}

// testAutoscaler scales a Deployment as an autoscaler does, each time that the number of replicas was repaired.
func testAutoscaler(s *server) func(*testing.T) {
	return func(t *testing.T) {
		clock := clocktesting.NewFakeClock(time.Unix(1e9, 0))
		applier := apply.New(apply.Options{Client: s, Reader: s, FieldManager: "test", Clock: clock})
		labels := map[string]string{"app": "scaled"}
		intent := &appsv1.Deployment{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "scaled", Labels: configMap().Labels},
			Spec: appsv1.DeploymentSpec{
				Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}}},
			},
		}
		do(t, applier, apply.Request{Intent: intent, Owned: labelled}, apply.Created)
		for _, target := range []string{"other", "scaled"} {
			createAutoscaler(t, s, target)
		}
		for range 100 {
			clock.Step(time.Second)
			live := scaled(t, s, intent)
			_, err := applier.Apply(t.Context(), apply.Request{Intent: intent, Live: live, Owned: labelled})
			contended, ok := errors.AsType[*apply.ContendedError](err)
			if !ok && err != nil {
				t.Fatal(err)
			}
			if !ok {
				continue
			}
			if !contended.Scales || contended.Autoscaler != "scaled-by-hand" || !strings.HasPrefix(contended.Error(), `delete HorizontalPodAutoscaler "scaled-by-hand"`) {
				t.Errorf("got %+v: %s", contended, contended)
			}
			return
		}
		t.Error("the replicas were repaired without end")
	}
}

// createAutoscaler creates a HorizontalPodAutoscaler of a Deployment.
func createAutoscaler(t *testing.T, s *server, target string) {
	t.Helper()
	hpa := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: target + "-by-hand"}}
	hpa.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: target}
	hpa.Spec.MaxReplicas = 9
	if err := s.Create(t.Context(), hpa); err != nil {
		t.Fatal(err)
	}
}

// scaled scales a Deployment to 5 as the controller of autoscalers does, and returns it as it is in a cache.
func scaled(t *testing.T, s *server, intent *appsv1.Deployment) *appsv1.Deployment {
	t.Helper()
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 5}}
	if err := s.SubResource("scale").Update(t.Context(), intent.DeepCopy(), client.WithSubResourceBody(scale), client.FieldOwner("kube-controller-manager")); err != nil {
		t.Fatal(err)
	}
	live := intent.DeepCopy()
	if err := s.Get(t.Context(), client.ObjectKeyFromObject(intent), live); err != nil {
		t.Fatal(err)
	}
	live.ManagedFields = nil
	return live
}
