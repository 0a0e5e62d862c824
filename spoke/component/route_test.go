package component_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// parent returns the reference to the Gateway of a route.
func parent(section string) fields {
	ref := fields{"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": "gateways", "name": "public"}
	if section != "" {
		ref["sectionName"] = section
	}
	return ref
}

// reported returns what the controller of a Gateway reports about a route.
func reported(ref fields, conditions ...fields) fields {
	all := make([]any, 0, len(conditions))
	for _, c := range conditions {
		all = append(all, c)
	}
	return fields{"parentRef": ref, "controllerName": "example.com/gateway", "conditions": all}
}

// route returns an HTTPRoute of generation 2 on the listener https.
func route(parents ...fields) *unstructured.Unstructured {
	u := certificate()
	u.SetAPIVersion("gateway.networking.k8s.io/v1")
	u.SetKind("HTTPRoute")
	u.SetName("app-ingress")
	u.Object["spec"] = fields{"parentRefs": []any{parent("https")}}
	all := make([]any, 0, len(parents))
	for _, p := range parents {
		all = append(all, p)
	}
	u.Object["status"] = fields{"parents": all}
	return u
}

func gateway(addresses ...any) *unstructured.Unstructured {
	all := make([]any, 0, len(addresses))
	for _, a := range addresses {
		all = append(all, fields{"type": "IPAddress", "value": a})
	}
	u := &unstructured.Unstructured{Object: fields{"status": fields{"addresses": all}}}
	u.SetAPIVersion("gateway.networking.k8s.io/v1")
	u.SetKind("Gateway")
	u.SetNamespace("gateways")
	u.SetName("public")
	return u
}

func accepted() fields {
	return fields{"type": "Accepted", "status": "True", "observedGeneration": int64(2)}
}
func resolved() fields {
	return fields{"type": "ResolvedRefs", "status": "True", "observedGeneration": int64(2)}
}

func TestObserveRoute(t *testing.T) {
	old := accepted()
	old["observedGeneration"] = int64(1)
	rejected := fields{"type": "Accepted", "status": "False", "reason": "NotAllowedByListeners", "message": "no listener allows it"}
	unresolved := fields{"type": "ResolvedRefs", "status": "False", "reason": "BackendNotFound", "message": "no Service"}
	https := parent("https")
	for name, tt := range map[string]struct {
		live *unstructured.Unstructured
		// why is the end of the message; empty if the route is ready.
		why string
	}{
		"accepted": {route(reported(https, accepted(), resolved())), ""},
		"accepted, and nothing is said about its backends": {route(reported(https, accepted())), ""},
		"no Gateway has seen it":                           {route(), "check that the Gateway exists, and that the controller of its GatewayClass runs"},
		"another listener accepts it":                      {route(reported(parent("http"), accepted(), resolved())), "check that the Gateway exists, and that the controller of its GatewayClass runs"},
		"another listener is reported first":               {route(reported(parent("http"), rejected), reported(https, accepted(), resolved())), ""},
		"one of two controllers accepts it":                {route(reported(https, rejected), reported(https, accepted(), resolved())), ""},
		"seen":                                             {route(reported(https, resolved())), "its controller has not reported the condition Accepted"},
		"accepted before it changed":                       {route(reported(https, old, resolved())), "its controller has not reported the condition Accepted"},
		"rejected":                                         {route(reported(https, rejected, resolved())), "NotAllowedByListeners: no listener allows it"},
		"its backend is missing":                           {route(reported(https, accepted(), unresolved)), "BackendNotFound: no Service"},
	} {
		t.Run(name, func(t *testing.T) {
			got := component.Observe(part("ingress", nil, route()), live(tt.live), true)
			reason, message := v1.ReasonRunning, "ready"
			if tt.why != "" {
				reason, message = v1.ReasonWaitingForGateway, "HTTPRoute app-ingress is not accepted by Gateway gateways/public: "+tt.why
			}
			if got.Reason != reason || got.Message != message || got.Ready != (tt.why == "") || got.Unavailable != "" {
				t.Errorf("got ready %v, %s, %q, unavailable %q", got.Ready, got.Reason, got.Message, got.Unavailable)
			}
		})
	}
	unreadable := route(reported(https, accepted()))
	unreadable.Object["spec"] = fields{"parentRefs": "none"}
	if got := component.Observe(part("ingress", nil, route()), live(unreadable), true); got.Ready {
		t.Error("a route that cannot be read is ready")
	}
	if got := component.Observe(part("ingress", nil, route()), live(), true); got.Unavailable != "HTTPRoute app-ingress does not exist" {
		t.Errorf("without a route it is unavailable because %q", got.Unavailable)
	}
}

