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

// observeEdge returns the reasons why an existing Ingress, HTTPRoute or Certificate, as it was last
// written, is not ready, and a note for the user. Other objects are ready because they exist.
func observeEdge(exists Resource) ([]fact, string) {
	switch object := exists.(type) {
	case *networkingv1.Ingress:
		return observeIngress(object)
	case *unstructured.Unstructured:
		switch object.GetKind() {
		case "Certificate":
			return observeCertificate(object), ""
		case kindHTTPRoute:
			return observeRoute(object), ""
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

// Addresses returns the IP addresses and DNS names at which requests to an application are admitted,
// as the status reports them for its Ingress, or for the Gateway of its HTTPRoute.
func Addresses(components []Component, live Live) []string {
	var reported []string
	for _, c := range components {
		for _, object := range c.Rendered() {
			switch exists := live[KeyOf(object.Resource)].(type) {
			case *networkingv1.Ingress:
				for _, point := range exists.Status.LoadBalancer.Ingress {
					reported = append(reported, point.IP, point.Hostname)
				}
			case *unstructured.Unstructured:
				reported = append(reported, gatewayAddresses(exists, live)...)
			}
		}
	}
	return v1.ValidAddresses(reported)
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
		return waiting(": " + v1.Excerpt(ready.Message, maxMessage))
	}
}

// readyCondition returns the condition Ready of an object of another API. It returns nil without a
// condition, or if it is about an earlier generation.
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

// withFallbacks returns the components with the objects of those fallbacks that are in use.
func withFallbacks(components []Component, live Live) []Component {
	used := slices.Clone(components)
	for i, c := range used {
		for _, fallback := range c.Fallbacks {
			if fallback.applies(live) {
				used[i].Objects = fallback.merge(used[i].Objects)
			}
		}
	}
	return used
}

func (f Fallback) applies(live Live) bool {
	if live[KeyOf(f.Objects[0].Resource)] == nil {
		return false
	}
	until := live[f.Until]
	if until == nil {
		return true
	}
	waiting, _ := observeEdge(until)
	return len(waiting) > 0
}

// merge returns the objects and the objects of the fallback, which replace the ones with the same keys.
func (f Fallback) merge(objects []Object) []Object {
	own := slices.DeleteFunc(slices.Clone(objects), func(o Object) bool {
		return slices.ContainsFunc(f.Objects, func(other Object) bool { return KeyOf(other.Resource) == KeyOf(o.Resource) })
	})
	return slices.Concat(f.Objects[:1], own, f.Objects[1:])
}
