package component

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// GatewayAPI returns the version of the Gateway API in which Gateways and HTTPRoutes are read and written.
func GatewayAPI() schema.GroupVersion {
	return schema.GroupVersion{Group: "gateway.networking.k8s.io", Version: "v1"}
}

// kindHTTPRoute is the kind of the routes of the Gateway API.
const kindHTTPRoute = "HTTPRoute"

// parentRef refers to the Gateway of a route.
type parentRef struct {
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	SectionName string `json:"sectionName"`
}

func (p parentRef) key(route Resource) Key {
	return Key{
		GroupKind: GatewayAPI().WithKind("Gateway").GroupKind(), Namespace: cmp.Or(p.Namespace, route.GetNamespace()), Name: p.Name,
	}
}

// routeView is the part of an HTTPRoute that decisions read.
type routeView struct {
	Spec struct {
		ParentRefs []parentRef `json:"parentRefs"`
	} `json:"spec"`
	Status struct {
		Parents []struct {
			ParentRef  parentRef          `json:"parentRef"`
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"parents"`
	} `json:"status"`
}

// routeOf returns the view of an HTTPRoute. It is empty for other objects, and for one that cannot be
// read, which no Gateway has accepted.
func routeOf(r Resource) routeView {
	object, ok := r.(*unstructured.Unstructured)
	if !ok || object.GetKind() != kindHTTPRoute {
		return routeView{}
	}
	var view routeView
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &view); err != nil {
		view.Status.Parents = nil
	}
	return view
}

// Gateways returns the Gateways of an existing HTTPRoute, and none for other objects.
func Gateways(exists Resource) []Key {
	view := routeOf(exists)
	keys := make([]Key, 0, len(view.Spec.ParentRefs))
	for _, parent := range view.Spec.ParentRefs {
		keys = append(keys, parent.key(exists))
	}
	return keys
}

// observeRoute returns a fact unless each Gateway of an HTTPRoute, as it is now, has accepted it.
func observeRoute(route *unstructured.Unstructured) []fact {
	view := routeOf(route)
	if len(view.Spec.ParentRefs) == 0 {
		return []fact{{rankReplicas, v1.PhaseUpdating, v1.ReasonWaitingForGateway, describe(route) + " names no Gateway"}}
	}
	for _, parent := range view.Spec.ParentRefs {
		if why := view.rejection(route, parent); why != "" {
			key := parent.key(route)
			return []fact{{rankReplicas, v1.PhaseUpdating, v1.ReasonWaitingForGateway,
				describe(route) + " is not accepted by Gateway " + key.Namespace + "/" + key.Name + ": " + why}}
		}
	}
	return nil
}

// rejection returns why a Gateway has not accepted a route; empty if it has.
func (v routeView) rejection(route Resource, parent parentRef) string {
	why := "check that the Gateway exists, and that the controller of its GatewayClass runs"
	for _, reported := range v.Status.Parents {
		if reported.ParentRef.key(route) != parent.key(route) || reported.ParentRef.SectionName != parent.SectionName {
			continue
		}
		conditions := slices.DeleteFunc(slices.Clone(reported.Conditions), func(c metav1.Condition) bool {
			return c.ObservedGeneration != 0 && c.ObservedGeneration < route.GetGeneration()
		})
		accepted := meta.FindStatusCondition(conditions, "Accepted")
		resolved := meta.FindStatusCondition(conditions, "ResolvedRefs")
		switch {
		case accepted == nil:
			why = "its controller has not reported the condition Accepted"
		case accepted.Status != metav1.ConditionTrue:
			why = accepted.Reason + ": " + v1.Excerpt(accepted.Message, maxMessage)
		case resolved != nil && resolved.Status != metav1.ConditionTrue:
			why = resolved.Reason + ": " + v1.Excerpt(resolved.Message, maxMessage)
		default:
			return ""
		}
	}
	return why
}

// gatewayAddresses returns what the Gateways report as the addresses of a route that they accept.
func gatewayAddresses(route *unstructured.Unstructured, live Live) []string {
	if len(observeRoute(route)) > 0 {
		return nil
	}
	var reported []string
	for _, key := range Gateways(route) {
		if gateway, ok := live[key].(*unstructured.Unstructured); ok {
			reported = append(reported, ReportedAddresses(gateway)...)
		}
	}
	return reported
}

// ReportedAddresses returns the addresses in the status of a Gateway, as they are.
func ReportedAddresses(gateway *unstructured.Unstructured) []string {
	addresses, _, err := unstructured.NestedSlice(gateway.Object, "status", "addresses")
	if err != nil {
		return nil
	}
	var reported []string
	for _, each := range addresses {
		address, _ := each.(map[string]any)
		if value, ok := address["value"].(string); ok {
			reported = append(reported, value)
		}
	}
	return reported
}

// isWayIn reports whether an object admits requests from outside the cluster.
func isWayIn(object Object) bool {
	kind := object.Resource.GetObjectKind().GroupVersionKind().Kind
	return kind == "Ingress" || kind == kindHTTPRoute
}
