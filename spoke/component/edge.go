package component

import (
	"fmt"
	"slices"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// LegacyIngressClass is the annotation that named the class before the field did. Controllers
// still honour it.
const LegacyIngressClass = "kubernetes.io/ingress.class"

// observeEdge returns the reasons why an existing Ingress or Certificate, as it was last written,
// is not ready, and a note for the user. Other objects are ready because they exist.
func observeEdge(exists Resource) ([]fact, string) {
	switch object := exists.(type) {
	case *networkingv1.Ingress:
		return observeIngress(object)
	case *unstructured.Unstructured:
		if object.GetKind() == "Certificate" {
			return observeCertificate(object), ""
		}
	}
	return nil, ""
}

// observeIngress returns a fact unless the controller of the Ingress's class has given it an
// address. Without a class no controller ever will, so the Ingress counts as ready, with a note.
func observeIngress(ingress *networkingv1.Ingress) ([]fact, string) {
	class := valueOr(ingress.Spec.IngressClassName, ingress.Annotations[LegacyIngressClass])
	if class == "" {
		return nil, "the cluster had no default ingress class when " + describe(ingress) +
			" was created, so the application is not reachable from outside: set spec.ingress.className"
	}
	for _, point := range ingress.Status.LoadBalancer.Ingress {
		if point.IP != "" || point.Hostname != "" {
			return nil, ""
		}
	}
	return []fact{{rankReplicas, v1.PhaseUpdating, v1.ReasonWaitingForAddress, fmt.Sprintf(
		"%s has no address: check that the IngressClass %q exists, and that its controller runs and its load balancer has an address",
		describe(ingress), class)}}, ""
}

// observeCertificate returns a fact unless the certificate was issued.
func observeCertificate(certificate *unstructured.Unstructured) []fact {
	ready := readyCondition(certificate)
	waiting := func(why string) []fact {
		return []fact{{rankReplicas, v1.PhaseUpdating, v1.ReasonWaitingForCertificate, describe(certificate) + " is not ready" + why}}
	}
	switch {
	case ready == nil:
		return waiting(": cert-manager has not reported a condition")
	case ready.Status == metav1.ConditionTrue:
		return nil
	case ready.Message == "":
		return waiting("")
	default:
		return waiting(": " + bounded(ready.Message))
	}
}

// readyCondition returns the condition Ready of an object of another API. It returns nil if there
// is none, or if it is about an earlier generation.
func readyCondition(object *unstructured.Unstructured) *metav1.Condition {
	var status struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &status); err != nil {
		return nil
	}
	ready := meta.FindStatusCondition(status.Status.Conditions, v1.ConditionReady)
	if ready == nil || ready.ObservedGeneration != 0 && ready.ObservedGeneration < object.GetGeneration() {
		return nil
	}
	return ready
}

// inUse returns the components with the objects of those fallbacks that are in use.
func inUse(components []Component, live Live) []Component {
	used := slices.Clone(components)
	for i, c := range used {
		if c.Fallback != nil && c.Fallback.applies(live) {
			used[i].Objects = c.Fallback.over(c.Objects)
		}
	}
	return used
}

func (f Fallback) applies(live Live) bool {
	if live[KeyOf(f.Objects[0].Resource)] == nil {
		return false
	}
	until, ok := live[f.Until].(*unstructured.Unstructured)
	if !ok {
		return true
	}
	ready := readyCondition(until)
	return ready == nil || ready.Status != metav1.ConditionTrue
}

// over returns the objects, of which those of the fallback replace the ones with the same keys.
func (f Fallback) over(objects []Object) []Object {
	own := slices.DeleteFunc(slices.Clone(objects), func(o Object) bool {
		return slices.ContainsFunc(f.Objects, func(other Object) bool { return KeyOf(other.Resource) == KeyOf(o.Resource) })
	})
	return slices.Concat(f.Objects[:1], own, f.Objects[1:])
}
