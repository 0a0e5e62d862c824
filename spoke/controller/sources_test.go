package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

func TestOwnerOf(t *testing.T) {
	group := schema.GroupKind{Group: v1.GroupName, Kind: "EcommerceApp"}
	app := []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "app"}}}
	labels := map[string]string{v1.PartOfLabel: "ecommerceapp", v1.InstanceLabel: "app"}
	controlled := func(apiVersion, kind string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "app", Controller: new(true)}}
	}
	tests := map[string]struct {
		object client.Object
		want   []reconcile.Request
	}{
		"controlled":           {&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", OwnerReferences: controlled("ecommerce.io/v1", "EcommerceApp")}}, app},
		"another version":      {&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", OwnerReferences: controlled("ecommerce.io/v2", "EcommerceApp")}}, app},
		"another kind's":       {&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Labels: labels, OwnerReferences: controlled("example.com/v1", "WebApp")}}, nil},
		"claim":                {&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Labels: labels}}, app},
		"another kind's claim": {&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Labels: map[string]string{v1.PartOfLabel: "mysqlcluster", v1.InstanceLabel: "app"}}}, nil},
		"pod of a workload":    {&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Labels: labels, OwnerReferences: controlled("apps/v1", "StatefulSet")}}, app},
		"copied by a hub": {&corev1.Secret{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Labels: map[string]string{v1.PropagatedLabel: "true"}, OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "ecommerce.io/v1", Kind: "EcommerceApp", Name: "app"}, {APIVersion: "example.com/v1", Kind: "WebApp", Name: "web"},
				{APIVersion: "ecommerce.io/v1", Kind: "EcommerceApp", Name: "other"},
			},
		}}, append(app[:1:1], reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "other"}})},
		"no labels":    {&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}}, nil},
		"no namespace": {&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Labels: labels}}, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, ownerOf(tt.object, group, "ecommerceapp")); diff != "" {
				t.Errorf("owners (-want +got):\n%s", diff)
			}
		})
	}
}

type whatWakes struct {
	before, after client.Object
	spec, child   bool
}

func TestWhatWakes(t *testing.T) {
	now := metav1.NewTime(time.Unix(1, 0))
	service := func(change func(*corev1.Service)) *corev1.Service {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", ResourceVersion: "2", Generation: 1}}
		change(s)
		return s
	}
	before := service(func(s *corev1.Service) { s.ResourceVersion = "1" })
	tests := map[string]whatWakes{
		"resync":     {before, before, false, false},
		"status":     {before, service(func(*corev1.Service) {}), false, false},
		"spec":       {before, service(func(s *corev1.Service) { s.Generation = 2 }), true, true},
		"annotation": {before, service(func(s *corev1.Service) { s.Annotations = map[string]string{"a": "b"} }), true, true},
		"label":      {before, service(func(s *corev1.Service) { s.Labels = map[string]string{"a": "b"} }), true, true},
		"hash":       {before, service(func(s *corev1.Service) { component.Applied{Hash: "1"}.Record(s) }), true, true},
		"finalizer":  {before, service(func(s *corev1.Service) { s.Finalizers = []string{"a"} }), true, true},
		"owner":      {before, service(func(s *corev1.Service) { s.OwnerReferences = []metav1.OwnerReference{{UID: "a"}} }), true, true},
		"kept owner": {service(func(s *corev1.Service) {
			s.ResourceVersion, s.OwnerReferences = "1", []metav1.OwnerReference{{UID: "a", Controller: new(true)}}
		}),
			service(func(s *corev1.Service) {
				s.OwnerReferences = []metav1.OwnerReference{{UID: "a", Controller: new(false)}}
			}), true, true},
		"deletion":    {before, service(func(s *corev1.Service) { s.DeletionTimestamp = &now }), true, true},
		"no versions": {&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1"}}, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "2"}}, false, true},
		"copied by a hub": {&corev1.Secret{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1", Labels: map[string]string{v1.PropagatedLabel: "true"}}},
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "2", Labels: map[string]string{v1.PropagatedLabel: "true"}}}, false, false},
		"workload": {&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1", Generation: 1}},
			&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "2", Generation: 1}}, false, true},
		"address": {&networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "1", Generation: 1}},
			&networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "2", Generation: 1}}, false, true},
	}
	scaler := func(version, status, reason string) *autoscalingv2.HorizontalPodAutoscaler {
		a := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}
		a.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionStatus(status), Reason: reason}}
		a.Status.CurrentReplicas = int32(len(version))
		kept, err := newSlimmer().child(a)
		if err != nil {
			t.Fatal(err)
		}
		return kept.(*autoscalingv2.HorizontalPodAutoscaler)
	}
	tests["metrics"] = whatWakes{scaler("1", "True", "ValidMetricFound"), scaler("22", "True", "ValidMetricFound"), false, false}
	tests["no metrics"] = whatWakes{scaler("1", "True", "ValidMetricFound"), scaler("22", "False", "FailedGetResourceMetric"), false, true}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			update := event.UpdateEvent{ObjectOld: tt.before, ObjectNew: tt.after}
			if got := specChanged(update); got != tt.spec {
				t.Errorf("an application is woken: %v", got)
			}
			if got := childChanged(update); got != tt.child {
				t.Errorf("a child wakes its owner: %v", got)
			}
		})
	}
}
