package controller

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// decided holds what a planner and events make of the objects in a cache.
type decided struct {
	States  []component.State
	Steps   []decidedStep
	Changes map[string]component.Change
}

type decidedStep struct {
	Action    component.Action
	Component string
	Object    component.Key
	Size      string
}

// TestSlimDecisions checks that decisions do not depend on the fields of children that the cache drops.
func TestSlimDecisions(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(12, 1))
	steps := 0
	for range 300 {
		app := apitest.RandomFullApp(r)
		app.Namespace, app.Name, app.UID = "shops", "shop", types.UID("1")
		edited := app.DeepCopy()
		apitest.RandomEdit(r, edited)
		whole, slim := livesOf(t, r, app)
		want := decide(t, edited, whole)
		if diff := cmp.Diff(want, decide(t, edited, slim)); diff != "" {
			t.Fatalf("the decision of a slim cache (-whole +slim):\n%s", diff)
		}
		steps += len(want.Steps)
	}
	if steps == 0 {
		t.Error("nothing was decided")
	}
}

// decide returns what is decided about an application.
func decide(t *testing.T, app *v1.EcommerceApp, live component.Live) decided {
	t.Helper()
	components := stamped(t, app)
	decision, err := component.Decide(component.Input{Components: components, Live: live, OwnerUID: app.UID, Generation: 2})
	if err != nil {
		t.Fatal(err)
	}
	d := decided{States: decision.States, Changes: map[string]component.Change{}}
	for _, c := range components {
		d.Changes[c.Name] = component.Classify(c, live, nil)
	}
	for _, step := range decision.Steps {
		object := step.Object.Resource
		if object == nil {
			object = step.Target
		}
		d.Steps = append(d.Steps, decidedStep{step.Action, step.Component, component.KeyOf(object), step.Size.String()})
	}
	return d
}

// livesOf returns most objects of an application, as the API server and as a cache has them.
func livesOf(t *testing.T, r *rand.Rand, app *v1.EcommerceApp) (whole, slim component.Live) {
	t.Helper()
	whole, slim = component.Live{}, component.Live{}
	for _, c := range stamped(t, app) {
		for _, object := range c.Objects {
			if r.IntN(20) == 0 {
				continue // It does not exist.
			}
			exists := object.Resource
			exists.SetUID("2")
			exists.SetResourceVersion("3")
			setReady(r, exists)
			key := component.KeyOf(exists)
			whole[key] = exists
			kept, err := newSlimmer().child(decoded(exists))
			if err != nil {
				t.Fatal(err)
			}
			slim[key] = kept.(component.Resource)
		}
	}
	return whole, slim
}

// decoded returns a child as the informer of its kind decodes it.
func decoded(child component.Resource) component.Resource {
	gvk := child.GetObjectKind().GroupVersionKind()
	isPartial := slices.ContainsFunc(children(), func(o client.Object) bool { return o.GetObjectKind().GroupVersionKind() == gvk }) ||
		slices.ContainsFunc(optionalKinds(), func(k optionalKind) bool { return k.partial && k.gvk == gvk })
	if !isPartial {
		return child.DeepCopyObject().(component.Resource)
	}
	partial := meta.AsPartialObjectMetadata(child).DeepCopy()
	partial.SetGroupVersionKind(gvk)
	return partial
}

// TestPartialKinds checks that the cache keeps only metadata of an optional kind if its objects are compared by
// fingerprint.
func TestPartialKinds(t *testing.T) {
	t.Parallel()
	for _, kind := range optionalKinds() {
		if slim := isSlim(sample(kind.gvk)); slim != kind.partial {
			t.Errorf("%s: slim %t, metadata alone %t", kind.gvk.Kind, slim, kind.partial)
		}
	}
}

// TestSlimAnnotations checks that the cache keeps those annotations of children that decisions read.
func TestSlimAnnotations(t *testing.T) {
	t.Parallel()
	for name, class := range map[string]string{"with a class": "nginx", "without": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ingress := &networkingv1.Ingress{}
			ingress.Annotations = map[string]string{v1.SpecHashAnnotation: "1", "other": "2"}
			want := map[string]string(nil)
			if class != "" {
				ingress.Annotations[component.LegacyIngressClass] = class
				want = map[string]string{component.LegacyIngressClass: class}
			}
			for range 2 { // An object may be transformed again.
				if _, err := newSlimmer().child(ingress); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, ingress.Annotations); diff != "" || component.SpecHash(ingress) != "1" {
					t.Errorf("hash %q, annotations (-want +got):\n%s", component.SpecHash(ingress), diff)
				}
			}
		})
	}
}

// stamped returns the components of an application, each object with its hash.
func stamped(t *testing.T, app *v1.EcommerceApp) []component.Component {
	t.Helper()
	components, err := render.EcommerceApp(app.DeepCopy(), render.Cluster{Name: "eu-1", ServiceMonitors: true, PrometheusRules: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range components {
		for _, object := range c.Rendered() {
			if _, err := apply.Stamp(object.Resource); err != nil {
				t.Fatal(err)
			}
		}
	}
	return components
}

// setReady gives some workloads the status of one that is ready.
func setReady(r *rand.Rand, object component.Resource) {
	if r.IntN(3) == 0 {
		return
	}
	switch w := object.(type) {
	case *appsv1.Deployment:
		n := int32(1)
		if w.Spec.Replicas != nil {
			n = *w.Spec.Replicas
		}
		w.Status = appsv1.DeploymentStatus{Replicas: n, UpdatedReplicas: n, AvailableReplicas: n, ReadyReplicas: n}
		if r.IntN(3) == 0 {
			w.Status.AvailableReplicas--
			w.Status.Conditions = []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "exceeded quota: pods"},
				{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionFalse, Reason: "MinimumReplicasUnavailable", Message: "Deployment does not have minimum availability."},
			}
		}
	case *autoscalingv2.HorizontalPodAutoscaler:
		w.Status.Conditions = []autoscalingv2.HorizontalPodAutoscalerCondition{
			{Type: autoscalingv2.AbleToScale, Status: corev1.ConditionTrue, Reason: "ReadyForNewScale"},
			{Type: autoscalingv2.ScalingActive, Status: corev1.ConditionFalse, Reason: "FailedGetResourceMetric", Message: "pod a-b-c", LastTransitionTime: metav1.NewTime(time.Unix(1000, 0))},
		}
	case *appsv1.StatefulSet:
		n := *w.Spec.Replicas
		w.Status = appsv1.StatefulSetStatus{Replicas: n, UpdatedReplicas: n, ReadyReplicas: n}
	}
}

// TestPropagatedSecrets checks that the cache keeps the data of the Secrets of shops, and not of those that a hub has
// propagated.
func TestPropagatedSecrets(t *testing.T) {
	t.Parallel()
	for propagated, want := range map[string]int{"": 1, "true": 0} {
		secret := &corev1.Secret{Data: map[string][]byte{"password": []byte("hunter2")}}
		if propagated != "" {
			secret.Labels = map[string]string{v1.PropagatedLabel: propagated}
		}
		if _, err := newSlimmer().child(secret); err != nil || len(secret.Data) != want {
			t.Errorf("propagated %q: %d keys, want %d; error %v", propagated, len(secret.Data), want, err)
		}
	}
}
