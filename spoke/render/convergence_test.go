package render

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// shopState holds the objects of a shop in a cluster whose pods start at once.
type shopState struct {
	*testing.T
	live component.Live
	// once are the objects that are never overwritten.
	once       map[component.Key]bool
	conditions []metav1.Condition
	generation int64
}

func newShopState(t *testing.T) *shopState {
	t.Helper()
	return &shopState{T: t, live: component.Live{}, once: map[component.Key]bool{}}
}

// converge takes the steps that are planned for a spec until none changes anything, and checks
// that the shop runs then.
func (s *shopState) converge(app *v1.EcommerceApp, cluster Cluster) {
	s.Helper()
	const passes = 30 // Of five components, each with its own steps.
	s.generation++
	components, err := EcommerceApp(app, cluster)
	if err != nil {
		s.Fatal(err)
	}
	s.stamp(app, components)
	for range passes {
		decision, err := component.Decide(component.Input{
			Components: components, Live: s.live, OwnerUID: app.UID, Generation: s.generation, Conditions: s.conditions,
		})
		if err != nil {
			s.Fatal(err)
		}
		summary := component.Summarize(component.SummaryInput{
			Generation: s.generation, States: decision.States, Previous: s.conditions, Now: metav1.NewTime(time.Unix(s.generation, 0)),
		})
		s.conditions = summary.Conditions
		changed := false
		for _, step := range decision.Steps {
			changed = s.take(step) || changed
		}
		if !changed {
			if summary.Phase != v1.PhaseRunning {
				s.Errorf("it settles %s: %s", summary.Phase, summary.Message)
			}
			return
		}
	}
	s.Errorf("it changes after %d passes", passes)
}

// stamp adds what the reconciler adds to rendered objects.
func (s *shopState) stamp(app *v1.EcommerceApp, components []component.Component) {
	s.Helper()
	for _, c := range components {
		for _, o := range c.Rendered() {
			if !o.Retain {
				o.Resource.SetOwnerReferences([]metav1.OwnerReference{{UID: app.UID, Controller: new(true)}})
			}
			if _, err := apply.Stamp(o.Resource); err != nil {
				s.Fatal(err)
			}
		}
	}
}

// take takes one step, and reports whether it changes anything.
func (s *shopState) take(step component.Step) bool {
	s.Helper()
	switch step.Action {
	case component.Apply:
		return s.apply(step.Object)
	case component.Grow:
		claim, ok := step.Target.(*corev1.PersistentVolumeClaim)
		if !ok {
			s.Fatalf("%T cannot grow", step.Target)
		}
		claim.Spec.Resources.Requests[corev1.ResourceStorage] = step.Size
	case component.Scale:
		d, ok := step.Target.(*appsv1.Deployment)
		if !ok {
			s.Fatalf("%T cannot be scaled", step.Target)
		}
		d.Spec.Replicas = &step.Replicas
	case component.Recreate, component.Delete:
		delete(s.live, component.KeyOf(step.Target))
	}
	return true
}

// apply stores an object as an API server does for its only owner, and makes its pods run, an
// Ingress have an address, a Certificate ready, and an HTTPRoute accepted.
func (s *shopState) apply(o component.Object) bool {
	s.Helper()
	key := component.KeyOf(o.Resource)
	former := s.live[key]
	s.once[key] = o.Once
	if former != nil && o.Once {
		return false
	}
	next, ok := o.Resource.DeepCopyObject().(component.Resource)
	if !ok {
		s.Fatalf("%T is no object", o.Resource)
	}
	switch w := next.(type) {
	case *appsv1.Deployment:
		n := valueOr(w.Spec.Replicas, 1)
		w.Status = appsv1.DeploymentStatus{Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
	case *appsv1.StatefulSet:
		n := valueOr(w.Spec.Replicas, 1)
		w.Status = appsv1.StatefulSetStatus{Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
		s.claim(w)
	case *networkingv1.Ingress:
		w.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.1"}}
	case *unstructured.Unstructured:
		w.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
		if refs, found, err := unstructured.NestedSlice(w.Object, "spec", "parentRefs"); found && err == nil {
			accepted := []any{map[string]any{"type": "Accepted", "status": "True"}}
			w.Object["status"] = map[string]any{"parents": []any{map[string]any{"parentRef": refs[0], "conditions": accepted}}}
		}
	}
	s.live[key] = next
	return former == nil || !equality.Semantic.DeepEqual(former, next)
}

// claim creates the claims of a StatefulSet that do not exist.
func (s *shopState) claim(set *appsv1.StatefulSet) {
	keys := component.Claims(set)
	for i, key := range keys {
		if s.live[key] != nil {
			continue
		}
		template := set.Spec.VolumeClaimTemplates[i%len(set.Spec.VolumeClaimTemplates)].DeepCopy()
		template.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}
		template.Namespace, template.Name = key.Namespace, key.Name
		template.Status.Phase = corev1.ClaimBound
		s.live[key] = template
	}
}

// compare fails unless both have the same objects. Two differences remain by design: what has
// no owner is kept, which is data and its credentials; and what is created once keeps the
// labels of that time.
func (s *shopState) compare(fresh *shopState) {
	s.Helper()
	for key, has := range s.live {
		if fresh.live[key] == nil && len(has.GetOwnerReferences()) > 0 {
			s.Errorf("%v is left", key)
		}
	}
	for key, want := range fresh.live {
		has := s.live[key]
		switch {
		case has == nil:
			s.Errorf("%v is missing", key)
		case !s.once[key] && !equality.Semantic.DeepEqual(want, has):
			s.Errorf("%v (-fresh +edited):\n%s", key, cmp.Diff(want, has))
		}
	}
}