// TestRouteAddresses checks that a route has the addresses of its Gateway once that accepts it.
func TestRouteAddresses(t *testing.T) {
	ok := route(reported(parent("https"), accepted(), resolved()))
	for name, tt := range map[string]struct {
		live component.Live
		want []string
	}{
		"accepted":       {live(ok, gateway("192.0.2.1", "LB.example.test")), []string{"192.0.2.1", "lb.example.test"}},
		"not accepted":   {live(route(), gateway("192.0.2.1")), nil},
		"no Gateway":     {live(ok), nil},
		"no address":     {live(ok, gateway()), nil},
		"not an address": {live(ok, gateway(int64(1), "a b")), nil},
		"an Ingress as well": {live(ok, gateway("192.0.2.1"), ingress("tls", func(i *networkingv1.Ingress) {
			i.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.2"}}
		})), []string{"192.0.2.1", "192.0.2.2"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := component.Addresses([]component.Component{routed()}, tt.live)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
		})
	}
}

// routed returns an ingress component whose HTTPRoute replaces an Ingress.
func routed() component.Component {
	c := part("ingress", nil, route())
	c.Fallbacks = []component.Fallback{{Until: component.KeyOf(route()), Objects: []component.Object{{Resource: ingress("tls"), Once: true}}}}
	return c
}

// TestReplacedWayIn checks that an Ingress or HTTPRoute stays as it is until its replacement admits requests, and is
// then deleted.
func TestReplacedWayIn(t *testing.T) {
	ok := route(reported(parent("https"), accepted()))
	unserved := routed()
	unserved.Objects, unserved.Unserved = nil, "install it"
	back := part("ingress", nil, ingress("tls"))
	back.Fallbacks = []component.Fallback{{Until: component.KeyOf(ingress("tls")), Objects: []component.Object{{Resource: route(), Once: true}}}}
	address := func(i *networkingv1.Ingress) {
		i.Spec.IngressClassName = new("nginx")
		i.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.1"}}
	}
	class := func(i *networkingv1.Ingress) { i.Spec.IngressClassName = new("nginx") }
	for name, tt := range map[string]struct {
		part        component.Component
		live        component.Live
		steps       string
		unavailable string
	}{
		"a route beside an Ingress":                 {routed(), live(ingress("tls")), "once Ingress, apply HTTPRoute", "HTTPRoute app-ingress does not exist"},
		"a route that is not accepted":              {routed(), live(ingress("tls"), route()), "once Ingress, apply HTTPRoute", ""},
		"a route that is accepted":                  {routed(), live(ingress("tls"), ok), "apply HTTPRoute, delete Ingress", ""},
		"a route alone":                             {routed(), live(), "apply HTTPRoute", "HTTPRoute app-ingress does not exist"},
		"routes are not served, with an Ingress":    {unserved, live(ingress("tls")), "once Ingress", ""},
		"routes are not served":                     {unserved, live(), "", "install it"},
		"an Ingress without address beside a route": {back, live(ok, ingress("tls", class)), "once HTTPRoute, apply Ingress", ""},
		"an Ingress with an address beside a route": {back, live(ok, ingress("tls", address)), "apply Ingress, delete HTTPRoute", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := component.Decide(component.Input{Components: []component.Component{tt.part}, Live: tt.live, OwnerUID: owner, Generation: 1})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.steps, stepsOf(got)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			state := got.States[0]
			if state.Unavailable != tt.unavailable {
				t.Errorf("unavailable: %q, want %q", state.Unavailable, tt.unavailable)
			}
			if tt.part.Unserved != "" && (state.Ready || state.Reason != v1.ReasonGatewayAPINotServed || state.Message != "install it") {
				t.Errorf("the state is %+v", state)
			}
		})
	}
}

// stepsOf returns the actions and kinds of the steps of a decision.
func stepsOf(decision component.Decision) string {
	var steps []string
	for _, s := range decision.Steps {
		switch {
		case s.Action == component.Delete:
			steps = append(steps, "delete "+s.Target.GetObjectKind().GroupVersionKind().Kind)
		case s.Object.Once:
			steps = append(steps, "once "+s.Object.Resource.GetObjectKind().GroupVersionKind().Kind)
		default:
			steps = append(steps, "apply "+s.Object.Resource.GetObjectKind().GroupVersionKind().Kind)
		}
	}
	return strings.Join(steps, ", ")
}
